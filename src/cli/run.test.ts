import { spawn } from 'node:child_process'
import type { ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo, Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Block } from '../eth/index.ts'
import { createPocketchain } from '../index.ts'
import { finish, start } from './cli.fixture.ts'

const KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'
const ACCOUNT = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const OWN_WORDS = 'legal winner thank year wave sausage worth useful legal winner thank yellow'
const COMMAND = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'pocketchain-run-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe('the command', () => {
  test('prints a banner whose last line is the address', async () => {
    const command = start(['--port', '0'])
    const line = await command.waitForOutput(/Listening on 127\.0\.0\.1:\d+\n$/)
    const port = /:(\d+)\n/.exec(line)?.[1]
    for (const text of [ACCOUNT, KEY, 'test test test', '31337', `http://127.0.0.1:${port}/public`, `ws://127.0.0.1:${port}/flashblocks`]) {
      expect(command.out()).toContain(text)
    }
    expect(await ask(`http://127.0.0.1:${port}`, 'eth_chainId')).toBe('0x7a69')
    command.stop()
    expect(await command.exit).toBe(0)
    expect(command.err()).toBe('')
  })

  test('marks what it prints on stderr before it listens as a warning, without which prool gives up', async () => {
    const command = start(['--port', '0', '--steps-tracing', '--threads', '2'])
    await command.waitForOutput(/Listening on .*\n/)
    command.stop()
    expect([await command.exit, command.err()]).toEqual([
      0,
      'pocketchain: Warning: ignored flags of other nodes: --steps-tracing, --threads\n',
    ])
  })

  test.each([
    [[], true],
    [['--latest', 'promised'], false],
    [['--compat', 'anvil'], false],
    [['--cadence', 'instant'], false],
  ])('%j: the banner names the start for Foundry and Hardhat: %s', async (argv, isNamed) => {
    const command = start(['--port', '0', ...argv])
    await command.waitForOutput(/Listening on .*\n/)
    expect(command.out().includes('npx pocketchain --latest promised #')).toBe(isNamed)
    command.stop()
    await command.exit
  })

  test.skipIf(process.platform !== 'linux')('listens on each --host', async () => {
    const command = start(['--port', '0', '--host', '127.0.0.1', '--host', '127.0.0.2'])
    const port = /:(\d+)\n/.exec(await command.waitForOutput(/Listening on 127\.0\.0\.1:\d+\n$/))?.[1]
    for (const host of ['127.0.0.1', '127.0.0.2']) expect(await ask(`http://${host}:${port}`, 'eth_chainId')).toBe('0x7a69')
    command.stop()
    expect([await command.exit, command.err()]).toEqual([0, ''])
    await expect(ask(`http://127.0.0.2:${port}`, 'eth_chainId')).rejects.toThrow('fetch failed')
  })

  test('prints one JSON line when ready under --json, then one per event', async () => {
    const command = start(['--port', '0', '--json', '--chain-id', '901', '--accounts', '2', '--cadence', 'instant'])
    const ready = JSON.parse(await command.waitForOutput(/^.*\n/))
    expect(ready).toMatchObject({
      event: 'ready',
      chainId: 901,
      pid: process.pid,
      privateKeys: [KEY, expect.any(String)],
      cadence: { kind: 'instant' },
    })
    expect(ready.accounts).toEqual([ACCOUNT, expect.any(String)])
    const hash = await ask(ready.urls.http, 'eth_sendTransaction', [{ from: ACCOUNT, to: ACCOUNT, value: '0x1' }])
    const lines = (await command.waitForOutput(/^.*\n.*\n/)).trim().split('\n')
    expect(JSON.parse(lines[1] ?? '')).toMatchObject({ event: 'block', block: 1, transactions: [hash], time: expect.any(String) })
    command.stop()
    expect(await command.exit).toBe(0)
  })

  test('prints a flashblock with transactions once, and no private key', async () => {
    const command = start(['--port', '0'], { coloured: true })
    const url = `http://127.0.0.1:${/:(\d+)\n/.exec(await command.waitForOutput(/Listening on .*\n/))?.[1]}`
    const banner = command.out().length
    const hash = await ask(url, 'eth_sendTransaction', [{ from: ACCOUNT, to: ACCOUNT, value: '0x1' }])
    await command.waitForOutput(new RegExp(`flashblock \\d+\\.\\d+.*1 tx, [\\d,]+ gas  ${String(hash)}\n`))
    command.stop()
    await command.exit
    const journal = command.out().slice(banner)
    expect(journal.split(String(hash))).toHaveLength(2)
    expect(journal).toContain('\u001b[32mflashblock')
    expect(journal).not.toMatch(new RegExp(KEY.slice(2), 'i'))
  })

  test.each([
    [['--no-color'], {}],
    [[], { NO_COLOR: '1' }],
  ])('prints no colours under %j %j', async (argv, env) => {
    const command = start(['--port', '0', ...argv], { coloured: true, env })
    await command.waitForOutput(/Listening on .*\n/)
    expect(command.out()).not.toContain('\u001b')
    command.stop()
    await command.exit
  })

  test('prints nothing under --quiet', async () => {
    const port = await freePort()
    const command = start(['--quiet', '--port', String(port)])
    await answering(`http://127.0.0.1:${port}`)
    command.stop()
    expect([await command.exit, command.out(), command.err()]).toEqual([0, '', ''])
  })

  test('never prints the mnemonic of the user or its keys', async () => {
    const command = start(['--port', '0', '--mnemonic', OWN_WORDS])
    await command.waitForOutput(/Listening on .*\n/)
    expect(command.out()).toContain('0x58A57ed9d8d624cBD12e2C467D34787555bB1b25')
    expect(command.out()).not.toContain('legal winner')
    expect(command.out()).not.toMatch(/0x[0-9a-f]{64}\n {2}\(1\)/)
    command.stop()
    await command.exit
    const json = start(['--port', '0', '--json', '--mnemonic', OWN_WORDS])
    expect(JSON.parse(await json.waitForOutput(/^.*\n/))).toMatchObject({ privateKeys: [], mnemonic: null })
    json.stop()
    await json.exit
  })

  test('uses a new mnemonic each time under --mnemonic-random', async () => {
    const words: unknown[] = []
    for (const count of ['12', '24']) {
      const command = start(['--port', '0', '--json', '--mnemonic-random', count])
      const { mnemonic } = JSON.parse(await command.waitForOutput(/^.*\n/))
      expect(String(mnemonic).split(' ')).toHaveLength(Number(count))
      words.push(mnemonic)
      command.stop()
      await command.exit
    }
    expect(new Set(words).size).toBe(2)
  })

  test('prints the balances of the accounts, which a genesis file determines', async () => {
    const file = join(folder, 'genesis.json')
    writeFileSync(file, JSON.stringify({ gasLimit: '0x1c9c380', alloc: { [ACCOUNT]: { balance: String(5n * 10n ** 17n) } } }))
    const command = start(['--port', '0', '--accounts', '2', '--genesis', file])
    await command.waitForOutput(/Listening on .*\n/)
    expect(command.out()).toContain(`(0) ${ACCOUNT}  0.5 ETH`)
    expect(command.out()).toMatch(/\(1\) 0x\w+ {2}0 ETH/)
    command.stop()
    expect(await command.exit).toBe(0)
  })

  test('writes the keys of anvil with --config-out, with mode 0600', async () => {
    const file = join(folder, 'config.json')
    const command = start(['--port', '0', '--config-out', file, '--base-fee', '7', '--timestamp', '1700000000'])
    await command.waitForOutput(/Listening on .*\n/)
    const config = JSON.parse(readFileSync(file, 'utf8'))
    expect(Object.keys(config)).toEqual([
      'available_accounts',
      'private_keys',
      'wallet',
      'base_fee',
      'gas_price',
      'gas_limit',
      'genesis_timestamp',
    ])
    // The minimum base fee of the next block plus the minimum tip.
    expect(config).toMatchObject({
      base_fee: '7',
      gas_price: '6000000',
      genesis_timestamp: '1700000000',
      private_keys: expect.arrayContaining([KEY]),
    })
    if (process.platform !== 'win32') expect(statSync(file).mode & 0o777).toBe(0o600)
    command.stop()
    await command.exit
  })

  test('writes a gas price with --config-out that the node accepts', async () => {
    const file = join(folder, 'config.json')
    const command = start(['--port', '0', '--config-out', file, '--gas-price', '20000000000'])
    await command.waitForOutput(/Listening on .*\n/)
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ gas_price: '20000000000' })
    command.stop()
    await command.exit
  })

  test('answers --help and --version', async () => {
    expect(await finish(['--help'])).toMatchObject({ code: 0, out: expect.stringContaining('Usage: pocketchain'), err: '' })
    expect(await finish(['--version'])).toMatchObject({ code: 0, out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) })
  })
})

