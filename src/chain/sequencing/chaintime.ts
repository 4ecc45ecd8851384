import type { Block } from '../../eth/index.ts'
import type { Clock } from './clock.ts'

/** Time settings that a snapshot stores. */
export interface TimeSnapshot {
  readonly nowMs: number
  readonly nextSeconds: number | null
  readonly intervalSeconds: number | null
}

/** The chain's time: the clock plus an offset. Block timestamps strictly increase. */
export class ChainTime {
  readonly #clock: Clock
  #offsetMs = 0
  /** The time at the start and after a reset; `null` for the clock's. */
  #startMs: number | null = null
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

  /** Distance between block timestamps; `null` for the clock's time. */
  get intervalSeconds(): number | null {
    return this.#intervalSeconds
  }

  /** Sets the time of the start, to which `reset` returns. */
  startAt(milliseconds: number): void {
    this.#startMs = milliseconds
    this.set(milliseconds)
  }

  /** Clears all settings and sets the time of a new start; `null` for the clock's. */
  restart(startMs: number | null): void {
    this.#startMs = startMs
    this.reset()
  }

  increase(milliseconds: number): void {
    this.#offsetMs += milliseconds
  }

  /** Sets the current time in milliseconds; it advances from there. */
  set(milliseconds: number): void {
    this.#offsetMs = milliseconds - this.#clock.nowMs()
    this.#nextSeconds = null
  }

  /** Sets the exact timestamp of the next block; time advances from there. */
  setNext(seconds: number): void {
    this.#nextSeconds = seconds
  }

  /** Sets the distance between block timestamps; `null` for the clock's time. */
  setInterval(seconds: number | null): void {
    this.#intervalSeconds = seconds
  }

  /** Runs `work` at another time of the chain. */
  asOf<T>(nowMs: number, work: () => T): T {
    const offsetMs = this.#offsetMs
    this.#offsetMs = nowMs - this.#clock.nowMs()
    try {
      return work()
    } finally {
      this.#offsetMs = offsetMs
    }
  }

  /** Returns the timestamp of the block after `parent` in milliseconds: whole seconds unless `native`. */
  nextTimestampMs(parent: Block, native: boolean): number {
    return this.#nextSeconds === null ? this.#timestampFromClock(parent, native) : this.#nextSeconds * 1_000
  }

  /** Clears the next block's timestamp, and advances the time to a block that is ahead of it. */
  onSealed(timestampMs: number): void {
    if (this.#nextSeconds !== null || timestampMs > this.nowMs()) this.#offsetMs = timestampMs - this.#clock.nowMs()
    this.#nextSeconds = null
  }

  /** Restores the time of the start and clears all settings. */
  reset(): void {
    this.#offsetMs = this.#startMs === null ? 0 : this.#startMs - this.#clock.nowMs()
    this.#nextSeconds = null
    this.#intervalSeconds = null
  }

  /** Returns a function that restores the current settings, including the offset. */
  checkpoint(): () => void {
    const [offsetMs, nextSeconds, intervalSeconds] = [this.#offsetMs, this.#nextSeconds, this.#intervalSeconds]
    return () => {
      this.#offsetMs = offsetMs
      this.#nextSeconds = nextSeconds
      this.#intervalSeconds = intervalSeconds
    }
  }

  snapshot(): TimeSnapshot {
    return { nowMs: this.nowMs(), nextSeconds: this.#nextSeconds, intervalSeconds: this.#intervalSeconds }
  }

  restore(snapshot: TimeSnapshot): void {
    this.#offsetMs = snapshot.nowMs - this.#clock.nowMs()
    this.#nextSeconds = snapshot.nextSeconds
    this.#intervalSeconds = snapshot.intervalSeconds
  }

  #timestampFromClock(parent: Block, native: boolean): number {
    const parentMs = timestampMsOf(parent)
    if (this.#intervalSeconds !== null) return parentMs + this.#intervalSeconds * 1_000
    const unitMs = native ? NATIVE_UNIT_MS : 1_000
    return Math.max(Math.floor(this.nowMs() / unitMs) * unitMs, Math.floor(parentMs / unitMs) * unitMs + unitMs)
  }
}

/** BaseTime allows the millisecond parts 0, 200, 400, 600 and 800. */
export const NATIVE_UNIT_MS = 200

/** Returns a block's time in milliseconds under any cadence. */
export function timestampMsOf({ timestampMs, header }: Block): number {
  return timestampMs ?? header.timestamp * 1_000
}
