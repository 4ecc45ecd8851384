/** Gives each waiter a turn of the event loop of its own, in order, so that timers and new requests run between them. */
export class Turns {
  readonly #waiting: (() => void)[] = []

  /** Resolves when the turn begins. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
      if (this.#waiting.length === 1) afterEvents(this.#resume)
    })
  }

  readonly #resume = (): void => {
    this.#waiting.shift()?.()
    if (this.#waiting.length > 0) afterEvents(this.#resume)
  }
}

/** Runs `work` after the events that have arrived. Browsers have no setImmediate. */
export function afterEvents(work: () => void): void {
  if (typeof setImmediate === 'function') setImmediate(work)
  else setTimeout(work)
}
