import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { fleetStatus, handOver } from '../../src/fleet/index.ts'
import type { Fleet } from '../../src/fleet/index.ts'
import { StorageError } from '../../src/store/index.ts'
import { caughtUp, startProxy, startServers, until } from './fleet.fixture.ts'
import type { Member } from './fleet.fixture.ts'
import { NO_SERVERS, startNats } from './servers.fixture.ts'
import { Watcher } from './watcher.fixture.ts'

const DEAD = '0x000000000000000000000000000000000000dEaD'
/** Milliseconds that a sequencer keeps its lease without renewing it. */
const LEASE_MS = 2_000
const FAST = { cadence: { kind: 'preconf', blockTimeMs: 1_000, flashblockMs: 100 } } as const

describe.skipIf(NO_SERVERS !== null)(`the sequencer of a fleet${NO_SERVERS === null ? '' : ` (${NO_SERVERS})`}`, () => {
  let servers: Awaited<ReturnType<typeof startServers>>
  beforeAll(async () => {
    servers = await startServers()
  })
  afterEach(() => servers.closeMembers())
  afterAll(() => servers.stop())

  /** Sends from several accounts until it is stopped; returns the hashes. */
  function load({ ask }: Member, accounts: readonly string[]) {
    const end = new AbortController()
    const hashes: string[] = []
    const senders = accounts.map(async (from) => {
      while (!end.signal.aborted) {
        hashes.push((await ask('eth_sendTransaction', { from, to: DEAD, value: '0x1', gas: '0x5208' })) as string)
        await delay(20)
      }
    })
    return async () => {
      end.abort()
      await Promise.all(senders)
      return hashes
    }
  }

  test('is handed over without a lost promise, and the former one follows', async () => {
    const database = await servers.createDatabase()
    const first = await servers.start(database, 'sequencer', FAST)
    const second = await servers.start(database, 'standby')
    const replica = await servers.start(database, 'replica')
    const retracted: string[] = []
    replica.node.chain.head.subscribe((event) => {
      // The open block without transactions of users is not sealed.
      const transactions = event.kind === 'rewind' ? (event.retracted?.transactions ?? []) : []
      retracted.push(...transactions.filter(({ deposit }) => deposit === null).map(({ hash }) => hash))
    })
    const accounts = (await first.ask('eth_accounts')) as readonly string[]
    const stop = load(replica, accounts.slice(0, 5))
    await delay(1_500)
    const holder = await handOver({ nats: servers.nats.url, database })
    await until('the standby is the sequencer', async () =>
      (await fleetStatus({ nats: servers.nats.url, database })).members.some(({ name, isSequencer }) => isSequencer && name === holder),
    )
    await delay(1_500)
    const hashes = await stop()
    expect(hashes.length).toBeGreaterThan(30)
    await until('each transaction is sealed', async () => {
      const receipts = await Promise.all(hashes.map((hash) => second.ask('eth_getTransactionReceipt', hash)))
      return receipts.every((receipt) => receipt !== null)
    })
    await caughtUp(first, second)
    expect(await first.ask('eth_getBalance', DEAD, 'latest')).toBe(await second.ask('eth_getBalance', DEAD, 'latest'))
    expect(retracted).toEqual([])
    // Only the sequencer changes the chain, also within the process of another member.
    await expect(first.node.chain.mine(1)).rejects.toThrow('this process is not the sequencer; repeat the request')
    await expect(replica.node.chain.setTime(2_000_000_000)).rejects.toThrow('this process is not the sequencer')
    const { members, epoch } = await fleetStatus({ nats: servers.nats.url, database })
    expect(epoch).toBe(2)
    expect(members.map(({ role, isSequencer }) => [role, isSequencer])).toEqual([['standby', true], expect.anything(), expect.anything()])
    expect([...first.bugs, ...second.bugs, ...replica.bugs]).toEqual([])
  })

  test('promises its pool before it is handed over, so that the next one gives no nonce again', async () => {
    const database = await servers.createDatabase()
    const first = await servers.start(database, 'sequencer', { cadence: { kind: 'preconf', blockTimeMs: 2_000, flashblockMs: 1_000 } })
    const second = await servers.start(database, 'standby')
    const [from] = (await first.ask('eth_accounts')) as readonly string[]
    const send = ({ ask }: Member) => ask('eth_sendTransaction', { from, to: DEAD, value: '0x1', gas: '0x5208' })
    const hashes = [await send(first)]
    expect(first.node.chain.pool.size).toBe(1)
    await handOver({ nats: servers.nats.url, database })
    await until('the lease is handed over', () => first.notes.some((note) => note.includes('was handed over')))
    expect(first.node.chain.pool.size).toBe(0)
    hashes.push(await send(first))
    await until('the standby is the sequencer', () => second.notes.some((note) => note.includes('takes over')))
    hashes.push(await send(second))
    await until('three transactions are sealed', async () => (await second.ask('eth_getTransactionCount', from, 'latest')) === '0x3')
    const receipts = await Promise.all(hashes.map((hash) => second.ask('eth_getTransactionReceipt', hash)))
    expect(receipts).toEqual(hashes.map((transactionHash) => expect.objectContaining({ transactionHash })))
    expect([...first.bugs, ...second.bugs]).toEqual([])
  })

  test('promises its pool before it ends', async () => {
    const database = await servers.createDatabase()
    const first = await servers.start(database, 'sequencer', { cadence: { kind: 'preconf', blockTimeMs: 2_000, flashblockMs: 1_000 } })
    const second = await servers.start(database, 'standby')
    const [from] = (await first.ask('eth_accounts')) as readonly string[]
    const hash = await first.ask('eth_sendTransaction', { from, to: DEAD, value: '0x1', gas: '0x5208' })
    expect(first.node.chain.pool.size).toBe(1)
    await first.node.close()
    await until('the next sequencer has it', async () => (await second.ask('eth_getTransactionReceipt', hash)) !== null)
    expect([...first.bugs, ...second.bugs]).toEqual([])
  })

  test('is lost with transactions that it had accepted: a replica sends raw ones again, and reports the others', async () => {
    const database = await servers.createDatabase()
    await using proxy = await startProxy(servers.nats.port)
    const cadence = { kind: 'preconf', blockTimeMs: 4_000, flashblockMs: 2_000 } as const
    const first = await servers.start(database, 'sequencer', { cadence }, { nats: `nats://127.0.0.1:${proxy.port}` })
    const second = await servers.start(database, 'standby')
    const replica = await servers.start(database, 'replica')
    const [alice, bob] = (await first.ask('eth_accounts')) as readonly string[]
    const transfer = { to: DEAD, value: '0x1', gas: '0x5208' }
    const raw = await replica.ask('eth_signTransaction', { ...transfer, from: alice, nonce: '0x0' })
    await until('a flashblock', () => replica.node.chain.head.view.pending !== null)
    const index = () => first.node.chain.head.view.flashblockIndex
    const before = index()
    await until('the next flashblock', () => index() !== before)
    const answers = Promise.allSettled([
      replica.ask('eth_sendRawTransaction', raw),
      replica.ask('eth_sendTransaction', { ...transfer, from: bob }),
    ])
    await until('both are in the pool', () => first.node.chain.pool.size === 2)
    await delay(100)
    proxy.cut()
    await using client = await servers.connect(database)
    await client.query(
      "UPDATE pocketchain.chain SET expires_at = clock_timestamp() - interval '1 second', epoch = epoch + 1, holder = 'another'",
    )
    await until('the standby takes over', () => second.node.fleet?.status().isSequencer === true)
    const [sent, unknown] = await answers
    expect(unknown).toMatchObject({ reason: { message: expect.stringContaining('it may have been executed') as string } })
    expect(sent.status).toBe('fulfilled')
    const hash = (sent as PromiseFulfilledResult<unknown>).value
    await until('the transaction is sealed', async () => (await second.ask('eth_getTransactionReceipt', hash)) !== null)
    expect(await second.ask('eth_getTransactionCount', bob, 'pending')).toBe('0x0')
    expect([...second.bugs, ...replica.bugs]).toEqual([])
  })

  test('seals nothing while PostgreSQL is away, promises for a limited time, and then goes on with the same block', async () => {
    const database = await servers.createDatabase()
    const sequencer = await servers.start(database, 'sequencer', FAST, { outageMs: 2_500 })
    await until('a sealed block', () => sequencer.node.chain.head.view.head.header.number > 0)
    const [alice] = (await sequencer.ask('eth_accounts')) as readonly string[]
    await servers.postgres.kill()
    await until('the loss is noticed', () => sequencer.notes.some((note) => note.includes('no block is sealed until this is mended')))
    const { number } = sequencer.node.chain.head.view.head.header
    const hash = await sequencer.ask('eth_sendTransaction', { from: alice, to: DEAD, value: '0x1', gas: '0x5208' })
    await until('a promise without PostgreSQL', async () => (await sequencer.ask('eth_getTransactionReceipt', hash)) !== null)
    const { url } = await sequencer.node.listen()
    expect((await fetch(new URL('/readyz', url))).status).toBe(503)
    await until('promises stop', async () => {
      const before = sequencer.node.chain.head.view.flashblockIndex
      await delay(400)
      return sequencer.node.chain.head.view.flashblockIndex === before
    })
    expect(sequencer.node.chain.head.view.head.header.number).toBe(number)
    await servers.postgres.start()
    await until('blocks are sealed again', () => sequencer.node.chain.head.view.head.header.number > number + 1)
    expect(await sequencer.ask('eth_getTransactionReceipt', hash)).toMatchObject({
      blockNumber: `0x${(number + 1).toString(16)}`,
      status: '0x1',
    })
    expect((await fetch(new URL('/readyz', url))).status).toBe(200)
    expect(sequencer.bugs).toEqual([])
  })

  test('has replicas that fetch the messages that they missed', async () => {
    const database = await servers.createDatabase()
    const sequencer = await servers.start(database, 'sequencer', FAST)
    await using proxy = await startProxy(servers.nats.port)
    const replica = await servers.start(database, 'replica', {}, { nats: `nats://127.0.0.1:${proxy.port}` })
    await until('the replica follows', () => (replica.node.fleet?.status().counts.frames ?? 0) > 0)
    proxy.cut()
    await sealsAnother(sequencer)
    proxy.mend()
    await until('the missed frames are applied', () => {
      const { counts } = replica.node.fleet?.status() ?? { counts: { gaps: 0, repairedFrames: 0 } }
      return counts.gaps > 0 && counts.repairedFrames > 0
    })
    await caughtUp(replica, sequencer)
    expect(replica.node.fleet?.status().counts.resyncs).toBe(0)
    expect([...replica.bugs, ...sequencer.bugs]).toEqual([])
  })

  test('has replicas that read the database where JetStream is off', async () => {
    await using nats = await startNats({ jetStream: false })
    const database = await servers.createDatabase()
    const sequencer = await servers.start(database, 'sequencer', FAST, { nats: nats.url })
    expect(sequencer.notes.join()).toContain('NATS has no JetStream now')
    await using proxy = await startProxy(nats.port)
    const replica = await servers.start(database, 'replica', {}, { nats: `nats://127.0.0.1:${proxy.port}` })
    await until('the replica follows', () => (replica.node.fleet?.status().counts.frames ?? 0) > 0)
    proxy.cut()
    await sealsAnother(sequencer)
    proxy.mend()
    await until('the chain is read again', () => (replica.node.fleet?.status().counts.resyncs ?? 0) > 0)
    await caughtUp(replica, sequencer)
    await until('promises come again', () => (replica.node.chain.head.view.pending?.header.number ?? 0) > 0)
    expect([...replica.bugs, ...sequencer.bugs]).toEqual([])
    await servers.closeMembers()
  })

  test('is refused by the database once another process has the lease', async () => {
    const database = await servers.createDatabase()
    const sequencer = await servers.start(database, 'sequencer', FAST)
    const standby = await servers.start(database, 'standby')
    await caughtUp(standby, sequencer)
    await using client = await servers.connect(database)
    // As after a pause that is longer than the lease.
    await client.query(
      "UPDATE pocketchain.chain SET expires_at = clock_timestamp() - interval '1 second', epoch = epoch + 1, holder = 'another'",
    )
    await until('the former sequencer stops', () => sequencer.deposed.length > 0)
    expect(sequencer.deposed[0]).toContain('another process is the sequencer now')
    const { number } = sequencer.node.chain.head.view.head.header
    await until('the standby takes over', () => standby.node.chain.head.view.head.header.number > number + 1)
    expect(sequencer.node.chain.head.view.head.header.number).toBe(number)
  })

  test('promises no longer than its lease while it is cut off, and announces these promises as retracted when it is deposed', async () => {
    const database = await servers.createDatabase()
    await using proxy = await startProxy(servers.postgres.port)
    const cadence = { kind: 'preconf', blockTimeMs: 60_000, flashblockMs: 100 } as const
    const throughProxy = database.replace(`:${servers.postgres.port}/`, `:${proxy.port}/`)
    const sequencer = await servers.start(throughProxy, 'sequencer', { cadence })
    const { wsUrl } = await sequencer.node.listen()
    const watcher = new Watcher(() => wsUrl)
    const { head } = sequencer.node.chain
    const send = async () => {
      const [from] = (await sequencer.ask('eth_accounts')) as readonly string[]
      return (await sequencer.ask('eth_sendTransaction', { from, to: DEAD, value: '0x1', gas: '0x5208' })) as string
    }
    await until('a flashblock', () => head.view.flashblockIndex >= 0)
    await until('the client is subscribed', () => watcher.isSubscribed)
    proxy.cut()
    const leaseEnd = delay(LEASE_MS + 50)
    const hash = await send()
    await until('a promise', () => watcher.promised.has(hash))
    await leaseEnd
    const { flashblockIndex } = head.view
    await delay(400)
    expect(head.view.flashblockIndex).toBe(flashblockIndex)
    {
      await using client = await servers.connect(database)
      await client.query(
        "UPDATE pocketchain.chain SET expires_at = clock_timestamp() + interval '1 minute', epoch = epoch + 1, holder = 'another'",
      )
    }
    proxy.mend()
    await until('the retraction', () => watcher.retracted.has(hash))
    watcher.close()
    expect(sequencer.deposed).toHaveLength(1)
    expect(head.view.pending).toBeNull()
    await expect(send()).rejects.toThrow('this process is not the sequencer; repeat the request')
    expect(sequencer.bugs).toEqual([])
  })

  test('seals its promises late: replicas that follow it by then get all of the block, and announce it once', async () => {
    const database = await servers.createDatabase()
    const cadence = { kind: 'preconf', blockTimeMs: 60_000, flashblockMs: 100 } as const
    await using nats = await startNats({ jetStream: false })
    await using toNats = await startProxy(nats.port)
    await using toPostgres = await startProxy(servers.postgres.port)
    const throughProxy = database.replace(`:${servers.postgres.port}/`, `:${toPostgres.port}/`)
    const sequencer = await servers.start(database, 'sequencer', { cadence }, { nats: nats.url })
    const standby = await servers.start(throughProxy, 'standby', {}, { nats: nats.url })
    const replica = await servers.start(database, 'replica', {}, { nats: `nats://127.0.0.1:${toNats.port}` })
    const heads: number[] = []
    replica.node.chain.head.subscribe((event) => {
      if (event.kind === 'block' && event.sealed) heads.push(event.block.header.number)
    })
    // Without JetStream they have the next block from its beginning.
    await sequencer.node.chain.mine(1)
    const [from] = (await sequencer.ask('eth_accounts')) as readonly string[]
    const hash = (await sequencer.ask('eth_sendTransaction', { from, to: DEAD, value: '0x1', gas: '0x5208' })) as string
    const isPromised = ({ node }: Member) => node.chain.head.view.pending?.transactions.some((tx) => tx.hash === hash) === true
    await until('the promise is everywhere', () => [standby, replica].every(isPromised))
    const withheld = toPostgres.withhold('client', 'SET commit_number')
    await using client = await servers.connect(database)
    await client.query("UPDATE pocketchain.chain SET expires_at = clock_timestamp() - interval '1 second', epoch = epoch + 1")
    await withheld
    await until('the replica follows the next sequencer', () => replica.node.fleet?.status().epoch === 3)
    toPostgres.cut()
    toPostgres.mend()
    const isSealed = ({ node }: Member) => node.chain.head.view.head.header.number === 2
    await until('the block is sealed', () => [standby, replica].every(isSealed))
    const proofOf = ({ ask }: Member) => ask('eth_getProof', from, [], 'latest')
    expect(await proofOf(replica)).toEqual(await proofOf(standby))
    // The blocks are read from the database again.
    const { resyncs } = replica.node.fleet?.status().counts ?? { resyncs: 0 }
    const { flashblockIndex } = standby.node.chain.head.view
    toNats.cut()
    await until('flashblocks are missed', () => standby.node.chain.head.view.flashblockIndex > flashblockIndex + 1)
    toNats.mend()
    await until('the chain is read again', () => (replica.node.fleet?.status().counts.resyncs ?? 0) > resyncs)
    await standby.node.chain.mine(1)
    await caughtUp(replica, standby)
    expect(heads).toEqual([1, 2, 3])
    expect([...standby.bugs, ...replica.bugs]).toEqual([])
  })

  test('of an L1 chain has a standby that follows its empty blocks, and takes over', async () => {
    const database = await servers.createDatabase()
    const sequencer = await servers.start(database, 'sequencer', { ...FAST, chainType: 'l1' })
    const standby = await servers.start(database, 'standby')
    await until('the standby follows blocks', () => standby.node.chain.head.view.head.header.number > 2)
    expect(standby.node.fleet?.status().counts.resyncs).toBe(0)
    await sequencer.node.close()
    await until('the standby is the sequencer', () => standby.node.fleet?.status().isSequencer === true)
    const { number } = standby.node.chain.head.view.head.header
    await until('it builds blocks', () => standby.node.chain.head.view.head.header.number > number + 1)
    expect([...sequencer.bugs, ...standby.bugs]).toEqual([])
  })

  function fillDisk({ node }: Member): void {
    // The node's type shows only its status.
    ;(node.fleet as Fleet).storage.commit = () => {
      throw new StorageError('full', 'the disk is full')
    }
  }

  /** A sequencer with a promise in its open block, and a standby. */
  async function promising() {
    const database = await servers.createDatabase()
    const cadence = { kind: 'preconf', blockTimeMs: 60_000, flashblockMs: 100 } as const
    const sequencer = await servers.start(database, 'sequencer', { cadence })
    const standby = await servers.start(database, 'standby')
    const [from] = (await sequencer.ask('eth_accounts')) as readonly string[]
    const hash = await sequencer.ask('eth_sendTransaction', { from, to: DEAD, value: '0x1', gas: '0x5208' })
    const isPromised = ({ node }: Member) => node.chain.head.view.pending?.transactions.some((tx) => tx.hash === hash) === true
    await until('the promise is everywhere', () => [sequencer, standby].every(isPromised))
    return { database, sequencer, standby }
  }

  test('is a standby whose disk is full when it takes over: it ends its lease, and another takes over', async () => {
    const { database, standby } = await promising()
    fillDisk(standby)
    await using client = await servers.connect(database)
    await client.query("UPDATE pocketchain.chain SET expires_at = clock_timestamp() - interval '1 second', epoch = epoch + 1")
    await until('the standby stops', () => standby.deposed.length > 0)
    expect(standby.deposed[0]).toContain('cannot build blocks (the disk is full)')
    const second = await servers.start(database, 'standby')
    await until('the second standby is the sequencer', () => second.node.fleet?.status().isSequencer === true)
    expect(second.bugs).toEqual([])
  })

  test('has a full disk when it is handed over: it ends its lease, and the standby takes over', async () => {
    const { database, sequencer, standby } = await promising()
    fillDisk(sequencer)
    await handOver({ nats: servers.nats.url, database }).catch(() => undefined)
    await until('the sequencer stops', () => sequencer.deposed.length > 0)
    await until('the standby is the sequencer', () => standby.node.fleet?.status().isSequencer === true)
    expect(standby.bugs).toEqual([])
  })

  test('is a standby that cannot read the database when it takes over: another takes over, and the first one follows it', async () => {
    const database = await servers.createDatabase()
    await using proxy = await startProxy(servers.postgres.port)
    await servers.start(database, 'sequencer', FAST)
    const first = await servers.start(database.replace(`:${servers.postgres.port}/`, `:${proxy.port}/`), 'standby')
    const withheld = proxy.withhold('client', 'SELECT number, hash, record')
    await using client = await servers.connect(database)
    await client.query("UPDATE pocketchain.chain SET expires_at = clock_timestamp() - interval '1 second', epoch = epoch + 1")
    await withheld
    proxy.cut()
    const second = await servers.start(database, 'standby')
    await until('the second standby is the sequencer', () => second.node.fleet?.status().isSequencer === true)
    proxy.mend()
    await until('the first one has its blocks', () => {
      const [mine, other] = [first, second].map(({ node }) => node.chain.head.view.head.header.number)
      return mine !== undefined && mine > 1 && mine === other
    })
    expect(first.node.fleet?.status()).toMatchObject({ isSequencer: false, problem: null })
    expect([...first.bugs, ...second.bugs]).toEqual([])
  })
})

/** Resolves when the sequencer has sealed another block. */
function sealsAnother({ node }: Member): Promise<void> {
  const number = () => node.chain.head.view.head.header.number
  const before = number()
  return until('another block is sealed', () => number() > before)
}
