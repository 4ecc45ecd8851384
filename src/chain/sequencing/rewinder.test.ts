import { describe, expect, test } from 'vitest'
import { Hash, Hex } from '../../eth/index.ts'
import type { Address, Transaction } from '../../eth/index.ts'
import {
  ALICE,
  BOB,
  ETHER,
  GENESIS_SECONDS,
  GWEI,
  RECIPIENT,
  hashesOf,
  receiptOf,
  rewindsOf,
  sealedOf,
  signed,
  startedChain,
} from '../chain.fixture.ts'
import type { TestChain } from '../chain.fixture.ts'
import { PersistentStore } from '../persistentstore.fixture.ts'
import { CADENCES } from './cadence.ts'
import { RewoundState } from '../state/history.ts'

/** Blocks 1 to `count` under the manual cadence, each with one transaction of Alice. */
async function chainOf(count: number): Promise<TestChain & { readonly sent: readonly Transaction[] }> {
  const parts = await startedChain('manual')
  const sent = Array.from({ length: count }, (_, nonce) => signed({ nonce: BigInt(nonce) }))
  for (const tx of sent) {
    await parts.chain.submit(tx)
    await parts.chain.mine(1)
  }
  return { ...parts, sent }
}

function balanceOf({ chain }: TestChain, address: Address, tag: 'latest' | 'pending' = 'latest'): bigint {
  return chain.head.view.state(chain.head.view.byTag(tag)).account(address)?.balance ?? 0n
}

test('a rewind over an edit that lowered a nonce leaves no used nonce in the pool, and a later revert succeeds', async () => {
  const { chain, bugs } = await chainOf(2)
  await chain.edit((world) => world.setNonce(ALICE, 0n))
  await chain.submit(signed({ nonce: 0n, value: 2n }))
  await chain.rollback(1)
  expect(chain.pool.all()).toEqual([])
  const waiting = signed({ nonce: 1n, value: 3n })
  await chain.submit(waiting)
  const mark = await chain.snapshot()
  await chain.mine(1)
  expect(await chain.revert(mark)).toBe(true)
  expect(chain.pool.all()).toEqual([waiting])
  expect([(await chain.mine(1))[0]?.header.number, bugs]).toEqual([2, []])
})

/** Creates a contract whose code is 100 bytes of value `byte`. */
function deployment(byte: number, nonce = 0n, account = 0): Transaction {
  return signed(
    { to: null, value: 0n, gas: 200_000n, nonce, data: new Uint8Array([...PREFIX, ...new Uint8Array(100).fill(byte)]) },
    account,
  )
}

/** Returns the 100 bytes that follow. */
const PREFIX = Hex.toBytes('0x606480600b6000396000f3')

describe.each([
  ['only in memory', () => ({})],
  ['also in the store', () => ({ store: new PersistentStore() })],
])('with the state %s, the code of a contract', (_, options) => {
  test('goes with the last block or promise that has it', async () => {
    const { chain, clock, bugs } = await startedChain('preconf', options())
    const codes = () => chain.sealed.history.size().codes
    const before = codes()
    for (let round = 0; round < 3; round++) {
      const mark = await chain.snapshot()
      await chain.submit(deployment(round))
      await clock.advance(2_000)
      expect(codes()).toBe(before + 1)
      await chain.revert(mark)
      expect(codes()).toBe(before)
    }
    const promised = deployment(3)
    await chain.submit(promised)
    await clock.advance(400)
    expect([receiptOf(chain, promised.hash)?.status, codes()]).toEqual([1, before + 1])
    await chain.promises.retract('all', 'nowhere')
    expect([codes(), bugs]).toEqual([before, []])
  })

  test('stays while another account, an older block or a new one has it', async () => {
    const { chain, bugs } = await startedChain('manual', options())
    const codes = () => chain.sealed.history.size().codes
    const before = codes()
    const first = deployment(1)
    await chain.submit(first)
    await chain.mine(1)
    const { contractAddress } = receiptOf(chain, first.hash)!
    const mark = await chain.snapshot()
    await chain.submit(deployment(1, 0n, 1))
    await chain.submit(deployment(2, 1n, 1))
    await chain.mine(1)
    await chain.edit((world) => world.setCode(contractAddress!, new Uint8Array([1])))
    expect(codes()).toBe(before + 3)
    await chain.revert(mark)
    expect(codes()).toBe(before + 1)
    const { view } = chain.head
    const state = view.state(view.head)
    expect(state.code(state.account(contractAddress!)!.codeHash)).toEqual(new Uint8Array(100).fill(1))
    const again = deployment(2, 0n, 1)
    await chain.submit(again)
    await chain.mine(1)
    const after = chain.head.view.state(chain.head.view.head)
    expect(after.code(after.account(receiptOf(chain, again.hash)!.contractAddress!)!.codeHash)).toEqual(new Uint8Array(100).fill(2))
    await chain.reorg(2, [])
    expect([codes(), bugs]).toEqual([before, []])
  })
})

