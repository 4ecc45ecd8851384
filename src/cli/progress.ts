/** Says how far an import is, when it takes long enough to wonder: at most one line a second, none in the first. */
export class Progress {
  readonly #say: (line: string) => unknown
  #nextMs: number

  constructor(say: (line: string) => unknown) {
    this.#say = say
    this.#nextMs = performance.now() + INTERVAL_MS
  }

  at(blockNumber: number): void {
    const nowMs = performance.now()
    if (nowMs < this.#nextMs) return
    this.#nextMs = nowMs + INTERVAL_MS
    this.#say(`importing: block ${blockNumber.toLocaleString('en-US')}`)
  }
}

const INTERVAL_MS = 1_000
