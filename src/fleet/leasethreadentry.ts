import { setTimeout as delay } from 'node:timers/promises'
import { workerData } from 'node:worker_threads'
import { Client } from 'pg'
import { BUSY_MS, LEASE_MS, LEASE_RENEWAL_MS } from './limits.ts'
import { ENDED, RENEW_LEASE } from './lease.ts'
import type { LeaseThreadData } from './lease.ts'

// The program of the thread that renews the lease while the main thread is busy. A process that is stopped stops this thread, too.

const { config, epoch, beats } = workerData as LeaseThreadData // by leasethread.ts

/** Milliseconds after which a beat is late. The thread renews the lease for the first time when a third of it is left. */
const LATE_MS = 1.5 * LEASE_RENEWAL_MS

let client: Client | null = null
let seen = 0
let beatMs = performance.now()
let renewedMs = beatMs
for (;;) {
  await delay(LEASE_RENEWAL_MS / 2)
  const beat = Atomics.load(beats, 0)
  if (beat === ENDED) process.exit()
  const nowMs = performance.now()
  if (beat !== seen) {
    seen = beat
    beatMs = nowMs
  }
  const busyMs = nowMs - beatMs
  if (busyMs < LATE_MS || busyMs > BUSY_MS || nowMs - renewedMs < LEASE_RENEWAL_MS) continue
  renewedMs = nowMs
  if (!(await renews())) process.exit()
}

/** Returns false if another process has the lease. */
async function renews(): Promise<boolean> {
  try {
    client ??= await connect()
    const { rowCount } = await client.query(RENEW_LEASE, [epoch, LEASE_MS])
    return rowCount === 1
  } catch {
    // The next attempt uses another connection.
    client?.end().catch(() => undefined)
    client = null
    return true
  }
}

async function connect(): Promise<Client> {
  const connection = new Client({
    ...config,
    connectionTimeoutMillis: LEASE_RENEWAL_MS,
    statement_timeout: LEASE_MS,
    query_timeout: LEASE_MS,
    keepAlive: true,
    application_name: 'pocketchain lease',
  })
  connection.on('error', () => (client = null))
  await connection.connect()
  return connection
}
