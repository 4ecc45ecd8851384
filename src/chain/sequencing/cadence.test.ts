import { describe, expect, test } from 'vitest'
import { Hex } from '../../eth/index.ts'
import type { Hash } from '../../eth/index.ts'
import { CADENCES } from './cadence.ts'
import type { CadenceKind } from './cadence.ts'
import { ManualClock } from './clock.ts'
import type { Clock } from './clock.ts'
import {
  ALICE,
  GENESIS_MS,
  GENESIS_SECONDS,
  LOGGER_INIT_CODE,
  RECIPIENT,
  below,
  flashblocksOf,
  hashesOf,
  random,
  receiptOf,
  sealedOf,
  signed,
  startedChain,
} from '../chain.fixture.ts'
import type { TestChain } from '../chain.fixture.ts'

describe('native', () => {
  test('seals every 200 ms: two deposits, millisecond timestamps, five blocks to a second, no flashblocks', async () => {
    const { chain, clock, events } = await startedChain('native')
    await clock.advance(2_000)
    const blocks = sealedOf(events).map(({ block }) => block)
    expect(blocks).toHaveLength(10)
    expect(flashblocksOf(events)).toEqual([])
    expect(blocks.map((block) => block.timestampMs! - GENESIS_MS)).toEqual([200, 400, 600, 800, 1_000, 1_200, 1_400, 1_600, 1_800, 2_000])
    expect(blocks.map((block) => block.header.timestamp - GENESIS_SECONDS)).toEqual([0, 0, 0, 0, 1, 1, 1, 1, 1, 2])
    for (const block of blocks) {
      expect(block.transactions.map((tx) => [tx.type, tx.to?.slice(-2)])).toEqual([
        [0x7e, '15'],
        [0x7e, '30'],
      ])
      expect(block.receipts.map((receipt) => receipt.status)).toEqual([1, 1])
      expect(block.transactions[1]!.data.at(-1)! + 256 * block.transactions[1]!.data.at(-2)!).toBe(block.timestampMs! % 1_000)
    }
    expect(new Set(blocks.map((block) => block.transactions[1]!.hash)).size).toBe(10)
    expect(chain.head.view.pending).toBeNull()
  })

  test('includes transactions submitted before the end of the slot', async () => {
    const { chain, clock } = await startedChain('native')
    await clock.advance(150)
    const tx = signed()
    await chain.submit(tx)
    expect(receiptOf(chain, tx.hash)).toBeNull()
    await clock.advance(50)
    expect(chain.head.view.locate(tx.hash)?.block.header.number).toBe(1)
  })

  test('stays on its slot grid when started between two slots', async () => {
    const { chain, clock, events } = await startedChain('manual')
    await clock.advance(130)
    await chain.setCadence(CADENCES.native)
    await clock.advance(300)
    expect(sealedOf(events).map(({ block }) => block.timestampMs! - GENESIS_MS)).toEqual([200, 400])
  })
})

