import { OF_A_FORK } from './consistency.ts'

/** The options of which test/fork/options.test.ts shows the effect. */
export const FORK_OPTIONS = ['forkUrl', ...OF_A_FORK, 'cachePath'] as const

export type ForkOptionName = (typeof FORK_OPTIONS)[number]
