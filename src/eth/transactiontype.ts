/** EIP-2718 types this chain knows. 3 is refused by the L2 profile and read on imported L1 chains; 0x7e is the OP deposit. */
export type TransactionType = 0 | 1 | 2 | 3 | 4 | 0x7e

export function isTransactionType(type: number): type is TransactionType {
  return (type >= 0 && type <= 4) || type === 0x7e
}
