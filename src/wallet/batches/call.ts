import { Hex } from '../../eth/index.ts'
import type { Address } from '../../eth/index.ts'

/** A call of a batch, or of a single transaction. */
export interface Call {
  /** null: creates a contract */
  readonly to: Address | null
  /** wei */
  readonly value: bigint
  readonly data: Uint8Array
  /** gas limit that the app requested; null: estimated */
  readonly gasLimitOverride: bigint | null
}

export const Call = { toRequest }

/** Returns the call as a parameter of `eth_call`, `eth_estimateGas` and `eth_simulateV1`. */
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
