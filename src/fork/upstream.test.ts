import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { UpstreamError } from './errors.ts'
import { Refusal, UpstreamFixture } from './upstream.fixture.ts'
import { Upstream } from './upstream.ts'
import type { UpstreamOptions } from './upstream.ts'

const FAST: UpstreamOptions = { backoffMs: 4, retries: 3 }
const fixtures: UpstreamFixture[] = []
const upstreams: Upstream[] = []
let fixture: UpstreamFixture

const echo = (method: string, params: readonly unknown[]): unknown => {
  if (method === 'eth_call') throw new Refusal(3, 'execution reverted', '0x08c379a0')
  return params[0] ?? method
}

async function start(): Promise<UpstreamFixture> {
  const started = await UpstreamFixture.start(echo)
  fixtures.push(started)
  return started
}

function upstreamOf(urls: readonly string[] = [fixture.url], options: UpstreamOptions = {}): Upstream {
  const upstream = new Upstream(urls, { ...FAST, ...options })
  upstreams.push(upstream)
  return upstream
}

function gets(count: number): { method: string; params: number[] }[] {
  return Array.from({ length: count }, (_, i) => ({ method: 'eth_getBalance', params: [i] }))
}

async function results(upstream: Upstream, count: number): Promise<readonly unknown[]> {
  return (await upstream.batch(gets(count))).map((answer) => ('result' in answer ? answer.result : answer.error))
}

