/** Runs asynchronous changes one at a time, in call order. */
export class Mutex {
  #last: Promise<unknown> = Promise.resolve()
  #changes = 0
  readonly #afterEach: () => Promise<void> | null
  #refusal: (() => Error) | null = null
  #closed: (() => Error) | null = null

  /** `afterEach` runs at the end of every call, also of one that throws; null: nothing is left to do. */
  constructor(afterEach: () => Promise<void> | null = () => null) {
    this.#afterEach = afterEach
  }

  /** Differs before, during and after each call. */
  get changes(): number {
    return this.#changes
  }

  /** From now on calls reject with this error, those that wait included, unless they are exempt. Null ends that. */
  refuse(error: (() => Error) | null): void {
    this.#refusal = error
  }

  /** Calls made from now on reject with this error, unless they are exempt; those made before still run. */
  close(error: () => Error): void {
    this.#closed = error
  }

  /** Runs `work` after all earlier calls have settled, whether they succeeded or failed. `isExempt`: also while calls are refused, and when it is closed. */
  runExclusive<T>(work: () => Promise<T> | T, isExempt = false): Promise<T> {
    if (this.#closed !== null && !isExempt) return Promise.reject(this.#closed())
    const result = this.#last.then(async () => {
      if (this.#refusal !== null && !isExempt) throw this.#refusal()
      this.#changes++
      try {
        return await work()
      } finally {
        const rest = this.#afterEach()
        if (rest !== null) await rest
        this.#changes++
      }
    })
    // Without the value, which may be a thousand blocks.
    this.#last = result.then(ignore, ignore)
    return result
  }

  /** Resolves when all calls made so far have settled. */
  async idle(): Promise<void> {
    await this.#last
  }
}

function ignore(): void {}
