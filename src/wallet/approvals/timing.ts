/** Runs it once, that late. Returns what stops it. */
export function after(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms)
  return () => clearTimeout(timer)
}

/** The longest that a timer can wait: 2^31 - 1 ms, 24 days. A longer one would fire at once. */
const LONGEST_MS = 2 ** 31 - 1

/** Milliseconds that a timer can wait. Throws RangeError. */
export function delay(ms: number, what: string): number {
  if (Number.isSafeInteger(ms) && ms >= 0 && ms <= LONGEST_MS) return ms
  throw new RangeError(`${what}: expected whole milliseconds from 0 to ${LONGEST_MS}, got ${String(ms)}`)
}

/** What the work answers, or `late` when it takes longer. `work` must not reject. */
export async function within<T>(ms: number, work: Promise<T>, late: () => T): Promise<T> {
  let stop = (): void => {}
  const waited = new Promise<T>((resolve) => (stop = after(ms, () => resolve(late()))))
  return Promise.race([work, waited]).finally(() => stop())
}
