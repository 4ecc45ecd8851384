import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { CADENCES, RealClock } from '../../chain/index.ts'
import { Address, Hash, Hex } from '../../eth/index.ts'
import { ALICE, LOGGER, LOGGER_INIT_CODE, PRECONF, testNode } from '../node.fixture.ts'
import type { TestNode, TestNodeOptions } from '../node.fixture.ts'
import { nodeThreads } from './nodethread.ts'
import { buildThreads, threads } from './threads.fixture.ts'
import type { Threads } from './threads.fixture.ts'

const HERE = Address.from('0x00000000000000000000000000000000c0ffee00')
const ZERO = Hash.zero
const MOST_GAS = '0x2faf080'

/** Burns all gas but 30,000, then returns slot 0. */
const LONG = '0x5b620075305a116000575f545f5260205ff3'
/** Burns all gas but 30,000, then returns NUMBER, TIMESTAMP and the hash of the block before. */
const LONG_ENVIRONMENT = '0x5b620075305a11600057435f5242602052600143034060405260605ff3'
/** Reads a slot that another run does not read, so that its access list grows without end; then burns all gas in cheap traced opcodes. */
const GROWS = `0x5a5450${'5b'.repeat(1_000)}620075305a1160035700`
/** Returns the hash of block 3. */
const HASH_OF_3 = '0x6003405f5260205ff3'
/** Returns the hash of block 96. */
const HASH_OF_96 = '0x6060405f5260205ff3'
const REVERTS = '0x63deadbeef5f526004601cfd'
/** 3,000 rounds. */
const ROUNDS = '0x610bb85b6001900380600357005b'
const SLOT_0 = '0x5f545f5260205ff3'

const nodes: TestNode[] = []
/** With no time on the main thread, each request that checks its deadline goes to a thread. */
const through = ({ start }: Threads, maxThreads = 1, mainThreadMs = 0) => ({ start, maxThreads, mainThreadMs })

async function started(options: TestNodeOptions): Promise<TestNode> {
  const node = await testNode(options)
  nodes.push(node)
  return node
}

function code(bytecode: string, more: object = {}) {
  return { [HERE]: { code: bytecode, ...more } }
}

function long(node: TestNode, block = 'latest', overrides: object = {}): Promise<unknown> {
  return node.ask('eth_call', { to: HERE, gas: MOST_GAS }, block, overrides)
}

function endless(node: TestNode): Promise<unknown> {
  return node.ask('eth_createAccessList', { to: HERE, gas: MOST_GAS }, 'latest', code(GROWS))
}

/** Sets the code of the long contract and its slot 0. */
async function settle(node: TestNode, value: bigint): Promise<void> {
  await node.chain.edit((world) => {
    world.setCode(HERE, Hex.toBytes(LONG))
    world.setStorage(HERE, ZERO, value)
  })
}

/** Returns the result or the error in a comparable form. */
async function outcome(sent: Promise<unknown>): Promise<unknown> {
  try {
    return { result: await sent }
  } catch (error) {
    const { code: number, message, data } = error as { code?: number; message: string; data?: unknown }
    return { code: number, message, data }
  }
}

beforeAll(() => buildThreads(), 120_000)

afterEach(async () => {
  for (const node of nodes.splice(0)) {
    await node.workers?.close()
    await node.chain.stop()
    expect(node.bugs).toEqual([])
  }
})