describe('exit codes', () => {
  test('1 if the port is in use, with its number', async () => {
    const taken = await occupied()
    const { port } = taken.address() as AddressInfo
    const { code, out, err } = await finish(['--port', String(port)])
    taken.close()
    expect([code, out]).toEqual([1, ''])
    expect(err).toBe(
      `pocketchain: port ${port} on 127.0.0.1 is in use; stop what uses it or choose another with --port (0 takes any free one)\n`,
    )
  })

  test.each([
    [['--nope'], 'unknown option'],
    [['--fork-url', 'x'], '--fork-url[0]: expected a URL'],
    [['--hardfork', 'bedrock'], 'hardfork must be one of fjord'],
    [['--mnemonic', 'not twelve words'], '--mnemonic: expected 12 to 24 words'],
    [['--mnemonic', OWN_WORDS, '--mnemonic-random'], 'exclude each other'],
    [['--derivation-path', 'x/1'], 'derivation path'],
    [['--cadence', 'instant', '-b', '1'], '--block-time has no effect under --cadence instant'],
  ])('2 for %j', async (argv, sentence) => {
    const { code, err } = await finish(['--port', '0', ...argv])
    expect([code, err]).toEqual([2, expect.stringContaining(sentence)])
  })

  test.each([
    ['nothing there', null, 'cannot be read'],
    ['no JSON', 'x', 'genesis file is not JSON'],
    ['a missing field', '{"alloc":{}}', 'genesis gasLimit'],
    [
      'a wrong balance',
      '{"gasLimit":"0x1000000","alloc":{"00000000000000000000000000000000000000aa":{"balance":"x"}}}',
      'alloc.00000000000000000000000000000000000000aa.balance',
    ],
  ])('3 for a genesis with %s', async (_, text, sentence) => {
    const file = join(folder, 'genesis.json')
    if (text !== null) writeFileSync(file, text)
    const { code, err } = await finish(['--port', '0', '--genesis', file])
    expect([code, err]).toEqual([3, expect.stringContaining(sentence)])
    expect(err).toContain(file)
  })

  test.each([
    ['nothing there', null],
    ['no blocks', ''],
    ['noise', 'hello'],
  ])('3 for a chain file with %s', async (_, text) => {
    const file = join(folder, 'chain.rlp')
    if (text !== null) writeFileSync(file, text)
    const { code, err } = await finish(['--port', '0', '--import', file])
    expect([code, err]).toEqual([3, expect.stringContaining(`--import ${file}`)])
  })
})

