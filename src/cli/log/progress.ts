import { grouped } from '../terminal.ts'
import { PROGRESS_AFTER_MS, PROGRESS_INTERVAL_MS, PROGRESS_REWRITE_MS } from './limits.ts'

interface ProgressOptions {
  /** prints a line */
  readonly line: (text: string) => void
  /** writes to a terminal, whose last line is rewritten; null: `line` is used instead */
  readonly rewrite: ((text: string) => void) | null
  /** time between two lines; PROGRESS_INTERVAL_MS by default */
  readonly intervalMs?: number
  /** a monotonic clock in milliseconds */
  readonly now?: () => number
}

/** Prints the progress of a long operation: on a terminal one line that is rewritten, elsewhere a line per interval, none in the first second. */
export class Progress {
  readonly #options: ProgressOptions
  readonly #now: () => number
  #nextMs: number | null = null
  #isShown = false

  constructor(options: ProgressOptions) {
    this.#options = options
    this.#now = options.now ?? (() => performance.now())
  }

  /** The operation is at `text`; the first call starts it. */
  update(text: () => string): void {
    const { line, rewrite, intervalMs = PROGRESS_INTERVAL_MS } = this.#options
    const nowMs = this.#now()
    this.#nextMs ??= nowMs + PROGRESS_AFTER_MS
    if (nowMs < this.#nextMs) return
    this.#nextMs = nowMs + (rewrite === null ? intervalMs : PROGRESS_REWRITE_MS)
    if (rewrite === null) line(text())
    else rewrite(`${CLEAR_LINE}${text()}`)
    this.#isShown = rewrite !== null
  }

  /** The operation has ended. */
  end(): void {
    this.hide()
    this.#nextMs = null
  }

  /** Removes the line from the terminal before other output. */
  hide(): void {
    if (this.#isShown) this.#options.rewrite?.(CLEAR_LINE)
    this.#isShown = false
  }
}

const CLEAR_LINE = '\r\u001b[2K'

/** `mining: block 20,000 of 100,000` */
export function miningText(mined: number, count: number): string {
  return `mining: block ${grouped(mined)} of ${grouped(count)}`
}
