import { TRANSACTION_BYTES } from '../chain/index.ts'
import { DecodeError, Transaction } from '../eth/index.ts'
import type { SignedTransaction } from '../eth/index.ts'
import { CODE, RpcError } from '../jsonrpc/index.ts'
import type { Context } from './context.ts'
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

/**
 * Calls `work` with the transaction and its sender: immediately unless it `isUnordered`, as requests over HTTP are, and others arrive together with it. Items of
 * a batch and messages of a WebSocket are executed in their order. Throws or rejects with RpcError for an invalid signature.
 */
export function withSender<T>(
  { senders }: Context,
  signed: SignedTransaction | Transaction,
  isUnordered: boolean,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  if (!('digest' in signed)) return work(signed)
  const sender = isUnordered ? senders.recover(signed.digest, signed.signature) : senders.recoverNow(signed.digest, signed.signature)
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
