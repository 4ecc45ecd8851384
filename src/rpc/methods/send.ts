import { Transaction } from '../../eth/index.ts'
import type { TransactionFields } from '../../eth/index.ts'
import { UnknownAccount } from '../accounts.ts'
import { CODE, RpcError, invalidParams } from '../../jsonrpc/index.ts'
import type { Context } from '../context.ts'
import { method, optional, required } from '../method.ts'
import type { Method } from '../method.ts'
import { isUnordered, signedTransaction, withSender } from '../rawtransaction.ts'
import { callRequest } from '../execution/request.ts'
import type { CallRequest } from '../execution/request.ts'
import { FailedCall } from '../execution/revert.ts'
import { RECEIPT } from '../results.ts'
import { submit } from '../submission.ts'
import type { Creation } from '../submission.ts'
import { hash, integer, quantity } from '../../jsonrpc/schema.ts'
import { fill, requireSender } from './fill.ts'
import { submitAndWait } from './wait.ts'
import { ALICE, BOB, RAW_TRANSACTION, TRANSACTION_HASH } from './examples.ts'

const POOL_ERRORS = {
  [CODE.server]:
    'the pool refuses it: already known, nonce too low, replacement transaction underpriced, insufficient funds for gas * price + value, …',
}
const SEND_ERRORS = { [CODE.server]: 'unknown account, a failed gas estimate, or a refusal of the pool' }

export const SEND_METHODS: readonly Method[] = [
  method({
    name: 'eth_sendRawTransaction',
    doc: 'Adds a signed transaction to the pool and returns its hash; the next flashblock pre-confirms it. A blob transaction comes in its network form: its blobs, commitments and proofs are verified.',
    params: [required('transaction', signedTransaction)],
    result: hash.json,
    errors: POOL_ERRORS,
    example: { params: [RAW_TRANSACTION], result: TRANSACTION_HASH },
    handler: (context, [signed], caller, isAlone) => withSender(context, signed, isUnordered(caller, isAlone), (tx) => submit(context, tx)),
  }),
  method({
    name: 'eth_sendRawTransactionSync',
    doc: 'Adds a signed transaction to the pool and returns its receipt once a flashblock or block has it (EIP-7966).',
    params: [required('transaction', signedTransaction), optional('timeoutMs', integer)],
    result: RECEIPT,
    errors: { ...POOL_ERRORS, [CODE.unconfirmed]: 'accepted, but there was no receipt in time; data is the hash' },
    example: { params: [RAW_TRANSACTION, 2_000], result: { transactionHash: TRANSACTION_HASH, blockNumber: '0x1', status: '0x1' } },
    handler: (context, [signed, timeoutMs], caller, isAlone) =>
      withSender(context, signed, isUnordered(caller, isAlone), (tx) => submitAndWait(context, tx, timeoutMs)),
  }),
  method({
    name: 'eth_sendTransaction',
    doc: 'Fills in the missing fields of a transaction (nonce, gas, fees), signs it with the account of `from` and adds it to the pool.',
    params: [required('transaction', callRequest)],
    result: hash.json,
    errors: SEND_ERRORS,
    example: { params: [{ from: ALICE, to: BOB, value: '0x1' }], result: TRANSACTION_HASH },
    handler: (context, [request]) => sendTransaction(context, request),
  }),
  method({
    name: 'eth_sendTransactionSync',
    doc: 'As eth_sendTransaction, and returns the receipt once a flashblock or block has it, as eth_sendRawTransactionSync does.',
    params: [required('transaction', callRequest), optional('timeoutMs', integer)],
    result: RECEIPT,
    errors: { ...SEND_ERRORS, [CODE.unconfirmed]: 'accepted, but there was no receipt in time; data is the hash' },
    example: {
      params: [{ from: ALICE, to: BOB, value: '0x1' }, 2_000],
      result: { transactionHash: TRANSACTION_HASH, blockNumber: '0x1', status: '0x1' },
    },
    handler: (context, [request, timeoutMs]) => submitAndWait(context, signerOf(context, request), timeoutMs),
  }),
  method({
    name: 'eth_resend',
    doc: 'Replaces a pooled transaction of an account of this node, which its sender and nonce name, by the same one with another gas price or gas limit.',
    params: [required('transaction', callRequest), optional('gasPrice', quantity), optional('gasLimit', quantity)],
    result: hash.json,
    errors: { [CODE.server]: 'there is no such transaction in the pool, the account is unknown, or the pool refuses the replacement' },
    example: { params: [{ from: ALICE, to: BOB, value: '0x1', nonce: '0x0' }, '0x77359400'], result: TRANSACTION_HASH },
    handler: (context, [request, gasPrice, gasLimit]) => {
      const { from, nonce } = requireSender(context, request)
      if (nonce === undefined) throw invalidParams('invalid argument 0 (transaction): missing "nonce" of the transaction to replace')
      const pooled = context.chain.pool.bySenderAndNonce(from, nonce)
      if (pooled === null) throw new RpcError(CODE.server, `the pool has no transaction with nonce ${nonce} of ${from}`)
      const prices = gasPrice === undefined ? {} : { maxFeePerGas: gasPrice, maxPriorityFeePerGas: gasPrice }
      const fields = { ...pooled, ...prices, ...(gasLimit === undefined ? {} : { gas: gasLimit }) } as TransactionFields // the pool has no deposits
      return submit(context, { from, create: () => context.accounts.transaction(fields, from) })
    },
  }),
  method({
    name: 'eth_sendUnsignedTransaction',
    doc: 'Sends from any address without a signature, as if it were impersonated.',
    params: [required('transaction', callRequest)],
    result: hash.json,
    errors: SEND_ERRORS,
    example: { params: [{ from: ALICE, to: BOB, value: '0x1' }], result: TRANSACTION_HASH },
    handler: (context, [given]) => {
      const request = requireSender(context, given)
      const { from } = request
      return submit(context, { from, create: () => Transaction.unsigned(fillToSend(context, request), from) })
    },
  }),
]

/** Signs with the account of `from`. Throws UnknownAccount, and RpcError for a request that the pool refuses. */
export function sendTransaction(context: Context, request: CallRequest): ReturnType<typeof submit> {
  return submit(context, signerOf(context, request))
}

/** `submit` calls the function in turn: each transaction gets the nonce after those submitted before. Throws UnknownAccount. */
function signerOf(context: Context, given: CallRequest): Creation {
  const request = requireSender(context, given)
  const { from } = request
  if (!context.accounts.canSend(from)) throw new UnknownAccount(from)
  return { from, create: () => context.accounts.transaction(fillToSend(context, request), from) }
}

/** As `fill`; under some compatibility profiles a transaction whose estimate reverts or halts gets the maximum gas and is mined as failed. */
export function fillToSend(context: Context, request: CallRequest): TransactionFields {
  const { compat, chain } = context
  try {
    return fill(context, request)
  } catch (error) {
    if (compat.revertingSend === 'refused' || !(error instanceof FailedCall)) throw error
    return fill(context, { ...request, gas: chain.maxTransactionGas })
  }
}
