export type FleetReason =
  /** the server refuses user or password */
  | 'credentials'
  /** another chain, newer tables, an unusable URL, or a statement that is refused */
  | 'database'
  | 'read-only'
  /** the disk of the server is full */
  | 'full'
  /** the server cannot be reached */
  | 'unavailable'
  /** no process takes requests at present */
  | 'no-sequencer'
  /** another process has the lease */
  | 'deposed'
  /** a client library is not installed */
  | 'not-installed'
  /** another process began the chain while this one was about to */
  | 'begun'
  | 'options'

/** A fleet cannot be joined, or a server of it refuses something. The message contains the remedy, and no secret. */
export class FleetError extends Error {
  override readonly name = 'FleetError'
  readonly reason: FleetReason

  constructor(reason: FleetReason, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.reason = reason
  }
}
