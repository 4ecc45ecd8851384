import { describe, expect, it } from 'vitest'
import { Address } from '../../eth/index.ts'
import type { Hash } from '../../eth/index.ts'
import { HOLDS } from '../limits.ts'
import type { HeadEvent } from '../view/head.ts'
import type { TransactionFilter } from './holds.ts'
import { PromiseError } from './promiseerror.ts'
import { ALICE, RECIPIENT, countingClock, flashblocksOf, hashesOf, sealedOf, signed, startedChain } from '../chain.fixture.ts'

const SLOT = 200

describe('a delay by milliseconds', () => {
  it('does not release a later hold of the same transactions', async () => {
    const { chain, clock } = await startedChain()
    await chain.promises.delay({ from: ALICE }, { milliseconds: 500 })
    await chain.promises.release({ from: ALICE })
    await chain.promises.hold({ from: ALICE })
    await clock.advance(1_000)
    expect(chain.promises.held).toEqual([{ from: ALICE }])
  })

  it('ends when the chain is stopped', async () => {
    const { clock, alarms } = countingClock()
    const { chain } = await startedChain('preconf', { clock })
    await chain.promises.delay({ from: ALICE }, { milliseconds: 500 })
    expect(alarms()).toBe(2)
    await chain.stop()
    expect(alarms()).toBe(0)
    expect(chain.promises.held).toEqual([])
  })

  it('ends with a reset, and has a limit that released holds do not evade', async () => {
    const { clock, alarms } = countingClock()
    const { chain } = await startedChain('preconf', { clock })
    for (let i = 0; i < HOLDS; i++) {
      await chain.promises.delay({ from: ALICE }, { milliseconds: 60_000 })
      await chain.promises.release({ from: ALICE })
    }
    await expect(chain.promises.delay({ from: ALICE }, { milliseconds: 1 })).rejects.toThrow(`${HOLDS} delays are the limit`)
    expect(alarms()).toBe(1 + HOLDS)
    await chain.reset()
    expect(alarms()).toBe(1)
    await chain.stop()
  })
})

describe('a reset', () => {
  it('ends holds and faults of the schedule', async () => {
    const { chain, clock, events } = await startedChain()
    await chain.promises.hold({ from: ALICE })
    await chain.promises.setPace({ speed: 4, jitter: 1 })
    await chain.promises.missFlashblocks(1_000)
    await chain.promises.delaySeal(60_000)
    await chain.promises.stall(3_600_000)
    await chain.reset()
    expect(chain.promises.held).toEqual([])
    expect(chain.promises.pace).toEqual({ speed: 1, jitter: 0 })
    const tx = signed()
    await chain.submit(tx)
    await clock.advance(SLOT)
    expect(hashesOf(chain.head.view.pending)).toEqual([tx.hash])
    await clock.advance(9 * SLOT)
    expect(sealedOf(events)).toHaveLength(1)
  })
})

describe('a hold by hash', () => {
  it('ends when its transaction leaves the pool, and stays when the pool is restored with it', async () => {
    const { chain } = await startedChain('manual')
    const held = async (nonce: bigint) => {
      const tx = signed({ nonce })
      await chain.submit(tx)
      await chain.promises.hold({ hash: tx.hash })
      return tx.hash
    }
    const dropped = await held(0n)
    await chain.promises.drop(dropped)
    expect(chain.promises.held).toEqual([])
    await held(0n)
    await chain.submit(signed({ maxFeePerGas: 20_000_000_000n, maxPriorityFeePerGas: 2n }))
    expect(chain.promises.held).toEqual([])
    const kept = await held(1n)
    const snapshot = await chain.snapshot()
    await held(2n)
    await chain.revert(snapshot)
    expect(chain.promises.held).toEqual([{ hash: kept }])
    chain.pool.dropSender(ALICE)
    expect(chain.promises.held).toEqual([])
    await chain.promises.hold({ to: RECIPIENT })
    await held(0n)
    chain.pool.dropAll()
    expect(chain.promises.held).toEqual([{ to: RECIPIENT }])
  })
})

