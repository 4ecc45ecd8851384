import { expect, test } from 'vitest'
import { GENESIS_MS, GENESIS_SECONDS, flashblocksOf, hashesOf, sealedOf, signed, testChain } from '../chain.fixture.ts'
import { ManualClock, RealClock } from './clock.ts'

/** Each clock read takes 10 ms, which gives execution a known duration; alarms use real time. */
class SlowClock extends RealClock {
  slow = false
  #spentMs = 0

  override nowMs(): number {
    if (this.slow) this.#spentMs += 10
    return super.nowMs() + this.#spentMs
  }

  override at(timeMs: number, run: () => void | Promise<void>): () => void {
    return super.at(timeMs - this.#spentMs, run)
  }
}

test('a builder stops at three quarters of its slot; the rest is included in the next slots', async () => {
  const clock = new SlowClock()
  const { chain, events, bugs } = testChain('preconf', { clock, cadence: { kind: 'preconf', blockTimeMs: 500, flashblockMs: 100 } })
  await chain.start()
  const sent = Array.from({ length: 20 }, (_, nonce) => signed({ nonce: BigInt(nonce) }))
  for (const tx of sent) await chain.submit(tx)
  clock.slow = true
  await new Promise<void>((resolve) => {
    const end = chain.head.subscribe(({ view }) => {
      if (view.locate(sent.at(-1)!.hash) === null) return
      end()
      resolve()
    })
  })
  clock.slow = false
  await chain.stop()
  const counts = flashblocksOf(events)
    .map(({ block, firstTransaction }) => block.transactions.length - firstTransaction)
    .filter((count) => count > 0)
  expect(Math.max(...counts)).toBeLessThanOrEqual(8)
  expect(counts.length).toBeGreaterThan(3)
  const included = [...sealedOf(events).map(({ block }) => block), chain.head.view.pending].flatMap((block) => hashesOf(block))
  expect(included).toEqual(sent.map((tx) => tx.hash))
  expect(bugs).toEqual([])
})

/** A suspended machine: the clock jumps, and due alarms run late. */
class SleepyClock extends ManualClock {
  sleptMs = 0

  override nowMs(): number {
    return super.nowMs() + this.sleptMs
  }

  override at(timeMs: number, run: () => void | Promise<void>): () => void {
    return super.at(timeMs - this.sleptMs, run)
  }
}

test('after an hour of suspension the open block is sealed at once, and the next one has the current time', async () => {
  const clock = new SleepyClock(GENESIS_MS)
  const { chain, events } = testChain('preconf', { clock })
  await chain.start()
  await clock.advance(700)
  const tx = signed()
  await chain.submit(tx)
  clock.sleptMs = 3_600_000
  await clock.advance(100)
  expect(sealedOf(events).map(({ block }) => hashesOf(block))).toEqual([[tx.hash]])
  expect(chain.head.view.pending?.header).toMatchObject({ number: 2, timestamp: GENESIS_SECONDS + 3_600 })
  await clock.advance(4_000)
  expect(sealedOf(events).map(({ block }) => block.header.timestamp - GENESIS_SECONDS)).toEqual([1, 3_600, 3_602])
  expect(flashblocksOf(events).filter(({ block }) => block.header.number === 2)).toHaveLength(11)
})
