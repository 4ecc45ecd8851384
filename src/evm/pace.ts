import { LOOK_AT_CLOCK_STEPS, SLICE_MS } from './limits.ts'

/**
 * Lets everybody else have a turn while a long message runs, and ends one that takes too long. A request has one for all
 * that it executes; a block that is being built has one without an end.
 */
export class Pace {
  readonly #limitMs: number
  readonly #endMs: number
  #sliceEndMs: number
  #steps = 0

  constructor(limitMs: number) {
    const now = performance.now()
    this.#limitMs = limitMs
    this.#endMs = now + limitMs
    this.#sliceEndMs = now + SLICE_MS
  }

  /** Called before each opcode. Null: go on at once. Throws OutOfTime. */
  rest(): Promise<void> | null {
    return ++this.#steps % LOOK_AT_CLOCK_STEPS === 0 ? this.look() : null
  }

  /** The same between two larger pieces of work. */
  look(): Promise<void> | null {
    const now = performance.now()
    if (now < this.#sliceEndMs) return null
    if (now > this.#endMs) throw new OutOfTime(this.#limitMs)
    return this.#stepAside()
  }

  async #stepAside(): Promise<void> {
    await (lane = lane.then(nextTurn))
    this.#sliceEndMs = performance.now() + SLICE_MS
  }
}

/** One long message per turn of the event loop, however many there are: the chain's own timers come between any two. */
let lane: Promise<void> = Promise.resolve()

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** A message ran longer than its caller wanted to wait. The words are geth's. */
export class OutOfTime extends Error {
  constructor(limitMs: number) {
    super(`execution aborted (timeout = ${limitMs / 1_000}s)`)
    this.name = 'OutOfTime'
  }
}
