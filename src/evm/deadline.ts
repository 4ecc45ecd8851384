/** Of all who run this. Node makes the global one anew in a getter each time it is named, which costs as much as reading it. */
const clock = performance

/** When a request must be through. It has one for all that it executes; a block that is being built has none. */
export class Deadline {
  /** milliseconds, as `performance.now()` counts them */
  readonly startMs: number
  readonly endMs: number
  readonly #limitMs: number

  /** Begins to run at once. `spentMs` of it may be gone already, in another thread. */
  constructor(limitMs: number, spentMs = 0) {
    this.#limitMs = limitMs
    this.startMs = clock.now()
    this.endMs = this.startMs + limitMs - spentMs
  }

  /** Asked between two pieces of work. Throws OutOfTime. */
  check(): void {
    if (clock.now() >= this.endMs) throw new OutOfTime(this.#limitMs)
  }
}

/** A request ran longer than it may. The words are geth's. */
export class OutOfTime extends Error {
  constructor(limitMs: number) {
    super(`execution aborted (timeout = ${limitMs / 1_000}s)`)
    this.name = 'OutOfTime'
  }
}
