/**
 * Bytes that traces may still hold: a transaction of 30 million gas can make gigabytes of them. One budget is shared by
 * all the traces of one answer.
 */
export class TraceBudget {
  readonly #limitBytes: number
  #left: number

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes
    this.#left = limitBytes
  }

  /** @throws {TraceTooLarge} */
  take(bytes: number): void {
    this.#left -= bytes
    if (this.#left < 0) throw new TraceTooLarge(this.#limitBytes)
  }
}

/** The trace would not fit into an answer. */
export class TraceTooLarge extends Error {
  override readonly name = 'TraceTooLarge'

  constructor(limitBytes: number) {
    super(
      `the trace is larger than ${limitBytes} bytes: ask for less of it (disableStack, disableStorage, limit, onlyTopCall), or for one transaction`,
    )
  }
}
