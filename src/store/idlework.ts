import { IDLE_MS, IDLE_SLICE_MS } from './limits.ts'

/** Runs work in short slices once nothing has happened for a while. Does not keep the process alive. */
export class IdleWork {
  readonly #step: () => boolean
  #timer: NodeJS.Timeout | null = null
  #nextSlice: NodeJS.Timeout | null = null

  /** @param step a short piece of the work. Returns false if nothing is left. */
  constructor(step: () => boolean) {
    this.#step = step
  }

  /** Waits again: something has happened. */
  postpone(): void {
    this.#stopSlices()
    if (this.#timer === null) this.#timer = setTimeout(() => this.#slice(), IDLE_MS).unref()
    else this.#timer.refresh()
  }

  close(): void {
    this.#stopSlices()
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }

  #slice(): void {
    this.#nextSlice = null
    const end = performance.now() + IDLE_SLICE_MS
    while (performance.now() < end) if (!this.#step()) return
    // Not an immediate: without a reference it waits for another event, and with one it keeps the process alive.
    this.#nextSlice = setTimeout(() => this.#slice(), 0).unref()
  }

  #stopSlices(): void {
    if (this.#nextSlice !== null) clearTimeout(this.#nextSlice)
    this.#nextSlice = null
  }
}
