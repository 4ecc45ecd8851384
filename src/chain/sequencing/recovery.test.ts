import { describe, expect, test } from 'vitest'
import type { Block } from '../../eth/index.ts'
import type { WriteSet } from '../../evm/index.ts'
import { MemoryStore } from '../../store/index.ts'
import {
  GENESIS_SECONDS,
  flashblocksOf,
  hashesOf,
  receiptOf,
  rewindsOf,
  sealedOf,
  signed,
  startedChain,
  testChain,
} from '../chain.fixture.ts'
import { RealClock } from './clock.ts'
import { DEFAULT_L1 } from '../l1.ts'

/** Throws once in `append`, like a full disk. */
class BreakableStore extends MemoryStore {
  breaksNext = false

  override append(block: Block, writes: WriteSet): void {
    if (this.breaksNext) {
      this.breaksNext = false
      throw new Error('disk full')
    }
    super.append(block, writes)
  }
}

describe('a block that the store rejects', () => {
  test('preconf: is reported and retracted, and its transactions are promised again and sealed', async () => {
    const store = new BreakableStore()
    const { chain, clock, events, bugs } = await startedChain('preconf', { store })
    const tx = signed()
    await chain.submit(tx)
    await clock.advance(400)
    const promised = receiptOf(chain, tx.hash)
    expect(promised).not.toBeNull()
    store.breaksNext = true
    await clock.advance(1_600)
    expect(bugs.map(String)).toEqual(['Error: disk full'])
    expect(chain.head.view.head.header.number).toBe(0)
    expect(rewindsOf(events)).toHaveLength(1)
    expect(hashesOf(rewindsOf(events)[0]!.retracted)).toEqual([tx.hash])
    expect(chain.pool.has(tx.hash)).toBe(true)
    expect(chain.head.view.pending).toBeNull()
    await clock.advance(400)
    expect(hashesOf(chain.head.view.pending)).toEqual([tx.hash])
    await clock.advance(6_000)
    expect(chain.head.view.head.header.number).toBe(3)
    expect(chain.head.view.locate(tx.hash)?.block.header.number).toBe(1)
    expect(chain.head.view.state(chain.head.view.head).account(tx.from)?.nonce).toBe(1n)
    expect(bugs).toHaveLength(1)
  })

  test('native: the next slot seals', async () => {
    const store = new BreakableStore()
    const { chain, clock, bugs } = await startedChain('native', { store })
    const tx = signed()
    await chain.submit(tx)
    store.breaksNext = true
    await clock.advance(200)
    expect(bugs).toHaveLength(1)
    expect(chain.head.view.head.header.number).toBe(0)
    await clock.advance(1_000)
    expect(receiptOf(chain, tx.hash)?.status).toBe(1)
    expect(chain.head.view.head.header.number).toBeGreaterThanOrEqual(4)
  })

  test('instant: the submission rejects, the transaction leaves the pool, and the next one is sealed', async () => {
    const store = new BreakableStore()
    const { chain, bugs } = await startedChain('instant', { store })
    store.breaksNext = true
    await expect(chain.submit(signed())).rejects.toThrow('disk full')
    expect(chain.pool.size).toBe(0)
    expect(chain.head.view.head.header.number).toBe(0)
    const tx = signed({ value: 2n })
    await chain.submit(tx)
    expect(chain.head.view.locate(tx.hash)?.block.header.number).toBe(1)
    expect(bugs).toEqual([])
  })

  test('instant: a submission whose own block is sealed resolves, also if the block of the next nonce is rejected', async () => {
    const store = new BreakableStore()
    const { chain, bugs } = await startedChain('instant', { store })
    const [first, second] = [signed(), signed({ nonce: 1n })]
    await chain.submit(second)
    const unsubscribe = chain.head.subscribe(() => (store.breaksNext = true))
    expect(await chain.submit(first)).toBe(first.hash)
    unsubscribe()
    store.breaksNext = false
    expect(bugs.map(String)).toEqual(['Error: disk full'])
    expect(receiptOf(chain, first.hash)?.status).toBe(1)
    expect([chain.ledger.totals.dropped, chain.pool.has(second.hash)]).toEqual([0, true])
  })

  test('mine: rejects, the head stays, and the chain continues to tick', async () => {
    const store = new BreakableStore()
    const { chain, clock, events } = await startedChain('preconf', { store })
    store.breaksNext = true
    await expect(chain.mine(1)).rejects.toThrow('disk full')
    expect(chain.head.view.head.header.number).toBe(0)
    expect(sealedOf(events)).toEqual([])
    await clock.advance(4_000)
    expect(chain.head.view.head.header.number).toBe(2)
  })

  test('mine without an open block: announces nothing of the block, and its transactions stay in the pool', async () => {
    const store = new BreakableStore()
    const { chain, events } = await startedChain('manual', { store })
    const tx = signed()
    await chain.submit(tx)
    store.breaksNext = true
    await expect(chain.mine(2)).rejects.toThrow('disk full')
    expect(events).toEqual([])
    expect(chain.pool.has(tx.hash)).toBe(true)
    await chain.mine(1)
    expect(receiptOf(chain, tx.hash)?.status).toBe(1)
  })

  test('mine with a timestamp: the timestamp is not that of the next block', async () => {
    const store = new BreakableStore()
    const { chain } = await startedChain('manual', { store })
    store.breaksNext = true
    await expect(chain.mine(1, null, GENESIS_SECONDS + 100)).rejects.toThrow('disk full')
    const [block] = await chain.mine(1)
    expect(block?.header.timestamp).toBe(GENESIS_SECONDS + 1)
  })

  test('a state change after it is rejected and changes nothing', async () => {
    const store = new BreakableStore()
    const { chain, clock } = await startedChain('preconf', { store })
    await chain.submit(signed())
    await clock.advance(200)
    store.breaksNext = true
    await expect(chain.edit((world) => world.setBalance(signed().from, 1n))).rejects.toThrow('disk full')
    expect(chain.head.view.state(chain.head.view.byTag('pending')).account(signed().from)?.balance).not.toBe(1n)
    await clock.advance(4_400)
    expect(chain.head.view.head.header.number).toBe(2)
  })
})

