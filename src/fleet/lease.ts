import type { ClientConfig } from 'pg'

/** What the thread reads at its start. */
export interface LeaseThreadData {
  /** Of PostgreSQL. */
  readonly config: ClientConfig
  readonly epoch: number
  /** A counter that the main thread increases while it is not busy; ENDED once the thread must not renew the lease any more. */
  readonly beats: Int32Array
}

export const ENDED = -1

/** Renews the lease of an epoch, $1, by $2 milliseconds. Changes no row if another process has taken the lease. Time is the database's. */
export const RENEW_LEASE = `UPDATE pocketchain.chain SET expires_at = clock_timestamp() + $2 * interval '1 millisecond' WHERE epoch = $1`