describe('an edit', () => {
  test('is a separate event, visible at once under latest and pending', async () => {
    const parts = await startedChain()
    await parts.chain.edit((world) => world.setBalance(RECIPIENT, 5n))
    const edits = parts.events.filter((event) => event.kind === 'edit')
    expect(edits).toHaveLength(1)
    expect(edits[0]!.writes.accounts.get(RECIPIENT)?.balance).toBe(5n)
    expect([balanceOf(parts, RECIPIENT), balanceOf(parts, RECIPIENT, 'pending')]).toEqual([5n, 5n])
    await parts.clock.advance(4_000)
    expect(balanceOf(parts, RECIPIENT)).toBe(5n)
  })

  test('after a View was taken is not visible through it, also after a rewind', async () => {
    const { chain } = await chainOf(1)
    const mark = await chain.snapshot()
    await chain.edit((world) => world.setBalance(RECIPIENT, 1n))
    const { view } = chain.head
    const read = () => view.state(view.head).account(RECIPIENT)?.balance ?? 0n
    await chain.edit((world) => world.setBalance(RECIPIENT, 2n))
    expect(read()).toBe(1n)
    await chain.revert(mark)
    await chain.edit((world) => world.setBalance(RECIPIENT, 3n))
    expect(view.head.hash).toBe(chain.head.view.head.hash)
    expect(read).toThrow(RewoundState)
  })

  test('seals the promised transactions first', async () => {
    const parts = await startedChain()
    const tx = signed({ value: ETHER })
    await parts.chain.submit(tx)
    await parts.clock.advance(200)
    const promised = receiptOf(parts.chain, tx.hash)
    await parts.chain.edit((world) => world.setBalance(ALICE, 0n))
    expect(receiptOf(parts.chain, tx.hash)).toEqual(promised)
    expect(parts.chain.head.view.head.header.number).toBe(1)
    expect(parts.events.map((event) => event.kind)).toEqual(['block', 'block', 'block', 'edit', 'block'])
    expect(rewindsOf(parts.events)).toEqual([])
  })

  test('discards an open block without promises and announces it', async () => {
    const parts = await startedChain()
    await parts.chain.edit((world) => world.setBalance(RECIPIENT, 5n))
    expect(parts.events.map((event) => event.kind)).toEqual(['block', 'rewind', 'edit', 'block'])
    expect(rewindsOf(parts.events)[0]!.retracted?.header.number).toBe(1)
  })

  test('belongs to the state after the head, and is removed with it', async () => {
    const parts = await chainOf(2)
    await parts.chain.edit((world) => world.setBalance(BOB, 1n))
    await parts.chain.mine(1)
    await parts.chain.rollback(1)
    expect(balanceOf(parts, BOB)).toBe(1n)
    await parts.chain.rollback(1)
    expect(balanceOf(parts, BOB)).toBe(10_000n * ETHER)
  })
})

