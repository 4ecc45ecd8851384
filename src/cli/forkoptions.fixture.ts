import type { OptionName } from './options.ts'

/** The options of which test/fork/options.test.ts shows the effect. */
export const FORK_OPTIONS = [
  'forkUrl',
  'forkBlockNumber',
  'forkTransactionHash',
  'forkChainId',
  'forkHeader',
  'timeout',
  'retries',
  'forkRetryBackoff',
  'computeUnitsPerSecond',
  'noRateLimit',
  'noStorageCaching',
  'cachePath',
] as const satisfies readonly OptionName[]

export type ForkOptionName = (typeof FORK_OPTIONS)[number]
