/** `strict`: violations of ERC-7562 are refused. `relaxed`: they are warnings. `off`: they are not looked for. */
export type BundlerRules = 'strict' | 'relaxed' | 'off'

/** The stake with which an entity counts as staked. */
export interface StakeLimits {
  /** wei */
  readonly minStake: bigint
  /** seconds */
  readonly minUnstakeDelay: bigint
}

/** What applies to operations that arrive from now on. */
export interface RuleSettings extends StakeLimits {
  readonly rules: BundlerRules
}
