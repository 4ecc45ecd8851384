import type { Chain } from '../../chain/index.ts'
import { Hex } from '../../eth/index.ts'
import type { Address, TransactionFields } from '../../eth/index.ts'
import type { Context } from '../context.ts'
import { CODE, invalidParams } from '../../jsonrpc/index.ts'
import { fieldsOf, withDefaultSender, withFeesAndGas, assertSendable, withCappedGas } from '../execution/filling.ts'
import type { FeeContext } from '../execution/filling.ts'
import { pendingNonce } from '../blocks.ts'
import { nextBlockBaseFee, offeredGasPrice } from '../execution/gasprice.ts'
import { transactionJson } from '../json.ts'
import { method, required } from '../method.ts'
import type { Method } from '../method.ts'
import { toUnsignedTransaction } from '../execution/unsignedtransaction.ts'
import { callRequest, senderOf } from '../execution/request.ts'
import type { CallRequest } from '../execution/request.ts'
import { record } from '../../jsonrpc/jsonschema.ts'
import { TRANSACTION } from '../results.ts'
import { bytes } from '../../jsonrpc/schema.ts'
import { ALICE, BOB } from './examples.ts'

const UNSIGNED = '0x02eb827a6980830f4240847650b2408252089470997970c51812dc3a010c7d01b50e0d17dc79c80180c0808080'
const FILLED = {
  raw: UNSIGNED,
  tx: { type: '0x2', nonce: '0x0', gas: '0x5208', maxFeePerGas: '0x7650b240', maxPriorityFeePerGas: '0xf4240' },
}

export const FILL_METHODS: readonly Method[] = [
  method({
    name: 'eth_fillTransaction',
    doc: 'Fills in the missing fields of a transaction (nonce, gas, fees, chain id) and returns it unsigned.',
    params: [required('transaction', callRequest)],
    result: record('filled transaction', { raw: bytes.json, tx: TRANSACTION }),
    errors: { [CODE.server]: 'the gas estimate failed, the tip is above the fee cap, or a price is zero' },
    example: { params: [{ from: ALICE, to: BOB, value: '0x1' }], result: FILLED },
    handler: (context, [given]) => {
      const request = withDefaultSender(context, given)
      const tx = toUnsignedTransaction(fill(context, request), senderOf(request))
      return { raw: Hex.fromBytes(tx.raw), tx: transactionJson(tx, null) }
    },
  }),
]

/** Estimates on the state after pre-confirmed and pooled transactions, on which the transaction may depend. */
export function fill({ chain, compat }: Context, request: CallRequest): TransactionFields {
  assertSendable(request, chain.config, compat, 'argument 0 (transaction)')
  const whole = withFeesAndGas(withCappedGas(request, chain), pendingFeeContext(chain, request), compat)
  return fieldsOf(whole, request.nonce ?? pendingNonce(chain, senderOf(request)), chain.config)
}

function pendingFeeContext(chain: Chain, { gas }: CallRequest): FeeContext {
  const { view } = chain.head
  const block = gas === undefined ? view.pendingWithPool : view.byTag('pending')
  const baseFee = block.header.baseFeePerGas === null ? null : nextBlockBaseFee(view)
  return { view, block, baseFee, gasPrice: () => offeredGasPrice(view, chain) }
}

/** Returns the request with a sender. Throws RpcError -32602 if it has none and the compatibility profile names none. */
export function requireSender(context: Context, given: CallRequest): CallRequest & { readonly from: Address } {
  const request = withDefaultSender(context, given)
  const { from } = request
  if (from === undefined) throw invalidParams('invalid argument 0 (transaction): missing "from"')
  return { ...request, from }
}
