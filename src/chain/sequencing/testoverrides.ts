import type { Address, Hash } from '../../eth/index.ts'
import type { FeeParameters } from './basefee.ts'

/** Settings for coming blocks that tests can change; one mutable object shared by sequencer, view factory and snapshots. */
export interface TestOverrides {
  gasLimit: bigint
  coinbase: Address
  feeParameters: FeeParameters
  /** Wei; applies to one block. */
  nextBaseFee: bigint | null
  /** Applies to one block. */
  nextPrevRandao: Hash | null
  /** Counts reorgs, so that replacement blocks differ from the replaced ones. */
  salt: number
}

/** Returns the settings at chain start. */
export function initialOverrides({
  gasLimit,
  coinbase,
  feeParameters,
}: Pick<TestOverrides, 'gasLimit' | 'coinbase' | 'feeParameters'>): TestOverrides {
  return { gasLimit, coinbase, feeParameters, nextBaseFee: null, nextPrevRandao: null, salt: 0 }
}
