import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { JsonRecords, RpcError, createRemoteRpc, memoryRecords } from '../../jsonrpc/index.ts'
import type { Rpc } from '../../jsonrpc/index.ts'
import type { ChainInfo, WalletChain } from './chain.ts'
import { Chains } from './chains.ts'
import { CHAINS, CHAIN_URLS } from '../limits.ts'

const silent: Rpc = {
  request: () => Promise.reject(new Error('unexpected request')),
  subscribe: () => Promise.reject(new Error('unexpected request')),
}

function chain(chainId: number, ...rpcUrls: readonly string[]): ChainInfo {
  const nativeCurrency = { name: 'Ether', symbol: 'ETH', decimals: 18 }
  return { chainId, name: `Chain ${chainId}`, nativeCurrency, rpcUrls, blockExplorerUrls: [], iconUrls: [] }
}

const given: WalletChain = { ...chain(31_337, 'http://127.0.0.1:8545'), rpc: silent, isEmbedded: true }

function open(records = memoryRecords(), owners: readonly WalletChain[] = [given]) {
  const connected: string[] = []
  const connect = (url: string, chainId: number): Rpc => {
    connected.push(`${chainId} ${url}`)
    return { ...silent }
  }
  const errors: string[] = []
  const chains = new Chains(records, owners, connect, (error) => errors.push(String(error)))
  return { chains, connected, records, errors }
}

describe('a chain that is added', () => {
  it('is found, listed after the owner’s, connected by its first url, and never embedded', () => {
    const { chains, connected } = open()
    const added = chains.add(chain(5, 'https://a.example', 'https://b.example'))
    expect(chains.get(5)).toBe(added)
    expect(chains.list().map(({ chainId }) => chainId)).toEqual([31_337, 5])
    expect(added.isEmbedded).toBe(false)
    expect(connected).toEqual(['5 https://a.example'])
  })

  it('never forwards an error code of the wallet: a node could fake a rejection by the user', async () => {
    const refusing = (code: number): Rpc => ({ ...silent, request: () => Promise.reject(new RpcError(code, 'no', { reason: 'r' })) })
    for (const [code, expected] of [
      [4001, -32000],
      [5720, -32000],
      [-32601, -32601],
      [4444, 4444],
      [3, 3],
    ] as const) {
      const chains = new Chains(memoryRecords(), [given], () => refusing(code))
      const { rpc } = chains.add(chain(5, 'https://a.example'))
      await expect(rpc.request({ method: 'eth_call' })).rejects.toMatchObject({ code: expected, message: 'no', data: { reason: 'r' } })
    }
  })

  it('answers 4901 when its node cannot be reached, and 4200 for subscriptions; what its node answers stays as it is', async () => {
    const server = createServer((_, response) => {
      response.end('{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no upstream","data":{"reason":"unreachable"}}}')
    })
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}` // a TCP server's
    const { rpc } = new Chains(memoryRecords(), [given], (to) => createRemoteRpc(to)).add(chain(5, url))
    await expect(rpc.request({ method: 'eth_blockNumber' })).rejects.toMatchObject({ code: -32000, message: 'no upstream' })
    await expect(rpc.subscribe(['newHeads'], () => undefined)).rejects.toMatchObject({
      code: 4200,
      message: expect.stringMatching(/poll instead$/),
    })
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    const unreachable = { code: 4901, message: expect.stringContaining(`${url} cannot be reached`), data: { reason: 'unreachable' } }
    await expect(rpc.request({ method: 'eth_blockNumber' })).rejects.toMatchObject(unreachable)
  })

  it('is restored after a restart at its position, and a configured chain has its configured values', () => {
    const { chains, records } = open()
    for (const id of [700, 5, 60]) chains.add(chain(id, `https://${id}.example`))
    const again = open(records, [{ ...given, chainId: 1_000 }])
    expect(again.chains.list().map(({ chainId }) => chainId)).toEqual([1_000, 700, 5, 60])
    expect(again.chains.get(5)).toMatchObject(chain(5, 'https://5.example'))
    expect(again.connected).toEqual(['700 https://700.example', '5 https://5.example', '60 https://60.example'])
  })

  it('added twice is one entry: it keeps its name and uses the url approved last', () => {
    const { chains, connected, records } = open()
    chains.add(chain(5, 'https://a.example'))
    const again = { ...chain(5, 'https://b.example', 'https://a.example/'), name: 'Other' }
    expect(chains.wouldReconnect(5, 'https://b.example')).toBe(true)
    chains.add(again)
    expect(chains.list()).toHaveLength(2)
    expect(chains.get(5)).toMatchObject({ name: 'Chain 5', rpcUrls: ['https://b.example', 'https://a.example/'] })
    expect(connected).toEqual(['5 https://a.example', '5 https://b.example'])
    expect(open(records).connected).toEqual(['5 https://b.example'])
  })

  it('added again with the same url keeps its connection', () => {
    const { chains, connected } = open()
    const { rpc } = chains.add(chain(5, 'https://a.example'))
    expect(chains.wouldReconnect(5, 'https://a.example/')).toBe(false)
    expect(chains.add(chain(5, 'https://a.example/', 'https://c.example')).rpc).toBe(rpc)
    expect(chains.get(5)?.rpcUrls).toEqual(['https://a.example', 'https://c.example'])
    expect(connected).toHaveLength(1)
  })

  it('never replaces a configured connection, not even after a restart', () => {
    const { chains, connected, records } = open()
    expect(chains.wouldReconnect(31_337, 'https://evil.example')).toBe(false)
    const added = chains.add(chain(31_337, 'https://evil.example'))
    expect(added).toMatchObject({ isEmbedded: true, rpcUrls: ['http://127.0.0.1:8545', 'https://evil.example'] })
    expect(added.rpc).toBe(silent)
    const again = open(records)
    expect(again.chains.default.rpc).toBe(silent)
    expect(again.chains.get(31_337)?.rpc).toBe(silent)
    expect([...connected, ...again.connected]).toEqual([])
  })

  it('has limits for urls and chains', () => {
    const { chains, records } = open()
    const urls = Array.from({ length: CHAIN_URLS + 5 }, (_, i) => `https://${i}.example`)
    expect(chains.add(chain(5, ...urls)).rpcUrls).toHaveLength(CHAIN_URLS)
    for (let id = 100; !chains.isFull; id++) chains.add(chain(id, 'https://a.example'))
    expect(chains.list()).toHaveLength(CHAINS)
    expect(() => chains.add(chain(99, 'https://a.example'))).toThrow(RangeError)
    expect(chains.get(99)).toBeNull()
    expect(open(records).chains.list()).toHaveLength(CHAINS)
    expect(() => chains.add(chain(5, 'https://new.example'))).not.toThrow()
  })
})

