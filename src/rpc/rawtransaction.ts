import { TRANSACTION_BYTES } from '../chain/index.ts'
import { DecodeError, Transaction } from '../eth/index.ts'
import type { SignedTransaction } from '../eth/index.ts'
import { CODE, RpcError } from '../jsonrpc/index.ts'
import { requireBlobs } from './blobs.ts'
import type { Caller, Context } from './context.ts'
import type { Schema } from './method.ts'
import { bytes, refused } from '../jsonrpc/schema.ts'

/** A signed transaction as bytes. */
export const rawTransaction: Schema<Transaction> = {
  json: { ...bytes.json, title: 'signed transaction' },
  parse: (value, path) => decoded(value, path, Transaction.decode),
}

/** The same for `withSender`. */
export const signedTransaction: Schema<SignedTransaction | Transaction> = {
  json: rawTransaction.json,
  parse: (value, path) => {
    const signed = decoded(value, path, Transaction.decodeSigned)
    if (!('digest' in signed)) return signed
    return { ...signed, withSender: (sender) => located(path, () => signed.withSender(sender)) }
  },
}

/** True for an HTTP request of one call. Items of a batch, messages of a WebSocket and requests in process are executed in their order. */
export function isUnordered({ session }: Caller, isAlone: boolean): boolean {
  return isAlone && session === null
}

/**
 * Calls `work` with the transaction and its sender: immediately unless the request is unordered and others arrive together with it, or there are blobs to
 * verify. Throws or rejects with RpcError for an invalid signature; rejects with PoolError for a blob transaction without its blobs.
 */
export function withSender<T>(
  context: Context,
  signed: SignedTransaction | Transaction,
  isRequestUnordered: boolean,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  const { sidecar } = 'digest' in signed ? signed : { sidecar: null }
  return withRecovered(context, signed, isRequestUnordered, (tx) =>
    tx.type === 3 ? requireBlobs(context.chain, tx, sidecar).then(() => work(tx)) : work(tx),
  )
}

function withRecovered<T>(
  { senders }: Context,
  signed: SignedTransaction | Transaction,
  isRequestUnordered: boolean,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  if (!isRequestUnordered || !('digest' in signed)) return work(Transaction.recovered(signed))
  const sender = senders.recover(signed.digest, signed.signature)
  return sender instanceof Promise ? sender.then((each) => work(signed.withSender(each))) : work(signed.withSender(sender))
}

function decoded<T>(value: unknown, path: string, decode: (raw: Uint8Array) => T): T {
  const raw = bytes.parse(value, path)
  refuseOversized(raw)
  return located(path, () => decode(raw))
}

function located<T>(path: string, decode: () => T): T {
  try {
    return decode()
  } catch (error) {
    if (error instanceof DecodeError) throw refused(path, error.message)
    throw error
  }
}

/** The pool's limit, checked before decoding: recovering the authorities of 4 MB takes 4 s. The blobs of a blob transaction do not count. */
function refuseOversized(raw: Uint8Array): void {
  if (raw[0] === 3 || raw.length <= TRANSACTION_BYTES) return
  throw new RpcError(CODE.server, `oversized data: transaction size ${raw.length}, limit ${TRANSACTION_BYTES}`)
}
