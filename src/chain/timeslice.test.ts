import { describe, expect, test } from 'vitest'
import { Block } from '../eth/index.ts'
import { TimeSlice } from './timeslice.ts'
import { GENESIS_SECONDS, hashesOf, sealedOf, signed, startedChain, testChain } from './chain.fixture.ts'
import { importChain } from './replica/import.ts'
import { TIME_SLICE_MS } from './limits.ts'

const BLOCKS = 6

/** Blocks the event loop for longer than a time slice. */
function work(): void {
  const endMs = performance.now() + TIME_SLICE_MS + 1
  while (performance.now() < endMs);
}

/** Counts the event loop turns during `change`. */
async function turnsDuring(change: Promise<unknown>): Promise<number> {
  let turns = 0
  let isOver = false
  const count = () => {
    turns++
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  await change
  isOver = true
  return turns
}

test('yields to the event loop when the slice has expired', async () => {
  const timeSlice = new TimeSlice()
  expect(timeSlice.yieldIfExpired()).toBeNull()
  work()
  let callbacks = 0
  setImmediate(() => callbacks++)
  await timeSlice.yieldIfExpired()
  expect(callbacks).toBe(1)
  expect(timeSlice.yieldIfExpired()).toBeNull()
})

describe('a change of many blocks yields between them:', () => {
  test('mining, and a reorg', async () => {
    const { chain } = await startedChain('manual')
    chain.head.subscribe(work)
    expect(await turnsDuring(chain.mine(BLOCKS))).toBeGreaterThanOrEqual(BLOCKS - 1)
    expect(await turnsDuring(chain.reorg(BLOCKS))).toBeGreaterThanOrEqual(BLOCKS - 1)
    expect(chain.head.view.head.header.number).toBe(BLOCKS)
  })

  test('a block for each waiting transaction, under instant', async () => {
    const { chain } = await startedChain('instant')
    const [first, ...rest] = Array.from({ length: BLOCKS }, (_, nonce) => signed({ nonce: BigInt(nonce) }))
    for (const tx of rest) await chain.submit(tx)
    chain.head.subscribe(work)
    expect(await turnsDuring(chain.submit(first!))).toBeGreaterThanOrEqual(BLOCKS - 1)
    expect(chain.head.view.head.header.number).toBe(BLOCKS)
  })

  test('an import; concurrent changes wait until it has ended', async () => {
    const there = await startedChain('manual')
    const blocks = await there.chain.mine(BLOCKS)
    const { chain, events } = testChain('manual')
    const imported = importChain(chain, new Uint8Array(Buffer.concat(blocks.map((block) => Block.encode(block)))), work)
    const tx = signed()
    const mined = chain.submit(tx).then(() => chain.mine(1))
    expect(await turnsDuring(imported)).toBeGreaterThanOrEqual(BLOCKS - 1)
    const [block] = await mined
    expect(hashesOf(block!)).toEqual([tx.hash])
    expect(block!.header.timestamp).toBeGreaterThan(GENESIS_SECONDS)
    expect(sealedOf(events).map((event) => event.block.header.number)).toEqual([1, 2, 3, 4, 5, 6, 7])
  })
})
