import { expect, test } from 'vitest'
import { flashblocksOf, hashesOf, sealedOf, signed, testChain } from './chain.fixture.ts'
import { RealClock } from './clock.ts'

/** A machine on which looking at the clock takes 10 ms, so that executing has a price that the test knows; alarms are real. */
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

test('a builder stops at three quarters of its slot; what it left comes in the next ones', async () => {
  const clock = new SlowClock()
  const { chain, events, bugs } = await testChain('preconf', { clock, cadence: { kind: 'preconf', blockTimeMs: 500, flashblockMs: 100 } })
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
  const counts = flashblocksOf(events).map(({ block, firstTransaction }) => block.transactions.length - firstTransaction).filter((count) => count > 0)
  expect(Math.max(...counts)).toBeLessThanOrEqual(8)
  expect(counts.length).toBeGreaterThan(3)
  const included = [...sealedOf(events).map(({ block }) => block), chain.head.view.pending].flatMap((block) => hashesOf(block))
  expect(included).toEqual(sent.map((tx) => tx.hash))
  expect(bugs).toEqual([])
})
