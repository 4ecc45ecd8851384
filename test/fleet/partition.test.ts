import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { beginUnder, launch } from '../command.fixture.ts'
import type { Command } from '../command.fixture.ts'
import { until } from './fleet.fixture.ts'
import { noNetwork, startNetwork } from './network.fixture.ts'
import type { Namespace, TestNetwork } from './network.fixture.ts'
import { NO_SERVERS, startNats, startPostgres, statement } from './servers.fixture.ts'
import type { TestServer } from './servers.fixture.ts'

const REASON = NO_SERVERS ?? noNetwork()
/** Milliseconds within which a process has to stop: below the 10 s after which Docker kills it. */
const STOP_MS = 9_000
const TRANSFER = { to: '0x000000000000000000000000000000000000dEaD', value: '0x1', gas: '0x5208' }

describe.skipIf(REASON !== null)(`a sequencer whose machine vanishes${REASON === null ? '' : ` (skipped: ${REASON})`}`, () => {
  let network: TestNetwork
  let nats: TestServer
  let postgres: Awaited<ReturnType<typeof startPostgres>>
  let machine: Namespace
  let sequencer: Command
  let replica: Command
  let database: string
  let databases = 0

  beforeAll(async () => {
    network = startNetwork()
    const { host, subnet } = network
    nats = await startNats({ host })
    postgres = await startPostgres({ host, access: [`host all postgres ${subnet} trust`] })
  })
  beforeEach(async () => {
    database = await postgres.createDatabase(`chain${databases++}`)
    machine = network.join()
    const fleet = ['--fleet', nats.url, '--database', database]
    sequencer = await beginUnder(machine.prefix, '--host', machine.host, ...fleet).answers()
    replica = await launch(...fleet, '--role', 'replica')
  })
  afterEach(async () => {
    await Promise.all([sequencer.kill(), replica.kill()])
    machine[Symbol.dispose]()
  })
  afterAll(async () => {
    await nats[Symbol.asyncDispose]()
    await postgres[Symbol.asyncDispose]()
    network[Symbol.dispose]()
  })

  const connections = () =>
    statement(postgres.url, `SELECT 1 FROM pg_stat_activity WHERE datname LIKE 'chain%' AND client_addr = '${machine.address}'`)

  test('does not keep requests of a replica, nor connections of PostgreSQL', async () => {
    const [from] = sequencer.ready.accounts
    await replica.ask('eth_sendTransaction', { ...TRANSFER, from })
    expect(await connections()).not.toEqual([])
    machine.cut('both')
    const begunMs = performance.now()
    await expect(replica.ask('eth_sendTransaction', { ...TRANSFER, from })).rejects.toThrow(
      'nothing has come from the sequencer for 6000 ms; it may have been executed: look for its effect before you repeat it',
    )
    expect(performance.now() - begunMs).toBeLessThan(9_000)
    await until('PostgreSQL has ended the connections', async () => (await connections()).length === 0, 20_000)
    machine.mend()
    // The lease is still free.
    await until('the replica is ready', async () => (await fetch(new URL('/readyz', replica.url))).status === 200)
    await replica.ask('eth_sendTransaction', { ...TRANSFER, from })
  })

  test('and a process of each role ends on SIGINT while it cannot reach the servers', async () => {
    const cutOff = network.join()
    const members: Command[] = []
    try {
      for (const role of ['standby', 'replica']) {
        const options = ['--host', cutOff.host, '--fleet', nats.url, '--database', database, '--role', role]
        members.push(await beginUnder(cutOff.prefix, ...options).answers())
      }
      // A commit that lasts while the lease is renewed opens a second connection, which is idle later.
      const opened = async () => {
        await sequencer.ask('anvil_mine', '0x200')
        return (await connections()).length > 1
      }
      await until('two connections', opened, 60_000)
      const waiting = sequencer.ask('anvil_mine', '0x800').catch(() => undefined)
      machine.cut('both')
      cutOff.cut('both')
      // Nothing has shown yet that the connections are lost.
      const stopping = [sequencer, ...members].map((member) => member.stop())
      const ends = await Promise.all(stopping.map((end) => Promise.race([end, delay(STOP_MS, null, { ref: false })])))
      expect(ends.map((end) => end?.code)).toEqual([0, 0, 0])
      await waiting
    } finally {
      await Promise.all(members.map((member) => member.kill()))
    }
  })
})
