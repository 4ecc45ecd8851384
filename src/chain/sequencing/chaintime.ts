import type { Block } from '../../eth/index.ts'
import type { Clock } from './clock.ts'

/** What a snapshot remembers of the time. */
export interface TimeMark {
  readonly nowMs: number
  readonly nextSeconds: number | null
  readonly intervalSeconds: number | null
}

/** The chain's time: the clock, moved by an offset, never standing still between two blocks. */
export class ChainTime {
  readonly #clock: Clock
  #offsetMs = 0
  #nextSeconds: number | null = null
  #intervalSeconds: number | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  nowMs(): number {
    return this.#clock.nowMs() + this.#offsetMs
  }

  nowSeconds(): number {
    return Math.floor(this.nowMs() / 1_000)
  }

  get offsetMs(): number {
    return this.#offsetMs
  }

  increase(milliseconds: number): void {
    this.#offsetMs += milliseconds
  }

  /** From now on the chain's time is `milliseconds` and runs on. */
  set(milliseconds: number): void {
    this.#offsetMs = milliseconds - this.#clock.nowMs()
    this.#nextSeconds = null
  }

  /** The next block has exactly this timestamp; time runs on from there. */
  setNext(seconds: number): void {
    this.#nextSeconds = seconds
  }

  /** Every block comes so many seconds after its parent; null: as the clock says. */
  setInterval(seconds: number | null): void {
    this.#intervalSeconds = seconds
  }

  /** The timestamp for the block after `parent`, in milliseconds; whole seconds unless `native`. */
  next(parent: Block, native: boolean): number {
    return this.#nextSeconds === null ? this.#natural(parent, native) : this.#nextSeconds * 1_000
  }

  /** A block of this time was sealed: what was set for one block is used up, and time runs on from a block that is ahead of it. */
  sealed(timestampMs: number): void {
    if (this.#nextSeconds !== null || timestampMs > this.nowMs()) this.#offsetMs = timestampMs - this.#clock.nowMs()
    this.#nextSeconds = null
  }

  /** The clock's own time again, with nothing set. */
  reset(): void {
    this.#offsetMs = 0
    this.#nextSeconds = null
    this.#intervalSeconds = null
  }

  /** Answers what brings back all that is set now. */
  checkpoint(): () => void {
    const [offsetMs, nextSeconds, intervalSeconds] = [this.#offsetMs, this.#nextSeconds, this.#intervalSeconds]
    return () => {
      this.#offsetMs = offsetMs
      this.#nextSeconds = nextSeconds
      this.#intervalSeconds = intervalSeconds
    }
  }

  mark(): TimeMark {
    return { nowMs: this.nowMs(), nextSeconds: this.#nextSeconds, intervalSeconds: this.#intervalSeconds }
  }

  restore(mark: TimeMark): void {
    this.#offsetMs = mark.nowMs - this.#clock.nowMs()
    this.#nextSeconds = mark.nextSeconds
    this.#intervalSeconds = mark.intervalSeconds
  }

  #natural(parent: Block, native: boolean): number {
    const parentMs = timestampMsOf(parent)
    if (this.#intervalSeconds !== null) return parentMs + this.#intervalSeconds * 1_000
    const unitMs = native ? NATIVE_STEP_MS : 1_000
    return Math.max(Math.floor(this.nowMs() / unitMs) * unitMs, Math.floor(parentMs / unitMs) * unitMs + unitMs)
  }
}

/** BaseTime allows the millisecond parts 0, 200, 400, 600 and 800. */
const NATIVE_STEP_MS = 200

/** A block's time in milliseconds, whatever its cadence. */
export function timestampMsOf({ timestampMs, header }: Block): number {
  return timestampMs ?? header.timestamp * 1_000
}
