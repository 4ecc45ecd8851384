import type { ExitCode } from './exit.ts'

/** The process environment of the command, a parameter for tests. */
export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly folder: string
  /** writes to stdout */
  readonly out: (text: string) => void
  /** Returns null if stdout accepts more text, else a promise that resolves when it does; absent: it always does. */
  readonly drained?: () => Promise<void> | null
  /** writes to stderr */
  readonly err: (text: string) => void
  /** true if stdout supports colours */
  readonly coloured: boolean
  /** true if stderr is a terminal, whose last line can be rewritten; absent: it is not */
  readonly isRewritable?: boolean
  /** aborted by SIGINT, SIGTERM and SIGHUP */
  readonly stop: AbortSignal
  /** Receives the function that a second signal calls before the process ends with the exit code that it returns. */
  readonly onDump?: (abandon: () => ExitCode) => void
  /** called when a node listens */
  readonly onReady?: () => void
}

/** Formats text with ANSI colour codes, or returns it unchanged. */
export interface Paint {
  readonly strong: (text: string) => string
  readonly good: (text: string) => string
  readonly bad: (text: string) => string
  readonly dim: (text: string) => string
}

export function paint(coloured: boolean): Paint {
  const code = (on: number, off: number) => (text: string) => (coloured ? `\u001b[${on}m${text}\u001b[${off}m` : text)
  return { strong: code(1, 22), good: code(32, 39), bad: code(31, 39), dim: code(2, 22) }
}

/** Formats a whole number with a comma after each three digits. `toLocaleString` takes 20 us. */
export function grouped(value: number | bigint): string {
  return value.toString().replaceAll(/\B(?=(\d{3})+$)/g, ',')
}

/** NO_COLOR (https://no-color.org): any value but the empty one disables colours. */
export function isColoured({ noColor }: { readonly noColor: boolean }, terminal: Pick<Terminal, 'coloured' | 'env'>): boolean {
  return terminal.coloured && !noColor && (terminal.env['NO_COLOR'] ?? '') === ''
}

/** Resolves when the signal is aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
