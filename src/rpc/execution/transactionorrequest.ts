import type { Schema } from '../method.ts'
import { rawTransaction } from '../rawtransaction.ts'
import type { TransactionOrRequest } from './reorg.ts'
import { callRequest } from './request.ts'

/** A signed transaction as bytes, or a transaction request. */
export const transactionOrRequest: Schema<TransactionOrRequest> = {
  json: { oneOf: [rawTransaction.json, callRequest.json] },
  parse: (value, path) => {
    return typeof value === 'string' ? { tx: rawTransaction.parse(value, path) } : { request: callRequest.parse(value, path) }
  },
}
