import { type Paint, type Terminal, grouped } from '../terminal.ts'

/** Prints the steps of the demo: a line for each with its duration in milliseconds, and details below. */
export class StepLog {
  readonly #out: Terminal['out']
  readonly #paint: Paint
  readonly #startMs = performance.now()
  #stepStartMs = this.#startMs
  #current = 'start'

  constructor(out: Terminal['out'], paint: Paint) {
    this.#out = out
    this.#paint = paint
  }

  /** Name of the current step. */
  get current(): string {
    return this.#current
  }

  title(text: string): void {
    this.#out(`\n${this.#paint.strong(text)}\n\n`)
  }

  begin(name: string): void {
    this.#current = name
  }

  /** Ends the current step. */
  done(text: string, ...details: readonly string[]): void {
    const nowMs = performance.now()
    this.#out(`  ${this.#paint.good(this.#current.padEnd(NAME_COLUMNS))}${duration(nowMs - this.#stepStartMs)}  ${text}\n`)
    this.#stepStartMs = nowMs
    for (const line of details) this.detail(line)
  }

  total(): void {
    this.#out(`  ${this.#paint.strong('total'.padEnd(NAME_COLUMNS))}${duration(performance.now() - this.#startMs)}\n`)
  }

  detail(text: string): void {
    this.#out(`  ${' '.repeat(NAME_COLUMNS + TIME_COLUMNS)}  ${text}\n`)
  }

  section(title: string, lines: readonly string[]): void {
    this.#out(`\n${this.#paint.strong(title)}\n\n${lines.map((line) => (line === '' ? '\n' : `  ${line}\n`)).join('')}\n`)
  }
}

function duration(ms: number): string {
  return `${grouped(Math.round(ms))} ms`.padStart(TIME_COLUMNS)
}

const NAME_COLUMNS = 14
const TIME_COLUMNS = 9
