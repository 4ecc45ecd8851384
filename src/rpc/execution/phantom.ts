import { Hash, Transaction } from '../../eth/index.ts'
import type { Address, TransactionFields } from '../../eth/index.ts'

/**
 * A transaction without a signature (v, r and s are 0): what eth_simulateV1 puts into its blocks and eth_fillTransaction
 * hands out. No chain takes it; `from` is only known to whoever made it.
 */
export function phantom(fields: TransactionFields, from: Address): Transaction {
  // The signature of `unsigned` is this chain's own; here the fields alone are wanted.
  const blank = { ...Transaction.unsigned(fields, from), v: 0n, r: 0n, s: 0n }
  const raw = Transaction.encode(blank)
  return { ...blank, raw, hash: Hash.keccak(raw) }
}