describe('a heavy request', () => {
  it('delays neither flashblocks nor other requests, and ends at its time limit', async () => {
    const own = threads()
    const node = await started({ cadence: CADENCES.preconf, clock: new RealClock(), workers: { start: own.start, maxThreads: 2 } })
    // The first run is slower.
    await node.ask('eth_call', { to: HERE }, 'pending', code(SLOT_0))
    const flashblocks: number[] = []
    let isOver = false
    node.chain.head.subscribe((event) => {
      if (event.kind === 'block' && !event.sealed && !isOver) flashblocks.push(event.flashblock.index)
    })
    const sent = outcome(endless(node)).finally(() => (isOver = true))
    expect(await node.ask('eth_blockNumber')).toMatch(/^0x/)
    const balance = await node.ask('eth_call', { to: HERE }, 'pending', code('0x475f5260205ff3', { balance: '0x7' }))
    expect(BigInt(String(balance))).toBe(7n)
    expect(isOver).toBe(false)
    expect(await sent).toEqual({ code: -32_000, message: 'execution aborted (timeout = 5s)', data: undefined })
    // 25 of them fit into five seconds; the machine may be busy.
    expect(flashblocks.length).toBeGreaterThan(12)
    expect(own.tasks()).toBeGreaterThan(0)
  }, 20_000)

  it('starts on the main thread: a short one reaches no thread, and none is started', async () => {
    const own = threads()
    const node = await started({ workers: through(own, 2, 1_000) })
    expect(await node.ask('eth_call', { to: HERE }, 'latest', code(SLOT_0))).toBe(ZERO)
    expect(await node.ask('eth_estimateGas', { from: ALICE, to: HERE, value: '0x1' })).toBe('0x5208')
    await node.ask('eth_simulateV1', { blockStateCalls: [{ calls: [{ from: ALICE, to: HERE }] }] }, 'latest')
    expect(own.started).toEqual([])
  })

  it('may take longer on the main thread while no thread has started', async () => {
    const own = threads()
    const node = await started({ workers: through(own, 1, 5) })
    expect(node.workers?.mainThreadMs).toBe(20)
    await settle(node, 1n)
    await long(node)
    expect(own.started).toHaveLength(1)
    expect(node.workers?.mainThreadMs).toBe(5)
  })

  it('reads what the next block writes before its first transaction', async () => {
    const own = threads()
    const node = await started({ cadence: CADENCES.instant, workers: through(own) })
    await node.ask('anvil_mine', 2)
    // 3,000 rounds, then the hash of the block before from the history contract.
    const history = '0x610bb85b600190038060035760014303600052602060006020600073'.concat(
      '0000f90827f1c53a10cb7a02335b175320002935',
      '5afa5060206000f3',
    )
    const hash = await node.ask('eth_call', { to: HERE, gas: MOST_GAS }, 'pending', code(history))
    expect(hash).toBe(node.chain.head.view.head.hash)
    expect(own.tasks()).toBeGreaterThan(0)
  })

  it('runs on the main thread if it reads transactions of the pool, which threads do not have', async () => {
    const own = threads()
    const node = await started({ workers: through(own) })
    // Creates the long contract with 9 in slot 0.
    await node.send({ data: Hex.toBytes(`0x60095f556012600e5f3960125ff3${LONG.slice(2)}`) })
    const call = { to: LOGGER, gas: MOST_GAS }
    expect(await node.ask('eth_call', call, 'pending')).toBe(Hash.fromBigint(9n))
    expect(await node.ask('debug_traceBlockByNumber', 'pending', { tracer: 'callTracer' })).toHaveLength(2)
    expect(own.tasks()).toBe(0)
    expect(await node.ask('eth_call', call, 'latest')).toBe('0x')
  })

  it('has the same answer as on the main thread', async () => {
    const own = threads()
    const [there, here] = [await started({ cadence: PRECONF, workers: through(own) }), await started({ cadence: PRECONF })]
    for (const node of [there, here]) {
      await settle(node, 5n)
      await node.send({ data: LOGGER_INIT_CODE })
      await node.chain.mine(300)
      await node.chain.edit((world) => world.setStorage(HERE, ZERO, 6n))
      await node.send({ to: HERE, gas: 100_000n })
      await node.clock.advance(400)
      expect(node.chain.head.view.pending?.transactions.length).toBeGreaterThan(1)
    }
    const { view } = here.chain.head
    const block = view.byNumber(1)
    const [deployment, call] = [block?.transactions.at(-1)?.hash, view.pending?.transactions.at(-1)?.hash]
    const requests: readonly (readonly [string, ...unknown[]])[] = [
      ...['latest', 'pending', 'safe', 'earliest', '0x2', { blockHash: block?.hash }].flatMap((at) => [
        ['eth_call', { to: HERE, gas: '0x30d40' }, at] as const,
        ['eth_call', { to: HERE }, at, code(SLOT_0)] as const,
      ]),
      ['eth_call', { to: HERE }, 'latest', code(HASH_OF_3)],
      ['eth_call', { to: HERE }, 'latest', code(HASH_OF_3), { number: '0x104' }],
      ['eth_call', { to: HERE }, 'latest', code(HASH_OF_3), { number: '0x103' }],
      ['eth_call', { to: HERE }, 'latest', code(HASH_OF_3), { number: '0x3' }],
      ['eth_call', { to: HERE, gas: '0x30d40' }, 'latest', { [HERE]: { stateDiff: { [ZERO]: Hash.fromBigint(9n) } } }],
      ['eth_call', { to: HERE }, 'latest', code(REVERTS)],
      ['eth_call', { to: HERE }, 'latest', code('0xfe')],
      ['eth_call', { data: '0x602a60005360016000f3' }],
      ['eth_call', { from: HERE, to: ALICE, value: '0x1' }],
      ['eth_call', { to: HERE }, 'latest', { [HERE]: { state: {}, stateDiff: {} } }],
      ['eth_estimateGas', { from: ALICE, to: HERE }],
      ['eth_estimateGas', { from: ALICE, to: HERE }, 'latest', code(REVERTS)],
      ['eth_createAccessList', { to: HERE, gas: '0x30d40' }, 'pending'],
      [
        'eth_simulateV1',
        {
          traceTransfers: true,
          returnFullTransactions: true,
          blockStateCalls: [
            { calls: [{ from: ALICE, to: HERE, value: '0x1' }, { to: HERE }], stateOverrides: code(HASH_OF_96) },
            { blockOverrides: { number: '0x140' }, calls: [{ from: ALICE, to: HERE }], stateOverrides: code(REVERTS) },
          ],
        },
        'pending',
      ],
      ['eth_simulateV1', { validation: true, blockStateCalls: [{ calls: [{ from: ALICE, to: HERE, nonce: '0x63' }] }] }],
      ['debug_traceCall', { to: HERE }, 'latest', { stateOverrides: code(ROUNDS), tracer: 'callTracer' }],
      ['debug_traceCall', { to: HERE }, '0x1', { stateOverrides: code(ROUNDS), txIndex: '0x1' }],
      ['eth_callMany', [{ transactions: [{ to: HERE }], blockOverride: { number: '0x103' } }], null, code(HASH_OF_3)],
      ['eth_callMany', [{ transactions: [{ to: HERE }], blockOverride: { number: '0x103' } }], { transactionIndex: 0 }, code(HASH_OF_3)],
      ['debug_traceTransaction', deployment, { tracer: 'prestateTracer' }],
      ['debug_traceTransaction', call],
      ['debug_traceBlockByNumber', 'pending', { tracer: 'callTracer' }],
    ]
    for (const [method, ...params] of requests) {
      const [mine, theirs] = [await outcome(there.ask(method, ...params)), await outcome(here.ask(method, ...params))]
      expect(mine, `${method} ${JSON.stringify(params)}`).toEqual(theirs)
    }
    // All but the contradicting overrides, which are rejected before the deadline check.
    expect(own.tasks()).toBe(requests.length - 1)
  }, 60_000)

  it('runs in the environment of the next block if nothing is pending', async () => {
    const own = threads()
    const node = await started({ workers: through(own) })
    await node.chain.mine(2)
    const { hash, header } = node.chain.head.view.head
    await node.ask('evm_setNextBlockTimestamp', header.timestamp + 1_000)
    const words = [3n, BigInt(header.timestamp + 1_000), BigInt(hash)].map((word) => Hash.fromBigint(word).slice(2))
    expect(await long(node, 'pending', code(LONG_ENVIRONMENT))).toBe(`0x${words.join('')}`)
    expect(own.tasks()).toBe(1)
  })

  it('reads the state at the time of the request, unaffected by later blocks', async () => {
    const own = threads()
    const node = await started({ workers: through(own) })
    const { chain } = node
    await settle(node, 1n)
    await chain.mine(2)
    const seen = async (change: () => Promise<unknown>) => {
      const sent = long(node)
      await change()
      return BigInt(String(await sent))
    }
    expect(await seen(() => chain.edit((world) => world.setStorage(HERE, ZERO, 2n)))).toBe(1n)
    const snapshot = await chain.snapshot()
    expect(await seen(() => chain.edit((world) => world.setStorage(HERE, ZERO, 3n)))).toBe(2n)
    expect(await seen(() => chain.mine(3))).toBe(3n)
    expect(await seen(() => chain.reorg(2))).toBe(3n)
    expect(await seen(() => chain.revert(snapshot))).toBe(3n)
    expect(await seen(() => chain.edit((world) => world.setStorage(HERE, ZERO, 4n)))).toBe(2n)
    expect(await seen(() => chain.rollback(1))).toBe(4n)
    expect(await seen(() => settle(node, 5n))).toBe(1n)
    expect(await seen(() => chain.reset())).toBe(5n)
    expect(await node.ask('eth_call', { to: HERE }, 'latest', code(SLOT_0))).toBe(ZERO)
    expect(own.tasks()).toBe(10)
  })

  it('continues in a new thread when the old one has fallen too far behind, or lacks so old a block', async () => {
    const own = threads()
    const node = await started({ workers: through(own) })
    await settle(node, 1n)
    expect(BigInt(String(await long(node)))).toBe(1n)
    await node.chain.mine(600)
    await settle(node, 2n)
    expect(BigInt(String(await long(node)))).toBe(2n)
    expect(own.started.length).toBe(2)
    expect(BigInt(String(await long(node, '0x1')))).toBe(1n)
    expect(own.started.length).toBe(3)
  })

  it('is rejected when the block that it reads was rewound', async () => {
    const own = threads()
    const node = await started({ workers: through(own) })
    await settle(node, 1n)
    await node.chain.mine(3)
    await long(node)
    const [before, waits] = [outcome(long(node)), outcome(long(node))]
    await node.chain.rollback(2)
    expect(await before).toEqual({ result: Hash.fromBigint(1n) })
    expect(await waits).toMatchObject({ code: -32_001, message: expect.stringMatching(/removed by a reorg/) })
  })
})

