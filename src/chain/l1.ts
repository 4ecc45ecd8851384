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

/** A simulated L1 without blocks: one every 12 s since the L2 genesis, with a hash derived from its number and the seed. */
export class SimulatedL1 {
  readonly options: L1Options
  readonly #genesisTimestamp: number
  readonly #seed: string
  #newest: L1Origin | null = null

  constructor(options: L1Options, genesisTimestamp: number, seed: string) {
    this.options = options
    this.#genesisTimestamp = genesisTimestamp
    this.#seed = seed
  }

  /** Returns the newest L1 block at an L2 time in seconds. */
  originAt(timestamp: number): L1Origin {
    const number = this.epochAt(timestamp)
    return this.#newest?.number === number ? this.#newest : (this.#newest = this.#origin(number))
  }

  #origin(number: number): L1Origin {
    return {
      number,
      hash: Hash.ofText(`pocketchain l1 ${this.#seed} ${number}`),
      timestamp: this.epochStart(number),
      baseFee: this.options.baseFee,
      blobBaseFee: this.options.blobBaseFee,
    }
  }

  /** Returns the number of the newest L1 block at an L2 time in seconds. */
  epochAt(timestamp: number): number {
    return Math.max(0, Math.floor((timestamp - this.#genesisTimestamp) / L1_EPOCH_SECONDS))
  }

  /** Returns the timestamp of an L1 block in seconds. */
  epochStart(number: number): number {
    return this.#genesisTimestamp + number * L1_EPOCH_SECONDS
  }
}
