import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { build } from '../../scripts/setup.mjs'
import { COMPAT } from '../../src/compat.ts'
import { Address } from '../../src/eth/index.ts'
import { DevAccounts, Workers, createRpc, nodeThreads } from '../../src/rpc/index.ts'
import { launch } from '../command.fixture.ts'
import type { RunningNode } from '../node.fixture.ts'
import { ForkedChain, deploy, quantity, send, word } from './upstream.fixture.ts'

const STEPS = 600_000

let chain: ForkedChain
let heavy: string

/** Sums slot 0 and the slot that the second word names, after a loop of the first word's steps. */
const LOOP = '6000355b600190038060035750602035546000540160005260206000f3'

beforeEach(async () => {
  chain = await ForkedChain.start()
  heavy = await deploy(chain.upstream, LOOP)
  for (let slot = 0; slot < 4; slot++) await chain.upstream.ask('anvil_setStorageAt', heavy, quantity(slot), `0x${word(10 + slot)}`)
  await chain.upstream.ask('anvil_mine', 1)
})

afterEach(() => chain[Symbol.asyncDispose]())

beforeAll(() => build(), 120_000)

describe('a worker thread of a fork', () => {
  /** Requests that go to a thread immediately, and the messages to it. */
  async function threaded({ node: { chain: forked }, ask }: RunningNode) {
    // The main thread reads the account before it runs out of time.
    await ask('eth_call', { to: heavy, data: `0x${word(1)}${word(0)}` }, 'latest')
    const posted: string[] = []
    const bugs: unknown[] = []
    const onBug = (error: unknown) => void bugs.push(error)
    const startThread = nodeThreads(new URL('../../dist/rpc/workers/entry.js', import.meta.url))
    const start = async () => {
      const thread = (await startThread())!
      return {
        ...thread,
        post: (message: Parameters<typeof thread.post>[0]) => {
          posted.push(message.kind)
          thread.post(message)
        },
      }
    }
    const { sealed, config } = forked
    const headVersion = () => sealed.headVersion
    const compat = COMPAT.default
    const workers = new Workers({ maxThreads: 1, mainThreadMs: 0, history: sealed.history, headVersion, config, compat, start, onBug })
    const accounts = new DevAccounts([])
    const rpc = createRpc({ chain: forked, accounts, compat, workers, clientVersion: 'test', devClientVersion: 'test', onBug })
    const sum = (slot: number, steps = STEPS) => {
      const data = `0x${word(steps)}${word(slot)}`
      return rpc.request({ method: 'eth_call', params: [{ to: heavy, data, gas: quantity(50_000_000) }, 'latest'] })
    }
    return { rpc, sum, posted, bugs, close: () => workers.close() }
  }

  it('is given the values that it lacks, once, and runs the request again', async () => {
    const { sum, posted, bugs, close } = await threaded(await chain.fork())
    expect(await sum(1)).toBe(`0x${word(21)}`)
    expect(posted.filter((kind) => kind === 'base').length).toBeGreaterThan(0)
    const before = [posted.length, chain.proxy.requests.length]
    expect(await sum(1)).toBe(`0x${word(21)}`)
    expect([posted.length, chain.proxy.requests.length]).toEqual([before[0]! + 1, before[1]])
    expect(await sum(2)).toBe(`0x${word(22)}`)
    expect(posted.slice(-3)).toEqual(['task', 'base', 'task'])
    expect(bugs).toEqual([])
    await close()
  })

  it('traces from the block after the fork block on by default', async () => {
    await chain.upstream.ask('anvil_mine', 1_000)
    const fork = await chain.fork()
    const { rpc, posted, bugs, close } = await threaded(fork)
    const { blockNumber, transactionHash } = await send(fork, { to: heavy, data: `0x${word(1)}${word(0)}`, gas: '0x30d40' })
    const filter = { toAddress: [heavy] }
    const traces = await fork.ask('trace_filter', filter) // fetches the state
    expect(traces).toMatchObject([{ blockNumber: Number(blockNumber), transactionHash }])
    expect(await rpc.request({ method: 'trace_filter', params: [filter] })).toEqual(traces)
    expect(posted).toContain('task')
    expect(bugs).toEqual([])
    await close()
  })

  it('sees local changes, and no slot of the fork block in an account that was deleted', async () => {
    const fork = await chain.fork()
    const address = Address.from(heavy)
    await fork.node.chain.edit((world) => world.setAccount(address, null))
    await fork.node.chain.edit((world) => world.setCode(address, Buffer.from(LOOP, 'hex')))
    await fork.ask('anvil_setStorageAt', heavy, quantity(1), `0x${word(100)}`)
    const { sum, bugs, close } = await threaded(fork)
    expect(await sum(1)).toBe(`0x${word(100)}`)
    expect(await sum(2)).toBe(`0x${word(0)}`)
    await fork.ask('anvil_setStorageAt', heavy, quantity(2), `0x${word(5)}`)
    expect(await sum(2)).toBe(`0x${word(5)}`)
    expect(bugs).toEqual([])
    await close()
  })

  it('reports an upstream that fails with its message, and goes on when it answers again', async () => {
    const { sum, bugs, close } = await threaded(await chain.fork({}, { retries: 0 }))
    expect(await sum(1)).toBe(`0x${word(21)}`)
    chain.proxy.failure = { status: 500, body: 'down' }
    await expect(sum(3)).rejects.toThrow('upstream')
    chain.proxy.failure = null
    expect(await sum(3)).toBe(`0x${word(23)}`)
    expect(bugs).toEqual([])
    await close()
  })
})

describe('the command with --workers on a fork', () => {
  it('answers heavy calls as without threads, also after a reset', async () => {
    const small = [
      '--cadence',
      'instant',
      '--no-sponsor',
      '--no-bundler',
      '--no-wallet',
      '--no-storage-caching',
      '--fork-url',
      chain.proxy.url,
    ]
    const number = Number(await chain.upstream.ask('eth_blockNumber'))
    const command = await launch(...small, '--fork-block-number', String(number), '--workers', '2')
    const call = (slot: number) =>
      command.ask('eth_call', { to: heavy, data: `0x${word(2 * STEPS)}${word(slot)}`, gas: quantity(50_000_000) }, 'latest')
    const sums = [1, 2, 3, 1, 2, 3]
    expect(await Promise.all(sums.map(call))).toEqual(sums.map((slot) => `0x${word(20 + slot)}`))
    await chain.upstream.ask('anvil_setStorageAt', heavy, quantity(1), `0x${word(50)}`)
    await chain.upstream.ask('anvil_mine', 1)
    await command.ask('anvil_reset', { forking: { jsonRpcUrl: chain.proxy.url, blockNumber: number + 1 } })
    expect(await Promise.all(sums.map(call))).toEqual([60, 22, 23, 60, 22, 23].map((sum) => `0x${word(sum)}`))
    expect(await command.stop()).toMatchObject({ code: 0, err: '' })
  })
})
