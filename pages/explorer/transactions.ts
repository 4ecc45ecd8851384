import { L1_ATTRIBUTES_DEPOSITOR } from './names.ts'
import { askAll } from './node.ts'
import type { ReceiptJson, TransactionJson } from './wire.ts'

/** A transaction and its receipt, which is null until the transaction has one. */
export interface TransactionWithReceipt {
  readonly transaction: TransactionJson
  readonly receipt: ReceiptJson | null
}

/** Rows per page of a list. */
export const PAGE_ROWS = 25

/** Reads transactions with their receipts in one batch. Leaves out those that the node no longer has. Throws the error of the first one. */
export async function readTransactions(hashes: readonly string[], signal: AbortSignal): Promise<readonly TransactionWithReceipt[]> {
  const answers = await askAll(
    hashes.flatMap((hash) => [['eth_getTransactionByHash', hash] as const, ['eth_getTransactionReceipt', hash] as const]),
    { signal },
  )
  const failed = answers[0]
  if (failed instanceof Error) throw failed
  return hashes.flatMap((_, i) => {
    const [transaction, receipt] = [answers[2 * i], answers[2 * i + 1]]
    if (transaction === null || transaction instanceof Error) return []
    return [{ transaction: transaction as TransactionJson, receipt: receipt instanceof Error ? null : (receipt as ReceiptJson | null) }] // the results of the methods
  })
}

/** The type of the transaction with the L1 attributes and of deposits. */
export const DEPOSIT_TYPE = '0x7e'

/** True for the first transaction of each block of an OP chain. */
export function hasL1Attributes({ type, from }: TransactionJson): boolean {
  return type === DEPOSIT_TYPE && from.toLowerCase() === L1_ATTRIBUTES_DEPOSITOR
}

/** Returns the items of one page of a list; `page` counts from 0. */
export function itemsOfPage<T>(items: readonly T[], page: number, size = PAGE_ROWS): readonly T[] {
  return items.slice(page * size, (page + 1) * size)
}
