import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { finish, start } from '../../src/cli/cli.fixture.ts'
import { begin, beginUnder, refusal } from '../command.fixture.ts'
import type { Command } from '../command.fixture.ts'
import { startServers, until } from './fleet.fixture.ts'
import { LOCKED, NO_SERVERS, freePort, startNats, statement } from './servers.fixture.ts'

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
const SECRET = 's3cret-0f-the-fleet'
/** Longer than two leases. */
const BUSY_MS = 5_000
/** The main thread of the command does nothing else for BUSY_MS after SIGUSR2. */
const BUSY_ON_SIGNAL = [
  'env',
  `NODE_OPTIONS=--import="data:text/javascript,process.on('SIGUSR2',()=>Atomics.wait(new%20Int32Array(new%20SharedArrayBuffer(4)),0,0,${BUSY_MS}))"`,
]

describe.skipIf(NO_SERVERS !== null)(`the command in a fleet${NO_SERVERS === null ? '' : ` (${NO_SERVERS})`}`, () => {
  let servers: Awaited<ReturnType<typeof startServers>>
  const commands: Command[] = []
  beforeAll(async () => {
    servers = await startServers()
  })
  afterEach(async () => {
    await Promise.all(commands.splice(0).map((command) => command.kill()))
  })
  afterAll(() => servers.stop())

  function member(database: string, role: string, ...flags: readonly string[]): Promise<Command> {
    return memberUnder([], database, role, ...flags)
  }

  async function memberUnder(prefix: readonly string[], database: string, role: string, ...flags: readonly string[]): Promise<Command> {
    const command = await beginUnder(prefix, '--fleet', servers.nats.url, '--database', database, '--role', role, ...flags).answers()
    commands.push(command)
    return command
  }

  /** Runs `pocketchain fleet …` with the URLs in variables. */
  function fleet(database: string, ...args: readonly string[]) {
    return finish(['fleet', ...args], { env: variables(database) })
  }

  /** As `fleet`, in its own process. */
  function fleetProcess(database: string, ...args: readonly string[]) {
    const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, 'fleet', ...args], {
      env: { ...process.env, ...variables(database) },
    })
    return { code: status, out: stdout.toString(), err: stderr.toString() }
  }

  const variables = (database: string) => ({ POCKETCHAIN_FLEET: servers.nats.url, POCKETCHAIN_DATABASE: database })

  test('starts with flags, shows the status of each process, and hands the lease over', async () => {
    const database = await servers.createDatabase()
    const sequencer = await member(database, 'sequencer')
    const standby = await member(database, 'standby')
    const replica = await member(database, 'replica')
    expect([standby.ready.genesisHash, replica.ready.genesisHash]).toEqual([sequencer.ready.genesisHash, sequencer.ready.genesisHash])
    await until('the replica is ready', () => isReady(replica))
    const { code, out } = fleetProcess(database, 'status')
    expect(code).toBe(0)
    expect(out).toMatch(
      /^epoch 1, lease of .+, for \d+ ms more unless it is renewed; newest block \d+\nsequencer .+\nstandby .+\nreplica .+lag \d+ ms  gaps 0.+\n$/,
    )
    expect(fleetProcess(database, 'hand-over').out).toMatch(/ is the sequencer now\n$/)
    const report = JSON.parse((await fleet(database, 'status', '--json')).out) as {
      epoch: number
      members: readonly { role: string; isSequencer: boolean }[]
    }
    expect(report.epoch).toBe(2)
    expect(report.members.map(({ role }) => role).toSorted()).toEqual(['replica', 'sequencer', 'standby'])
    expect(report.members[0]).toMatchObject({ role: 'standby', isSequencer: true })
    const metrics = await (await fetch(new URL('/metrics', replica.url))).text()
    expect(metrics).toContain('pocketchain_fleet_epoch{role="replica"} 2')
    expect(metrics).toMatch(/pocketchain_fleet_frames_total [1-9]/)
  })

  test('reports a hand-over as failed if only the former sequencer can take the lease', async () => {
    const database = await servers.createDatabase()
    const sequencer = await member(database, 'sequencer')
    await member(database, 'replica')
    expect(await fleet(database, 'hand-over')).toEqual({
      code: 1,
      out: '',
      err: expect.stringMatching(/no standby took over; .+ is the sequencer again\. Start a process with --role standby/),
    })
    expect(await sequencer.ask('eth_sendTransaction', { from: sequencer.ready.accounts[0], to: sequencer.ready.accounts[1] })).toMatch(
      /^0x/,
    )
  })

  test('is ready again after a message that came late, on a chain without other messages', async () => {
    const database = await servers.createDatabase()
    const sequencer = await member(database, 'sequencer', '--cadence', 'instant')
    const replica = await member(database, 'replica')
    await until('the replica is ready', () => isReady(replica))
    process.kill(replica.pid, 'SIGSTOP')
    const [from, to] = sequencer.ready.accounts
    const hash = await sequencer.ask('eth_sendTransaction', { from, to, value: '0x1' })
    await delay(2_600)
    process.kill(replica.pid, 'SIGCONT')
    await until('the replica has the block', async () => (await replica.ask('eth_getTransactionReceipt', hash)) !== null)
    await until('the replica is ready', () => isReady(replica))
  })

  test('is a replica that is ready although its clock is 3 s ahead', async () => {
    const database = await servers.createDatabase()
    const sequencer = await member(database, 'sequencer', '--cadence', 'instant')
    const ahead = 'NODE_OPTIONS=--import=data:text/javascript,const{now}=Date;Date.now=()=>now()+3000'
    const replica = await beginUnder(['env', ahead], '--fleet', servers.nats.url, '--database', database, '--role', 'replica').answers()
    commands.push(replica)
    const [from, to] = sequencer.ready.accounts
    const hash = await sequencer.ask('eth_sendTransaction', { from, to, value: '0x1' })
    await until('the replica has the block', async () => (await replica.ask('eth_getTransactionReceipt', hash)) !== null)
    await until('the replica is ready', () => isReady(replica))
    expect(await (await fetch(new URL('/metrics', replica.url))).text()).toMatch(/pocketchain_fleet_lag_seconds\S* [01](\.\d+)?\n/)
  })

  test('a sequencer that waits for the lease ends with 0 when it is stopped', async () => {
    const database = await servers.createDatabase()
    await member(database, 'sequencer')
    const second = start(['--port', '0', '--workers', '0', '--fleet', servers.nats.url, '--database', database])
    await until('it waits', async () => second.err().includes('this one waits until its lease ends'))
    second.stop()
    expect([await second.exit, second.out()]).toEqual([0, ''])
  })

  test('verifies the database by executing its blocks again, and finds damage', async () => {
    const database = await servers.createDatabase()
    const sequencer = await member(database, 'sequencer', '--cadence', 'manual')
    const [alice, bob] = sequencer.ready.accounts
    await sequencer.ask('eth_sendTransaction', { from: alice, to: bob, value: '0x5' })
    await sequencer.ask('evm_mine')
    await sequencer.ask('anvil_setBalance', bob, '0x7')
    await sequencer.ask('anvil_setNextBlockBaseFeePerGas', '0x77')
    await sequencer.ask('anvil_impersonateAccount', '0x00000000000000000000000000000000000000aa')
    await sequencer.ask('anvil_setBalance', '0x00000000000000000000000000000000000000aa', '0xde0b6b3a7640000')
    await sequencer.ask('eth_sendTransaction', { from: '0x00000000000000000000000000000000000000aa', to: bob, value: '0x1' })
    await sequencer.ask('anvil_mine', '0x5')
    await sequencer.ask('anvil_reorg', 2, [])
    expect(await fleet(database, 'verify')).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^blocks 1 to 6 with \d+ transactions are as they were committed\n$/),
    })
    expect(JSON.parse((await fleet(database, 'verify', '--from', '4', '--to', '5', '--json')).out)).toMatchObject({ from: 4, to: 5 })
    expect(await fleet(database, 'verify', '--from', '9')).toMatchObject({
      code: 2,
      err: expect.stringContaining('blocks 1 to 6 can be verified, not 9 to 6'),
    })
    expect(await fleet(database, 'verify', '--from', 'x')).toMatchObject({
      code: 2,
      err: expect.stringContaining('--from: expected the number of a block, not "x"'),
    })
    await statement(database, 'UPDATE pocketchain.block SET edits = DEFAULT WHERE number = 1')
    expect(await fleet(database, 'verify')).toMatchObject({ code: 1, err: expect.stringMatching(/the database is damaged: block \d/) })
  })

  test('writes the state of a replica to a file at its end', async () => {
    const database = await servers.createDatabase()
    await member(database, 'sequencer')
    const folder = mkdtempSync(join(tmpdir(), 'pocketchain-'))
    const file = join(folder, 'state.json')
    const replica = await member(database, 'replica', '--dump-state', file)
    const { code, err } = await replica.stop()
    expect([code, err]).toEqual([0, expect.not.stringContaining('was not written')])
    expect(existsSync(file)).toBe(true)
    rmSync(folder, { recursive: true })
  })

  test('refuses options that contradict each other', async () => {
    const database = 'postgres://127.0.0.1:9/chain'
    for (const [flags, message] of [
      [['--fleet', 'nats://127.0.0.1:9'], '--fleet and --database need each other: NATS carries the messages, PostgreSQL keeps the blocks'],
      [['--role', 'replica'], '--role needs --fleet <url> and --database <url>'],
      [
        ['--fleet', 'nats://127.0.0.1:9', '--database', database, '--fork-url', 'http://127.0.0.1:9'],
        '--fleet and --fork-url exclude each other',
      ],
      [
        ['--fleet', `redis://user:${SECRET}@127.0.0.1`, '--database', database],
        'the value is not repeated here, because it may contain a password',
      ],
      [['--fleet', 'nats://127.0.0.1:9', '--database', `mysql://user:${SECRET}@127.0.0.1`], 'expected a URL such as postgres://'],
    ] as const) {
      const { code, err } = await refusedHere(...flags)
      expect([code, err]).toEqual([2, expect.stringContaining(message)])
      expect(err).not.toContain(SECRET)
    }
    expect(await fleet(database, 'dance')).toMatchObject({
      code: 2,
      err: expect.stringContaining('expected status, hand-over or verify, not "dance"'),
    })
    expect(await fleet(database, 'status', '--port', '1')).toMatchObject({
      code: 2,
      err: expect.stringContaining('--port is not an option of pocketchain fleet'),
    })
  })

  test('refuses options of another chain than that of the database, from every role', async () => {
    const database = await servers.createDatabase()
    const sequencer = await member(database, 'sequencer', '--cadence', 'instant', '--gas-limit', '40000000', '--seed', 'fleet')
    const shared = ['--fleet', servers.nats.url, '--database', database]
    for (const [flags, message] of [
      [
        ['--cadence', 'native'],
        `the cadence of the fleet's chain is {"kind":"instant"}, and {"kind":"native","blockTimeMs":200} was requested; omit the`,
      ],
      [['--no-mining'], `and {"kind":"manual"} was requested; omit the option, or name another --database for another chain`],
      [['--gas-limit', '30000000'], "the gas limit of the fleet's chain is 40000000, and 30000000 was requested"],
      [['--seed', 'other'], "the seed of the fleet's chain is fleet, and other was requested"],
      [['--min-base-fee', '7'], "the minimum base fee of the fleet's chain is 5000000, and 7 was requested"],
      [['--l1-base-fee', '7'], "the base fee of the simulated L1 of the fleet's chain is 1000000000, and 7 was requested"],
      [['--l1-blob-base-fee', '7'], "the blob base fee of the simulated L1 of the fleet's chain is 1, and 7 was requested"],
      [['--code-size-limit', '7'], "the limit of contract code of the fleet's chain is 24576, and 7 was requested"],
      [['--transaction-gas-cap', '0'], "the gas cap of a transaction of the fleet's chain is 16777216, and none was requested"],
      [['--timestamp', '7'], "the time of the first block of the fleet's chain is "],
      [['--base-fee', '7'], "the base fee of the first block of the fleet's chain is 1000000000, and 7 was requested"],
      [['--hardfork', 'isthmus'], "the hardfork of the fleet's chain is azul, and isthmus was requested"],
      [['--chain-type', 'l1'], "the chain type of the fleet's chain is op, and l1 was requested"],
      [
        ['--balance', '7'],
        "the balance of the dev accounts of the fleet's chain is 10000000000000000000000, and 7000000000000000000 was requested",
      ],
    ] as const) {
      const { code, err } = await refusedHere(...shared, '--role', 'standby', ...flags)
      expect([flags, code, err]).toEqual([flags, 2, expect.stringContaining(message)])
    }
    expect(await sequencer.ask('eth_blockNumber')).toBe('0x0')
    const same = await member(
      database,
      'standby',
      '--cadence',
      'instant',
      '--gas-limit',
      '40000000',
      '--seed',
      'fleet',
      '--balance',
      '10000',
    )
    expect(same.ready.genesisHash).toBe(sequencer.ready.genesisHash)
    const plain = await member(database, 'standby')
    expect(plain.ready.genesisHash).toBe(sequencer.ready.genesisHash)
    const other = 'legal winner thank year wave sausage worth useful legal winner thank yellow'
    const foreign = await member(database, 'replica', '--mnemonic', other)
    expect((await foreign.stop()).err).toContain('all processes of a fleet need the same mnemonic')
  })

  test('a sequencer keeps its lease while its main thread is busy for longer, and loses it when the process is stopped', async () => {
    const database = await servers.createDatabase()
    const sequencer = await memberUnder(BUSY_ON_SIGNAL, database, 'sequencer')
    const standby = await member(database, 'standby')
    const lease = async () => (await statement(database, 'SELECT epoch, expires_at > now() AS is_held FROM pocketchain.chain'))[0]
    process.kill(sequencer.pid, 'SIGUSR2')
    await delay(BUSY_MS)
    expect(await lease()).toEqual({ epoch: '1', is_held: true })
    const number = Number(await sequencer.ask('eth_blockNumber'))
    await until('it builds blocks', async () => Number(await sequencer.ask('eth_blockNumber')) > number + 1)
    expect(sequencer.err()).toBe('')
    process.kill(sequencer.pid, 'SIGSTOP')
    await until('the standby takes over', async () => (await lease())?.['epoch'] === '2')
    process.kill(sequencer.pid, 'SIGCONT')
    const { code, err } = await sequencer.ended
    expect([code, err]).toEqual([1, expect.stringContaining('another process is the sequencer now')])
    expect(standby.err()).toContain('takes over (epoch 2)')
  })

  test('a standby that took over has the cadence and the gas limit of the chain', async () => {
    const database = await servers.createDatabase()
    const sequencer = await member(database, 'sequencer', '--cadence', 'instant', '--gas-limit', '40000000')
    const standby = await member(database, 'standby')
    expect((await fleet(database, 'hand-over')).code).toBe(0)
    const [from, to] = sequencer.ready.accounts
    const hash = await standby.ask('eth_sendTransaction', { from, to, value: '0x1' })
    expect(await standby.ask('eth_getTransactionReceipt', hash)).toMatchObject({ blockNumber: '0x1' })
    expect(await standby.ask('eth_getBlockByNumber', '0x1', false)).toMatchObject({ gasLimit: '0x2625a00' })
  })

  test('says what to do when a server refuses it or is not there', async () => {
    const database = await servers.createDatabase()
    const port = await freePort()
    const at = new URL(database)
    await statement(database, `CREATE ROLE guest LOGIN; REVOKE CREATE ON DATABASE ${at.pathname.slice(1)} FROM PUBLIC`)
    await statement(database, 'CREATE ROLE reader LOGIN; ALTER ROLE reader SET default_transaction_read_only = on')
    await statement(database, `CREATE ROLE ${LOCKED} LOGIN PASSWORD 'another'`)
    await using locked = await startNats({ auth: { user: 'fleet', password: SECRET } })
    const other = `${database}_missing`
    for (const [nats, url, message] of [
      [servers.nats.url, `postgres://postgres:${SECRET}@127.0.0.1:${port}/chain`, 'cannot be reached'],
      [servers.nats.url, other, 'does not exist; create it with createdb'],
      [
        servers.nats.url,
        database.replace('postgres@', `${LOCKED}:${SECRET}@`),
        'refuses the password; check the user and the password in the URL',
      ],
      [servers.nats.url, database.replace('postgres@', 'guest@'), 'does not allow this user to make or write the tables'],
      [servers.nats.url, database.replace('postgres@', 'reader@'), 'is read-only; use the primary server'],
      [`nats://user:${SECRET}@127.0.0.1:${port}`, database, 'check that nats-server runs'],
      [`nats://fleet:wrong@127.0.0.1:${locked.port}`, database, 'refuses the user; check the user and the password'],
    ] as const) {
      const { code, err } = await refusedHere('--fleet', nats, '--database', url)
      expect([code, err]).toEqual([1, expect.stringContaining(message)])
      expect(err).not.toContain(SECRET)
    }
  })

  test('refuses a database of another chain or of a newer version', async () => {
    const database = await servers.createDatabase()
    const refused = async (...flags: readonly string[]) =>
      (await refusal('--fleet', servers.nats.url, '--database', database, ...flags)).err
    const sequencer = await member(database, 'sequencer', '--chain-id', '777')
    expect(await refused('--role', 'replica', '--chain-id', '778')).toContain('the database holds the chain 777, not 778')
    const replica = await member(database, 'replica')
    expect(await replica.ask('eth_chainId')).toBe('0x309')
    await Promise.all([sequencer.stop(), replica.stop()])
    await statement(database, 'UPDATE pocketchain.chain SET schema_version = 99')
    expect(await refused()).toContain('was made by a newer pocketchain (tables of version 99, this one has 1); update this program')
  })

  test('waits while another process is the sequencer, and ends with 1 when it is replaced', async () => {
    const database = await servers.createDatabase()
    const sequencer = await member(database, 'sequencer')
    const next = begin('--fleet', servers.nats.url, '--database', database)
    process.kill(sequencer.pid, 'SIGSTOP')
    commands.push(await next.answers())
    process.kill(sequencer.pid, 'SIGCONT')
    const { code, err } = await sequencer.ended
    expect([code, err]).toEqual([1, expect.stringContaining('another process is the sequencer now; this one stops')])
  })
})

/** Returns the failure of a start that is expected to fail, in this process. */
async function refusedHere(...argv: readonly string[]) {
  const command = start(['--port', '0', '--json', '--workers', '0', ...argv])
  await expect(command.waitForOutput(/\n/).finally(command.stop)).rejects.toThrow(/^ended with/)
  return { code: await command.exit, err: command.err() }
}

async function isReady({ url }: Command): Promise<boolean> {
  return (await fetch(new URL('/readyz', url))).status === 200
}
