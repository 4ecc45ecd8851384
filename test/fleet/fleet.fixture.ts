import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { Client } from 'pg'
import { createPocketchain } from '../../src/index.ts'
import type { Pocketchain, PocketchainOptions } from '../../src/index.ts'
import type { FleetOptions, Role } from '../../src/fleet/index.ts'
import { startNats, startPostgres } from './servers.fixture.ts'

/** A process of a fleet, in this process: it has nothing in common with the others but the servers. */
export interface Member {
  readonly node: Pocketchain
  readonly ask: (method: string, ...params: readonly unknown[]) => Promise<unknown>
  /** errors that the node has reported */
  readonly bugs: unknown[]
  readonly notes: string[]
  /** why it stopped to be the sequencer */
  readonly deposed: string[]
}

/** NATS and PostgreSQL, and the members that were started. */
export async function startServers() {
  const [nats, postgres] = await Promise.all([startNats(), startPostgres()])
  const members: Member[] = []
  let databases = 0
  return {
    nats,
    postgres,
    createDatabase: () => postgres.createDatabase(`chain${databases++}`),
    start: async (database: string, role: Role, options: PocketchainOptions = {}, fleet: Partial<FleetOptions> = {}): Promise<Member> => {
      const member = await startMember({ nats: nats.url, database, role, ...fleet }, options)
      members.push(member)
      return member
    },
    connect: async (database: string) => {
      const client = new Client(database)
      await client.connect()
      return { query: (text: string) => client.query(text), [Symbol.asyncDispose]: () => client.end() }
    },
    /** Closes the members, newest first. */
    closeMembers: async () => {
      for (const { node } of members.splice(0).toReversed()) await node.close()
    },
    stop: async () => {
      for (const { node } of members.splice(0).toReversed()) await node.close()
      await nats[Symbol.asyncDispose]()
      await postgres[Symbol.asyncDispose]()
    },
  }
}

async function startMember(fleet: FleetOptions, options: PocketchainOptions): Promise<Member> {
  const [bugs, notes, deposed]: [unknown[], string[], string[]] = [[], [], []]
  const node = await createPocketchain({
    fleet: { ...fleet, onDeposed: ({ message }) => deposed.push(message) },
    onError: (error) => bugs.push(error),
    onNote: (line) => notes.push(line),
    ...options,
  })
  return { node, bugs, notes, deposed, ask: (method, ...params) => node.request({ method, params }) }
}

/** Resolves when `isDone` is true; rejects after `timeMs` with `what`. */
export async function until(what: string, isDone: () => boolean | Promise<boolean>, timeMs = 15_000): Promise<void> {
  const endMs = performance.now() + timeMs
  while (!(await isDone())) {
    if (performance.now() > endMs) throw new Error(`not within ${timeMs} ms: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** Resolves when the replica has the sequencer's newest sealed block and the same pending transactions. */
export function caughtUp(replica: Member, sequencer: Member): Promise<void> {
  const heads = () => [replica, sequencer].map(({ node }) => node.chain.head.view)
  return until('the replica has the head of the sequencer', () => {
    const [mine, other] = heads()
    return mine?.head.hash === other?.head.hash
  })
}

/** Passes connections on to a port of this machine. */
export interface TestProxy extends AsyncDisposable {
  readonly port: number
  /** Destroys all connections, and refuses others until `mend`. */
  readonly cut: () => void
  readonly mend: () => void
  /** Connections so far, with those that were refused. */
  readonly connections: () => number
  /** Keeps back the next data with this text, and what follows it on the same connection. Resolves when it has come. */
  readonly withhold: (from: 'client' | 'server', text: string) => Promise<void>
}

export async function startProxy(target: number): Promise<TestProxy> {
  const sockets = new Set<Socket>()
  const withheld = new Set<Socket>()
  let trap: { readonly from: 'client' | 'server'; readonly text: string; readonly onData: () => void } | null = null
  let isCut = false
  let connections = 0
  const server = createServer((client) => {
    connections++
    if (isCut) {
      client.destroy()
      return
    }
    const upstream = connect(target, '127.0.0.1')
    for (const [side, from, to] of [
      ['client', client, upstream],
      ['server', upstream, client],
    ] as const) {
      sockets.add(from)
      from.on('data', (data) => {
        if (trap?.from === side && data.includes(trap.text)) {
          withheld.add(from)
          trap.onData()
          trap = null
        }
        if (!withheld.has(from)) to.write(data)
      })
      from.on('error', () => undefined)
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const cut = () => {
    isCut = true
    for (const socket of sockets) socket.destroy()
  }
  return {
    port: (server.address() as AddressInfo).port, // of a TCP server
    cut,
    mend: () => (isCut = false),
    connections: () => connections,
    withhold: (from, text) => new Promise((resolve) => (trap = { from, text, onData: resolve })),
    [Symbol.asyncDispose]: async () => {
      cut()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
