import type { ForkProgress } from './options.ts'

const PROGRESS_MS = 100

/** Reports the values that a start has fetched, until it has ended. */
export class ProgressTimer {
  readonly #timer: NodeJS.Timeout
  #read: (() => ForkProgress) | null = null

  constructor(report: (fetched: ForkProgress) => void) {
    this.#timer = setInterval(() => {
      if (this.#read !== null) report(this.#read())
    }, PROGRESS_MS)
  }

  watch(read: () => ForkProgress): void {
    this.#read = read
  }

  end(): void {
    clearInterval(this.#timer)
  }
}
