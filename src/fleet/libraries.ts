import type * as JetStream from '@nats-io/jetstream'
import type * as Nats from '@nats-io/transport-node'
import type * as Postgres from 'pg'
import { FleetError } from './errors.ts'

/** The clients of the servers. */
export interface Libraries {
  readonly connect: (typeof Nats)['connect']
  readonly headers: (typeof Nats)['headers']
  readonly createInbox: (typeof Nats)['createInbox']
  readonly jetstreamManager: (typeof JetStream)['jetstreamManager']
  readonly Pool: (typeof Postgres)['Pool']
}

/** Loads the optional dependencies that only a fleet needs. Rejects with FleetError `not-installed`. */
export async function loadLibraries(): Promise<Libraries> {
  try {
    const [{ connect, headers, createInbox }, { jetstreamManager }, { Pool }] = await Promise.all([
      import('@nats-io/transport-node'),
      import('@nats-io/jetstream'),
      import('pg'),
    ])
    return { connect, headers, createInbox, jetstreamManager, Pool }
  } catch (error) {
    throw new FleetError(
      'not-installed',
      'a fleet needs the clients of NATS and PostgreSQL; install them with: npm install pg @nats-io/transport-node @nats-io/jetstream',
      error,
    )
  }
}
