/** Bytes left for traces: a transaction of 30 million gas can produce gigabytes. All traces of one response share a budget. */
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

/** The trace exceeds the size limit of a response. */
export class TraceTooLarge extends Error {
  override readonly name = 'TraceTooLarge'

  constructor(limitBytes: number) {
    super(
      `the trace is larger than ${limitBytes} bytes: ask for less of it (disableStack, disableStorage, limit, onlyTopCall), or for one transaction`,
    )
  }
}