async function failure(promise: Promise<unknown>): Promise<UpstreamError> {
  const error = await promise.then(
    () => 'it was answered',
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(UpstreamError)
  return error as UpstreamError
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i)

beforeEach(async () => {
  fixture = await start()
})

afterEach(async () => {
  for (const upstream of upstreams.splice(0)) upstream.close()
  for (const started of fixtures.splice(0)) await started.stop()
})

describe('Upstream', () => {
  it('sends a batch as one HTTP request, and returns the answers in the order of the calls', async () => {
    const upstream = upstreamOf()
    expect(await results(upstream, 60)).toEqual(upTo(60))
    expect(fixture.requests).toHaveLength(1)
    expect(upstream.stats).toEqual({ requests: 1, retries: 0, rateLimits: 0 })
  })

  it('sends more than 100 calls as several batches', async () => {
    expect(await results(upstreamOf(), 250)).toEqual(upTo(250))
    expect(fixture.requests.map(({ length }) => length).toSorted((a, b) => b - a)).toEqual([100, 100, 50])
  })

  it('halves the batches until upstream takes them, and keeps the size', async () => {
    fixture.faults.batches = 20
    const upstream = upstreamOf()
    expect(await results(upstream, 80)).toEqual(upTo(80))
    fixture.requests.length = 0
    expect(await results(upstream, 40)).toEqual(upTo(40))
    expect(fixture.requests.map(({ length }) => length)).toEqual([20, 20])
  })

  it.each(['refused', 'object'] as const)('sends single requests to an upstream without batches (%s)', async (how) => {
    fixture.faults.batches = how
    const upstream = upstreamOf()
    expect(await results(upstream, 20)).toEqual(upTo(20))
    expect(fixture.requests.map(({ length }) => length)).toEqual([20, ...upTo(20).map(() => 1)])
    expect(upstream.stats.retries).toBe(0)
  })

  it.each([
    ['an error about a method', 200, '{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found"}}'],
    ['HTTP 403', 403, 'Forbidden'],
    ['an empty body', 200, ''],
    ['an object', 200, '{}'],
    ['the answer to the first call', 200, '{"jsonrpc":"2.0","id":1,"result":"0x1"}'],
  ])('repeats a batch that is refused with %s as single calls, and sends no batches after the second refusal', async (_, status, body) => {
    fixture.faults.failing = { count: Infinity, status, body, onlyBatches: true }
    const upstream = upstreamOf()
    for (let round = 0; round < 3; round++) expect(await results(upstream, 5)).toEqual(upTo(5))
    expect(fixture.requests.map(({ length }) => length)).toEqual([5, 1, 1, 1, 1, 1, 5, ...upTo(10).map(() => 1)])
    expect(upstream.stats.retries).toBe(0)
  })

  it('sends batches again after one that was refused once', async () => {
    fixture.faults.failing = { count: 1, status: 200, body: '<html>' }
    const upstream = upstreamOf()
    for (let round = 0; round < 2; round++) expect(await results(upstream, 5)).toEqual(upTo(5))
    expect(fixture.requests.map(({ length }) => length)).toEqual([5, 1, 1, 1, 1, 1, 5])
  })

  it('reports what a single call was refused with', async () => {
    fixture.faults.failing = { count: 100, status: 403, body: 'Forbidden' }
    await expect(results(upstreamOf(), 2)).rejects.toThrow('answered HTTP 403 without a JSON-RPC response; check the URL and its key')
  })

  it('repeats only the calls of a batch that were limited', async () => {
    fixture.faults.answeredCalls = { count: 7, error: { code: 429, message: 'slow down' } }
    expect(await results(upstreamOf(), 20)).toEqual(upTo(20))
    expect(fixture.requests.map(({ length }) => length)).toEqual([20, 13, 6])
  })

  it('passes on errors of calls with code, message and data', async () => {
    await expect(upstreamOf().call('eth_call', [])).rejects.toMatchObject({ code: 3, message: 'execution reverted', data: '0x08c379a0' })
    expect(fixture.requests).toHaveLength(1)
  })

  it('repeats after a closed connection and after HTTP 5xx', async () => {
    fixture.faults.resets = 1
    fixture.faults.failing = { count: 2, status: 503 }
    const upstream = upstreamOf()
    expect(await upstream.call('eth_chainId')).toBe('eth_chainId')
    expect(upstream.stats).toMatchObject({ requests: 4, retries: 3 })
  })

  it('waits as long as Retry-After says', async () => {
    fixture.faults.failing = { count: 1, status: 429, headers: { 'retry-after': '1' } }
    const start = performance.now()
    await upstreamOf().call('eth_chainId')
    expect(performance.now() - start).toBeGreaterThan(950)
  })

  it('says at once that Retry-After is longer than a request may take', async () => {
    fixture.faults.failing = { count: 100, status: 429, headers: { 'retry-after': '3600' } }
    const upstream = upstreamOf()
    const error = await failure(upstream.call('eth_chainId'))
    expect(error.reason).toBe('rate-limit')
    expect(error.message).toBe(
      `upstream ${fixture.url} answered HTTP 429 without a JSON-RPC response; lower the rate with --compute-units-per-second, or use another endpoint; it accepts requests again in 3600 s`,
    )
    expect(upstream.stats).toMatchObject({ requests: 1, rateLimits: 1 })
  })

  it('says after all retries that the rate limit holds', async () => {
    fixture.faults.failing = { count: 100, status: 429 }
    const upstream = upstreamOf()
    const error = await failure(upstream.call('eth_chainId'))
    expect(error.reason).toBe('rate-limit')
    expect(error.message).toBe(
      `upstream ${fixture.url} answered HTTP 429 without a JSON-RPC response; lower the rate with --compute-units-per-second, or use another endpoint (4 attempts)`,
    )
    expect(upstream.stats).toEqual({ requests: 4, retries: 3, rateLimits: 4 })
  })

  it('stays below a limit of 20 requests a second after a few refusals', async () => {
    fixture.faults.perSecond = 20
    const upstream = upstreamOf([fixture.url], { retries: 8, backoffMs: 400 })
    await Promise.all(upTo(60).map((i) => upstream.call('eth_getBalance', [i])))
    expect(fixture.requests.length).toBeLessThan(60 * 3)
    expect(upstream.stats.rateLimits).toBeGreaterThan(0)
  })

  it('keeps a fixed rate of compute units, 20 per call', async () => {
    const upstream = upstreamOf([fixture.url], { computeUnitsPerSecond: 400 })
    const start = performance.now()
    for (let i = 0; i < 6; i++) await upstream.call('eth_chainId')
    expect(performance.now() - start).toBeGreaterThan(240)
  })

  it('reports a server that cannot be reached, by scheme and host', async () => {
    const { url } = fixture
    await fixture.stop()
    fixtures.length = 0
    const error = await failure(upstreamOf([`${url}/v2/secret-key?token=secret`]).call('eth_chainId'))
    expect(error.reason).toBe('unreachable')
    expect(error.message).toBe(`upstream ${url} cannot be reached: ECONNREFUSED (4 attempts)`)
  })

  it('reports a server that does not answer in time', async () => {
    fixture.faults.delayMs = 500
    const error = await failure(upstreamOf([fixture.url], { timeoutMs: 30, retries: 0 }).call('eth_chainId'))
    expect(error.message).toBe(`upstream ${fixture.url} did not answer within 30 ms`)
  })

  it.each([
    ['malformed', 200, 'not json', 'answered HTTP 200 with a body that is not a JSON-RPC response to the request'],
    [
      'malformed',
      200,
      '{"jsonrpc":"2.0","id":77,"result":1}',
      'answered HTTP 200 with a body that is not a JSON-RPC response to the request',
    ],
    ['refused', 401, 'no', 'answered HTTP 401 without a JSON-RPC response; check the URL and its key'],
    ['refused', 403, '{"error":{"code":-32600,"message":"bad key"}}', 'answered error -32600: bad key; check the URL and its key'],
  ])('reports a reply that is %s (HTTP %i %s)', async (reason, status, body, message) => {
    fixture.faults.failing = { count: 100, status, body }
    const error = await failure(upstreamOf([fixture.url], { retries: 0 }).call('eth_chainId'))
    expect(error).toMatchObject({ reason, message: `upstream ${fixture.url} ${message}` })
  })

  it('does not follow redirects', async () => {
    fixture.faults.failing = { count: 100, status: 301, headers: { location: 'http://127.0.0.1:1/' } }
    const error = await failure(upstreamOf().call('eth_chainId'))
    expect(error.message).toBe(`upstream ${fixture.url} answered with a redirect (HTTP 301), which is not followed`)
    expect(fixture.requests).toHaveLength(1)
  })

  it('uses the next url after a failure, and stays with it', async () => {
    const second = await start()
    fixture.faults.failing = { count: 100, status: 500 }
    const upstream = upstreamOf([fixture.url, second.url], { backoffMs: 60_000 })
    expect(await upstream.call('eth_chainId')).toBe('eth_chainId')
    expect(await upstream.call('eth_chainId')).toBe('eth_chainId')
    expect([fixture.requests.length, second.requests.length]).toEqual([1, 2])
  })

  it('asks the next url for a state that the first one lacks', async () => {
    const second = await start()
    fixture.faults.stateError = { code: -32000, message: 'missing trie node' }
    expect(await upstreamOf([fixture.url, second.url], { backoffMs: 60_000 }).call('eth_getBalance', ['0x1'])).toBe('0x1')
  })

  it('asks once more for a missing state, then returns the error', async () => {
    fixture.faults.stateError = { code: -32000, message: 'missing trie node' }
    await expect(upstreamOf().call('eth_getBalance')).rejects.toMatchObject({ message: 'missing trie node' })
    expect(fixture.requests).toHaveLength(2)
  })

  it.each([
    'eth_sendRawTransaction',
    'eth_sendTransaction',
    'eth_sign',
    'eth_newFilter',
    'eth_getFilterChanges',
    'eth_submitWork',
    'anvil_setBalance',
    'evm_mine',
    'debug_setHead',
    'debug_standardTraceBlockToFile',
    'personal_unlockAccount',
    'admin_addPeer',
    'eth_getBalance\n',
  ])('never sends %j', async (method) => {
    const error = await failure(upstreamOf().call(method, []))
    expect(error).toMatchObject({ reason: 'method', message: `${method} is not sent upstream: a fork only reads the forked chain` })
    expect(fixture.requests).toHaveLength(0)
  })

  it.each(['eth_getLogs', 'eth_call', 'debug_traceTransaction', 'trace_block', 'eth_getBlockReceipts', 'eth_simulateV1', 'net_version'])(
    'sends %s',
    async (method) => {
      await upstreamOf()
        .call(method, [])
        .catch(() => {})
      expect(fixture.methods).toEqual([method])
    },
  )

  it('sends the headers of the options, and the credentials of the url as basic authentication', async () => {
    const url = fixture.url.replace('http://', 'http://user:p%40ss@')
    await upstreamOf([url], { headers: { 'x-key': 'abc' } }).call('eth_chainId')
    expect(fixture.headers[0]).toMatchObject({ 'x-key': 'abc', authorization: `Basic ${Buffer.from('user:p@ss').toString('base64')}` })
  })

  it('sends the headers of the options to the host of the first url only', async () => {
    const second = await start()
    fixture.faults.failing = { count: 1, status: 500 }
    const upstream = upstreamOf([fixture.url, second.url, `${fixture.url}/other`], { headers: { 'x-key': 'abc' } })
    await upstream.call('eth_chainId')
    second.faults.failing = { count: 1, status: 500 }
    await upstream.call('eth_chainId')
    expect(fixture.headers.map((headers) => headers['x-key'])).toEqual(['abc', 'abc'])
    expect(second.headers.map((headers) => headers['x-key'])).toEqual([undefined, undefined])
  })

  it('removes keys from messages of upstream', async () => {
    fixture.faults.failing = {
      count: 9,
      status: 403,
      body: `{"error":{"code":-32600,"message":"no /v2/secret-key?token=abc and /v2/secret-key"}}`,
    }
    const error = await failure(upstreamOf([`${fixture.url}/v2/secret-key?token=abc`], { retries: 0 }).call('eth_chainId'))
    expect(error.message).toBe(`upstream ${fixture.url} answered error -32600: no … and …; check the URL and its key`)
  })

  it.each([
    ['nonsense', 'the fork URL is not a URL; expected http://host or https://host'],
    ['ftp://host/key', 'the fork URL of host cannot be used: ftp: urls are not fetched, https: is'],
    ['http://host:25/key', 'the fork URL of host:25 cannot be used: port 25 is reserved for a protocol other than HTTP'],
  ])('refuses the url %s', (url, message) => expect(() => new Upstream([url])).toThrow(message))

  it('ends its waits when it is closed', async () => {
    fixture.faults.failing = { count: 100, status: 500 }
    const upstream = upstreamOf([fixture.url], { backoffMs: 60_000 })
    const call = failure(upstream.call('eth_chainId'))
    await expect.poll(() => upstream.stats.retries).toBe(1)
    upstream.close()
    expect((await call).message).toBe(`the connection to upstream ${fixture.url} is closed`)
  })
})
