/** Renews the lease of an epoch, $1, by $2 milliseconds. Changes no row if another process has taken the lease. Time is the database's. */
export const RENEW_LEASE = `UPDATE pocketchain.chain SET expires_at = clock_timestamp() + $2 * interval '1 millisecond' WHERE epoch = $1`