describe('threads', () => {
  it('that crash refuse their request, and the next request has a new one', async () => {
    const own = threads()
    const node = await started({ workers: through(own) })
    await settle(node, 1n)
    await long(node)
    const [broken, next] = [outcome(endless(node)), outcome(long(node))]
    await own.started[0]?.end()
    expect(await broken).toMatchObject({ code: -32_603, message: expect.stringMatching(/has ended; ask again/) })
    expect(await next).toEqual({ result: Hash.fromBigint(1n) })
    expect(own.started.length).toBe(2)
    expect(node.bugs.splice(0)).toEqual([
      expect.objectContaining({ message: expect.stringMatching(/thread for heavy requests has ended/) }),
    ])
  })

  it('have a queue, and requests beyond its limit are rejected at once', async () => {
    const own = threads()
    const node = await started({ workers: { ...through(own), maxWaiting: 3 } })
    const sent = Array.from({ length: 4 }, () => outcome(endless(node)))
    expect(await outcome(endless(node))).toMatchObject({ code: -32_005, message: expect.stringMatching(/too many heavy requests/) })
    await node.workers?.close()
    for (const answer of await Promise.all(sent)) expect(answer).toMatchObject({ code: -32_000, message: 'the node is closing' })
  })

  it('share the work, and no more than the limit start', async () => {
    const own = threads()
    const node = await started({ workers: through(own, 2) })
    await settle(node, 1n)
    const answers = await Promise.all(Array.from({ length: 6 }, () => long(node)))
    expect(new Set(answers)).toEqual(new Set([Hash.fromBigint(1n)]))
    expect(own.started.length).toBe(2)
  })

  it('end when the node closes, busy or still starting; later heavy requests are rejected', async () => {
    const own = threads()
    const node = await started({ workers: through(own, 2) })
    await settle(node, 1n)
    await long(node)
    const busy = [outcome(endless(node)), outcome(endless(node))]
    await node.workers?.close()
    const later = outcome(endless(node))
    for (const answer of await Promise.all([...busy, later]))
      expect(answer).toMatchObject({ code: -32_000, message: 'the node is closing' })
    expect(own.tasks()).toBe(2)
  })

  it('are ended after the idle time, and start again with the next heavy request', async () => {
    const own = threads()
    const node = await started({ workers: { ...through(own), idleMs: 1 } })
    await settle(node, 1n)
    await long(node)
    const first = own.ended[0]
    expect(await first).toBe('it exited')
    expect(await long(node)).toBe(Hash.fromBigint(1n))
    expect(own.started.length).toBe(2)
  })

  it('that cannot be started leave the work to the main thread', async () => {
    const without = await started({ workers: { start: nodeThreads(null), maxThreads: 1, mainThreadMs: 0 } })
    await settle(without, 1n)
    expect(await long(without)).toBe(Hash.fromBigint(1n))
    const broken = await started({
      workers: { start: nodeThreads(new URL('./absent.js', import.meta.url)), maxThreads: 1, mainThreadMs: 0 },
    })
    await settle(broken, 1n)
    expect(await long(broken)).toBe(Hash.fromBigint(1n))
    expect(await long(broken)).toBe(Hash.fromBigint(1n))
    expect(broken.bugs.splice(0).length).toBe(1)
  })
})