it('a wallet without a chain, or with a duplicate, is rejected', () => {
  expect(() => open(memoryRecords(), [])).toThrow('at least one chain')
  expect(() => open(memoryRecords(), [given, given])).toThrow('31337 was configured twice')
})

it('an invalid record is skipped and reported; the others are loaded', () => {
  const records = memoryRecords()
  open(records).chains.add(chain(5, 'https://a.example'))
  JsonRecords.put(records, 'wallet/chains/6', { place: 2, info: { chainId: 6 } })
  JsonRecords.put(records, 'wallet/chains/7', { place: 3, info: chain(8, 'https://a.example') })
  JsonRecords.put(records, 'wallet/chains/9', { place: 4, info: chain(9) })
  const { chains, errors } = open(records)
  expect(chains.list().map(({ chainId }) => chainId)).toEqual([31_337, 5])
  expect(errors).toEqual([
    'Error: the record wallet/chains/6 is no chain and is left out',
    'Error: the record wallet/chains/7 is no chain and is left out',
    'RangeError: chain 9 has no rpc url',
  ])
})

it('a probe ends within its timeout for any connection, and when its caller aborts', async () => {
  const never: Rpc = { ...silent, request: () => new Promise(() => {}) }
  const chains = new Chains(
    memoryRecords(),
    [given],
    () => never,
    () => {},
  )
  const controller = new AbortController()
  const probe = chains.probe('https://a.example', 5, controller.signal)
  controller.abort(new Error('gone'))
  await expect(probe).rejects.toThrow('gone')
  await expect(chains.probe('https://a.example', 5, controller.signal)).rejects.toThrow('gone')
})
