import type { EntryPointVersion } from '../eth/index.ts'

/** The EntryPoint versions that have a paymaster, the newest first. */
export const SPONSORED_VERSIONS = ['0.8', '0.7', '0.6'] as const satisfies readonly EntryPointVersion[]
export type SponsoredVersion = (typeof SPONSORED_VERSIONS)[number]
