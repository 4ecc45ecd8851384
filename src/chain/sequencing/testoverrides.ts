import type { Address, Hash } from '../../eth/index.ts'
import type { FeeParameters } from './basefee.ts'

/** What a test may set for coming blocks. One value, which whoever builds, shows or remembers blocks shares. */
export interface Knobs {
  gasLimit: bigint
  coinbase: Address
  feeParameters: FeeParameters
  /** wei; for one block, then null again */
  nextBaseFee: bigint | null
  /** for one block, then null again */
  nextPrevRandao: Hash | null
  /** makes the blocks of a second try differ from those of the first */
  salt: number
}

/** As a chain begins. */
export function freshKnobs({ gasLimit, coinbase, feeParameters }: Pick<Knobs, 'gasLimit' | 'coinbase' | 'feeParameters'>): Knobs {
  return { gasLimit, coinbase, feeParameters, nextBaseFee: null, nextPrevRandao: null, salt: 0 }
}
