import { TIME_SLICE_MS } from './limits.ts'

/** Yields to the event loop between the blocks of a long change, every TIME_SLICE_MS. Uses machine time; no block depends on it. */
export class TimeSlice {
  #endMs = performance.now() + TIME_SLICE_MS

  get isExpired(): boolean {
    return performance.now() >= this.#endMs
  }

  /** Yields to the event loop when the slice has expired. Returns `null` when it has not. */
  yieldIfExpired(): Promise<void> | null {
    return this.isExpired ? this.#yield() : null
  }

  async #yield(): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve))
    this.#endMs = performance.now() + TIME_SLICE_MS
  }
}
