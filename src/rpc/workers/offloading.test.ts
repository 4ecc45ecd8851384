import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { Address, Hash, Hex } from '../../eth/index.ts'
import { configureTier1, resetTier1 } from '../../evm/index.ts'
import { OFFLOAD_START_MS, LONG_AFTER } from '../limits.ts'
import { DEDICATED, testNode } from '../node.fixture.ts'
import type { TestNode } from '../node.fixture.ts'
import { textOf } from '../body.ts'
import { buildThreads, threads } from './threads.fixture.ts'
import type { Threads } from './threads.fixture.ts'

const HERE = Address.from('0x00000000000000000000000000000000c0ffee00')
/** Burns all gas but 30,000, then returns slot 0. */
const LONG = Hex.toBytes('0x5b620075305a116000575f545f5260205ff3')
/** Takes two milliseconds: shorter requests are not offloaded, and those of 25 ms go to a thread anyway. */
const LONG_GAS = '0x1e8480'
const MAIN_THREAD_MS = 1_000

const nodes: TestNode[] = []

async function started(own: Threads, maxThreads = 2): Promise<TestNode> {
  const node = await testNode({ workers: { start: own.start, maxThreads, mainThreadMs: MAIN_THREAD_MS } })
  nodes.push(node)
  await put(node, 1n)
  return node
}

async function put(node: TestNode, value: bigint): Promise<void> {
  await node.chain.edit((world) => {
    world.setCode(HERE, LONG)
    world.setStorage(HERE, Hash.zero, value)
  })
}

/** Sends a request as a socket does, and returns the number in its answer. */
async function ask(node: TestNode, { data = '0x', block = 'latest' } = {}): Promise<bigint> {
  const request = { jsonrpc: '2.0', id: 1, method: 'eth_call', params: [{ to: HERE, gas: LONG_GAS, data }, block] }
  const { body } = await node.rpc.handle(Buffer.from(JSON.stringify(request)), DEDICATED)
  return BigInt(JSON.parse(textOf(body ?? '')).result)
}

function together(node: TestNode, count: number, more = {}): Promise<bigint[]> {
  return Promise.all(Array.from({ length: count }, () => ask(node, more)))
}

/** Repeats bursts until a thread has started. */
async function crowded(node: TestNode, own: Threads): Promise<void> {
  while (own.tasks() === 0) {
    await together(node, 4)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

// Compiled, the same requests would be short.
beforeAll(() => configureTier1({ mode: 'off' }))
beforeAll(() => buildThreads(), 120_000)
afterAll(resetTier1)

afterEach(async () => {
  for (const node of nodes.splice(0)) {
    await node.workers?.close()
    await node.chain.stop()
    expect(node.bugs).toEqual([])
  }
})

describe('long requests that arrive at once', () => {
  it('run in threads from their start, with the answers of the main thread', async () => {
    const own = threads()
    const node = await started(own)
    await crowded(node, own)
    // On a loaded machine the main thread takes over requests of a burst that have waited for 25 ms.
    for (let offloaded = 0; offloaded <= 30;) {
      const before = own.tasks()
      expect(new Set(await together(node, 40))).toEqual(new Set([1n]))
      offloaded = own.tasks() - before
    }
    await put(node, 2n)
    expect(new Set(await together(node, 40))).toEqual(new Set([2n]))
    expect(own.started.length).toBe(2)
  }, 30_000)

  it('read a state between request and answer, with everything that was answered before the request', async () => {
    const own = threads()
    const node = await started(own, 1)
    await crowded(node, own)
    const first = together(node, 20)
    await put(node, 2n)
    const second = together(node, 20)
    for (const answer of await first) expect([1n, 2n]).toContain(answer)
    expect(new Set(await second)).toEqual(new Set([2n]))
    expect(own.started.length).toBe(1)
  }, 30_000)

  it('are answered although their block is rewound while they wait', async () => {
    const own = threads()
    const node = await started(own, 1)
    await crowded(node, own)
    const snapshot = await node.chain.snapshot()
    await put(node, 2n)
    const sent = together(node, 20)
    await node.chain.revert(snapshot)
    await put(node, 3n)
    const answers = await sent
    expect(answers).toContain(3n)
    for (const answer of answers) expect([1n, 2n, 3n]).toContain(answer)
    await node.chain.mine(3)
    const later = together(node, 20)
    await node.chain.rollback(3)
    expect(new Set(await later)).toEqual(new Set([3n]))
  }, 30_000)

  it('run on the main thread when they name another block than the latest', async () => {
    const own = threads()
    const node = await started(own)
    await crowded(node, own)
    const before = own.tasks()
    expect(new Set(await together(node, 4, { block: 'pending' }))).toEqual(new Set([1n]))
    expect(own.tasks()).toBe(before)
  }, 30_000)

  it('are rejected when the node closes', async () => {
    const own = threads()
    const node = await started(own, 1)
    await crowded(node, own)
    const requests = Array.from({ length: 10 }, () =>
      node.rpc.handle(
        JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_call', params: [{ to: HERE, gas: LONG_GAS, data: '0x' }, 'latest'] }),
        DEDICATED,
      ),
    )
    await node.workers?.close()
    const texts = await Promise.all(requests.map(async (sent) => textOf((await sent).body ?? '')))
    expect(texts.filter((text) => text.includes('"code":-32000,"message":"the node is closing"')).length).toBeGreaterThan(7)
  }, 30_000)
})

describe('no thread runs', () => {
  it('one request after another, however long each takes', async () => {
    const own = threads()
    const node = await started(own)
    for (let spentMs = 0; spentMs < 3 * OFFLOAD_START_MS;) {
      const startMs = performance.now()
      await ask(node)
      spentMs += performance.now() - startMs
      for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve))
    }
    expect(own.started).toEqual([])
  }, 30_000)

  it('the items of a batch, and requests in process: they run one after the other', async () => {
    const own = threads()
    const node = await started(own)
    await crowded(node, own)
    const before = own.tasks()
    const request = { jsonrpc: '2.0', id: 1, method: 'eth_call', params: [{ to: HERE, gas: LONG_GAS }, 'latest'] }
    const burst = together(node, 4)
    await Promise.all([
      node.rpc.handle(JSON.stringify([request, request, request]), DEDICATED),
      ...[1, 2, 3].map(() => node.ask('eth_call', { to: HERE, gas: LONG_GAS }, 'latest')),
    ])
    await burst
    expect(own.tasks() - before).toBeLessThanOrEqual(4)
  }, 30_000)

  it('requests whose call key was fast before, regardless of other offloaded requests', async () => {
    const own = threads()
    const node = await started(own)
    await crowded(node, own)
    const before = own.tasks()
    const burst = together(node, 4)
    const others = Array.from({ length: LONG_AFTER - 1 }, () => ask(node, { data: '0x12345678' }))
    expect(await Promise.all(others)).toEqual(others.map(() => 1n))
    await burst
    expect(own.tasks() - before).toBeLessThanOrEqual(4)
  }, 30_000)
})
