import { Bus } from './bus.ts'
import { Database } from './database.ts'
import type { Position } from './database.ts'
import { Definition } from './definition.ts'
import { FleetError } from './errors.ts'
import type { FleetOptions, MemberStatus } from './fleet.ts'
import { FORWARD_MS, HAND_OVER_MS, LEASE_CHECK_MS, STATUS_MS } from './limits.ts'

type Servers = Pick<FleetOptions, 'nats' | 'database'>

/** The lease, and every process that answers. */
export interface FleetReport extends Pick<Position, 'epoch' | 'holder' | 'leaseMs' | 'head'> {
  /** The sequencer first. */
  readonly members: readonly MemberStatus[]
}

/** Requests the status of all processes of a fleet. Rejects with FleetError. */
export function fleetStatus(servers: Servers): Promise<FleetReport> {
  return withServers(servers, async (database, bus) => {
    const replies = await bus.requestAll('status', STATUS_MS)
    const members = replies.map((reply) => JSON.parse(Buffer.from(reply).toString()) as MemberStatus) // of the same program
    members.sort((a, b) => Number(b.isSequencer) - Number(a.isSequencer) || b.role.localeCompare(a.role) || a.name.localeCompare(b.name))
    const { epoch, holder, leaseMs, head } = await database.position()
    return { epoch, holder, leaseMs, head, members }
  })
}

/** Changes the sequencer without a loss, and returns the new one's name. Rejects with FleetError, also if no other process takes over. */
export function handOver(servers: Servers): Promise<string> {
  return withServers(servers, async (database, bus) => {
    const former = Buffer.from(await bus.request('hand-over', new Uint8Array(0), FORWARD_MS)).toString()
    const before = await database.position()
    for (const endMs = performance.now() + HAND_OVER_MS; ;) {
      const { epoch, holder } = await database.position()
      if (holder !== null && holder !== former) return holder
      if (epoch > before.epoch)
        throw new FleetError('no-sequencer', `no standby took over; ${former} is the sequencer again. Start a process with --role standby`)
      if (performance.now() > endMs)
        throw new FleetError('unavailable', `nobody has taken the lease within ${HAND_OVER_MS} ms; look at pocketchain fleet status`)
      await new Promise((resolve) => setTimeout(resolve, LEASE_CHECK_MS))
    }
  })
}

async function withServers<T>({ nats, database: url }: Servers, work: (database: Database, bus: Bus) => Promise<T>): Promise<T> {
  const database = await Database.connect(url)
  try {
    const chain = await database.chain()
    if (chain === null) throw new FleetError('database', 'the database holds no chain yet; start a sequencer first (--role sequencer)')
    const bus = await Bus.connect({ url: nats, chain: Definition.decode(chain.definition).id, onNote: () => undefined })
    try {
      return await work(database, bus)
    } finally {
      await bus.close()
    }
  } finally {
    await database.close()
  }
}
