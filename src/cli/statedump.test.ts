import { spawn, spawnSync } from 'node:child_process'
import type { SpawnOptions } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Address, EMPTY_CODE_HASH, Hash } from '../eth/index.ts'
import { createPocketchain } from '../index.ts'
import type { Pocketchain } from '../index.ts'
import { finish, start } from './cli.fixture.ts'
import type { Started } from './cli.fixture.ts'
import { StateDump } from './statedump.ts'

const ALICE = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266'
const STRANGER = '0x00000000000000000000000000000000000a11ce'
const COMMAND = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
const START = fileURLToPath(new URL('../../scripts/start.mjs', import.meta.url))

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'pocketchain-dump-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

async function urlOf(command: Started): Promise<string> {
  return (JSON.parse(await command.waitForOutput(/^.*\n/)) as { urls: { http: string } }).urls.http // the line of --json
}

async function ask(url: string, method: string, ...params: readonly unknown[]): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  return ((await response.json()) as { result: unknown }).result
}

async function stopped(command: Started): Promise<void> {
  command.stop()
  expect([await command.exit, command.err()]).toEqual([0, ''])
}

interface File {
  readonly best_block_number: number
  readonly accounts: Readonly<Record<string, { readonly balance: string }>>
}

function read(path: string): File {
  return JSON.parse(readFileSync(path, 'utf8')) as File
}

describe('--state', () => {
  test('writes the state when the node stops and continues from it at the next start', async () => {
    const file = join(folder, 'chain.json')
    const argv = ['--port', '0', '--json', '--cadence', 'instant', '--state', file]
    const first = start(argv)
    const hash = await ask(await urlOf(first), 'eth_sendTransaction', { from: ALICE, to: STRANGER, value: '0x5' })
    await stopped(first)
    expect(read(file)).toMatchObject({ best_block_number: 1, accounts: { [STRANGER]: { balance: '0x5' } } })
    const second = start(argv)
    const url = await urlOf(second)
    expect(await ask(url, 'eth_getTransactionReceipt', hash)).toMatchObject({ blockNumber: '0x1', status: '0x1' })
    await ask(url, 'eth_sendTransaction', { from: ALICE, to: STRANGER, value: '0x5' })
    await stopped(second)
    expect(read(file)).toMatchObject({ best_block_number: 2, accounts: { [STRANGER]: { balance: '0xa' } } })
    expect(readdirSync(folder)).toEqual(['chain.json'])
  })

  test('seals the pending block before it writes', async () => {
    const file = join(folder, 'chain.json')
    const command = start(['--port', '0', '--json', '--state', file])
    const url = await urlOf(command)
    await ask(url, 'eth_sendTransaction', { from: ALICE, to: STRANGER, value: '0x5' })
    await command.waitForOutput(/"event":"flashblock"/)
    await stopped(command)
    expect(read(file).accounts[STRANGER]).toMatchObject({ balance: '0x5' })
  })

  test('a folder means state.json in it', async () => {
    await stopped(await up(['--state', folder]))
    expect(readdirSync(folder)).toEqual(['state.json'])
  })
})

describe('--dump-state and --load-state', () => {
  test('read one file and write another', async () => {
    const [from, to] = [join(folder, 'from.json'), join(folder, 'to.json')]
    writeFileSync(from, JSON.stringify({ accounts: { [STRANGER]: { nonce: 0, balance: '0x7', code: '0x', storage: {} } } }))
    await stopped(await up(['--load-state', from, '--dump-state', to]))
    expect(read(to).accounts[STRANGER]).toMatchObject({ balance: '0x7' })
  })

  test('report that blocks are left out', async () => {
    const file = join(folder, 'from.json')
    writeFileSync(file, JSON.stringify({ accounts: {}, blocks: [], best_block_number: 3 }))
    const command = await up(['--load-state', file])
    command.stop()
    expect(await command.exit).toBe(0)
    expect(command.err()).toBe(
      'pocketchain: Warning: the blocks of the state file are left out: its best block, 3, is not there; its accounts are laid over block 0\n',
    )
  })

  test('keep the old file if the disk is full', async () => {
    const file = join(folder, 'chain.json')
    const command = await up(['--dump-state', file])
    mkdirSync(file)
    command.stop()
    expect(await command.exit).toBe(1)
    expect(command.err()).toContain(`--dump-state ${file} was not written`)
    expect(readdirSync(folder)).toEqual(['chain.json'])
  })
})

