import { TRANSACTION_BYTES } from '../chain/index.ts'
import { DecodeError, Transaction } from '../eth/index.ts'
import { CODE, RpcError } from '../jsonrpc/index.ts'
import type { Schema } from './method.ts'
import { bytes, refused } from '../jsonrpc/schema.ts'

/** A signed transaction as bytes. */
export const rawTransaction: Schema<Transaction> = {
  json: { ...bytes.json, title: 'signed transaction' },
  parse: (value, path) => {
    const raw = bytes.parse(value, path)
    refuseOversized(raw)
    try {
      return Transaction.decode(raw)
    } catch (error) {
      if (error instanceof DecodeError) throw refused(path, error.message)
      throw error
    }
  },
}

/** The pool's limit, checked before decoding: recovering the authorities of 4 MB takes 4 s. The blobs of a blob transaction do not count. */
function refuseOversized(raw: Uint8Array): void {
  if (raw[0] === 3 || raw.length <= TRANSACTION_BYTES) return
  throw new RpcError(CODE.server, `oversized data: transaction size ${raw.length}, limit ${TRANSACTION_BYTES}`)
}