describe('a snapshot', () => {
  test('restores blocks, state, pool, time and settings', async () => {
    const parts = await chainOf(2)
    const { chain, clock, events } = parts
    const waits = signed({ nonce: 5n }, 1)
    await chain.submit(waits)
    await chain.setTimestampInterval(9)
    const before = chain.head.view.head
    const now = chain.time.nowMs()
    const id = await chain.snapshot()
    await chain.edit((world) => world.setBalance(BOB, 1n))
    await chain.submit(signed({ nonce: 2n }))
    await chain.setGasLimit(3_000_000n)
    await chain.setCoinbase(BOB)
    await chain.setTimestampInterval(null)
    await chain.increaseTime(1_000)
    const mined = await chain.mine(2)
    chain.pool.dropAll()
    await clock.advance(5_000)
    expect(await chain.revert(id)).toBe(true)
    expect(chain.head.view.head).toBe(before)
    expect(balanceOf(parts, BOB)).toBe(10_000n * ETHER)
    expect(chain.pool.all()).toEqual([waits])
    expect([chain.gasLimit, chain.coinbase, chain.time.nowMs()]).toEqual([60_000_000n, before.header.coinbase, now])
    expect(rewindsOf(events).at(-1)).toMatchObject({ removed: mined.toReversed(), retracted: null })
    const [next] = await chain.mine(1)
    expect(next!.header.timestamp).toBe(before.header.timestamp + 9)
  })

  test('contains the promised transactions as sealed', async () => {
    const { chain, clock } = await startedChain()
    const tx = signed()
    await chain.submit(tx)
    await clock.advance(200)
    const id = await chain.snapshot()
    await clock.advance(5_000)
    expect(await chain.revert(id)).toBe(true)
    expect(receiptOf(chain, tx.hash)?.status).toBe(1)
    expect(chain.head.view.head.header.number).toBe(1)
  })

  test('is consumed with all later ones; an unknown id does nothing', async () => {
    const { chain } = await chainOf(1)
    const [first, second, third] = [await chain.snapshot(), await chain.snapshot(), await chain.snapshot()]
    expect(new Set([first, second, third]).size).toBe(3)
    expect(await chain.revert(second)).toBe(true)
    expect([await chain.revert(third), await chain.revert(second), await chain.revert('0xffff')]).toEqual([false, false, false])
    expect(await chain.revert(first)).toBe(true)
  })

  test('with an unknown id does not change the open block', async () => {
    const { chain, clock, events } = await startedChain()
    await clock.advance(1_000)
    expect(await chain.revert('0x99')).toBe(false)
    await clock.advance(1_000)
    expect(sealedOf(events)).toHaveLength(1)
    expect(rewindsOf(events)).toEqual([])
  })

  test('of blocks that a rollback removed is deleted', async () => {
    const { chain } = await chainOf(3)
    const id = await chain.snapshot()
    await chain.rollback(1)
    expect(await chain.revert(id)).toBe(false)
  })

  test('under preconf: the pending block is retracted', async () => {
    const { chain, clock, events } = await startedChain()
    const id = await chain.snapshot()
    const tx = signed()
    await chain.submit(tx)
    await clock.advance(400)
    await chain.revert(id)
    const [last] = rewindsOf(events).slice(-1)
    expect(last!.removed).toEqual([])
    expect(hashesOf(last!.retracted)).toEqual([tx.hash])
    expect(receiptOf(chain, tx.hash)).toBeNull()
    await clock.advance(4_000)
    expect(chain.head.view.head.header.number).toBe(2)
  })
})

