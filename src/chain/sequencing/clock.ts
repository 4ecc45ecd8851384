import { Mutex } from '../mutex.ts'

/** Source of time. Injected, so that no code below it reads the machine's clock for block contents. */
export interface Clock {
  /** Milliseconds since the epoch. */
  nowMs(): number
  /** Runs `run` once at `timeMs` or as soon as possible after it. Returns the function that cancels it. */
  at(timeMs: number, run: () => void | Promise<void>): () => void
}

/** The machine's clock. */
export class RealClock implements Clock {
  nowMs(): number {
    return Date.now()
  }

  at(timeMs: number, run: () => void | Promise<void>): () => void {
    let timer: ReturnType<typeof setTimeout>
    const arm = () => {
      const leftMs = Math.max(0, timeMs - Date.now())
      timer = leftMs > TIMER_MS ? setTimeout(arm, TIMER_MS) : setTimeout(() => void run(), leftMs)
    }
    arm()
    return () => clearTimeout(timer)
  }
}

/** A longer timer runs after 1 ms. */
const TIMER_MS = 2 ** 31 - 1

interface Alarm {
  readonly timeMs: number
  readonly order: number
  readonly run: () => void | Promise<void>
}

/** A clock that only `advance` moves, for reproducible runs. */
export class ManualClock implements Clock {
  #nowMs: number
  #order = 0
  readonly #alarms = new Set<Alarm>()
  readonly #mutex = new Mutex()

  constructor(startMs: number) {
    this.#nowMs = startMs
  }

  nowMs(): number {
    return this.#nowMs
  }

  at(timeMs: number, run: () => void | Promise<void>): () => void {
    const alarm = { timeMs: Math.max(timeMs, this.#nowMs), order: this.#order++, run }
    this.#alarms.add(alarm)
    return () => this.#alarms.delete(alarm)
  }

  /** Advances by `durationMs`. Due alarms run in order, each awaited and at its own time. Concurrent calls run one after the other. */
  advance(durationMs: number): Promise<void> {
    return this.#mutex.runExclusive(() => this.#advanceNow(durationMs))
  }

  async #advanceNow(durationMs: number): Promise<void> {
    const endMs = this.#nowMs + durationMs
    for (let next = this.#nextDue(endMs); next !== null; next = this.#nextDue(endMs)) {
      this.#alarms.delete(next)
      this.#nowMs = next.timeMs
      await next.run()
    }
    this.#nowMs = endMs
  }

  #nextDue(endMs: number): Alarm | null {
    let first: Alarm | null = null
    for (const alarm of this.#alarms) {
      if (alarm.timeMs > endMs) continue
      if (first === null || alarm.timeMs < first.timeMs || (alarm.timeMs === first.timeMs && alarm.order < first.order)) first = alarm
    }
    return first
  }
}
