import { describe, expect, test } from 'vitest'
import { ask, call, dial, setUp, until } from '../bench.fixture.ts'
import type { Bench } from '../bench.fixture.ts'
import type { Server } from '../index.ts'

const ALICE = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266'
const TRANSFER = { from: ALICE, to: '0x70997970c51812dc3a010c7d01b50e0d17dc79c8', value: '0x1' }

interface Family {
  readonly type: string
  readonly help: string
  /** sample name with its labels → value */
  readonly samples: Map<string, number>
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/
const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\n"])*"(?:,(?!\})|(?=\})))+\})? (\S+)$/
const NUMBER = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/
const SUFFIXES: Readonly<Record<string, RegExp>> = { counter: /^$/, gauge: /^$/, histogram: /^_(bucket|sum|count)$/ }

/** Parses the text format 0.0.4: HELP, TYPE and samples of a family together, each sample once. Throws for anything else. */
function parse(text: string): Map<string, Family> {
  if (!text.endsWith('\n')) throw new Error('the last line has no line feed')
  const families = new Map<string, Family>()
  let family: readonly [string, Family] | null = null
  const lines = text.slice(0, -1).split('\n')
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i]!
    const help = /^# HELP (\S+) (.+)$/.exec(line)
    if (help !== null) {
      const [, name = '', words = ''] = help
      const type = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(lines[++i] ?? '')
      if (!NAME.test(name) || type?.[1] !== name || families.has(name)) throw new Error(`a wrong family: ${line}`)
      family = [name, { type: type[2]!, help: words, samples: new Map() }]
      families.set(...family)
      continue
    }
    const sample = SAMPLE.exec(line)
    if (sample === null || family === null) throw new Error(`not a sample: ${line}`)
    const [, name = '', labels = '', value = ''] = sample
    const suffix = name.startsWith(family[0]) ? name.slice(family[0].length) : 'foreign'
    if (!SUFFIXES[family[1].type]!.test(suffix) || !NUMBER.test(value)) throw new Error(`a wrong sample of ${family[0]}: ${line}`)
    if (family[1].samples.has(name + labels)) throw new Error(`a sample twice: ${line}`)
    family[1].samples.set(name + labels, Number(value))
  }
  return families
}

