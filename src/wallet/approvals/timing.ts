/** Calls `run` once after `ms`. Returns a function that cancels it. */
export function callAfter(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms)
  return () => clearTimeout(timer)
}

/** The longest delay of setTimeout: 2^31 - 1 ms, 24 days. A longer one fires immediately. */
const MAX_DELAY_MS = 2 ** 31 - 1

/** Returns `ms`. Throws RangeError unless it is a delay that setTimeout can keep. */
export function checkedDelay(ms: number, what: string): number {
  if (Number.isSafeInteger(ms) && ms >= 0 && ms <= MAX_DELAY_MS) return ms
  throw new RangeError(`${what}: expected whole milliseconds from 0 to ${MAX_DELAY_MS}, got ${String(ms)}`)
}

/** Resolves with the result of `work`, or with `fallback()` after `ms`. `work` must not reject. */
export async function withTimeout<T>(ms: number, work: Promise<T>, fallback: () => T): Promise<T> {
  let stop = (): void => {}
  const waited = new Promise<T>((resolve) => (stop = callAfter(ms, () => resolve(fallback()))))
  return Promise.race([work, waited]).finally(() => stop())
}
