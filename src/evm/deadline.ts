/** `globalThis.performance` is a getter in Node.js that costs as much as the reading itself. */
const clock = performance

/** Time limit of a request and of everything it executes. Block building has none. */
export class Deadline {
  /** milliseconds on the clock of `performance.now()` */
  readonly startMs: number
  readonly endMs: number
  readonly #limitMs: number

  /** Starts the limit now. `spentMs` have been used already, in another thread. */
  constructor(limitMs: number, spentMs = 0) {
    this.#limitMs = limitMs
    this.startMs = clock.now()
    this.endMs = this.startMs + limitMs - spentMs
  }

  /** @throws {OutOfTime} the limit has passed */
  check(): void {
    if (clock.now() >= this.endMs) throw new OutOfTime(this.#limitMs)
  }
}

/** A request exceeded its time limit. The message is geth's. */
export class OutOfTime extends Error {
  constructor(limitMs: number) {
    super(`execution aborted (timeout = ${limitMs / 1_000}s)`)
    this.name = 'OutOfTime'
  }
}
