import { Transaction } from '../../eth/index.ts'
import type { TransactionFields } from '../../eth/index.ts'
import { UnknownAccount } from '../accounts.ts'
import { CODE, RpcError } from '../../jsonrpc/index.ts'
import type { Context } from '../context.ts'
import { method, optional, required } from '../method.ts'
import type { Method } from '../method.ts'
import { rawTransaction } from '../rawtransaction.ts'
import { callRequest } from '../execution/request.ts'
import type { CallRequest } from '../execution/request.ts'
import { REVERTED } from '../execution/revert.ts'
import { RECEIPT } from '../results.ts'
import { submit } from '../submission.ts'
import { hash, integer } from '../../jsonrpc/schema.ts'
import { fill, requireSender } from './fill.ts'
import { submitAndWait } from './wait.ts'
import { ALICE, BOB, TRANSACTION_HASH } from './examples.ts'

const POOL_ERRORS = {
  [CODE.server]:
    'the pool refuses it: already known, nonce too low, replacement transaction underpriced, insufficient funds for gas * price + value, …',
}
const SEND_ERRORS = { [CODE.server]: 'unknown account, a failed gas estimate, or a refusal of the pool' }

const RAW =
  '0x02f86b827a6980830f424084773594008252089470997970c51812dc3a010c7d01b50e0d17dc79c80180c080a0387035d1da7342338128c8c7ebebe123ef21c8cc2b2ab37640bba04939938965a07bf54772597f1e144c2bd05d4b790751b6bddeedcc143295f750fa30f34b6649'

export const SEND_METHODS: readonly Method[] = [
  method({
    name: 'eth_sendRawTransaction',
    doc: 'Adds a signed transaction to the pool and returns its hash; the next flashblock pre-confirms it.',
    params: [required('transaction', rawTransaction)],
    result: hash.json,
    errors: POOL_ERRORS,
    example: { params: [RAW], result: TRANSACTION_HASH },
    handler: (context, [tx]) => submit(context, tx),
  }),
  method({
    name: 'eth_sendRawTransactionSync',
    doc: 'Adds a signed transaction to the pool and returns its receipt once a flashblock or block has it (EIP-7966).',
    params: [required('transaction', rawTransaction), optional('timeoutMs', integer)],
    result: RECEIPT,
    errors: { ...POOL_ERRORS, [CODE.unconfirmed]: 'accepted, but there was no receipt in time; data is the hash' },
    example: { params: [RAW, 2_000], result: { transactionHash: TRANSACTION_HASH, blockNumber: '0x1', status: '0x1' } },
    handler: (context, [tx, timeoutMs]) => submitAndWait(context, tx, timeoutMs),
  }),
  method({
    name: 'eth_sendTransaction',
    doc: 'Fills in the missing fields of a transaction (nonce, gas, fees), signs it with the account of `from` and adds it to the pool.',
    params: [required('transaction', callRequest)],
    result: hash.json,
    errors: SEND_ERRORS,
    example: { params: [{ from: ALICE, to: BOB, value: '0x1' }], result: TRANSACTION_HASH },
    handler: (context, [request]) => {
      const from = requireSender(request)
      if (!context.accounts.canSend(from)) throw new UnknownAccount(from)
      return submit(context, () => context.accounts.transaction(fillToSend(context, request), from))
    },
  }),
  method({
    name: 'eth_sendUnsignedTransaction',
    doc: 'Sends from any address without a signature, as if it were impersonated.',
    params: [required('transaction', callRequest)],
    result: hash.json,
    errors: SEND_ERRORS,
    example: { params: [{ from: ALICE, to: BOB, value: '0x1' }], result: TRANSACTION_HASH },
    handler: (context, [request]) => {
      const from = requireSender(request)
      return submit(context, () => Transaction.unsigned(fillToSend(context, request), from))
    },
  }),
]

/** As `fill`; under some compatibility profiles a transaction whose estimate reverts gets the maximum gas and is mined as failed. */
function fillToSend(context: Context, request: CallRequest): TransactionFields {
  const { compat, chain } = context
  try {
    return fill(context, request)
  } catch (error) {
    const isRevert = error instanceof RpcError && error.code === compat.revertCode && error.message.startsWith(REVERTED)
    if (compat.revertingSend === 'refused' || !isRevert) throw error
    return fill(context, { ...request, gas: chain.maxTransactionGas })
  }
}
