import { Hash } from '../eth/index.ts'
import { L1_EPOCH_SECONDS } from '../compat.ts'

/** L1 block that an L2 block is derived from. */
export interface L1Origin {
  readonly number: number
  readonly hash: Hash
  /** Seconds. */
  readonly timestamp: number
  /** Wei. */
  readonly baseFee: bigint
  /** Wei. */
  readonly blobBaseFee: bigint
}

/** Fees of the simulated L1 and their scalars (defaults: Base mainnet's). */
export interface L1Options {
  readonly baseFee: bigint
  readonly blobBaseFee: bigint
  readonly baseFeeScalar: number
  readonly blobBaseFeeScalar: number
  readonly operatorFeeScalar: number
  readonly operatorFeeConstant: bigint
  /** Jovian; 0 means 400. */
  readonly daFootprintGasScalar: number
}

export const DEFAULT_L1: L1Options = {
  baseFee: 1_000_000_000n,
  blobBaseFee: 1n,
  baseFeeScalar: 2_269,
  blobBaseFeeScalar: 1_055_762,
  operatorFeeScalar: 0,
  operatorFeeConstant: 0n,
  daFootprintGasScalar: 400,
}

/** First block of the simulated L1: block 0 at the time of the L2 genesis, or the origin of the fork block. */
export interface L1Start {
  readonly number: number
  /** Seconds. */
  readonly timestamp: number
  readonly hash?: Hash
  readonly sequenceNumber?: number
}

/** A simulated L1 without blocks: one every 12 s after the first, with a hash derived from its number and the seed. */
export class SimulatedL1 {
  readonly options: L1Options
  /** The first L1 block. */
  readonly #first: L1Start
  readonly #seed: string
  #newest: L1Origin | null = null
  /** The beacon root of the origin with this hash. */
  #beaconRoot: { readonly origin: Hash; readonly root: Hash } | null = null

  constructor(options: L1Options, first: L1Start, seed: string) {
    this.options = options
    this.#first = first
    this.#seed = seed
  }

  /** Position in its L1 epoch of the block before the first one built here; `null` if that is not in this epoch. */
  sequenceNumberBefore({ number }: L1Origin): number | null {
    return number === this.#first.number ? (this.#first.sequenceNumber ?? null) : null
  }

  /** Returns the newest L1 block at an L2 time in seconds. */
  originAt(timestamp: number): L1Origin {
    const number = this.epochAt(timestamp)
    return this.#newest?.number === number ? this.#newest : (this.#newest = this.#origin(number))
  }

  /** Returns the parent beacon block root of an L2 block at a time in seconds. */
  beaconRootAt(timestamp: number): Hash {
    const { hash: origin } = this.originAt(timestamp)
    if (this.#beaconRoot?.origin !== origin) this.#beaconRoot = { origin, root: Hash.ofText(`beacon ${origin}`) }
    return this.#beaconRoot.root
  }

  #origin(number: number): L1Origin {
    const first = this.#first
    return {
      number,
      hash: (number === first.number ? first.hash : undefined) ?? Hash.ofText(`pocketchain l1 ${this.#seed} ${number}`),
      timestamp: this.epochStart(number),
      baseFee: this.options.baseFee,
      blobBaseFee: this.options.blobBaseFee,
    }
  }

  /** Returns the number of the newest L1 block at an L2 time in seconds. */
  epochAt(timestamp: number): number {
    const { number, timestamp: start } = this.#first
    return Math.max(number, number + Math.floor((timestamp - start) / L1_EPOCH_SECONDS))
  }

  /** Returns the timestamp of an L1 block in seconds. */
  epochStart(number: number): number {
    return this.#first.timestamp + (number - this.#first.number) * L1_EPOCH_SECONDS
  }
}
