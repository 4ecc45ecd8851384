import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chownSync, mkdtempSync, rmdirSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { Hash } from '../eth/index.ts'
import { Committer } from './committer.ts'
import { Database } from './database.ts'
import type { FleetCommit, StoreChange } from './database.ts'
import { FleetError } from './errors.ts'
import { LEASE_MS } from './limits.ts'
import { RecordCommitter } from './recordcommitter.ts'
import { startProxy, until } from '../../test/fleet/fleet.fixture.ts'
import { LOCKED, NO_SERVERS, freePort, startPostgres, statement } from '../../test/fleet/servers.fixture.ts'

const SECRET = 'hunter2-secret'
const NO_WRITES = { accounts: new Map(), storage: new Map(), codes: new Map() }
/** Longer than any test. */
const LONG_MS = 600_000

function block(number: number, sizeBytes = 100): StoreChange['blocks'][number] {
  const record = randomBytes(sizeBytes)
  return { number, hash: Hash.keccak(record), record, writes: NO_WRITES, stateRoot: Hash.keccak(record) }
}

/** One commit with blocks. */
function commitOf(epoch: number, commit: number, ...blocks: StoreChange['blocks']): FleetCommit {
  return { epoch, commit, frame: commit, changes: [{ blocks }] }
}

describe.skipIf(NO_SERVERS !== null)(`the database of a fleet${NO_SERVERS === null ? '' : ` (${NO_SERVERS})`}`, () => {
  let postgres: Awaited<ReturnType<typeof startPostgres>>
  /** Run after each test, newest first. */
  const ends: (() => PromiseLike<unknown>)[] = []
  let databases = 0
  beforeAll(async () => {
    postgres = await startPostgres({ access: ['host all nobody 127.0.0.1/32 reject'] })
    await statement(postgres.url, `CREATE ROLE ${LOCKED} LOGIN PASSWORD '${SECRET}:/%'`)
    await statement(postgres.url, 'CREATE ROLE nobody LOGIN')
    await statement(postgres.url, 'CREATE ROLE guest LOGIN')
  })
  afterEach(async () => {
    vi.useRealTimers()
    for (const end of ends.splice(0).toReversed()) await end()
  })
  afterAll(() => postgres[Symbol.asyncDispose]())

  async function create(): Promise<{ readonly url: string; readonly name: string; readonly title: string }> {
    const name = `d${databases++}`
    return { url: await postgres.createDatabase(name), name, title: titleOf(name) }
  }

  const titleOf = (name: string) => `127.0.0.1:${postgres.port}/${name}`
  const at = (credentials: string, name: string) => `postgres://${credentials}@${titleOf(name)}`

  async function open(url: string): Promise<Database> {
    const database = await Database.connect(url)
    ends.push(() => database.close())
    return database
  }

  async function proxyTo(port: number) {
    const proxy = await startProxy(port)
    ends.push(() => proxy[Symbol.asyncDispose]())
    return { proxy, through: (url: string) => url.replace(`:${port}/`, `:${proxy.port}/`) }
  }

  /** A new chain, and two processes. */
  async function pair() {
    const chain = await create()
    const [first, second] = [await open(chain.url), await open(chain.url)]
    await first.createChain({ chainId: 1, definition: 'first' })
    return { first, second, ...chain }
  }

  async function epochOf(database: Database, leaseMs = LONG_MS): Promise<number> {
    const epoch = await database.takeLease('holder', leaseMs)
    expect(epoch).not.toBeNull()
    return epoch ?? 0
  }

  const failure = (work: Promise<unknown>) =>
    work.then(
      () => null,
      (error: unknown) => {
        expect(inspect(error, { depth: 9 })).not.toContain(SECRET)
        return error instanceof FleetError ? { reason: error.reason, message: error.message } : error
      },
    )

  const refusal = (url: string) => failure(Database.connect(url).then((database) => database.close()))

  /** All that a fleet keeps. */
  const content = async (url: string) => [
    await statement(url, 'SELECT * FROM pocketchain.chain'),
    await statement(url, 'SELECT * FROM pocketchain.block ORDER BY number'),
    await statement(url, 'SELECT * FROM pocketchain.record ORDER BY key'),
  ]

  const DEPOSED = {
    reason: 'deposed',
    message: 'another process is the sequencer now; this one stops, and its last changes were not committed',
  }
  const EDIT = { ...NO_WRITES, codes: new Map([[Hash.keccak(Buffer.from('code')), Buffer.from('code')]]) }

  test('refuses the records of a deposed sequencer, which is no unhandled rejection', async () => {
    const { first, second } = await pair()
    const epoch = await epochOf(first, 0)
    await epochOf(second)
    const deposed: string[] = []
    const unhandled: unknown[] = []
    const onUnhandled = (reason: unknown) => unhandled.push(reason)
    process.on('unhandledRejection', onUnhandled)
    ends.push(async () => process.off('unhandledRejection', onUnhandled))
    const records = new RecordCommitter({ database: first, epoch, onDeposed: ({ message }) => deposed.push(message) })
    records.add(['wallet/x', new Uint8Array([1])])
    await until('the refusal', () => deposed.length > 0)
    await new Promise((resolve) => setTimeout(resolve, 0))
    expect(unhandled).toEqual([])
    await expect(records.settled()).rejects.toBeInstanceOf(FleetError)
  })

  describe('refuses', () => {
    test('a wrong password, none, and a user that may not connect', async () => {
      const refused = (what: string) => ({ reason: 'credentials', message: `PostgreSQL at ${titleOf('postgres')} refuses the ${what}` })
      const password = refused('password; check the user and the password in the URL')
      expect(await refusal(at(`${LOCKED}:wrong-${SECRET}`, 'postgres'))).toEqual(password)
      expect(await refusal(at(LOCKED, 'postgres'))).toEqual(password)
      const user = refused('user; check the user in the URL, and pg_hba.conf')
      expect(await refusal(at(`nobody:${SECRET}`, 'postgres'))).toEqual(user)
      expect(await refusal(at(`stranger:${SECRET}`, 'postgres'))).toEqual(user)
    })

    test('a database that does not exist', async () => {
      expect(await refusal(at(`postgres:${SECRET}`, 'missing'))).toEqual({
        reason: 'database',
        message: `PostgreSQL at ${titleOf('missing')} does not exist; create it with createdb`,
      })
    })

    test('a user without the right to make the tables, to read them, or to write them', async () => {
      const { url, name, title } = await create()
      const refused = {
        reason: 'credentials',
        message: `PostgreSQL at ${title} does not allow this user to make or write the tables; grant CREATE on the database, or use its owner`,
      }
      const guest = at(`guest:${SECRET}`, name)
      expect(await refusal(guest)).toEqual(refused)
      const owner = await open(url)
      await owner.createChain({ chainId: 1, definition: 'first' })
      expect(await refusal(guest)).toEqual(refused)
      await statement(url, 'GRANT USAGE ON SCHEMA pocketchain TO guest')
      await statement(url, 'GRANT SELECT ON ALL TABLES IN SCHEMA pocketchain TO guest')
      const reader = await open(guest)
      expect(await reader.chain()).toEqual({ chainId: 1, definition: 'first' })
      expect(await failure(reader.takeLease('guest', LONG_MS))).toEqual(refused)
    })

    test('changes on a server that is read-only, but not reads', async () => {
      const { url, name, title } = await create()
      const setReadOnly = (value: string) => statement(postgres.url, `ALTER DATABASE ${name} SET default_transaction_read_only = ${value}`)
      const refused = {
        reason: 'read-only',
        message: `PostgreSQL at ${title} is read-only; use the primary server, or end its recovery`,
      }
      await setReadOnly('on')
      expect(await refusal(url)).toEqual(refused)
      await setReadOnly('off')
      const database = await open(url)
      await database.createChain({ chainId: 1, definition: 'first' })
      const epoch = await epochOf(database)
      await setReadOnly('on')
      const reader = await open(url)
      expect((await reader.position()).epoch).toBe(epoch)
      expect(await failure(reader.takeLease('second', LONG_MS))).toEqual(refused)
      expect(await failure(reader.commit(commitOf(epoch, 1, block(0))))).toEqual(refused)
    })

    test('tables of a newer version', async () => {
      const { url, title } = await pair()
      await statement(url, 'UPDATE pocketchain.chain SET schema_version = 2')
      expect(await refusal(url)).toEqual({
        reason: 'database',
        message: `${title} was made by a newer pocketchain (tables of version 2, this one has 1); update this program`,
      })
    })

    test('a server that is away or unknown, and too many connections', async () => {
      const port = await freePort()
      expect(await refusal(`postgres://fleet:${SECRET}@127.0.0.1:${port}/d`)).toEqual({
        reason: 'unavailable',
        message: `PostgreSQL at 127.0.0.1:${port}/d cannot be reached (connect ECONNREFUSED 127.0.0.1:${port}); check that it runs, and the host and port in the URL`,
      })
      expect(await refusal(`postgres://fleet:${SECRET}@[::1]:${port}/d`)).toMatchObject({
        reason: 'unavailable',
        message: expect.stringMatching(/ECONNREFUSED|EADDRNOTAVAIL|EAFNOSUPPORT/),
      })
      expect(await refusal(`postgres://fleet:${SECRET}@host.invalid/d`)).toMatchObject({
        reason: 'unavailable',
        message: expect.stringContaining('PostgreSQL at host.invalid:5432/d cannot be reached (getaddrinfo'),
      })
      await statement(postgres.url, 'ALTER ROLE guest CONNECTION LIMIT 0')
      expect(await refusal(at(`guest:${SECRET}`, 'postgres'))).toEqual({
        reason: 'unavailable',
        message: `PostgreSQL at ${titleOf('postgres')} has no connection left; raise max_connections`,
      })
      await statement(postgres.url, 'ALTER ROLE guest CONNECTION LIMIT -1')
    })

    test('a URL that cannot be read, and TLS where the server has none', async () => {
      const form = {
        reason: 'database',
        message: 'the URL of the database cannot be read; it has the form postgres://user:password@host:5432/database',
      }
      expect(await refusal(`${SECRET}@host/d`)).toEqual(form)
      expect(await refusal(`postgres://fleet:${SECRET}@host:99999/d`)).toEqual(form)
      expect(await refusal(`postgres://fleet:${SECRET}%zz@host/d`)).toEqual(form)
      expect(await refusal(`mysql://fleet:${SECRET}@host/d`)).toEqual({
        reason: 'database',
        message: 'the URL of the database begins with mysql://, not with postgres://',
      })
      expect(await refusal(`${at(`guest:${SECRET}`, 'postgres')}?sslmode=verify-full`)).toEqual({
        reason: 'database',
        message: `PostgreSQL at ${titleOf('postgres')} has no TLS; remove sslmode from the URL, or turn ssl on in postgresql.conf`,
      })
    })

    test('blocks that are damaged, a chain and tables that were removed', async () => {
      const { first: database, url, title } = await pair()
      await database.commit(commitOf(await epochOf(database), 1, block(0)))
      await statement(url, "UPDATE pocketchain.block SET writes = '\\xc0'")
      const reading = (async () => {
        for await (const blocks of database.blocks(0, 0)) expect.unreachable(`${blocks.length} blocks were read`)
      })()
      expect(await failure(reading)).toEqual({
        reason: 'database',
        message: expect.stringMatching(new RegExp(`^block 0 in ${title} is damaged \\(.*\\); restore the database from a backup$`)),
      })
      await statement(url, 'DELETE FROM pocketchain.chain')
      expect(await failure(database.position())).toEqual({
        reason: 'database',
        message: `the chain of ${title} was removed; start the fleet again`,
      })
      await statement(url, 'DROP SCHEMA pocketchain CASCADE')
      expect(await failure(database.position())).toEqual({
        reason: 'database',
        message: `PostgreSQL at ${title} lacks a table of the fleet; restore the database from a backup, or use an empty one`,
      })
    })

    test('a statement that waits for another for too long', async () => {
      const { first, url, title } = await pair()
      const epoch = await epochOf(first)
      const { proxy, through } = await proxyTo(postgres.port)
      const stopped = await open(through(url))
      const atCommit = proxy.withhold('client', 'COMMIT')
      const committing = failure(stopped.commit(commitOf(epoch, 1, block(0))))
      await atCommit
      const renewing = failure(first.renewLease(epoch, LONG_MS))
      // As the server does when the time of a statement has passed.
      const cancel = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
      await until('a statement waits for the row', async () => (await statement(url, cancel)).length > 0)
      expect(await renewing).toEqual({
        reason: 'unavailable',
        message: `PostgreSQL at ${title} did not finish a statement in time; look for a lock in pg_stat_activity, or for a slow disk`,
      })
      proxy.cut()
      expect(await committing).toMatchObject({ reason: 'unavailable' })
    })
  })

  test('is used with a password that has special characters', async () => {
    const { name } = await create()
    await statement(postgres.url, `ALTER DATABASE ${name} OWNER TO ${LOCKED}`)
    const database = await open(at(`${LOCKED}:${encodeURIComponent(`${SECRET}:/%`)}`, name))
    expect(await database.createChain({ chainId: 1, definition: 'first' })).toBe(true)
  })

  test('is created by one of many processes that start at once, and keeps its chain', async () => {
    const { url } = await create()
    const all = await Promise.all(Array.from({ length: 8 }, () => open(url)))
    const created = await Promise.all(all.map((each, index) => each.createChain({ chainId: index + 1, definition: `of ${index}` })))
    expect(created.filter((isFirst) => isFirst)).toHaveLength(1)
    const first = created.indexOf(true)
    expect(await all[0]!.createChain({ chainId: 99, definition: 'another' })).toBe(false)
    for (const each of all) expect(await each.chain()).toEqual({ chainId: first + 1, definition: `of ${first}` })
  })

  test('survives that its connections are ended', async () => {
    const { first: database, url } = await pair()
    const epoch = await epochOf(database)
    const end = 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()'
    for (let turn = 1; turn <= 5; turn++) {
      await Promise.all([database.position(), database.position(), database.position()])
      await statement(url, end)
      const error = await failure(database.commit(commitOf(epoch, turn, block(turn))))
      if (error === null) continue
      expect(error).toMatchObject({ reason: 'unavailable' })
      await until('it is connected', async () => (await failure(database.position())) === null)
      await database.commit(commitOf(epoch, turn, block(turn)))
    }
    expect(await database.position()).toMatchObject({ commit: 5, head: 5 })
  })

  describe('has a lease', () => {
    test('that exactly one of several processes takes, 100 times', async () => {
      const { first, second, url } = await pair()
      const holders = [first, second, await open(url), await open(url)]
      for (let turn = 1; turn <= 100; turn++) {
        const epochs = await Promise.all(holders.map((database, index) => database.takeLease(`holder ${index}`, LONG_MS)))
        expect(epochs.filter((epoch) => epoch !== null)).toEqual([turn])
        const winner = epochs.indexOf(turn)
        expect(await first.position()).toMatchObject({ epoch: turn, holder: `holder ${winner}` })
        await holders[winner]!.endLease(turn)
      }
    })

    test('whose former holder changes nothing', async () => {
      const { first: former, second: present, url } = await pair()
      const old = await epochOf(former)
      await former.commit(commitOf(old, 1, block(0), block(1)))
      await former.commitRecords(old, [['wallet/a', Buffer.from('1')]])
      await former.endLease(old)
      const epoch = await epochOf(present)
      expect(epoch).toBe(old + 1)
      const before = await content(url)
      expect(await failure(former.commit(commitOf(old, 2, block(2))))).toEqual(DEPOSED)
      const changes = [
        { truncateTo: 0, blocks: [block(1)] },
        { blocks: [], edits: EDIT },
      ]
      expect(await failure(former.commit({ ...commitOf(old, 2), changes }))).toEqual(DEPOSED)
      const records = [
        ['wallet/a', null],
        ['wallet/b', Buffer.from('2')],
      ] as const
      expect(await failure(former.commitRecords(old, records))).toEqual(DEPOSED)
      expect(await former.renewLease(old, LONG_MS)).toBe(false)
      await former.endLease(old)
      await former.noteImported(old, 1)
      expect(await former.takeLease('former', LONG_MS)).toBeNull()
      // The present holder repeats no commit, and leaves none out.
      expect(await failure(present.commit(commitOf(epoch, 1, block(2))))).toEqual(DEPOSED)
      expect(await failure(present.commit(commitOf(epoch, 3, block(2))))).toEqual(DEPOSED)
      expect(await content(url)).toEqual(before)
      await present.commit(commitOf(epoch, 2, block(2)))
      expect(await present.position()).toMatchObject({ epoch, commit: 2, head: 2 })
    })

    test('of which a race between a commit and a takeover has one outcome', async () => {
      const { first: former, second: present } = await pair()
      let commit = 0
      for (let turn = 0; turn < 50; turn++) {
        const epoch = await epochOf(former)
        await former.endLease(epoch)
        const [error, taken] = await Promise.all([
          failure(former.commit(commitOf(epoch, commit + 1, block(commit)))),
          present.takeLease('present', LONG_MS),
        ])
        expect(taken).toBe(epoch + 1)
        if (error === null) commit++
        else expect(error).toEqual(DEPOSED)
        expect(await present.position()).toMatchObject({ commit, head: commit - 1 })
        await present.endLease(epoch + 1)
      }
    })

    test('that no other process takes after a commit that was longer than the lease', async () => {
      const { first: holder, second: other, url } = await pair()
      const epoch = await epochOf(holder, 500)
      await statement(url, 'CREATE FUNCTION slow() RETURNS trigger AS $$ BEGIN PERFORM pg_sleep(1); RETURN NULL; END $$ LANGUAGE plpgsql')
      await statement(url, 'CREATE TRIGGER slow AFTER INSERT ON pocketchain.block EXECUTE FUNCTION slow()')
      const committing = holder.commit(commitOf(epoch, 1, block(0)))
      await until('the commit is longer than the lease', async () => ((await other.position()).leaseMs ?? 0) < 0)
      expect(await other.takeLease('other', LONG_MS)).toBeNull()
      await committing
      expect(await other.position()).toMatchObject({ epoch, commit: 1, head: 0 })
    })

    test('that ends by the clock of the database, whatever the clock of a process says', async () => {
      const { first: holder, second: other } = await pair()
      const epoch = await epochOf(holder)
      const yearMs = 365 * 24 * 3_600_000
      for (const skewMs of [yearMs, -yearMs]) {
        vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + skewMs })
        expect(await other.takeLease('other', LONG_MS)).toBeNull()
        expect(await holder.renewLease(epoch, LONG_MS)).toBe(true)
        const { leaseMs } = await other.position()
        expect(leaseMs).toBeGreaterThan(LONG_MS - 30_000)
        expect(leaseMs).toBeLessThanOrEqual(LONG_MS)
        vi.useRealTimers()
      }
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - yearMs })
      const begunMs = performance.now()
      expect(await holder.renewLease(epoch, 400)).toBe(true)
      await until('the lease ends', async () => (await other.takeLease('other', LONG_MS)) !== null)
      expect(performance.now() - begunMs).toBeGreaterThanOrEqual(390)
      expect(await holder.renewLease(epoch, LONG_MS)).toBe(false)
    })

    test('that another process takes although its holder stopped in the middle of a commit', async () => {
      const { second: other, url, title } = await pair()
      const { proxy, through } = await proxyTo(postgres.port)
      const holder = await open(through(url))
      const epoch = await epochOf(holder, 100)
      const atCommit = proxy.withhold('client', 'COMMIT')
      const committing = failure(holder.commit(commitOf(epoch, 1, block(0))))
      await atCommit
      const begunMs = performance.now()
      await until('the lease is taken', async () => (await other.takeLease('other', LONG_MS)) !== null)
      expect(performance.now() - begunMs).toBeLessThan(LEASE_MS + 1_500)
      expect(await committing).toEqual({
        reason: 'unavailable',
        message: `PostgreSQL at ${title.replace(`${postgres.port}`, `${proxy.port}`)} ended a transaction of this process, which stood still for too long; find what stopped the process`,
      })
      expect(await other.position()).toMatchObject({ epoch: epoch + 1, commit: 0, head: -1 })
      expect(await failure(holder.commit(commitOf(epoch, 1, block(0))))).toEqual(DEPOSED)
    })
  })

  describe('that is killed', () => {
    async function own() {
      const server = await startPostgres()
      ends.push(() => server[Symbol.asyncDispose]())
      const url = await server.createDatabase('chain')
      const { proxy, through } = await proxyTo(server.port)
      const database = await open(through(url))
      await database.createChain({ chainId: 1, definition: 'first' })
      return { server, proxy, url, database, epoch: await epochOf(database) }
    }

    function committer(database: Database, epoch: number) {
      const reachable: boolean[] = []
      const commits = new Committer({
        database,
        position: { epoch, commit: 0 },
        nextFrame: () => 1,
        onDeposed: ({ message }) => expect.unreachable(message),
        onReachable: (isReachable) => reachable.push(isReachable),
        renewedMs: () => performance.now(),
        outageMs: LONG_MS,
      })
      return { commits, reachable }
    }

    const editCounts = (url: string) =>
      statement(url, 'SELECT number, array_length(edits, 1) AS edits FROM pocketchain.block ORDER BY number')

    test('before a commit has nothing of it, and gets it with the next attempt', async () => {
      const { server, proxy, url, database, epoch } = await own()
      const { commits, reachable } = committer(database, epoch)
      commits.add({ blocks: [block(0), block(1)], edits: EDIT })
      const atCommit = proxy.withhold('client', 'COMMIT')
      const committing = commits.commit()
      await atCommit
      await server.kill()
      await server.start()
      await committing
      expect(reachable).toEqual([false, true])
      expect(await database.position()).toMatchObject({ commit: 1, head: 1 })
      expect(await editCounts(url)).toEqual([
        { number: '0', edits: null },
        { number: '1', edits: 1 },
      ])
    })

    test('after a commit whose answer is lost has it once', async () => {
      const { server, proxy, url, database, epoch } = await own()
      const { commits, reachable } = committer(database, epoch)
      commits.add({ blocks: [block(0), block(1)], edits: EDIT })
      const answered = proxy.withhold('server', 'COMMIT')
      const committing = commits.commit()
      await answered
      await server.kill()
      await server.start()
      await committing
      expect(reachable).toEqual([false, true])
      expect(commits.newest).toBe(1)
      expect(await editCounts(url)).toEqual([
        { number: '0', edits: null },
        { number: '1', edits: 1 },
      ])
      commits.add({ blocks: [block(2)] })
      await commits.commit()
      expect(await database.position()).toMatchObject({ commit: 2, head: 2 })
    })

    test('at any time has whole commits only', async () => {
      const { server, database, epoch } = await own()
      let committed = 0
      const commitAll = async () => {
        for (;;) {
          const blocks = [0, 1, 2].map((index) => block(committed * 3 + index, 300_000))
          await database.commit(commitOf(epoch, committed + 1, ...blocks))
          committed++
        }
      }
      for (let turn = 0; turn < 4; turn++) {
        const before = committed
        const committing = failure(commitAll())
        await until('some commits', () => committed > before + turn)
        await server.kill()
        expect(await committing).toMatchObject({ reason: 'unavailable' })
        await server.start()
        await until('the server answers', async () => (await failure(database.position())) === null)
        const { commit, head } = await database.position()
        expect([committed, committed + 1]).toContain(commit)
        expect(head).toBe(commit * 3 - 1)
        committed = commit
      }
      expect(await database.renewLease(epoch, LONG_MS)).toBe(true)
    })
  })

  test('goes on by itself after its disk was full', async ({ skip }) => {
    const folder = mkdtempSync(join(tmpdir(), 'disk-'))
    const mount = (options: string) => spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder]).status === 0
    if (process.getuid?.() !== 0 || !mount('size=24m')) {
      rmdirSync(folder)
      skip('a small disk can only be mounted by root')
    }
    ends.push(async () => {
      spawnSync('umount', ['-l', folder])
      rmdirSync(folder)
    })
    // A separate server: after the disk is removed, nothing reads its tablespace.
    const server = await startPostgres()
    ends.push(() => server[Symbol.asyncDispose]())
    const [{ data_directory: data } = {}] = await statement(server.url, 'SHOW data_directory')
    const { uid, gid } = statSync(String(data))
    chownSync(folder, uid, gid)
    await statement(server.url, `CREATE TABLESPACE small LOCATION '${folder}'`)
    await statement(server.url, 'CREATE DATABASE small TABLESPACE small')
    const title = `127.0.0.1:${server.port}/small`
    const database = await open(`postgres://postgres:${SECRET}@${title}`)
    await database.createChain({ chainId: 1, definition: 'first' })
    const epoch = await epochOf(database)
    let commit = 0
    let error: unknown = null
    while (error === null && commit < 50) {
      error = await failure(database.commit(commitOf(epoch, commit + 1, block(commit, 1_000_000))))
      if (error === null) commit++
    }
    expect(error).toEqual({
      reason: 'full',
      message: `PostgreSQL at ${title} has no disk space left; free some, and the fleet continues by itself`,
    })
    expect(commit).toBeGreaterThan(0)
    expect(await database.position()).toMatchObject({ commit, head: commit - 1 })
    expect(mount('remount,size=64m')).toBe(true)
    await database.commit(commitOf(epoch, commit + 1, block(commit, 1_000_000)))
    expect(await database.position()).toMatchObject({ commit: commit + 1, head: commit })
  })
})