describe('a rollback', () => {
  test('removes the newest blocks first, and their transactions do not return to the pool', async () => {
    const parts = await chainOf(4)
    const { chain, events, sent } = parts
    const blocks = sealedOf(events).map(({ block }) => block)
    await chain.rollback(3)
    expect(rewindsOf(events).map(({ removed }) => removed.map((block) => block.hash))).toEqual([
      [3, 2, 1].map((index) => blocks[index]!.hash),
    ])
    expect(chain.head.view.head).toBe(blocks[0])
    expect(sent.map((tx) => chain.head.view.locate(tx.hash) !== null)).toEqual([true, false, false, false])
    expect(balanceOf(parts, RECIPIENT)).toBe(1n)
    expect(chain.pool.size).toBe(0)
    const again = signed({ nonce: 1n, value: 9n })
    await chain.submit(again)
    await chain.mine(1)
    expect(balanceOf(parts, RECIPIENT)).toBe(10n)
  })

  test('under preconf announces the open block as retracted', async () => {
    const { chain, clock, events } = await startedChain()
    await clock.advance(4_000)
    const tx = signed()
    await chain.submit(tx)
    await clock.advance(200)
    await chain.rollback(1)
    const [event] = rewindsOf(events)
    expect(event!.removed.map((block) => block.header.number)).toEqual([2])
    expect(hashesOf(event!.retracted)).toEqual([tx.hash])
    expect(chain.head.view.pending?.header.number).toBe(2)
  })
})

describe('a reorg', () => {
  test('replaces blocks by others of the same number and timestamp, with the given transactions', async () => {
    const { chain, events, sent } = await chainOf(4)
    const old = sealedOf(events).map(({ block }) => block)
    const before = events.length
    const [first, second] = [signed({ nonce: 1n, value: 7n }), signed({}, 1)]
    await chain.reorg(3, [
      { tx: second, block: 2 },
      { tx: first, block: 0 },
    ])
    const news = events.slice(before)
    expect(news.map((event) => event.kind)).toEqual(['rewind', 'block', 'block', 'block'])
    expect(rewindsOf(news)[0]!.removed.map((block) => block.hash)).toEqual(
      old
        .slice(1)
        .toReversed()
        .map((block) => block.hash),
    )
    const fresh = sealedOf(news).map(({ block }) => block)
    expect(fresh.map(hashesOf)).toEqual([[first.hash], [], [second.hash]])
    for (const [index, block] of fresh.entries()) {
      expect(block.header.timestamp).toBe(old[index + 1]!.header.timestamp)
      expect(block.header.number).toBe(old[index + 1]!.header.number)
      expect(block.hash).not.toBe(old[index + 1]!.hash)
    }
    expect(chain.head.view.byHash(old[2]!.hash)).toBeNull()
    expect(sent.slice(1).map((tx) => chain.head.view.locate(tx.hash))).toEqual([null, null, null])
  })

  test('makes different blocks even without replacements', async () => {
    const { chain, events } = await chainOf(2)
    await chain.reorg(1)
    await chain.reorg(1)
    const hashes = sealedOf(events)
      .filter(({ block }) => block.header.number === 2)
      .map(({ block }) => block.hash)
    expect(new Set(hashes).size).toBe(3)
  })

  test('under native keeps the millisecond timestamps', async () => {
    const { chain, clock, events } = await startedChain('native')
    await clock.advance(800)
    const old = sealedOf(events).map(({ block }) => block.timestampMs)
    await chain.reorg(3)
    expect(
      sealedOf(events)
        .slice(-3)
        .map(({ block }) => block.timestampMs),
    ).toEqual(old.slice(1))
    await clock.advance(400)
    expect(chain.head.view.head.timestampMs).toBe(old.at(-1)! + 400)
  })

  test('does not consume the next block’s timestamp, and time does not move back', async () => {
    const { chain } = await chainOf(3)
    await chain.increaseTime(1_000)
    await chain.setNextTimestamp(GENESIS_SECONDS + 5_000)
    const now = chain.time.nowMs()
    await chain.reorg(2)
    expect(chain.time.nowMs()).toBe(now)
    const [next, later] = await chain.mine(2)
    expect([next!, later!].map(({ header }) => header.timestamp - GENESIS_SECONDS)).toEqual([5_000, 5_001])
  })

  test('does not consume the next block’s base fee and prevRandao', async () => {
    const { chain } = await chainOf(2)
    const baseFeePerGas = 7n * GWEI
    const mixHash = Hash.fromBigint(77n)
    await chain.setNextBaseFee(baseFeePerGas)
    await chain.setNextPrevRandao(mixHash)
    await chain.reorg(1)
    expect(chain.head.view.head.header).not.toMatchObject({ baseFeePerGas, mixHash })
    expect(chain.head.view.nextBaseFee).toBe(baseFeePerGas)
    const [next, later] = await chain.mine(2)
    expect(next!.header).toMatchObject({ baseFeePerGas, mixHash })
    expect(later!.header).not.toMatchObject({ baseFeePerGas, mixHash })
  })

  test.each(['manual', 'preconf'] as const)('under %s of blocks with milliseconds keeps those', async (kind) => {
    const { chain, clock } = await startedChain('native')
    await clock.advance(1_400)
    await chain.setCadence(CADENCES[kind])
    const times = () => [1, 2, 3, 4, 5, 6, 7].map((number) => chain.head.view.byNumber(number)!.timestampMs)
    const old = times()
    await chain.reorg(5)
    expect(times()).toEqual(old)
    const [next] = await chain.mine(1)
    expect(next!.header.timestamp).toBe(GENESIS_SECONDS + 2)
  })

  test('omits transactions that cannot be included', async () => {
    const { chain, bugs } = await chainOf(2)
    await chain.reorg(1, [
      { tx: signed({ nonce: 9n }), block: 0 },
      { tx: signed({}, 1), block: 0 },
    ])
    expect(hashesOf(chain.head.view.head)).toEqual([signed({}, 1).hash])
    expect(bugs).toEqual([])
  })
})