describe('a move that is refused', () => {
  it('rejects', async () => {
    const { chain } = await startedChain('manual')
    const refused = [
      chain.promises.missFlashblocks(1),
      chain.promises.delaySeal(1),
      chain.mine(-1),
      chain.setNextTimestamp(1),
      chain.setGasLimit(1n),
    ]
    const outcomes = await Promise.allSettled(refused)
    expect(outcomes.map(({ status }) => status)).toEqual(refused.map(() => 'rejected'))
  })
})

describe('a delayed seal', () => {
  it('is neither cut short nor preceded by a further flashblock when another move is made meanwhile', async () => {
    const { chain, clock, events } = await startedChain()
    await chain.promises.delaySeal(1_000)
    await clock.advance(2_000)
    const flashblocks = flashblocksOf(events).length
    await chain.promises.hold({ from: ALICE })
    await clock.advance(999)
    expect(sealedOf(events)).toEqual([])
    expect(flashblocksOf(events)).toHaveLength(flashblocks)
    await clock.advance(1)
    expect(sealedOf(events)).toHaveLength(1)
  })
})

describe('a fail-over', () => {
  it('leaves every transaction known at every announcement', async () => {
    const { chain, clock } = await startedChain()
    const sent: Hash[] = []
    for (let nonce = 0n; nonce < 4n; nonce++) {
      sent.push(await chain.submit(signed({ nonce })))
      await clock.advance(2_000)
    }
    sent.push(await chain.submit(signed({ nonce: 4n })))
    await clock.advance(SLOT)
    const unknown: string[] = []
    chain.head.subscribe(({ kind, view }) => {
      for (const hash of sent) if (!chain.pool.has(hash) && view.locate(hash) === null) unknown.push(`${kind} ${hash}`)
    })
    await chain.promises.failOver(3)
    await clock.advance(SLOT)
    expect(unknown).toEqual([])
    expect(hashesOf(chain.head.view.pending)).toEqual(sent.slice(4))
  })

  it('returns the transactions that the new blocks cannot hold to the pool', async () => {
    const { chain, clock } = await startedChain()
    const hash = await chain.submit(signed({ gas: 5_000_000n }))
    const next = await chain.submit(signed({ nonce: 1n }))
    await clock.advance(2_000)
    await chain.setGasLimit(2_000_000n)
    await chain.promises.failOver(1)
    expect(chain.head.view.locate(hash)).toBeNull()
    expect([hash, next].map((each) => chain.pool.has(each))).toEqual([true, true])
    await chain.setGasLimit(60_000_000n)
    await clock.advance(SLOT)
    expect(hashesOf(chain.head.view.pending)).toEqual([hash, next])
  })
})

describe('blocks that are sealed together', () => {
  it('drop no transaction of a sender that has one in each of them', async () => {
    const { chain } = await startedChain('manual')
    await chain.setGasLimit(3_000_000n)
    const sent: Hash[] = []
    const burn = { to: null, value: 0n, data: Uint8Array.of(0xfe), gas: 1_900_000n } // INVALID uses all of the gas
    for (let nonce = 0n; nonce < 3n; nonce++) sent.push(await chain.submit(signed({ nonce, ...burn })))
    const blocks = await chain.mine(3)
    expect(blocks.map(hashesOf)).toEqual(sent.map((hash) => [hash]))
    expect(chain.ledger.totals.dropped).toBe(0)
  })
})

describe('an order of pool transactions', () => {
  it('holds for the blocks after the next one under instant, which each take one transaction', async () => {
    const { chain, events } = await startedChain('instant')
    await chain.promises.hold({ to: RECIPIENT })
    const sent = [0, 1, 2].map((sender) => signed({ maxPriorityFeePerGas: BigInt(3 - sender) }, sender))
    for (const tx of sent) await chain.submit(tx)
    const order = [2, 0, 1].map((index) => sent[index]!.hash)
    await chain.promises.reorder(order.map((hash) => `0x${hash.slice(2).toUpperCase()}` as Hash))
    await chain.promises.release()
    expect(sealedOf(events).map(({ block }) => hashesOf(block))).toEqual(order.map((hash) => [hash]))
  })

  it('holds for the block after the next one if some of them do not fit', async () => {
    const { chain } = await startedChain('manual')
    await chain.setGasLimit(3_000_000n)
    const burn = { to: null, value: 0n, data: Uint8Array.of(0xfe), gas: 1_900_000n } // INVALID uses all of the gas
    const sent = [0, 1, 2].map((sender) => signed({ ...burn, maxPriorityFeePerGas: BigInt(3 - sender) }, sender))
    for (const tx of sent) await chain.submit(tx)
    const order = [2, 1, 0].map((index) => sent[index]!.hash)
    await chain.promises.reorder(order)
    expect((await chain.mine(3)).map(hashesOf)).toEqual(order.map((hash) => [hash]))
  })
})