test('a chain that cannot open a block retries at every slot', async () => {
  let broken = true
  const l1 = {
    ...DEFAULT_L1,
    get baseFee() {
      return broken ? failing('no L1') : DEFAULT_L1.baseFee
    },
  }
  const { chain, clock, bugs } = await startedChain('preconf', { l1 })
  await clock.advance(1_000)
  expect(bugs.map(String)).toEqual(Array.from({ length: 6 }, () => 'Error: no L1'))
  broken = false
  await clock.advance(2_200)
  expect(chain.head.view.head.header.number).toBe(1)
})

function failing(message: string): never {
  throw new Error(message)
}

test('a listener that throws is reported; other listeners get every event and the chain continues', async () => {
  const { chain, clock, events, bugs } = await startedChain()
  const received: string[] = []
  chain.head.subscribe(() => failing('listener'))
  chain.head.subscribe((event) => received.push(event.kind))
  const before = events.length
  await clock.advance(2_000)
  expect(received).toEqual(events.slice(before).map((event) => event.kind))
  expect(bugs).toHaveLength(received.length)
  expect(chain.head.view.head.header.number).toBe(1)
})

test('stop ends the schedule also during a tick', async () => {
  const { chain, clock, events } = await startedChain()
  const stopping: Promise<void>[] = []
  chain.head.subscribe(() => {
    stopping.push(chain.stop())
  })
  await clock.advance(200)
  await Promise.all(stopping)
  const count = events.length
  await clock.advance(10_000)
  expect(events).toHaveLength(count)
  await chain.start()
  await clock.advance(4_000)
  expect(flashblocksOf(events).length).toBeGreaterThan(count)
})

test('under the machine’s clock a failed tick ends neither the process nor the schedule', async () => {
  const store = new BreakableStore()
  const cadence = { kind: 'preconf', blockTimeMs: 20, flashblockMs: 10 } as const
  const { chain, bugs } = testChain('preconf', { store, cadence, clock: new RealClock() })
  const errors: unknown[] = []
  const onUnhandled = (error: unknown): number => errors.push(error)
  process.on('unhandledRejection', onUnhandled)
  try {
    store.breaksNext = true
    await chain.start()
    await new Promise<void>((resolve) => {
      const end = chain.head.subscribe((event) => {
        if (event.kind !== 'block' || !event.sealed) return
        end()
        resolve()
      })
    })
    await chain.stop()
    expect(bugs.map(String)).toEqual(['Error: disk full'])
    expect(errors).toEqual([])
  } finally {
    process.off('unhandledRejection', onUnhandled)
  }
})
