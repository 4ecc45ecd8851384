import { Hex } from './hex.ts'
import { Log } from './log.ts'
import type { L1Cost, Receipt } from './receipt.ts'
import { Rlp } from './rlp.ts'

/** The fields of a receipt that a promise is about, with the place of its transaction. */
export interface PlacedReceipt extends Pick<
  Receipt,
  'status' | 'root' | 'gasUsed' | 'cumulativeGasUsed' | 'effectiveGasPrice' | 'blobGasUsed' | 'blobGasPrice' | 'contractAddress' | 'logs'
> {
  readonly transactionIndex: number
  /** A node may state some of the charges only. */
  readonly l1: Partial<L1Cost> | null
}

/** The charges beyond execution gas by their names in JSON. */
export const L1_COST_NAMES = {
  fee: 'l1Fee',
  gasPrice: 'l1GasPrice',
  gasUsed: 'l1GasUsed',
  baseFeeScalar: 'l1BaseFeeScalar',
  blobBaseFee: 'l1BlobBaseFee',
  blobBaseFeeScalar: 'l1BlobBaseFeeScalar',
  operatorFeeScalar: 'operatorFeeScalar',
  operatorFeeConstant: 'operatorFeeConstant',
  daFootprintGasScalar: 'daFootprintGasScalar',
} as const satisfies Record<keyof L1Cost, string>

/**
 * Returns the names of the fields that differ between a promised and a sealed receipt. Fields that one of the two does not state are not
 * compared.
 */
export function receiptDifferences(promised: Partial<PlacedReceipt>, sealed: Partial<PlacedReceipt>): readonly string[] {
  const differing: string[] = COMPARED.filter(
    (key) => promised[key] !== undefined && sealed[key] !== undefined && promised[key] !== sealed[key],
  )
  for (const [key, name] of Object.entries(L1_COST_NAMES) as [keyof L1Cost, string][]) {
    // its keys
    const [then, now] = [promised.l1?.[key], sealed.l1?.[key]]
    if (then !== undefined && now !== undefined && then !== now) differing.push(name)
  }
  if (promised.logs !== undefined && sealed.logs !== undefined && encoded(promised.logs) !== encoded(sealed.logs)) differing.push('logs')
  return differing
}

const COMPARED = [
  'status',
  'root',
  'gasUsed',
  'cumulativeGasUsed',
  'effectiveGasPrice',
  'blobGasUsed',
  'blobGasPrice',
  'contractAddress',
  'transactionIndex',
] as const

function encoded(logs: readonly Log[]): Hex {
  return Hex.fromBytes(Rlp.encode(logs.map(Log.toRlp)))
}
