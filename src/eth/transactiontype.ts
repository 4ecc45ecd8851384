/** Supported EIP-2718 types. The L2 profile rejects 3, which imported L1 chains may have; 0x7e is the OP deposit. */
export type TransactionType = 0 | 1 | 2 | 3 | 4 | 0x7e

export function isTransactionType(type: number): type is TransactionType {
  return (type >= 0 && type <= 4) || type === 0x7e
}
