import { BLOCK_PROBE_MS, FETCH_ROUNDS } from './limits.ts'
import { ColdTransactions } from './sequencing/warmup.ts'
import { MissingState } from './state/basestate.ts'
import type { StateHistory } from './state/history.ts'

/**
 * Repeats `work`, which changes nothing when it throws or continues where it stopped, until the state of the fork block that it reads is local.
 * `history` returns the chain's history at that time: a restart replaces it. Throws UpstreamError.
 */
export async function withFetches<T>(history: () => StateHistory, work: (isLastTry: boolean) => Promise<T> | T): Promise<T> {
  for (let round = 0; ; round++) {
    const isLastTry = round === FETCH_ROUNDS
    try {
      return await work(isLastTry)
    } catch (error) {
      const { base } = history()
      if (base === null || isLastTry) throw error
      if (error instanceof ColdTransactions) await error.settled
      else if (error instanceof MissingState) await base.fetch(error.keys, error.call)
      else throw error
    }
  }
}

/** On a fork: fetches what `work`, which changes nothing, misses. Throws UpstreamError. */
export async function prefetch(history: StateHistory, work: () => unknown): Promise<void> {
  for (let round = 0; history.base !== null && round < FETCH_ROUNDS; round++) {
    const keys = history.missingKeysOf(work, BLOCK_PROBE_MS)
    if (keys.length === 0) return
    await history.base.fetch(keys)
  }
}

/** On a fork: throws MissingState for all that `work`, which changes nothing, misses. */
export function assertLocal(history: StateHistory, work: () => unknown): void {
  const keys = history.base === null ? [] : history.missingKeysOf(work, BLOCK_PROBE_MS)
  if (keys.length > 0) throw new MissingState(keys)
}
