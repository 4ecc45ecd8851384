import { BREATH_MS } from './limits.ts'

/**
 * Lets everybody else have a turn while a change of many blocks is under way: between two of them, every few milliseconds.
 * This is not the chain's time, and no block depends on it.
 */
export class Breath {
  #dueMs = performance.now() + BREATH_MS

  get isDue(): boolean {
    return performance.now() >= this.#dueMs
  }

  /** Between two blocks. Null: go on at once. */
  take(): Promise<void> | null {
    return this.isDue ? this.#pause() : null
  }

  async #pause(): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve))
    this.#dueMs = performance.now() + BREATH_MS
  }
}
