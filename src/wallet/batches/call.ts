import { Hex } from '../../eth/index.ts'
import type { Address } from '../../eth/index.ts'

/** One call of a batch, or all that a transaction does. */
export interface Call {
  /** null: creates a contract */
  readonly to: Address | null
  /** wei */
  readonly value: bigint
  readonly data: Uint8Array
  /** gas, of the app's choice; null: estimated */
  readonly gasLimitOverride: bigint | null
}

export const Call = { toRequest }

/** A call as nodes take it, in `eth_call`, `eth_estimateGas` and `eth_simulateV1`. `to` stands even for zero. */
function toRequest(call: Call, from: Address): CallRequestJson {
  const { to, value, data } = call
  return { from, ...(to === null ? {} : { to }), value: Hex.fromQuantity(value), input: Hex.fromBytes(data) }
}

export interface CallRequestJson {
  readonly from: Address
  readonly to?: Address
  readonly value: Hex
  readonly input: Hex
}
