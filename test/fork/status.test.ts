import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startNode } from '../node.fixture.ts'
import type { RunningNode } from '../node.fixture.ts'
import { ALICE, ForkedChain, LEDGER, Proxy, deploy, send, word } from './upstream.fixture.ts'

let chain: ForkedChain
let ledger: string
let forkNumber: number
let forkHash: string

beforeEach(async () => {
  chain = await ForkedChain.start()
  ledger = await deploy(chain.upstream, LEDGER)
  await send(chain.upstream, { to: ledger, data: `0x${word(1)}${word(100)}` })
  const { number, hash } = (await chain.upstream.ask('eth_getBlockByNumber', 'latest', false)) as Record<string, string>
  forkNumber = Number(number)
  forkHash = hash!
})

afterEach(() => chain[Symbol.asyncDispose]())

async function metricsOf({ url }: RunningNode): Promise<ReadonlyMap<string, number>> {
  const text = await (await fetch(`${url}/metrics`)).text()
  return new Map([...text.matchAll(/^pocketchain_fork_(\w+)_total (\d+)$/gm)].map(([, name, value]) => [name!, Number(value)]))
}

const valueOf = async (node: RunningNode, key: number): Promise<number> =>
  Number(await node.ask('eth_call', { to: ledger, data: `0x${word(key)}${word(0)}` }))

describe('the status of a fork', () => {
  it('names upstream by scheme and host, and the fork block', async () => {
    const url = `${chain.proxy.url}/v2/secret-key?token=secret`
    const fork = await chain.fork({}, { url, backoffMs: 250 })
    const info = (await fork.ask('anvil_nodeInfo')) as Record<string, unknown>
    expect(info).toMatchObject({
      network: 'optimism',
      forkConfig: { forkUrl: chain.proxy.url, forkBlockNumber: forkNumber, forkRetryBackoff: 250 },
    })
    for (const method of ['anvil_metadata', 'hardhat_metadata']) {
      expect(await fork.ask(method)).toMatchObject({
        forkedNetwork: { chainId: 31_337, forkBlockNumber: forkNumber, forkBlockHash: forkHash },
      })
    }
    const status = await fork.ask('pocketchain_forkStatus')
    expect(status).toMatchObject({ url: chain.proxy.url, chainId: 31_337, blockNumber: forkNumber, blockHash: forkHash })
    expect(JSON.stringify([info, status])).not.toContain('secret')
  })

  it('starts with two requests: one for the fork block, one for all that the set-up and the first block read', async () => {
    const before = chain.proxy.requests.length
    const fork = await chain.fork()
    expect(chain.proxy.requests.length - before).toBe(2)
    await fork.ask('evm_mine')
    expect(chain.proxy.requests.length - before).toBe(2)
  })

  it('counts requests, keys, retries and refusals, as /metrics does', async () => {
    const fork = await chain.fork({}, { backoffMs: 1 })
    const before = (await fork.ask('pocketchain_forkStatus')) as Record<string, number>
    expect(before['requests']).toBe(chain.proxy.requests.length)
    expect(await valueOf(fork, 1)).toBe(100)
    const after = (await fork.ask('pocketchain_forkStatus')) as Record<string, number>
    expect(after['requests']).toBe(chain.proxy.requests.length)
    expect(after['requests']).toBeGreaterThan(before['requests']!)
    expect(after['keys']).toBeGreaterThan(before['keys']!)
    chain.proxy.failure = { status: 429, body: '{"error":"too many requests"}' }
    await expect(fork.ask('eth_getBalance', `0x${'12'.repeat(20)}`)).rejects.toThrow(/-32000/)
    chain.proxy.failure = null
    const refused = (await fork.ask('pocketchain_forkStatus')) as Record<string, number>
    expect(refused['rateLimits']).toBeGreaterThan(0)
    expect(refused['retries']).toBeGreaterThan(0)
    const metrics = await metricsOf(fork)
    expect(Object.fromEntries(metrics)).toEqual({
      requests: refused['requests'],
      keys: refused['keys'],
      cache_hits: refused['cacheHits'],
      retries: refused['retries'],
      rate_limits: refused['rateLimits'],
    })
  })

  it('is null for a chain that is not a fork', async () => {
    expect(await chain.upstream.ask('pocketchain_forkStatus')).toBeNull()
    expect(await chain.upstream.ask('anvil_nodeInfo')).toMatchObject({
      forkConfig: { forkUrl: null, forkBlockNumber: null, forkRetryBackoff: null },
    })
    expect(await chain.upstream.ask('hardhat_metadata')).toMatchObject({ forkedNetwork: null })
    expect((await metricsOf(chain.upstream)).size).toBe(0)
  })
})

describe('anvil_setRpcUrl', () => {
  it('reads from another endpoint of the same chain from then on', async () => {
    const other = await Proxy.start(chain.upstream.url)
    try {
      const fork = await chain.fork({}, { headers: { 'x-key': 'k' } })
      await send(fork, { to: ledger, data: `0x${word(1)}${word(5)}` })
      const { requests } = (await fork.ask('pocketchain_forkStatus')) as { requests: number }
      expect(await fork.ask('anvil_setRpcUrl', `${other.url}/key`)).toBeNull()
      const served = chain.proxy.requests.length
      expect(await valueOf(fork, 2)).toBe(0)
      expect(await valueOf(fork, 1)).toBe(105)
      expect(await fork.ask('eth_getBlockByNumber', '0x0', false)).toEqual(await chain.upstream.ask('eth_getBlockByNumber', '0x0', false))
      expect(chain.proxy.requests.length).toBe(served)
      expect(other.requests.length).toBeGreaterThan(2)
      const status = (await fork.ask('pocketchain_forkStatus')) as { url: string; requests: number }
      expect(status).toMatchObject({ url: other.url, requests: requests + other.requests.length })
    } finally {
      await other[Symbol.asyncDispose]()
    }
  })

  it('refuses an endpoint of another chain, another history or without an answer, and changes nothing', async () => {
    const fork = await chain.fork({}, { retries: 0 })
    await using otherChain = await startNode({ chainId: 10, sponsor: false, wallet: false, bundler: false })
    await using otherHistory = await startNode({ cadence: 'instant', sponsor: false, wallet: false, bundler: false })
    await otherHistory.ask('anvil_mine', '0x5')
    const refusal = (url: string, sentence: RegExp) => expect(fork.ask('anvil_setRpcUrl', url)).rejects.toThrow(sentence)
    await refusal(otherChain.url, /has chain id 10, not 31337, which the fork has; use an endpoint of the same chain/)
    await refusal(otherHistory.url, new RegExp(`as block ${forkNumber}, not the fork block ${forkHash}`))
    const closed = await Proxy.start(chain.upstream.url)
    const { url } = closed
    await closed[Symbol.asyncDispose]()
    await refusal(`${url}/secret`, new RegExp(`^-32000 upstream ${url} (?!.*secret)`))
    await refusal('ftp://example.org', /-32000 /)
    expect(await fork.ask('pocketchain_forkStatus')).toMatchObject({ url: chain.proxy.url })
    expect(await valueOf(fork, 1)).toBe(100)
  })

  it('refuses a chain that is not a fork', async () => {
    await expect(chain.upstream.ask('anvil_setRpcUrl', chain.proxy.url)).rejects.toThrow(
      '-32000 this chain is not a fork: there is no rpc url behind it to set',
    )
    expect(await chain.upstream.ask('eth_getTransactionCount', ALICE)).toBe('0x2')
  })
})
