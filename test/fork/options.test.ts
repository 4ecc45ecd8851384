import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { start } from '../../src/cli/cli.fixture.ts'
import { FORK_OPTIONS } from '../../src/cli/forkoptions.fixture.ts'
import type { ForkOptionName } from '../../src/cli/forkoptions.fixture.ts'
import { post } from '../node.fixture.ts'
import { BOB, ForkedChain, send, withoutProgress } from './upstream.fixture.ts'

// Each command-line option of a fork changes something that its user or the forked chain observes.

const HEAD = 9
const SMALL = ['--port', '0', '--json', '--cadence', 'manual', '--clock', 'manual', '--no-sponsor', '--no-bundler', '--no-wallet']

let chain: ForkedChain
let folder = ''
beforeAll(async () => {
  chain = await ForkedChain.start()
  folder = mkdtempSync(join(tmpdir(), 'pocketchain-fork-'))
  for (let block = 0; block < HEAD; block++) await send(chain.upstream, { to: BOB, value: '0x1' })
})
beforeEach(() => {
  Object.assign(chain.proxy, { failure: null, delayMs: 0 })
})
afterAll(async () => {
  await chain[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

interface Outcome {
  /** The number of the newest block; null if the command ended. */
  readonly head: unknown
  /** stderr without the progress of a start that takes longer than a second, as any start does on a busy machine */
  readonly err: string
  /** HTTP requests until the command was ready or ended. */
  readonly requests: number
}

/** Runs the command until it is ready or has ended. */
async function run(...argv: readonly string[]): Promise<Outcome> {
  const before = chain.proxy.requests.length
  const command = start([...SMALL, ...argv])
  const ready = await command.waitForOutput(/^\{.*\}\n/).catch(() => null)
  const requests = chain.proxy.requests.length - before
  const head =
    ready === null
      ? null
      : (await post(`http://127.0.0.1:${(JSON.parse(ready) as { readonly port: number }).port}`, [['eth_blockNumber']]))[0]
  command.stop()
  await command.exit
  return { head, err: withoutProgress(command.err()), requests }
}

/** As `run`, of a fork without a cache on disk. */
function fork(...argv: readonly string[]): Promise<Outcome> {
  return run('--fork-url', chain.proxy.url, '--no-storage-caching', ...argv)
}

/** Returns the indices of the runs in the order in which they were ready or had ended. */
async function orderOf(...runs: readonly Promise<Outcome>[]): Promise<readonly number[]> {
  const order: number[] = []
  await Promise.all(runs.map((each, index) => each.then(() => order.push(index))))
  return order
}

const busy = { status: 503, body: 'busy' }

const OBSERVATIONS: Readonly<Record<ForkOptionName, () => Promise<void>>> = {
  forkUrl: async () => {
    expect(await fork()).toMatchObject({ head: '0x7', err: '' })
    expect(await run()).toMatchObject({ head: '0x0', requests: 0 })
  },
  forkBlockNumber: async () => {
    expect(await fork('--fork-block-number', '4')).toMatchObject({ head: '0x4', err: '' })
    expect(await fork('--fork-block-number', '-1')).toMatchObject({ head: '0x8', err: '' })
    expect(await run('--no-storage-caching', '--fork-url', `${chain.proxy.url}@5`)).toMatchObject({ head: '0x5', err: '' })
  },
  forkTransactionHash: async () => {
    const { transactions } = (await chain.upstream.ask('eth_getBlockByNumber', '0x6', false)) as {
      readonly transactions: readonly string[]
    }
    expect(await fork('--fork-transaction-hash', String(transactions.at(-1)))).toMatchObject({ head: '0x6', err: '' })
  },
  forkChainId: async () => {
    expect(await fork('--fork-chain-id', '99')).toMatchObject({ head: null, err: expect.stringContaining('has chain id 31337, not 99') })
    expect(await fork('--fork-chain-id', '31337')).toMatchObject({ head: '0x7', err: '' })
  },
  forkHeader: async () => {
    await fork('--fork-header', 'X-Api-Key: abc', '--fork-header', 'Authorization: Bearer def', '--fork-header', 'Accept: a/b, c/d')
    expect(chain.proxy.headers).toMatchObject({ 'x-api-key': 'abc', authorization: 'Bearer def', accept: 'a/b, c/d' })
    await fork()
    expect(chain.proxy.headers).not.toHaveProperty('x-api-key')
  },
  timeout: async () => {
    chain.proxy.delayMs = 1_000
    expect(await fork('--timeout', '20', '--retries', '0')).toMatchObject({ head: null, err: expect.stringContaining('20 ms') })
    expect(await fork('--retries', '0')).toMatchObject({ head: '0x7', err: expect.not.stringContaining('--fork-url') })
  },
  retries: async () => {
    chain.proxy.failure = busy
    const [without, twice] = [await fork('--retries', '0'), await fork('--retries', '2', '--fork-retry-backoff', '1')]
    expect([without, twice].map(({ head, requests }) => [head, requests])).toEqual([
      [null, 1],
      [null, 3],
    ])
  },
  forkRetryBackoff: async () => {
    chain.proxy.failure = busy
    const withBackoff = (ms: string) => fork('--retries', '1', '--fork-retry-backoff', ms)
    expect(await orderOf(withBackoff('4000'), withBackoff('1'))).toEqual([1, 0])
  },
  computeUnitsPerSecond: async () => {
    // 20 calls per second
    expect(await orderOf(fork('--compute-units-per-second', '400'), fork())).toEqual([1, 0])
  },
  noRateLimit: async () => {
    const slow = ['--compute-units-per-second', '400']
    expect(await orderOf(fork(...slow), fork(...slow, '--no-rate-limit'))).toEqual([1, 0])
  },
  noStorageCaching: async () => {
    const path = join(folder, 'unused')
    await fork('--cache-path', path)
    expect(() => readdirSync(path)).toThrow('ENOENT')
  },
  cachePath: async () => {
    const path = join(folder, 'used')
    const again = ['--fork-url', `${chain.proxy.url}@7`, '--fork-chain-id', '31337', '--cache-path', path]
    expect(await run(...again)).toMatchObject({ head: '0x7', err: '' })
    expect(readdirSync(join(path, 'fork', '31337'))).toHaveLength(1)
    expect(await run(...again)).toMatchObject({ head: '0x7', requests: 0 })
  },
}

test.each(FORK_OPTIONS)('%s', (name) => OBSERVATIONS[name]())