describe('a chain from files', () => {
  test('the import ends with exit code 0 if the command is stopped', async () => {
    const file = join(folder, 'chain.rlp')
    const standing = { clock: 'manual', timestamp: 1_700_000_000, cadence: 'manual' } as const
    await using node = await createPocketchain(standing)
    writeFileSync(file, Buffer.concat((await node.chain.mine(3)).map(Block.encode)))
    const argv = ['--port', '0', '--clock', 'manual', '--timestamp', '1700000000', '--import', file]
    const whole = start(argv)
    await whole.waitForOutput(/Listening on .*\n/)
    whole.stop()
    expect(await whole.exit).toBe(0)
    const stopped = start(argv)
    stopped.stop()
    expect([await stopped.exit, stopped.out(), stopped.err()]).toEqual([0, '', ''])
  })

  const shared = fileURLToPath(new URL('../../../shared/vectors/', import.meta.url))

  test.skipIf(!existsSync(join(shared, 'rpc-compat')))('imports to its head and produces no blocks', async () => {
    const [genesis, chain] = ['genesis.json', 'chain.rlp'].map((name) => locate(join(shared, 'rpc-compat'), name))
    const command = start(['--port', '0', '--json', '--genesis', genesis ?? '', '--import', chain ?? ''])
    const { urls, cadence } = JSON.parse(await command.waitForOutput(/^.*\n/))
    expect(cadence).toEqual({ kind: 'manual' })
    const blocks = await Promise.all(['latest', 'safe', 'finalized'].map((tag) => ask(urls.http, 'eth_getBlockByNumber', [tag, false])))
    expect(new Set(blocks.map((block) => (block as { hash: string }).hash)).size).toBe(1)
    expect(Number((blocks[0] as { number: string }).number)).toBeGreaterThan(0)
    command.stop()
    expect(await command.exit).toBe(0)
  })
})

