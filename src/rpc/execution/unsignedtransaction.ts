import { Hash, Transaction } from '../../eth/index.ts'
import type { Address, TransactionFields } from '../../eth/index.ts'

/** Returns a transaction without a signature (v, r and s are 0), as eth_simulateV1 and eth_fillTransaction return it. `from` is not in its encoding. */
export function toUnsignedTransaction(fields: TransactionFields, from: Address): Transaction {
  // `unsigned` stores the sender in the signature.
  const blank = { ...Transaction.unsigned(fields, from), v: 0n, r: 0n, s: 0n }
  const raw = Transaction.encode(blank)
  return { ...blank, raw, hash: Hash.keccak(raw) }
}