describe('moves between the ticks of an irregular pace', () => {
  it.each([
    ['native', (events: readonly HeadEvent[]) => sealedOf(events)],
    ['preconf', (events: readonly HeadEvent[]) => flashblocksOf(events)],
  ] as const)('do not keep a %s chain from its schedule', async (cadence, ticksOf) => {
    const counts = []
    for (const hasMoves of [false, true]) {
      const { chain, clock, events } = await startedChain(cadence)
      await chain.promises.setPace({ jitter: 1 })
      for (let i = 0; i < 400; i++) {
        if (hasMoves) await chain.promises.release()
        await clock.advance(10)
      }
      counts.push(ticksOf(events).length)
    }
    expect(counts[1]).toBe(counts[0])
  })
})

describe('arguments of callers in JavaScript', () => {
  const filter = (value: object): TransactionFilter => value
  it('of the wrong shape are refused with what is expected', async () => {
    const { chain } = await startedChain()
    const { promises } = chain
    const short = '0x12' as Hash
    await expect(promises.hold({ hash: short })).rejects.toThrow(new PromiseError('hash must be 0x and 64 hex digits, not 0x12'))
    await expect(promises.hold(filter({ from: '0x12' }))).rejects.toThrow('from must be 0x and 40 hex digits, not 0x12')
    await expect(promises.hold(filter({ selector: 5 }))).rejects.toThrow('selector must be 0x and 8 hex digits, not 5')
    await expect((promises.hold as () => Promise<void>).call(promises)).rejects.toThrow('a hold needs a hash, a sender')
    await expect((promises.reorder as (hashes: unknown) => Promise<unknown>).call(promises, short)).rejects.toThrow(
      new PromiseError('an order is an array of hashes, not 0x12'),
    )
    await expect(
      (promises.insert as (transaction: unknown) => Promise<unknown>).call(promises, () => expect.unreachable()),
    ).rejects.toThrow(new PromiseError('an insertion needs a place, { before: hash } or { after: hash }'))
    await expect(promises.drop(short)).rejects.toThrow('hash must be 0x and 64 hex digits, not 0x12')
    await expect(promises.retract({ hash: short })).rejects.toThrow('hash must be 0x and 64 hex digits')
    await expect(promises.retract({ fromFlashblock: -1 })).rejects.toThrow('fromFlashblock must be a whole number from 0 on, not -1')
    await expect((promises.retract as () => Promise<unknown>).call(promises)).rejects.toThrow("a retraction needs 'all', { hash }")
  })

  it.each([
    [{ speed: 0 }, 'speed must be a number from 0.01 to 100, not 0'],
    [{ speed: Number.NaN }, 'speed must be a number from 0.01 to 100, not NaN'],
    [{ speed: '2' }, 'speed must be a number from 0.01 to 100, not 2'],
    [{ jitter: -0.1 }, 'jitter must be a number from 0 to 1, not -0.1'],
    [{ jitter: 2 }, 'jitter must be a number from 0 to 1, not 2'],
    [{ speed: 2, jiter: 0.5 }, 'unknown key jiter; a pace has speed, jitter'],
    [null, 'the pace must be an object'],
  ])('a pace of %o is refused, and blocks come as before', async (pace, message) => {
    const { chain, clock, events } = await startedChain()
    await chain.promises.setPace({ jitter: undefined as unknown as number })
    await expect(chain.promises.setPace(pace as object)).rejects.toThrow(new PromiseError(message))
    expect(chain.promises.pace).toEqual({ speed: 1, jitter: 0 })
    await clock.advance(4_000)
    expect(sealedOf(events)).toHaveLength(2)
  })

  it.each([
    [{ limit: 0 }, 'limit must be a whole number from 1 on, not 0'],
    [{ limit: Number.NaN }, 'limit must be a whole number from 1 on, not NaN'],
    [{ before: -1 }, 'before must be a whole number, not -1'],
    [{ blockNumber: 0.5 }, 'blockNumber must be a whole number, not 0.5'],
    [{ outcome: 'keept' }, 'outcome must be one of open, kept, changed, retracted, dropped, not keept'],
    [{ hash: '0x12' }, 'hash must be 0x and 64 hex digits, not 0x12'],
    [{ hsah: '0x12' }, 'unknown key hsah; a query has hash, outcome, blockNumber, before, limit'],
  ])('a query of %o is refused', async (query, message) => {
    const { chain } = await startedChain()
    expect(() => chain.promises.records(query as object)).toThrow(new PromiseError(message))
  })

  it('keys that do not exist, and two lengths of one delay, are refused, and nothing is held', async () => {
    const { chain, clock } = await startedChain()
    const { promises } = chain
    await expect(promises.hold(filter({ from: ALICE, too: ALICE }))).rejects.toThrow(
      'unknown key too; a filter has hash, from, to, selector',
    )
    const delay = (until: unknown) => promises.delay({ from: ALICE }, until as { milliseconds: number })
    for (const until of [undefined, {}, { ms: 5 }, { flashblocks: 1, milliseconds: 5 }])
      await expect(delay(until)).rejects.toThrow('a delay needs either { flashblocks } or { milliseconds }')
    expect(promises.held).toEqual([])
    await chain.submit(signed())
    await clock.advance(SLOT)
    await expect(promises.retract('all', 'nowere' as 'nowhere')).rejects.toThrow("promises return to 'pool' or 'nowhere', not nowere")
    expect(promises.totals).toMatchObject({ open: 1, retracted: 0 })
  })

  it('times, counts and cadences out of range are refused', async () => {
    const { chain } = await startedChain()
    const { promises } = chain
    const refused = 'it takes 0 to 3600000 milliseconds, not'
    for (const milliseconds of [-1, 0.5, Number.NaN, 30 * 86_400_000]) {
      await expect(promises.stall(milliseconds)).rejects.toThrow(`${refused} ${milliseconds}`)
      await expect(promises.delaySeal(milliseconds)).rejects.toThrow(`${refused} ${milliseconds}`)
      await expect(promises.delay({ from: ALICE }, { milliseconds })).rejects.toThrow(`${refused} ${milliseconds}`)
    }
    await expect(promises.missFlashblocks(-1)).rejects.toThrow('it takes 0 to 18000 flashblocks, not -1')
    await expect(chain.setCadence({ kind: 'native', blockTimeMs: 0 })).rejects.toThrow('blocks cannot come every 0 ms')
    expect([promises.held, chain.cadence.kind]).toEqual([[], 'preconf'])
  })

  it('hashes may have capital letters', async () => {
    const capital = (hash: Hash) => `0x${hash.slice(2).toUpperCase()}` as Hash
    const { chain, clock } = await startedChain()
    const sent = [signed(), signed({}, 1)]
    for (const tx of sent) await chain.submit(tx)
    await clock.advance(SLOT)
    const order = hashesOf(chain.head.view.pending).toReversed()
    const { promised } = await chain.promises.reorder(order.map(capital))
    expect(promised).toEqual(order)
    const waiting = signed({ nonce: 1n })
    await chain.submit(waiting)
    expect(await chain.promises.drop(capital(waiting.hash))).toMatchObject({ dropped: [waiting.hash] })
    expect(chain.pool.has(waiting.hash)).toBe(false)
    await chain.promises.retract({ hash: capital(order[0]!) }, 'nowhere')
    chain.promises.expectRetracted(capital(order[0]!))
    expect(await chain.promises.settled(capital(order[0]!))).toMatchObject({ outcome: 'retracted' })
  })

  it('a hold takes an address with a checksum', async () => {
    const { chain, clock } = await startedChain()
    await chain.promises.hold(filter({ from: Address.checksum(ALICE) }))
    const tx = signed()
    await chain.submit(tx)
    await clock.advance(2_000)
    expect(chain.pool.has(tx.hash)).toBe(true)
  })
})
