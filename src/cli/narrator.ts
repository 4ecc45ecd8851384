import type { Paint, Terminal } from './terminal.ts'

/** Tells the story of the demo: a line for each step with the milliseconds it took, and what belongs to it below. */
export class Narrator {
  readonly #out: Terminal['out']
  readonly #paint: Paint
  readonly #begunMs = performance.now()
  #lapMs = this.#begunMs
  #current = 'start'

  constructor(out: Terminal['out'], paint: Paint) {
    this.#out = out
    this.#paint = paint
  }

  /** What is going on, for the sentence that tells of a failure. */
  get current(): string {
    return this.#current
  }

  title(text: string): void {
    this.#out(`\n${this.#paint.strong(text)}\n\n`)
  }

  /** From here on it is about `name`. */
  begin(name: string): void {
    this.#current = name
  }

  /** What was begun is done. */
  done(text: string, ...more: readonly string[]): void {
    const nowMs = performance.now()
    this.#out(`  ${this.#paint.good(this.#current.padEnd(NAME))}${timeText(nowMs - this.#lapMs)}  ${text}\n`)
    this.#lapMs = nowMs
    for (const line of more) this.aside(line)
  }

  /** How long all of it took. */
  total(): void {
    this.#out(`  ${this.#paint.strong('all of it'.padEnd(NAME))}${timeText(performance.now() - this.#begunMs)}\n`)
  }

  /** A line that is no step. */
  aside(text: string): void {
    this.#out(`  ${' '.repeat(NAME + TIME)}  ${text}\n`)
  }

  /** A title with lines that can be pasted. */
  chapter(title: string, lines: readonly string[]): void {
    this.#out(`\n${this.#paint.strong(title)}\n\n${lines.map((line) => (line === '' ? '\n' : `  ${line}\n`)).join('')}\n`)
  }
}

function timeText(ms: number): string {
  return `${Math.round(ms).toLocaleString('en-US')} ms`.padStart(TIME)
}

/** Widths of the columns. */
const NAME = 14
const TIME = 9
