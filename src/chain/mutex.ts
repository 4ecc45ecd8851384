/** Lets one change of the chain happen at a time, in the order they were asked for. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve()

  /** Runs when everything asked for before has ended, however it ended. */
  take<T>(work: () => Promise<T> | T): Promise<T> {
    const turn = this.#last.then(work)
    this.#last = turn.catch(() => undefined)
    return turn
  }

  /** Resolves when everything asked for so far has ended. */
  async idle(): Promise<void> {
    await this.#last
  }
}
