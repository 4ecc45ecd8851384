/** `strict`: violations of ERC-7562 are refused. `relaxed`: they are warnings. `off`: not checked. */
export type BundlerRules = 'strict' | 'relaxed' | 'off'

/** The stake with which an entity counts as staked. */
export interface StakeLimits {
  /** wei */
  readonly minStake: bigint
  /** seconds */
  readonly minUnstakeDelay: bigint
}

/** The settings for operations that arrive from now on. */
export interface RuleSettings extends StakeLimits {
  readonly rules: BundlerRules
}
