import type { Header } from '../../eth/index.ts'
import { blobBaseFee, nextExcessBlobGas } from '../../evm/index.ts'
import type { ChainConfig, Rules } from '../../evm/index.ts'

/** EIP-1559 parameters in a block's extra data, which apply to the next block (OP Holocene and Jovian). */
export interface FeeParameters {
  readonly denominator: bigint
  readonly elasticity: bigint
  /** Wei; 0n before Jovian. */
  readonly minBaseFee: bigint
}

const L1_PARAMETERS: FeeParameters = { denominator: 8n, elasticity: 2n, minBaseFee: 0n }
/** Base fee of the first London block, in wei (EIP-1559). */
export const INITIAL_BASE_FEE = 1_000_000_000n

/** Returns the base fee of the block after `parent`, or `null` before London. `rules`: the rules of that next block. */
export function nextBaseFee(parent: Header, config: ChainConfig, rules: Rules): bigint | null {
  if (!rules.has('london')) return null
  if (parent.baseFeePerGas === null) return INITIAL_BASE_FEE
  const parameters = parametersAfter(parent, config, rules)
  const fee = adjustedBaseFee(parent.baseFeePerGas, meteredGas(parent, rules), parent.gasLimit, parameters)
  return fee < parameters.minBaseFee ? parameters.minBaseFee : fee
}

/** Returns the blob base fee of the block after `parent`; 0n without blobs: before Cancun and on OP chains. `rules`: the rules of that next block. */
export function nextBlobBaseFee(parent: Header, rules: Rules): bigint {
  return rules.op !== null || rules.blob === null ? 0n : blobBaseFee(nextExcessBlobGas(parent, rules), rules.blob)
}

/** Jovian meters data availability like gas: the larger of the two adjusts the base fee. */
function meteredGas(parent: Header, rules: Rules): bigint {
  const footprint = rules.hasOp('jovian') ? (parent.blobGasUsed ?? 0n) : 0n
  return footprint > parent.gasUsed ? footprint : parent.gasUsed
}

function adjustedBaseFee(fee: bigint, gasUsed: bigint, gasLimit: bigint, { denominator, elasticity }: FeeParameters): bigint {
  const target = gasLimit / elasticity
  if (target === 0n || gasUsed === target) return fee
  if (gasUsed > target) {
    const step = (fee * (gasUsed - target)) / target / denominator
    return fee + (step > 0n ? step : 1n)
  }
  const next = fee - (fee * (target - gasUsed)) / target / denominator
  return next > 0n ? next : 0n
}

function parametersAfter(parent: Header, config: ChainConfig, rules: Rules): FeeParameters {
  if (config.op === null) return L1_PARAMETERS
  const fallback = {
    denominator: rules.hasOp('canyon') ? config.op.denominatorCanyon : config.op.denominator,
    elasticity: config.op.elasticity,
    minBaseFee: 0n,
  }
  return rules.hasOp('holocene') ? (decodeExtraData(parent.extraData) ?? fallback) : fallback
}

/** Decodes Holocene (9 bytes, version 0) or Jovian (17 bytes, version 1) extra data; `null` for anything else or a zero parameter. */
export function decodeExtraData(data: Uint8Array): FeeParameters | null {
  const jovian = data.length === 17 && data[0] === 1
  if (!jovian && !(data.length === 9 && data[0] === 0)) return null
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  const denominator = BigInt(view.getUint32(1))
  const elasticity = BigInt(view.getUint32(5))
  if (denominator === 0n || elasticity === 0n) return null
  return { denominator, elasticity, minBaseFee: jovian ? view.getBigUint64(9) : 0n }
}

/** Encodes Jovian or Holocene extra data as the rules require; empty on other chains. */
export function encodeExtraData(parameters: FeeParameters, rules: Rules): Uint8Array {
  if (!rules.hasOp('holocene')) return new Uint8Array(0)
  const jovian = rules.hasOp('jovian')
  const data = new Uint8Array(jovian ? 17 : 9)
  const view = new DataView(data.buffer)
  view.setUint8(0, jovian ? 1 : 0)
  view.setUint32(1, Number(parameters.denominator))
  view.setUint32(5, Number(parameters.elasticity))
  if (jovian) view.setBigUint64(9, parameters.minBaseFee)
  return data
}
