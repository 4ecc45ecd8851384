import type { Address, Hash, L1Cost } from '../eth/index.ts'
import { fastLzSize } from './fastlz.ts'
import type { Rules } from './forks.ts'
import type { StateReader } from './state.ts'

/** Predeploy that stores the values of the last L1 attributes deposit. */
export const L1_BLOCK = predeploy('15')
/** Since Isthmus the header holds its storage root. */
export const L2_TO_L1_MESSAGE_PASSER = predeploy('16')

/** Fee recipients of an OP chain. Tips go to the block's coinbase. */
export const BASE_FEE_VAULT = predeploy('19')
export const L1_FEE_VAULT = predeploy('1a')
export const OPERATOR_FEE_VAULT = predeploy('1b')

const L1_BASE_FEE_SLOT = slot(1)
const SCALARS_SLOT = slot(3)
const L1_BLOB_BASE_FEE_SLOT = slot(7)
const OPERATOR_SLOT = slot(8)

/** Fjord's regression from FastLZ size to data-availability bytes, in millionths of a byte (specs.optimism.io). */
const INTERCEPT = -42_585_600n
const COEFFICIENT = 836_500n
const MIN_SIZE = 100_000_000n
/** In bytes. FastLZ adds at most one byte to each 32; for 170 compressed bytes the regression is below the minimum. */
const MAX_LENGTH_OF_MIN_SIZE = 164
const MILLION = 1_000_000n
const DEFAULT_DA_SCALAR = 400n

/** Fee parameters of the current block, as stored in L1Block. */
interface L1Parameters {
  readonly baseFee: bigint
  readonly blobBaseFee: bigint
  readonly baseFeeScalar: bigint
  readonly blobBaseFeeScalar: bigint
  /** null before Isthmus */
  readonly operatorFeeScalar: bigint | null
  readonly operatorFeeConstant: bigint | null
  /** null before Jovian */
  readonly daFootprintGasScalar: bigint | null
}

/** The parameters of the last lookup: they change with the L1 epoch at most, so nearly all transactions share them and a deposit's cost. */
let last: {
  readonly rules: Rules
  readonly words: readonly bigint[]
  readonly parameters: L1Parameters
  readonly depositCost: L1Cost
} | null = null

function l1Parameters(rules: Rules, reader: StateReader): NonNullable<typeof last> {
  const scalars = reader.storage(L1_BLOCK, SCALARS_SLOT)
  const operator = rules.hasOp('isthmus') ? reader.storage(L1_BLOCK, OPERATOR_SLOT) : 0n
  const baseFee = reader.storage(L1_BLOCK, L1_BASE_FEE_SLOT)
  const blobBaseFee = reader.storage(L1_BLOCK, L1_BLOB_BASE_FEE_SLOT)
  const words = [scalars, operator, baseFee, blobBaseFee]
  if (last?.rules === rules && last.words.every((word, i) => word === words[i])) return last
  const parameters = {
    baseFee,
    blobBaseFee,
    baseFeeScalar: bits(scalars, 96n, 32),
    blobBaseFeeScalar: bits(scalars, 64n, 32),
    operatorFeeScalar: rules.hasOp('isthmus') ? bits(operator, 64n, 32) : null,
    operatorFeeConstant: rules.hasOp('isthmus') ? bits(operator, 0n, 64) : null,
    daFootprintGasScalar: rules.hasOp('jovian') ? daScalar(operator) : null,
  }
  return (last = { rules, words, parameters, depositCost: costOf(parameters, 0n, 0n) })
}

/** Returns the L1 data fee of the encoded transaction `raw` on an OP chain since Fjord, with its parameters. */
export function l1Cost(raw: Uint8Array, rules: Rules, reader: StateReader): L1Cost {
  const { parameters } = l1Parameters(rules, reader)
  const size = estimatedSize(raw)
  const feePerByte = 16n * parameters.baseFeeScalar * parameters.baseFee + parameters.blobBaseFeeScalar * parameters.blobBaseFee
  return costOf(parameters, (size * 16n) / MILLION, (size * feePerByte) / (MILLION * MILLION))
}

/** The parameters for the receipt of a deposit, which pays no data fee. */
export function depositL1Cost(rules: Rules, reader: StateReader): L1Cost {
  return l1Parameters(rules, reader).depositCost
}

/** Wei for `gas` in addition to the gas price: Isthmus, with Jovian's change of scale. */
export function operatorFee(gas: bigint, cost: Pick<L1Cost, 'operatorFeeScalar' | 'operatorFeeConstant'>, rules: Rules): bigint {
  if (cost.operatorFeeScalar === null || cost.operatorFeeConstant === null) return 0n
  const scaled = gas * cost.operatorFeeScalar
  return (rules.hasOp('jovian') ? scaled * 100n : scaled / MILLION) + cost.operatorFeeConstant
}

/** Jovian: the scalar of `daFootprint`. */
export function daFootprintGasScalar(reader: StateReader): bigint {
  return daScalar(reader.storage(L1_BLOCK, OPERATOR_SLOT))
}

function daScalar(operator: bigint): bigint {
  return bits(operator, 96n, 16) || DEFAULT_DA_SCALAR
}

/** Jovian: data-availability footprint of the encoded transaction, in gas. */
export function daFootprint(raw: Uint8Array, daFootprintGasScalar: bigint): bigint {
  return (estimatedSize(raw) / MILLION) * daFootprintGasScalar
}

/** Fee, footprint and block building ask for the same size one after the other. */
let lastSize: { readonly raw: Uint8Array; readonly size: bigint } | null = null

/** In millionths of a byte. */
function estimatedSize(raw: Uint8Array): bigint {
  if (raw.length <= MAX_LENGTH_OF_MIN_SIZE) return MIN_SIZE
  if (lastSize?.raw === raw) return lastSize.size
  const regression = INTERCEPT + COEFFICIENT * BigInt(fastLzSize(raw))
  const size = regression < MIN_SIZE ? MIN_SIZE : regression
  lastSize = { raw, size }
  return size
}

function costOf(parameters: L1Parameters, gasUsed: bigint, fee: bigint): L1Cost {
  return {
    gasPrice: parameters.baseFee,
    gasUsed,
    fee,
    baseFeeScalar: parameters.baseFeeScalar,
    blobBaseFee: parameters.blobBaseFee,
    blobBaseFeeScalar: parameters.blobBaseFeeScalar,
    operatorFeeScalar: parameters.operatorFeeScalar,
    operatorFeeConstant: parameters.operatorFeeConstant,
    daFootprintGasScalar: parameters.daFootprintGasScalar,
  }
}

function bits(word: bigint, offset: bigint, width: number): bigint {
  return BigInt.asUintN(width, word >> offset)
}

function predeploy(low: string): Address {
  // constant prefix: lower case, 20 bytes
  return `0x42000000000000000000000000000000000000${low}` as Address
}

function slot(index: number): Hash {
  // 32 bytes in lower case
  return `0x${index.toString(16).padStart(64, '0')}` as Hash
}
