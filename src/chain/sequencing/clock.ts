import { Turns } from '../mutex.ts'

/** Time, handed in: nothing below the clock asks the machine what time it is (law 3). */
export interface Clock {
  /** milliseconds since the epoch */
  nowMs(): number
  /** Runs once at `timeMs` or as soon after as possible; answers the function that calls it off. */
  at(timeMs: number, run: () => void | Promise<void>): () => void
}

/** The machine's clock. */
export class RealClock implements Clock {
  nowMs(): number {
    return Date.now()
  }

  at(timeMs: number, run: () => void | Promise<void>): () => void {
    const timer = setTimeout(() => void run(), Math.max(0, timeMs - Date.now()))
    return () => clearTimeout(timer)
  }
}

interface Alarm {
  readonly timeMs: number
  readonly order: number
  readonly run: () => void | Promise<void>
}

/** A clock that moves only when told, so that two runs see the same times. */
export class ManualClock implements Clock {
  #nowMs: number
  #order = 0
  readonly #alarms = new Set<Alarm>()
  readonly #moves = new Turns()

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

  /** Moves on by `durationMs`; everything due is run in order, each awaited, seeing its own time. One move ends before the next. */
  advance(durationMs: number): Promise<void> {
    return this.#moves.take(() => this.#move(durationMs))
  }

  async #move(durationMs: number): Promise<void> {
    const endMs = this.#nowMs + durationMs
    for (let next = this.#due(endMs); next !== null; next = this.#due(endMs)) {
      this.#alarms.delete(next)
      this.#nowMs = next.timeMs
      await next.run()
    }
    this.#nowMs = endMs
  }

  #due(endMs: number): Alarm | null {
    let first: Alarm | null = null
    for (const alarm of this.#alarms) {
      if (alarm.timeMs > endMs) continue
      if (first === null || alarm.timeMs < first.timeMs || (alarm.timeMs === first.timeMs && alarm.order < first.order)) first = alarm
    }
    return first
  }
}
