/** Runs asynchronous changes one at a time, in call order. */
export class Mutex {
  #last: Promise<unknown> = Promise.resolve()

  /** Runs `work` after all earlier calls have settled, whether they succeeded or failed. */
  runExclusive<T>(work: () => Promise<T> | T): Promise<T> {
    const result = this.#last.then(work)
    this.#last = result.catch(() => undefined)
    return result
  }

  /** Resolves when all calls made so far have settled. */
  async idle(): Promise<void> {
    await this.#last
  }
}