test('--state-interval writes while the node runs', async () => {
  const file = join(folder, 'chain.json')
  const command = start(['--port', '0', '--json', '--cadence', 'instant', '--state', file, '-s', '0.02'])
  const url = await urlOf(command)
  await ask(url, 'eth_sendTransaction', { from: ALICE, to: STRANGER, value: '0x5' })
  while (!existsSync(file) || read(file).best_block_number < 1) await ask(url, 'eth_blockNumber')
  expect(read(file).accounts[STRANGER]).toMatchObject({ balance: '0x5' })
  await stopped(command)
  expect(readdirSync(folder)).toEqual(['chain.json'])
})

describe('the command ends', () => {
  test.each([
    [['--state', 'a', '--dump-state', 'b'], '--state replaces --load-state and --dump-state'],
    [['--state', 'a', '--load-state', 'b'], '--state replaces --load-state and --dump-state'],
    [['--state', 'a', '--data', 'b'], '--state and --data exclude each other'],
    [['-s', '5'], '--state-interval requires --state or --dump-state'],
    [['--state-interval', '0', '--state', 'a'], '--state-interval: expected a number of seconds'],
    [['--dump-state', '/nowhere/at/all'], 'the folder /nowhere/at does not exist'],
    [['--state', '/nowhere/at/all'], 'the folder /nowhere/at does not exist'],
  ])('with 2 for %j', async (argv, sentence) => {
    const { code, err } = await finish(['--port', '0', ...argv])
    expect([code, err]).toEqual([2, expect.stringContaining(sentence)])
  })

  test.each([
    ['nothing there', null, 'cannot be read'],
    ['no JSON', 'x', 'file is no JSON'],
    ['a wrong balance', `{"accounts":{"${STRANGER}":{"balance":"x"}}}`, `accounts.${STRANGER}.balance must be a quantity`],
  ])('with 3 for a state file with %s', async (_, text, sentence) => {
    const file = join(folder, 'state.json')
    if (text !== null) writeFileSync(file, text)
    const { code, err } = await finish(['--port', '0', '--load-state', file])
    expect([code, err]).toEqual([3, expect.stringContaining(sentence)])
    expect(err).toContain(`--load-state ${file}`)
  })

  test('with 3 for a file of another chain id', async () => {
    const file = join(folder, 'state.json')
    await stopped(await up(['--dump-state', file]))
    const { code, err } = await finish(['--port', '0', '--load-state', file, '--chain-id', '5'])
    expect([code, err]).toEqual([3, expect.stringContaining('chain id is 31337, and 5 was requested')])
  })
})

describe('a state file that could not be written is refused at the start', () => {
  test.each(['--state', '--dump-state'])('%s: the file is a folder', async (flag) => {
    mkdirSync(join(folder, 'state.json'))
    const { code, err } = await finish(['--port', '0', flag, folder])
    expect([code, err]).toEqual([3, expect.stringContaining(`${flag} ${join(folder, 'state.json')} is a folder`)])
  })

  test.each(['--state', '--dump-state', '--load-state'])('%s: the system does not say what the path is', async (flag) => {
    const path = join(folder, 'x'.repeat(300))
    const { code, err } = await finish(['--port', '0', flag, path])
    expect([code, err]).toEqual([3, expect.stringContaining(`${flag} ${path} cannot be used: ENAMETOOLONG`)])
  })

  // Not by permissions, which do not bind root.
  test.each(['--state', '--dump-state'])('%s: no file can be created in the folder', async (flag) => {
    const { code, err } = await finish(['--port', '0', flag, '/proc/state.json'])
    expect([code, err]).toEqual([3, expect.stringContaining(`${flag} /proc/state.json cannot be written: ENOENT`)])
  })
})

