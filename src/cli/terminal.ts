/** The world around the command, handed in so that tests can be that world. */
export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly folder: string
  /** stdout: what programs read */
  readonly out: (text: string) => void
  /** stderr: what people are told besides */
  readonly err: (text: string) => void
  /** stdout shows colours */
  readonly coloured: boolean
  /** aborted by SIGINT and SIGTERM */
  readonly stop: AbortSignal
}

/** Colour codes, or nothing. */
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

/** https://no-color.org: set and not empty means no. */
export function isColoured({ noColor }: { readonly noColor: boolean }, terminal: Pick<Terminal, 'coloured' | 'env'>): boolean {
  return terminal.coloured && !noColor && (terminal.env['NO_COLOR'] ?? '') === ''
}