/** `npm test` builds it before. */
describe.skipIf(!existsSync(COMMAND))('the built command', () => {
  test.each(['SIGINT', 'SIGTERM'] as const)('ends with 0 on %s', async (signal) => {
    const child = spawn(process.execPath, [COMMAND, '--port', '0'], { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] })
    const ended = new Promise((resolve) => child.on('exit', (code, by) => resolve(code ?? by)))
    let out = ''
    await new Promise<void>((resolve) => {
      child.stdout.on('data', (chunk) => {
        out += String(chunk)
        if (/Listening on 127\.0\.0\.1:\d+\n$/.test(out)) resolve()
      })
    })
    child.kill(signal)
    expect(await ended).toBe(0)
  })

  describe('whose output is not read', () => {
    /** Starts the command with `-v`, reads its first line, and requests what fills the pipe. */
    async function unread(): Promise<{ child: ChildProcessByStdio<null, Readable, null>; ended: Promise<unknown> }> {
      const argv = [COMMAND, '--port', '0', '--json', '-v', '--cadence', 'manual']
      const child = spawn(process.execPath, argv, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] })
      const ended = new Promise((resolve) => child.on('exit', (code, by) => resolve(code ?? by)))
      const [line] = (await once(child.stdout, 'data')) as [Buffer]
      child.stdout.pause()
      const { urls } = JSON.parse(line.toString()) as { urls: { http: string } }
      const batch = Array.from({ length: 1_000 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'eth_blockNumber', params: [] }))
      for (let i = 0; i < 5; i++) {
        const headers = { 'content-type': 'application/json' }
        await (await fetch(urls.http, { method: 'POST', headers, body: JSON.stringify(batch) })).text()
      }
      return { child, ended }
    }

    test('drops lines instead of keeping them in memory', async () => {
      const { child, ended } = await unread()
      let out = ''
      await new Promise<void>((resolve) => {
        child.stdout.on('data', (chunk) => {
          out += String(chunk)
          if (/^\d+ entries of the log were dropped/m.test(out)) resolve()
        })
        child.stdout.resume()
      })
      child.kill('SIGTERM')
      expect(await ended).toBe(0)
    })

    test('ends on SIGTERM', async () => {
      const { child, ended } = await unread()
      child.kill('SIGTERM')
      expect(await ended).toBe(0)
      child.stdout.destroy()
    })
  })

  test('ends with 2 for a wrong flag', async () => {
    const child = spawn(process.execPath, [COMMAND, '--nope'], { cwd: folder, stdio: 'ignore' })
    expect(await new Promise((resolve) => child.on('exit', resolve))).toBe(2)
  })
})

async function ask(url: string, method: string, params: readonly unknown[] = []): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  const { result, error } = (await response.json()) as { result?: unknown; error?: { message: string } }
  if (error !== undefined) throw new Error(error.message)
  return result
}

async function answering(url: string): Promise<void> {
  for (;;) {
    try {
      await fetch(`${url}/livez`)
      return
    } catch {
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
}

function occupied(): Promise<Server> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => resolve(server))
  })
}

async function freePort(): Promise<number> {
  const server = await occupied()
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** The vectors are in the folder or one below. */
function locate(base: string, name: string): string {
  return [join(base, name), join(base, 'tests', name)].find(existsSync) ?? join(base, name)
}