describe.skipIf(!existsSync(COMMAND))('the built command', () => {
  test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('writes its state file on %s', async (signal) => {
    const file = join(folder, 'chain.json')
    const { child, ended } = await begin([COMMAND, '--port', '0', '--dump-state', file])
    child.kill(signal)
    expect(await ended).toEqual([0, null, ''])
    expect(read(file).accounts[ALICE]).toBeDefined()
    expect(statSync(file).size).toBeGreaterThan(0)
  })

  test.each(['SIGINT', 'SIGHUP'] as const)('continues to write its state file if the first SIGINT is followed by %s', async (signal) => {
    const file = join(folder, 'chain.json')
    const { child, ended } = await begin([COMMAND, ...slowDump(file)])
    child.kill('SIGINT')
    if (signal === 'SIGINT') await delay(20)
    else await pauseWhileWriting(child.pid!, COPIES_END_MS)
    child.kill(signal)
    child.kill('SIGCONT')
    expect(await ended).toEqual([0, null, ''])
    expect(readdirSync(folder).toSorted()).toEqual(['chain.json', 'genesis.json'])
  })

  test('says that the state was not written if a second signal ends it', async () => {
    const file = join(folder, 'chain.json')
    const { child, ended } = await begin([COMMAND, ...slowDump(file)])
    child.kill('SIGINT')
    await pauseWhileWriting(child.pid!, COPIES_END_MS)
    child.kill('SIGINT')
    child.kill('SIGCONT')
    const sentence = `pocketchain: --dump-state ${file}: the state was not written, because a second signal ended the process\n`
    expect(await ended).toEqual([1, null, sentence])
    expect(readdirSync(folder)).toEqual(['genesis.json'])
  })

  test('under `npm start` writes its state file on a SIGTERM to the process group', async () => {
    const file = join(folder, 'chain.json')
    const words = [process.execPath, START, ...slowDump(file)].map((word) => `'${word}'`)
    const env = { ...process.env, npm_lifecycle_event: 'start' }
    const { child, ended, line } = await begin(['-c', `${words.join(' ')}; exit`], { program: 'sh', env, detached: true })
    const { pid } = JSON.parse(line) as { pid: number } // the line of --json
    process.kill(-child.pid!, 'SIGTERM')
    await pauseWhileWriting(pid, COPIES_END_MS)
    process.kill(pid, 'SIGCONT')
    await ended
    expect(readdirSync(folder).toSorted()).toEqual(['chain.json', 'genesis.json'])
  })
})

/** Signals within a shorter time after the first are copies of it. */
const COPIES_END_MS = 550

