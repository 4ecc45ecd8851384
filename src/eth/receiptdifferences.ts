import { Hex } from './hex.ts'
import { Log } from './log.ts'
import type { Receipt } from './receipt.ts'
import { Rlp } from './rlp.ts'

/** The fields of a receipt that a promise is about, with the place of its transaction. */
export interface PlacedReceipt extends Pick<
  Receipt,
  'status' | 'gasUsed' | 'cumulativeGasUsed' | 'effectiveGasPrice' | 'contractAddress' | 'logs'
> {
  readonly transactionIndex: number
}

/**
 * Returns the names of the fields that differ between a promised and a sealed receipt. Fields that one of the two does not state are not
 * compared.
 */
export function receiptDifferences(promised: Partial<PlacedReceipt>, sealed: Partial<PlacedReceipt>): readonly string[] {
  const differing: string[] = COMPARED.filter(
    (key) => promised[key] !== undefined && sealed[key] !== undefined && promised[key] !== sealed[key],
  )
  if (promised.logs !== undefined && sealed.logs !== undefined && encoded(promised.logs) !== encoded(sealed.logs)) differing.push('logs')
  return differing
}

const COMPARED = ['status', 'gasUsed', 'cumulativeGasUsed', 'effectiveGasPrice', 'contractAddress', 'transactionIndex'] as const

function encoded(logs: readonly Log[]): Hex {
  return Hex.fromBytes(Rlp.encode(logs.map(Log.toRlp)))
}