describe('instant', () => {
  test('seals a block for each transaction before its submission resolves', async () => {
    const { chain, clock, events } = await startedChain('instant')
    for (let nonce = 0; nonce < 3; nonce++) {
      const tx = signed({ nonce: BigInt(nonce) })
      await chain.submit(tx)
      expect(chain.head.view.locate(tx.hash)?.block.header.number).toBe(nonce + 1)
    }
    await clock.advance(60_000)
    expect(sealedOf(events).map(({ block }) => hashesOf(block).length)).toEqual([1, 1, 1])
  })

  test('a transaction with a nonce gap waits; filling the gap includes it in a separate block', async () => {
    const { chain } = await startedChain('instant')
    const [zero, one, two] = [signed(), signed({ nonce: 1n }), signed({ nonce: 2n })]
    await chain.submit(two)
    await chain.submit(one)
    expect(chain.head.view.head.header.number).toBe(0)
    await chain.submit(zero)
    const { view } = chain.head
    expect([zero, one, two].map((tx) => view.locate(tx.hash)?.block.header.number)).toEqual([1, 2, 3])
  })

  test('one block includes all executable transactions with `instantBlock: all`, as far as its gas limit allows', async () => {
    const { chain } = await startedChain('instant', { instantBlock: 'all' })
    const [zero, one, two, three] = [signed(), signed({ nonce: 1n }), signed({ nonce: 2n }), signed({ nonce: 3n })]
    for (const tx of [two, one, zero]) await chain.submit(tx)
    await chain.submit(three)
    const { view } = chain.head
    expect([zero, one, two, three].map((tx) => view.locate(tx.hash)?.block.header.number)).toEqual([1, 1, 1, 2])
    // Each runs until its gas is used up.
    const large = [4n, 5n, 6n].map((nonce) => signed({ nonce, to: null, data: Hex.toBytes('0x5b5f56'), gas: 1_400_000n }))
    await chain.setGasLimit(4_000_000n)
    for (const tx of large.toReversed()) await chain.submit(tx)
    expect(large.map((tx) => chain.head.view.locate(tx.hash)?.block.header.number)).toEqual([3, 3, 4])
  })

  test.each(['each', 'all'] as const)(
    'a transaction that can no longer be paid is dropped and makes no block (%s)',
    async (instantBlock) => {
      const { chain, events } = await startedChain('instant', { instantBlock })
      const tooLate = signed({ value: 10n ** 21n * 9n, nonce: 1n })
      await chain.submit(tooLate)
      await chain.submit(signed({ value: 10n ** 21n * 9n }))
      expect(chain.head.view.head.header.number).toBe(1)
      expect(chain.pool.all()).toEqual([])
      expect(await chain.promises.settled(tooLate.hash)).toMatchObject({ outcome: 'dropped' })
      expect(chain.head.view.pending).toBeNull()
      expect(events.at(-1)!.view).toBe(chain.head.view)
    },
  )

  test('includes waiting transactions when it is switched on', async () => {
    const { chain } = await startedChain('manual')
    const tx = signed()
    await chain.submit(tx)
    await chain.setCadence(CADENCES.instant)
    expect(receiptOf(chain, tx.hash)?.status).toBe(1)
  })
})

describe('manual', () => {
  test('makes no block without a request', async () => {
    const { chain, clock, events } = await startedChain('manual')
    await chain.submit(signed())
    await clock.advance(3_600_000)
    expect(events).toEqual([])
    expect(chain.head.view.head).toBe(chain.genesis)
  })

  test('mine seals pooled transactions, in the requested number of blocks', async () => {
    const { chain, events } = await startedChain('manual')
    const tx = signed()
    await chain.submit(tx)
    const blocks = await chain.mine(3)
    expect(blocks.map((block) => hashesOf(block))).toEqual([[tx.hash], [], []])
    expect(sealedOf(events).map(({ block }) => block)).toEqual(blocks)
    expect(await chain.mine(0)).toEqual([])
  })

  test('mine applies the block interval', async () => {
    const { chain } = await startedChain('manual')
    const blocks = await chain.mine(3, 60)
    expect(blocks.map((block) => block.header.timestamp - blocks[0]!.header.timestamp)).toEqual([0, 60, 120])
  })
})

describe('mine under a ticking cadence', () => {
  test('preconf: seals the open block and opens the next one', async () => {
    const { chain, clock, events } = await startedChain()
    const [first, second] = [signed(), signed({ nonce: 1n })]
    await chain.submit(first)
    await clock.advance(700)
    await chain.submit(second)
    const [block] = await chain.mine(1)
    expect(hashesOf(block!)).toEqual([first.hash, second.hash])
    expect(chain.head.view.pending?.header.number).toBe(2)
    await clock.advance(2_000)
    expect(sealedOf(events).map(({ block: { header } }) => header.number)).toEqual([1, 2])
    expect(flashblocksOf(events).filter(({ block: { header } }) => header.number === 2)).toHaveLength(11)
  })

  test('native: adds a block, and the grid continues', async () => {
    const { chain, clock, events } = await startedChain('native')
    await clock.advance(300)
    await chain.mine(1)
    await clock.advance(300)
    expect(sealedOf(events).map(({ block }) => block.timestampMs! - GENESIS_MS)).toEqual([200, 400, 600, 800])
  })
})