/** Starts a process and waits for its first line. `ended` resolves with exit code, signal and stderr once all holders of its output have ended. */
async function begin(argv: readonly string[], options: SpawnOptions & { readonly program?: string } = {}) {
  const { program = process.execPath, ...others } = options
  const child = spawn(program, argv, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'], ...others })
  let err = ''
  child.stderr!.on('data', (data: Buffer) => (err += data.toString()))
  const ended = once(child, 'close').then(([code, signal]: unknown[]) => [code, signal, err])
  const [line] = (await Promise.race([once(createInterface({ input: child.stdout! }), 'line'), ended])) as [string]
  return { child, ended, line }
}

/** Options of a node that needs many turns of the event loop to write its state file. */
function slowDump(file: string): readonly string[] {
  const alloc = Object.fromEntries(
    Array.from({ length: 10_000 }, (_, i) => [`0x${(i + 0x1000).toString(16).padStart(40, '0')}`, { balance: '0x1' }]),
  )
  const genesis = join(folder, 'genesis.json')
  writeFileSync(genesis, JSON.stringify({ config: { chainId: 31_337 }, alloc, gasLimit: '0x1c9c380', timestamp: '0x0' }))
  return ['--port', '0', '--json', '--cadence', 'manual', '--accounts', '0', '--genesis', genesis, '--dump-state', file]
}

/** Sends SIGSTOP to the process once it has begun to write its state file, and waits. */
async function pauseWhileWriting(pid: number, pauseMs: number): Promise<void> {
  while (!readdirSync(folder).some((name) => name.endsWith('.tmp'))) await delay(1)
  process.kill(pid, 'SIGSTOP')
  await delay(pauseMs)
}

async function up(argv: readonly string[]): Promise<Started> {
  const command = start(['--port', '0', '--json', ...argv])
  await command.waitForOutput(/^.*\n/)
  return command
}

/** A node whose state file takes several turns of the event loop. */
async function largeNode(): Promise<Pocketchain> {
  const node = await createPocketchain({ cadence: 'manual', workers: 0, wallet: false })
  const accounts = Array.from(
    { length: 30_000 },
    (_, i) => [Address.from(`0x${(i + 0x1000).toString(16).padStart(40, '0')}`), EMPTY] as const,
  )
  node.chain.sealed.edit({ accounts: new Map(accounts), storage: new Map(), codes: new Map() })
  await node.chain.mine(1)
  return node
}

const EMPTY = { nonce: 1n, balance: 0n, codeHash: EMPTY_CODE_HASH }

async function untilWriting(): Promise<void> {
  while (!readdirSync(folder).some((name) => name.endsWith('.tmp'))) await new Promise((resume) => setImmediate(resume))
}

describe('a chain that is rewound while its state is written', () => {
  test('at the end: changes are refused, and the file is written', async () => {
    await using node = await largeNode()
    const path = join(folder, 'chain.json')
    const snapshot = await node.request({ method: 'evm_snapshot' })
    await node.chain.mine(1)
    const dump = new StateDump(node, { path, flag: '--state' }, { intervalMs: null, pastStates: false }, () => undefined)
    const ended = dump.end()
    await untilWriting()
    await expect(node.request({ method: 'evm_revert', params: [snapshot] })).rejects.toThrow('the node is closed')
    await ended
    expect(read(path).best_block_number).toBe(2)
  })

  test('at an interval, or by anvil_dumpState: it is written again', async () => {
    await using node = await largeNode()
    const path = join(folder, 'chain.json')
    const lines: string[] = []
    const dump = new StateDump(node, { path, flag: '--state' }, { intervalMs: 1, pastStates: false }, (line) => lines.push(line))
    const end = new AbortController()
    const rewind = async () => {
      while (!end.signal.aborted) {
        await node.request({ method: 'anvil_mine' })
        await node.request({ method: 'anvil_rollback', params: [1] })
        await new Promise((resume) => setImmediate(resume))
      }
    }
    const rewinding = rewind()
    while (!existsSync(path) && lines.length === 0) await delay(1)
    const dumped = await node.request({ method: 'anvil_dumpState' }).catch((error: unknown) => error)
    end.abort()
    await rewinding
    await dump.end()
    expect([lines, dumped]).toEqual([[], expect.stringMatching(/^0x1f8b/)])
  })
})

const CAN_MOUNT = spawnSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', tmpdir()]).status === 0

test.skipIf(!CAN_MOUNT)('a state file of which the disk takes only the first part does not replace the old one', async () => {
  await using node = await createPocketchain({ cadence: 'manual', workers: 0, wallet: false })
  spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', folder])
  try {
    const path = join(folder, 'chain.json')
    writeFileSync(path, 'old')
    const inOnePiece = Object.create(node, { stateFile: { value: () => ['x'.repeat(100_000)] } }) as Pocketchain
    const dump = new StateDump(inOnePiece, { path, flag: '--state' }, { intervalMs: null, pastStates: false }, () => undefined)
    await expect(dump.end()).rejects.toThrow(`--state ${path} was not written: ENOSPC`)
    expect(readFileSync(path, 'utf8')).toBe('old')
  } finally {
    spawnSync('umount', [folder])
  }
})

describe('--preserve-historical-states', () => {
  test('lets the next chain read the states of older blocks', async () => {
    const file = join(folder, 'chain.json')
    const first = start(['--port', '0', '--json', '--cadence', 'manual', '--state', file, '--preserve-historical-states'])
    const url = await urlOf(first)
    for (const value of ['0x5', '0x6', '0x7']) {
      await ask(url, 'anvil_setBalance', STRANGER, value)
      await ask(url, 'evm_mine')
    }
    await ask(url, 'anvil_setBalance', STRANGER, '0x8')
    await stopped(first)
    const second = start(['--port', '0', '--json', '--cadence', 'manual', '--state', file])
    const again = await urlOf(second)
    const balances = await Promise.all(['0x0', '0x1', '0x2', 'latest'].map((block) => ask(again, 'eth_getBalance', STRANGER, block)))
    expect(balances).toEqual(['0x5', '0x6', '0x7', '0x8'])
    await ask(again, 'evm_mine')
    await ask(again, 'anvil_rollback', 2)
    expect(await ask(again, 'eth_getBalance', STRANGER, 'latest')).toBe('0x7')
    await stopped(second)
  })

  test('leaves them out of a file that they would make too large to be read', async () => {
    const path = join(folder, 'chain.json')
    const lines: string[] = []
    await using node = await createPocketchain({ cadence: 'manual', workers: 0 })
    // 11 MB of text for each block. Hashing as many different codes would take seconds.
    const [even, odd] = [0, 1].map((byte) => new Uint8Array(8 * 2 ** 20).fill(byte)).map((code) => [Hash.keccak(code), code] as const)
    for (let i = 0; i < 50; i++) {
      const [codeHash, code] = (i % 2 === 0 ? even : odd)!
      const account = { nonce: 1n, balance: 0n, codeHash }
      node.chain.sealed.edit({
        accounts: new Map([[Address.from(STRANGER), account]]),
        storage: new Map(),
        codes: new Map([[codeHash, code]]),
      })
      await node.chain.mine(1)
    }
    const dump = new StateDump(node, { path, flag: '--state' }, { intervalMs: null, pastStates: true }, (line) => lines.push(line))
    await dump.end()
    expect(lines).toEqual([`--state ${path} was written without the states of older blocks: with them it would be too large to be read`])
    await using again = await createPocketchain({ cadence: 'manual', workers: 0, stateFile: readFileSync(path) })
    expect(again.chain.sealed.head.hash).toBe(node.chain.sealed.head.hash)
  })

  test('without it older states are not there, and a damaged file is refused', async () => {
    const file = join(folder, 'chain.json')
    const first = start(['--port', '0', '--json', '--cadence', 'manual', '--state', file, '--preserve-historical-states'])
    await ask(await urlOf(first), 'evm_mine')
    await stopped(first)
    const saved = JSON.parse(readFileSync(file, 'utf8')) as {
      pocketchain: { pastStates?: { from: number; base: string[]; writes: string[] } }
    }
    for (const [damage, message] of [
      [{ base: [] }, 'contradict each other'],
      [{ writes: ['w8DAwA=='] }, 'lead to the state root'],
      [{ writes: [] }, 'for 2 blocks'],
      [{ base: ['AAAA'] }, 'is damaged'],
    ] as const) {
      const past = { ...saved.pocketchain.pastStates, ...damage }
      writeFileSync(file, JSON.stringify({ ...saved, pocketchain: { ...saved.pocketchain, pastStates: past } }))
      const { code, err } = await finish(['--port', '0', '--load-state', file])
      expect([code, err]).toEqual([3, expect.stringContaining(message)])
    }
    delete saved.pocketchain.pastStates
    writeFileSync(file, JSON.stringify(saved))
    const second = start(['--port', '0', '--json', '--cadence', 'manual', '--load-state', file])
    expect(await ask(await urlOf(second), 'eth_getBalance', STRANGER, '0x0')).toBeUndefined()
    await stopped(second)
  })
})
