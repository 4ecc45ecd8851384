/** Exit codes of the command. */
export const EXIT = {
  good: 0,
  /** the node could not start (such as a busy port) or not write its state file, or a step of the demo failed */
  failed: 1,
  /** a wrong flag, variable or configuration key, a flag whose optional dependency is missing, or an endpoint that cannot be audited */
  usage: 2,
  /** a genesis, chain, state, keystore or policy file, or a data directory, cannot be used, or the page of an audit not be written */
  file: 3,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** Ends the command with its message on stderr. */
export class CommandError extends Error {
  readonly exitCode: ExitCode

  constructor(exitCode: ExitCode, message: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'CommandError'
    this.exitCode = exitCode
  }
}
