/** One mutex per key: serializes the nonces of an account and the questions of an origin. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<unknown>>()

  /** Reserves the next position under `key`, after all earlier calls. The caller must release it. */
  reserve(key: string): Reservation {
    let release = (): void => {}
    const released = new Promise<void>((resolve) => (release = resolve))
    const acquired = new Promise<void>((resolve) => {
      void this.runExclusive(key, () => {
        resolve()
        return released
      })
    })
    return { acquired, release }
  }

  /** Runs `work` after all earlier calls under `key` have settled, whether they succeeded or failed. */
  async runExclusive<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve()
    const run = before.then(work, work)
    this.#last.set(key, run)
    try {
      return await run
    } finally {
      if (this.#last.get(key) === run) this.#last.delete(key)
    }
  }
}

interface Reservation {
  /** resolves when all earlier positions are released; never rejects */
  readonly acquired: Promise<void>
  readonly release: () => void
}
