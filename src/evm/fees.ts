import type { Message } from './message.ts'
import type { BlobParameters, Rules } from './forks.ts'
import { GAS_PER_BLOB } from './gas.ts'

/** EIP-7918: minimum execution gas cost of a blob, which bounds the blob base fee. */
const BLOB_BASE_COST = 8_192n
const MIN_BLOB_BASE_FEE = 1n

/** Fields of a parent header that determine the next blob base fee. Null counts as zero. */
export interface BlobFeeParent {
  readonly excessBlobGas: bigint | null
  readonly blobGasUsed: bigint | null
  readonly baseFeePerGas: bigint | null
}

/** Wei per gas that a message pays (EIP-1559). Before London both fee fields are the gas price. */
export function effectiveGasPrice(message: Pick<Message, 'maxFeePerGas' | 'maxPriorityFeePerGas'>, baseFeePerGas: bigint | null): bigint {
  const offered = message.maxPriorityFeePerGas + (baseFeePerGas ?? 0n)
  return offered < message.maxFeePerGas ? offered : message.maxFeePerGas
}

/** Wei per blob gas at this excess (EIP-4844). */
export function blobBaseFee(excessBlobGas: bigint, parameters: BlobParameters): bigint {
  return fakeExponential(MIN_BLOB_BASE_FEE, excessBlobGas, parameters.baseFeeUpdateFraction)
}

/** Excess blob gas of the block after `parent`. `rules`: the rules of the new block, as in geth. */
export function nextExcessBlobGas(parent: BlobFeeParent, rules: Rules): bigint {
  if (rules.blob === null) return 0n
  const { target, max } = rules.blob
  const excess = parent.excessBlobGas ?? 0n
  const used = parent.blobGasUsed ?? 0n
  const targetGas = BigInt(target) * GAS_PER_BLOB
  if (excess + used < targetGas) return 0n
  if (rules.has('osaka') && blobsAreTooCheap(excess, parent.baseFeePerGas ?? 0n, rules.blob)) {
    return excess + (used * BigInt(max - target)) / BigInt(max)
  }
  return excess + used - targetGas
}

function blobsAreTooCheap(excess: bigint, baseFeePerGas: bigint, parameters: BlobParameters): boolean {
  return BLOB_BASE_COST * baseFeePerGas > GAS_PER_BLOB * blobBaseFee(excess, parameters)
}

/** factor · e^(numerator / denominator) by its Taylor series, rounded as in EIP-4844. */
function fakeExponential(factor: bigint, numerator: bigint, denominator: bigint): bigint {
  let sum = 0n
  let term = factor * denominator
  for (let i = 1n; term > 0n; i++) {
    sum += term
    term = (term * numerator) / (denominator * i)
  }
  return sum / denominator
}
