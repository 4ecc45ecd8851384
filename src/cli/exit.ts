/** Exit codes of the command. */
export const EXIT = {
  good: 0,
  /** the node could not start, such as a busy port, or not leave its state file; a step of the demo failed */
  failed: 1,
  /** a wrong flag, variable or configuration key */
  usage: 2,
  /** a genesis, chain, state, keystore or policy file, or a data directory, that cannot be used */
  file: 3,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** Ends the command with a sentence for the person in front of it. */
export class CommandError extends Error {
  readonly exitCode: ExitCode

  constructor(exitCode: ExitCode, message: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'CommandError'
    this.exitCode = exitCode
  }
}
