/** Resumes one waiter in each turn of the event loop, in order, so that timers and new requests run between them. */
export class EventLoopQueue {
  readonly #waiting: (() => void)[] = []

  get size(): number {
    return this.#waiting.length
  }

  /** Resolves in a turn in which no other waiter is resumed. */
  wait(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
      if (this.#waiting.length === 1) inNextTurn(this.#resume)
    })
  }

  readonly #resume = (): void => {
    this.#waiting.shift()?.()
    if (this.#waiting.length > 0) inNextTurn(this.#resume)
  }
}

/** Runs `work` in the next turn of the event loop. Browsers have no setImmediate. */
export function inNextTurn(work: () => void): void {
  if (typeof setImmediate === 'function') setImmediate(work)
  else setTimeout(work)
}