describe('changing the cadence', () => {
  test('seals the promised transactions first', async () => {
    const { chain, clock } = await startedChain()
    const tx = signed()
    await chain.submit(tx)
    await clock.advance(200)
    await chain.setCadence(CADENCES.manual)
    expect(chain.head.view.locate(tx.hash)?.block).toBe(chain.head.view.head)
    await clock.advance(10_000)
    expect(chain.head.view.head.header.number).toBe(1)
  })

  test.each(['native', 'instant', 'manual'] as const)('from preconf to %s and back gives one chain', async (other) => {
    const { chain, clock, events } = await startedChain()
    for (let round = 0; round < 3; round++) {
      await clock.advance(500)
      await chain.setCadence(CADENCES[other])
      await clock.advance(500)
      await chain.setCadence(CADENCES.preconf)
    }
    await clock.advance(4_000)
    const blocks = sealedOf(events).map(({ block }) => block)
    for (const [index, block] of blocks.entries()) {
      const parent = index === 0 ? chain.genesis : blocks[index - 1]!
      expect(block.header.parentHash).toBe(parent.hash)
      expect(block.header.timestamp).toBeGreaterThanOrEqual(parent.header.timestamp)
    }
    expect(blocks.length).toBeGreaterThan(1)
  })
})

describe.each<CadenceKind>(['preconf', 'native', 'instant', 'manual'])('%s: two runs with one seed and one clock', (kind) => {
  test('give equal blocks, and another seed gives others', async () => {
    const [first, second, other] = [await run(kind, 'one'), await run(kind, 'one'), await run(kind, 'two')]
    expect(first.length).toBeGreaterThan(3)
    expect(second).toEqual(first)
    expect(other).not.toEqual(first)
  })
})

/** Runs seeded random operations. Returns the hashes of all sealed blocks and flashblocks. */
async function run(kind: CadenceKind, seed: string): Promise<Hash[]> {
  const next = random(11)
  const { chain, clock, events }: TestChain = await startedChain(kind, { seed })
  const nonces = [0n, 0n, 0n]
  let snapshot = ''
  for (let step = 0; step < 20; step++) {
    const account = below(next, nonces.length)
    const creates = next() < 0.2
    await chain.submit(
      signed(
        {
          nonce: nonces[account]!,
          ...(creates ? { to: null, data: LOGGER_INIT_CODE, gas: 200_000n } : {}),
          maxPriorityFeePerGas: BigInt(below(next, 1_000)),
        },
        account,
      ),
    )
    nonces[account]!++
    if (step === 5) snapshot = await chain.snapshot()
    if (step === 9) await chain.edit((world) => world.setBalance(ALICE, 10n ** 22n))
    if (step === 12) await chain.increaseTime(100)
    if (step === 15) {
      await chain.mine(2)
      await chain.reorg(1)
    }
    if (step % 4 === 3) await chain.mine(1)
    await clock.advance(below(next, 5) * 130)
    for (const [index] of nonces.entries())
      nonces[index] = chain.pool.nextNonce(
        signed({}, index).from,
        chain.head.view.state(chain.head.view.byTag('pending')).account(signed({}, index).from)!.nonce,
      )
  }
  await chain.revert(snapshot)
  await clock.advance(3_000)
  await chain.mine(1)
  return events.flatMap((event) => {
    if (event.kind !== 'block') return []
    return [event.sealed ? event.block.hash : event.flashblock.diff.blockHash]
  })
}

test('preconf: continues at once when the machine’s clock is set back', async () => {
  const manual = new ManualClock(GENESIS_MS + 3_600_000)
  let setBackMs = 0
  const clock: Clock = {
    nowMs: () => manual.nowMs() - setBackMs,
    at: (timeMs, run) => manual.at(timeMs + setBackMs, run),
  }
  const { chain, events } = await startedChain('preconf', { clock })
  await manual.advance(1_000)
  setBackMs = 3_600_000
  await chain.promises.hold({ to: RECIPIENT })
  const before = flashblocksOf(events).length
  await manual.advance(4_000)
  expect(flashblocksOf(events).length - before).toBeGreaterThanOrEqual(20)
  expect(sealedOf(events)).toHaveLength(2)
})