describe('the end of mining', () => {
  test('ends a reorg of several blocks between two of them', async () => {
    const { chain, events } = await chainOf(4)
    const old = sealedOf(events).map(({ block }) => block)
    chain.head.subscribe(({ kind }) => {
      if (kind === 'rewind') chain.endMining()
    })
    await expect(chain.reorg(3)).rejects.toThrow(
      'the node is stopping; 0 of 3 blocks were replaced, and the others are removed: mine them when it runs again',
    )
    expect(chain.head.view.head).toBe(old[0])
  })

  test('keeps the blocks of a reorg that waited, except of one that replaces a single block', async () => {
    const { chain, events } = await chainOf(4)
    const old = sealedOf(events).map(({ block }) => block)
    chain.endMining()
    await expect(chain.reorg(3)).rejects.toThrow('the node is stopping; no block was replaced: repeat the reorg when it runs again')
    expect(chain.head.view.head).toBe(old[3])
    await chain.reorg(1)
    expect(chain.head.view.head).toMatchObject({ header: { number: 4, parentHash: old[2]!.hash } })
  })
})

describe('the end of mining during a fail-over', () => {
  test('ends it between two blocks, with their transactions in the pool', async () => {
    const { chain, events } = await chainOf(4)
    const old = sealedOf(events).map(({ block }) => block)
    chain.head.subscribe(({ kind }) => {
      if (kind === 'rewind') chain.endMining()
    })
    await expect(chain.promises.failOver(3)).rejects.toThrow(
      'the node is stopping; 0 of 3 blocks were replaced, and the others are removed: send their transactions again',
    )
    expect(chain.head.view.head).toBe(old[0])
  })

  test('keeps the blocks if it has not begun', async () => {
    const { chain, events } = await chainOf(4)
    const old = sealedOf(events).map(({ block }) => block)
    chain.endMining()
    await expect(chain.promises.failOver(3)).rejects.toThrow(
      'the node is stopping; no block was replaced: repeat the move when it runs again',
    )
    expect(chain.head.view.head).toBe(old[3])
    await chain.promises.failOver(1)
    expect(chain.head.view.head).toMatchObject({ header: { number: 4, parentHash: old[2]!.hash } })
  })
})

