import { describe, expect, test } from 'vitest'
import { Hex } from '../eth/index.ts'
import { MemoryStore } from '../store/index.ts'
import { LOGGER_INIT_CODE, below, random, signed, testChain } from './chain.fixture.ts'
import type { TestChain } from './chain.fixture.ts'
import type { CadenceKind } from './sequencing/cadence.ts'

/** Some blocks hold transactions, one of them a deployment, others none. */
async function mined(kind: CadenceKind, mine: (parts: TestChain, count: number) => Promise<void>): Promise<TestChain> {
  const parts = testChain(kind)
  await parts.chain.start()
  const next = random(27)
  let nonce = 0n
  for (let round = 0; round < 12; round++) {
    for (let i = below(next, 3); i > 0; i--) {
      await parts.chain.submit(
        signed(round === 1 ? { nonce, to: null, data: LOGGER_INIT_CODE, gas: 200_000n } : { nonce, value: BigInt(i) }),
      )
      nonce++
    }
    await mine(parts, 1 + below(next, 60))
  }
  return parts
}

async function inBulk({ chain }: TestChain, count: number): Promise<void> {
  await chain.mine(count)
}

async function oneByOne({ chain }: TestChain, count: number): Promise<void> {
  for (let i = 0; i < count; i++) await chain.mine(1)
}

function recordsOf({ chain }: TestChain): readonly Hex[] {
  const { store } = chain.sealed
  if (!(store instanceof MemoryStore)) throw new Error('the test reads records of a MemoryStore')
  return Array.from({ length: store.height + 1 }, (_, number) => Hex.fromBytes(store.recordOf(number)))
}

function eventsOf({ events }: TestChain): readonly string[] {
  return events.map((event) => {
    if (event.kind !== 'block') return event.kind
    return event.sealed ? `sealed ${event.block.hash}` : `${event.flashblock.payloadId} ${event.flashblock.diff.blockHash}`
  })
}

/** Head hashes that the code before empty blocks shared anything computed for the same chain and genesis. */
const HEADS = {
  preconf: '0x7a9a709cb7bdd68405b636383e88b2de051fd1954ad59e6fee203cc6c4bcdd8e',
  native: '0xffd336aad336cd505025ca48d16f5e26b5b77f973285e8992777b2ecd9324107',
  manual: '0x7a9a709cb7bdd68405b636383e88b2de051fd1954ad59e6fee203cc6c4bcdd8e',
} as const

describe.each(['preconf', 'native', 'manual'] as const)('mining many blocks under %s', (kind) => {
  test('makes the blocks, events, roots and logs of mining them one by one', async () => {
    const [bulk, single] = [await mined(kind, inBulk), await mined(kind, oneByOne)]
    expect(recordsOf(bulk)).toEqual(recordsOf(single))
    expect(eventsOf(bulk)).toEqual(eventsOf(single))
    const { history, headVersion } = bulk.chain.sealed
    expect(history.writesBetween(0, headVersion)).toEqual(single.chain.sealed.history.writesBetween(0, single.chain.sealed.headVersion))
    expect([bulk.bugs, single.bugs]).toEqual([[], []])
    for (let number = 0; number <= bulk.chain.sealed.head.header.number; number += 17) {
      const version = bulk.chain.sealed.versionAfter(number)!
      expect(history.stateRoot(version)).toBe(bulk.store.byNumber(number)!.header.stateRoot)
    }
  })

  test('makes the blocks that earlier versions made', async () => {
    const { chain } = await mined(kind, inBulk)
    expect(chain.sealed.head.hash).toBe(HEADS[kind])
  })
})