async function scrape(server: Server): Promise<ReadonlyMap<string, number>> {
  const { status, headers, body } = await ask(server, { method: 'GET', path: '/metrics' })
  expect([status, headers['content-type']]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8'])
  return new Map([...parse(body).values()].flatMap(({ samples }) => [...samples]))
}

function mine({ node }: Bench, blocks = 1): Promise<unknown> {
  return node.request({ method: 'anvil_mine', params: [`0x${blocks.toString(16)}`] })
}

describe('the endpoint', () => {
  test('has HELP and TYPE for each metric, and names with the suffixes of their types', async () => {
    await using bench = await setUp()
    const { body } = await ask(bench.server, { method: 'GET', path: '/metrics' })
    const families = parse(body)
    expect([...families.keys()]).toHaveLength(35)
    for (const [name, { type, help }] of families) {
      expect([name, name.endsWith('_total')]).toEqual([name, type === 'counter'])
      expect(help).toMatch(/^[A-Z].*\.$/)
    }
  })

  test('answers HEAD without a body, refuses other methods, and is not part of the public tier', async () => {
    await using bench = await setUp()
    const head = await ask(bench.server, { method: 'HEAD', path: '/metrics' })
    expect([head.status, head.body, Number(head.headers['content-length']) > 1_000]).toEqual([200, '', true])
    const post = await ask(bench.server, { path: '/metrics', body: '{}' })
    expect([post.status, post.headers['allow']]).toEqual([405, 'GET, HEAD, OPTIONS'])
    expect((await ask(bench.server, { method: 'PUT', path: '/metrics' })).status).toBe(405)
    expect((await ask(bench.server, { method: 'GET', path: '/public/metrics' })).status).toBe(404)
  })

  test('is refused to pages of other origins and under other hosts, as /health is', async () => {
    await using bench = await setUp()
    const headers = [{ origin: 'https://evil.example' }, { origin: 'http://evil:8545', host: 'evil:8545' }]
    for (const each of headers) {
      expect((await ask(bench.server, { method: 'GET', path: '/metrics', headers: each })).status).toBe(403)
      expect((await ask(bench.server, { method: 'GET', path: '/health', headers: each })).status).toBe(403)
    }
  })
})

describe('requests', () => {
  test('are counted by tier and method, over HTTP, in batches and over WebSocket', async () => {
    await using bench = await setUp()
    const { server } = bench
    await ask(server, { body: call('eth_chainId') })
    await ask(server, { body: `[${call('eth_chainId')},${call('eth_blockNumber')}]` })
    await ask(server, { path: '/public', body: call('eth_chainId') })
    await using client = await dial(server)
    client.send(call('eth_chainId'))
    await client.next()
    await bench.node.request({ method: 'eth_chainId' }) // in process: not counted
    const values = await scrape(server)
    expect(values.get('pocketchain_rpc_requests_total{tier="dedicated",method="eth_chainId"}')).toBe(3)
    expect(values.get('pocketchain_rpc_requests_total{tier="dedicated",method="eth_blockNumber"}')).toBe(1)
    expect(values.get('pocketchain_rpc_requests_total{tier="public",method="eth_chainId"}')).toBe(1)
  })

  test('of unknown methods share one label value', async () => {
    await using bench = await setUp()
    for (const name of ['eth_nothing', 'x"}\n', 'constructor', '__proto__']) await ask(bench.server, { body: call(name) })
    const values = await scrape(bench.server)
    const methods = [...values.keys()].filter((key) => key.startsWith('pocketchain_rpc_requests_total'))
    expect(methods).toEqual(['pocketchain_rpc_requests_total{tier="dedicated",method="unknown"}'])
    expect(values.get(methods[0]!)).toBe(4)
    expect(values.get('pocketchain_rpc_errors_total{tier="dedicated",code="-32601"}')).toBe(4)
  })

  test('that fail are counted by code, also those that wait and those that are not JSON-RPC', async () => {
    await using bench = await setUp()
    const { server } = bench
    await ask(server, { body: '{' })
    await ask(server, { body: '[1]' })
    await ask(server, { body: call('eth_getBalance', ['0x1']) })
    await ask(server, { body: call('eth_sendTransaction', [{ ...TRANSFER, from: TRANSFER.to, value: '0xffffffffffffffffffff' }]) })
    await ask(server, { path: '/public', body: call('anvil_mine') })
    const values = await scrape(server)
    const errors = [...values].filter(([key]) => key.startsWith('pocketchain_rpc_errors_total'))
    expect(Object.fromEntries(errors)).toEqual({
      'pocketchain_rpc_errors_total{tier="dedicated",code="-32700"}': 1,
      'pocketchain_rpc_errors_total{tier="dedicated",code="-32600"}': 1,
      'pocketchain_rpc_errors_total{tier="dedicated",code="-32602"}': 1,
      'pocketchain_rpc_errors_total{tier="dedicated",code="-32000"}': 1,
      'pocketchain_rpc_errors_total{tier="public",code="-32601"}': 1,
    })
  })

  test('have a latency histogram per tier, whose last bucket contains every body', async () => {
    await using bench = await setUp({}, { cadence: 'instant' })
    const { server } = bench
    for (let i = 0; i < 3; i++) await ask(server, { body: call('eth_sendTransaction', [TRANSFER]) })
    await ask(server, { path: '/public', body: `[${call('eth_chainId')},${call('eth_chainId')}]` })
    const values = await scrape(server)
    for (const [tier, count] of [
      ['dedicated', 3],
      ['public', 1],
    ] as const) {
      const buckets = [...values].filter(([key]) => key.startsWith(`pocketchain_rpc_request_duration_seconds_bucket{tier="${tier}"`))
      const bounds = buckets.map(([key]) => /le="(.+)"/.exec(key)?.[1])
      expect(bounds).toEqual(['0.001', '0.005', '0.025', '0.1', '0.5', '2.5', '10', '+Inf'])
      const sizes = buckets.map(([, value]) => value)
      expect(sizes).toEqual(sizes.toSorted((a, b) => a - b))
      expect(sizes.at(-1)).toBe(count)
      expect(values.get(`pocketchain_rpc_request_duration_seconds_count{tier="${tier}"}`)).toBe(count)
      expect(values.get(`pocketchain_rpc_request_duration_seconds_sum{tier="${tier}"}`)).toBeGreaterThan(0)
    }
  })
})

describe('the chain', () => {
  test('counts flashblocks, promised transactions and sealed blocks, and reports head and pool', async () => {
    await using bench = await setUp()
    const { server, node, clock } = bench
    for (let i = 0; i < 2; i++) await node.request({ method: 'eth_sendTransaction', params: [TRANSFER] })
    expect((await scrape(server)).get('pocketchain_pool_transactions')).toBe(2)
    await clock.advance(200)
    const promised = await scrape(server)
    expect(promised.get('pocketchain_promised_transactions_total')).toBe(2)
    expect(promised.get('pocketchain_blocks_sealed_total')).toBe(0)
    expect(promised.get('pocketchain_flashblocks_total')).toBeGreaterThan(0)
    await clock.advance(2_000)
    const sealed = await scrape(server)
    expect(sealed.get('pocketchain_blocks_sealed_total')).toBe(1)
    expect(sealed.get('pocketchain_head_block_number')).toBe(1)
    expect(sealed.get('pocketchain_pool_transactions')).toBe(0)
    expect(sealed.get('pocketchain_flashblocks_total')).toBeGreaterThanOrEqual(10)
    expect(sealed.get('pocketchain_promised_transactions_total')).toBe(2)
  })

  test('counts promised transactions whose block is dropped', async () => {
    await using bench = await setUp()
    const { server, node, clock } = bench
    await mine(bench, 2)
    await node.request({ method: 'eth_sendTransaction', params: [TRANSFER] })
    await clock.advance(200)
    await node.request({ method: 'anvil_rollback', params: ['0x1'] })
    const values = await scrape(server)
    expect(values.get('pocketchain_retracted_transactions_total')).toBe(1)
    expect(values.get('pocketchain_head_block_number')).toBe(1)
    expect(values.get('pocketchain_blocks_sealed_total')).toBe(2)
  })
})

describe('the process', () => {
  test('reports its open connections', async () => {
    await using bench = await setUp()
    const { server } = bench
    const idle = await scrape(server)
    const names = ['pocketchain_connections', 'pocketchain_websocket_connections', 'pocketchain_stream_subscribers']
    expect(names.map((name) => idle.get(name))).toEqual([1, 0, 0]) // that of the request itself
    const client = await dial(server)
    const stream = await dial(server, '/flashblocks')
    const open = await scrape(server)
    expect(names.map((name) => open.get(name))).toEqual([3, 2, 1])
    await client[Symbol.asyncDispose]()
    await stream[Symbol.asyncDispose]()
    await until(() => server.socketCount === 0)
    await expect.poll(async () => (await scrape(server)).get('pocketchain_connections')).toBe(1)
  })

  test('reports version, start, CPU time and memory', async () => {
    await using bench = await setUp()
    const values = await scrape(bench.server)
    expect(values.get(`pocketchain_build_info{version="${bench.node.clientVersion}"}`)).toBe(1)
    expect(values.get('process_start_time_seconds')).toBeCloseTo(performance.timeOrigin / 1_000, 2)
    expect(values.get('process_cpu_seconds_total')).toBeGreaterThan(0)
    expect(values.get('process_resident_memory_bytes')).toBeGreaterThan(values.get('nodejs_heap_size_used_bytes')!)
    expect(values.get('nodejs_heap_size_used_bytes')).toBeGreaterThan(1e6)
  })
})

test('the 404 sentence names the endpoints that the node has', async () => {
  await using bench = await setUp()
  const { body } = await ask(bench.server, { method: 'GET', path: '/nowhere' })
  expect(body).toBe(
    'nothing at "/nowhere"; JSON-RPC is at /, /rpc and /public, the explorer at / in a browser, the flashblock stream at /flashblocks, probes at /health, /livez and /readyz, ' +
      'metrics at /metrics, the wallet at /wallet, the gas sponsor at /paymaster and its page at /sponsor\n',
  )
  await using bare = await setUp({}, { wallet: false, sponsor: false })
  expect((await ask(bare.server, { method: 'GET', path: '/wallet' })).body).toMatch(/at \/flashblocks, probes .*, metrics at \/metrics\n$/)
})