describe('a reset', () => {
  test('restores genesis, an empty pool, the clock’s time and the initial settings', async () => {
    const parts = await chainOf(3)
    const { chain, clock, events } = parts
    const id = await chain.snapshot()
    await chain.submit(signed({ nonce: 9n }))
    await chain.increaseTime(500)
    await chain.setTimestampInterval(7)
    await chain.setNextBaseFee(3n * GWEI)
    await chain.setGasLimit(3_000_000n)
    chain.setMinGasPrice(GWEI)
    await chain.reset()
    expect(
      rewindsOf(events)
        .at(-1)!
        .removed.map((block) => block.header.number),
    ).toEqual([3, 2, 1])
    expect([chain.head.view.head, chain.pool.size, chain.gasLimit, chain.minGasPrice]).toEqual([chain.genesis, 0, 60_000_000n, 0n])
    expect(chain.time.nowMs()).toBe(clock.nowMs())
    expect(await chain.revert(id)).toBe(false)
    const [block] = await chain.mine(1)
    expect(block!.header).toMatchObject({ timestamp: GENESIS_SECONDS + 1, baseFeePerGas: 992_000_000n })
  })
})

describe('a refused change', () => {
  const cases: readonly [string, (parts: TestChain) => Promise<unknown>, string][] = [
    [
      'a timestamp that is not after the head’s',
      ({ chain }) => chain.setNextTimestamp(GENESIS_SECONDS),
      "Timestamp error: 1700000000 is lower than or equal to previous block's timestamp 1700000001",
    ],
    ['a rollback beyond the genesis', ({ chain }) => chain.rollback(2), 'cannot go back 2 blocks: the chain has 1'],
    ['a rollback of nothing', ({ chain }) => chain.rollback(0), 'cannot go back 0 blocks'],
    [
      'a reorg that names a block outside of it',
      ({ chain }) => chain.reorg(1, [{ tx: signed(), block: 1 }]),
      'block 1 is outside a reorg of 1 blocks',
    ],
    ['too many blocks at once', ({ chain }) => chain.mine(1_000_001), 'cannot mine 1000001 blocks at once: the limit is 1000000'],
    [
      'an edit that throws',
      ({ chain }) =>
        chain.edit((world) => {
          world.setBalance(BOB, 1n)
          throw new Error('changed my mind')
        }),
      'changed my mind',
    ],
    [
      'an edit that sets an unknown code hash',
      ({ chain }) => chain.edit((world) => world.setAccount(BOB, { nonce: 0n, balance: 0n, codeHash: Hash.fromBigint(1n) })),
      'is unknown',
    ],
  ]

  test.each(cases)('%s: changes nothing, and the chain continues to tick', async (_, change, message) => {
    const parts = await startedChain()
    const { chain, clock, bugs } = parts
    await clock.advance(2_400)
    const { head } = chain.head.view
    const root = chain.sealed.history.stateRoot(chain.sealed.headVersion)
    await expect((async () => change(parts))()).rejects.toThrow(message)
    expect(chain.head.view.head).toBe(head)
    expect(chain.sealed.history.stateRoot(chain.sealed.headVersion)).toBe(root)
    expect(balanceOf(parts, BOB)).toBe(10_000n * ETHER)
    expect(chain.head.view.pending?.header.number).toBe(2)
    const tx = signed()
    await chain.submit(tx)
    await clock.advance(2_000)
    expect(receiptOf(chain, tx.hash)?.status).toBe(1)
    expect(chain.head.view.head.header.number).toBe(2)
    expect(bugs).toEqual([])
  })
})
