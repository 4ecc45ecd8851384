import { describe, expect, it } from 'vitest'
import { Address, Transaction } from '../../eth/index.ts'
import type { Hash } from '../../eth/index.ts'
import { MemoryStore } from '../../store/index.ts'
import { ALICE, BOB, ETHER, GWEI, hashesOf, receiptOf, signed, startedChain } from '../chain.fixture.ts'
import type { TestChain } from '../chain.fixture.ts'
import type { LedgerStorage } from './ledgerrecords.ts'

const SLOT = 200
/** The only account that may set the L1 attributes. */
const DEPOSITOR = Address.from('0xdeaddeaddeaddeaddeaddeaddeaddeaddead0001')
/** Place of the L1 base fee in the call data that sets the attributes. */
const L1_BASE_FEE_END = 68

function storage(): LedgerStorage & { readonly values: Map<string, Uint8Array>; commits: number } {
  const values = new Map<string, Uint8Array>()
  return {
    values,
    commits: 0,
    transaction(work) {
      this.commits++
      return work()
    },
    get: (key) => values.get(key) ?? null,
    put: (key, value) => void (value === null ? values.delete(key) : values.set(key, value)),
  }
}

const newest = ({ chain }: TestChain) => chain.promises.records({ limit: 1 }).promises[0]!

describe('the ledger', () => {
  it('records admission, promise and seal of a kept promise', async () => {
    const parts = await startedChain()
    const { chain, clock } = parts
    await clock.advance(50)
    const startMs = clock.nowMs()
    const hash = await chain.submit(signed())
    await clock.advance(150)
    expect(newest(parts)).toEqual({
      id: 0,
      hash,
      from: ALICE,
      blockNumber: 1,
      flashblockIndex: 1,
      admittedMs: startMs,
      promisedMs: startMs + 150,
      settledMs: null,
      outcome: 'open',
      cause: null,
      differences: [],
    })
    await clock.advance(2_000)
    expect(newest(parts)).toMatchObject({ outcome: 'kept', settledMs: startMs + 1_950, cause: null })
    expect(chain.ledger.totals).toEqual({ open: 0, kept: 1, changed: 0, retracted: 0, dropped: 0 })
    expect(await chain.promises.settled(hash)).toMatchObject({ outcome: 'kept' })
    expect(chain.promises.expectKept()).toBeUndefined()
    expect(() => chain.promises.expectRetracted(hash)).toThrow('it was not retracted')
    expect(chain.ledger.promiseDelays.cumulative.at(-1)).toBe(1)
    expect(chain.ledger.sealDelays.sumMs).toBe(1_800)
  })

  it('returns records that cannot be edited', async () => {
    const parts = await startedChain()
    const hash = await parts.chain.submit(signed())
    await parts.clock.advance(SLOT)
    expect(() => Object.assign(newest(parts), { outcome: 'kept' })).toThrow(TypeError)
    await parts.clock.advance(2_000)
    expect(() => Object.assign(newest(parts), { outcome: 'retracted' })).toThrow(TypeError)
    expect(() => (newest(parts).differences as string[]).push('status')).toThrow(TypeError)
    expect(parts.chain.promises.expectKept()).toBeUndefined()
    expect(await parts.chain.promises.settled(hash)).toMatchObject({ outcome: 'kept', differences: [] })
  })

  it('records a retraction with its cause, and the next promise apart from it', async () => {
    const parts = await startedChain()
    const { chain, clock } = parts
    const hash = await chain.submit(signed())
    await clock.advance(SLOT)
    await chain.promises.retract({ hash })
    expect(newest(parts)).toMatchObject({ id: 0, hash, outcome: 'retracted', cause: 'retract' })
    expect(chain.promises.expectRetracted(hash)).toBeUndefined()
    expect(() => chain.promises.expectKept()).toThrow(`1 promises were retracted and 0 changed; transaction ${hash}, promised in block 1`)
    const settled = chain.promises.settled(hash)
    await clock.advance(2_000)
    expect(await settled).toMatchObject({ id: 1, hash, outcome: 'kept' })
    expect(chain.promises.records().promises.map(({ id }) => id)).toEqual([1, 0])
  })

  it('keeps the record of a promise that a rebuilt block promises again, and names what differs', async () => {
    const parts = await startedChain()
    const { chain, clock } = parts
    const [first, second] = [await chain.submit(signed()), await chain.submit(signed({}, 1))]
    await clock.advance(SLOT)
    const order = hashesOf(chain.head.view.pending)
    await chain.promises.reorder(order.toReversed())
    expect(chain.ledger.totals).toMatchObject({ open: 2, retracted: 0 })
    await clock.advance(2_000)
    expect(chain.ledger.totals).toMatchObject({ open: 0, changed: 2 })
    for (const hash of [first, second]) {
      const differences = ['cumulativeGasUsed', 'transactionIndex']
      expect(chain.ledger.find(hash)).toMatchObject({ outcome: 'changed', differences })
    }
  })

  it('names the L1 fee if a rebuilt block charges another one', async () => {
    const parts = await startedChain()
    const { chain, clock } = parts
    await chain.edit((world) => world.setBalance(DEPOSITOR, ETHER))
    await clock.advance(SLOT)
    const [attributes] = chain.head.view.byTag('pending').transactions
    const data = attributes!.data.slice()
    data[L1_BASE_FEE_END - 4]!++ // 2^24 wei more
    const fields = { type: 2, chainId: 31_337, gas: 1_000_000n, maxFeePerGas: 10n * GWEI, maxPriorityFeePerGas: GWEI } as const
    const change = Transaction.unsigned({ ...fields, to: attributes!.to, data, nonce: 1n }, DEPOSITOR)
    await chain.submit(change)
    const hash = await chain.submit(signed())
    await clock.advance(SLOT)
    expect(hashesOf(chain.head.view.pending)).toEqual([change.hash, hash])
    const promised = receiptOf(chain, hash)
    expect(await chain.promises.retract({ hash: change.hash }, 'nowhere')).toMatchObject({ promised: [hash], changed: [hash] })
    await clock.advance(2_000)
    expect(receiptOf(chain, hash)!.l1!.fee).toBeLessThan(promised!.l1!.fee)
    const differences = ['cumulativeGasUsed', 'transactionIndex', 'l1Fee', 'l1GasPrice']
    expect(chain.ledger.find(hash)).toMatchObject({ outcome: 'changed', differences })
  })

  it('records transactions that leave the pool without a promise', async () => {
    const parts = await startedChain()
    const { chain } = parts
    const dropped = await chain.submit(signed())
    await chain.promises.drop(dropped)
    expect(newest(parts)).toMatchObject({ hash: dropped, outcome: 'dropped', cause: 'dropped', blockNumber: null, promisedMs: null })
    const replaced = await chain.submit(signed({}, 1))
    await chain.submit(signed({ maxFeePerGas: 20n ** 9n, maxPriorityFeePerGas: 100n }, 1))
    expect(newest(parts)).toMatchObject({ hash: replaced, from: BOB, outcome: 'dropped', cause: 'replaced' })
  })

  it('retracts kept promises whose blocks are removed', async () => {
    const parts = await startedChain()
    const { chain, clock } = parts
    const hash = await chain.submit(signed())
    await clock.advance(2_000)
    await chain.reorg(1)
    expect(newest(parts)).toMatchObject({ hash, outcome: 'retracted', cause: 'reorg' })
  })

  it('has no promises under a cadence that seals at once', async () => {
    const { chain } = await startedChain('instant')
    await chain.submit(signed())
    expect(chain.promises.records()).toEqual({ promises: [], next: null })
  })

  it.each(['instant', 'manual', 'native', 'preconf'] as const)('is awaited until the seal under %s, and asked again', async (cadence) => {
    const { chain, clock } = await startedChain(cadence)
    const hash = await chain.submit(signed())
    const settled = chain.promises.settled(hash)
    if (cadence === 'manual') await chain.mine(1)
    await clock.advance(2_000)
    const record = await settled
    expect(record).toMatchObject({ hash, from: ALICE, outcome: 'kept', blockNumber: 1, cause: null, differences: [] })
    expect(record.flashblockIndex === null).toBe(cadence !== 'preconf')
    expect(await chain.promises.settled(hash)).toEqual(record)
    expect(chain.promises.totals.kept).toBe(cadence === 'preconf' ? 1 : 0)
  })

  it('answers with the seal of a transaction that was dropped before', async () => {
    const { chain } = await startedChain('manual')
    const hash = await chain.submit(signed())
    await chain.promises.drop(hash)
    expect(await chain.promises.settled(hash)).toMatchObject({ outcome: 'dropped' })
    await chain.submit(signed())
    const settled = chain.promises.settled(hash)
    await chain.mine(1)
    expect(await settled).toMatchObject({ outcome: 'kept', blockNumber: 1 })
    expect(await chain.promises.settled(hash)).toEqual(await settled)
  })

  it('returns pages by transaction, outcome and block', async () => {
    const { chain, clock } = await startedChain()
    const hashes = []
    for (let nonce = 0n; nonce < 5n; nonce++) {
      hashes.push(await chain.submit(signed({ nonce })))
      await clock.advance(nonce === 2n ? 2_000 : SLOT)
    }
    const page = chain.promises.records({ limit: 2 })
    expect(page).toMatchObject({ promises: [{ id: 4 }, { id: 3 }], next: 3 })
    expect(chain.promises.records({ limit: 2, before: 3 })).toMatchObject({ promises: [{ id: 2 }, { id: 1 }], next: 1 })
    expect(chain.promises.records({ limit: 2, before: 1 })).toMatchObject({ promises: [{ id: 0 }], next: null })
    expect(chain.promises.records({ outcome: 'open' }).promises.map(({ id }) => id)).toEqual([4, 3])
    expect(chain.promises.records({ blockNumber: 1 }).promises.map(({ id }) => id)).toEqual([2, 1, 0])
    expect(chain.promises.records({ hash: hashes[1]! }).promises.map(({ id }) => id)).toEqual([1])
  })

  it('refuses to wait for an unknown transaction', async () => {
    const { chain } = await startedChain()
    await expect(chain.promises.settled(`0x${'12'.repeat(32)}` as never)).rejects.toThrow(
      'is unknown: it was neither promised nor sealed here',
    )
  })

  it('continues from its storage, and records what a restart did to open promises', async () => {
    const promiseRecords = storage()
    const first = await startedChain('preconf', { promiseRecords })
    const hash = await first.chain.submit(signed())
    await first.clock.advance(2_200)
    const late = await first.chain.submit(signed({ nonce: 1n }))
    await first.clock.advance(SLOT)
    expect(newest(first)).toMatchObject({ id: 1, hash: late, outcome: 'open' })
    const second = await startedChain('preconf', { promiseRecords, store: new MemoryStore() })
    expect(second.chain.ledger.find(hash)).toMatchObject({ id: 0, outcome: 'kept' })
    second.chain.ledger.recover({ kept: [], retracted: [late] }, 2)
    expect(second.chain.promises.records().promises).toMatchObject([
      { hash: late, outcome: 'retracted', cause: 'crash', promisedMs: null },
      { id: 0, hash, outcome: 'kept' },
    ])
    expect(second.bugs).toEqual([])
  })

  it('writes the transactions that leave the pool together in one commit, before anyone who waits for them continues', async () => {
    const promiseRecords = storage()
    const { chain } = await startedChain('manual', { promiseRecords })
    const hashes: Hash[] = []
    for (let nonce = 0n; nonce < 20n; nonce++) hashes.push(await chain.submit(signed({ nonce })))
    const written = hashes.map((hash) => chain.promises.settled(hash).then(() => promiseRecords.values.has(`promises/hash/${hash}`)))
    chain.pool.dropAll()
    expect(await Promise.all(written)).toEqual(hashes.map(() => true))
    expect(promiseRecords.commits).toBe(1)
    const { chain: again } = await startedChain('manual', { promiseRecords, store: new MemoryStore() })
    expect(again.promises.records({ outcome: 'dropped', limit: 100 }).promises).toHaveLength(20)
  })

  it('reports a damaged record and leaves it out', async () => {
    const promiseRecords = storage()
    const first = await startedChain('preconf', { promiseRecords })
    const hashes = [await first.chain.submit(signed()), await first.chain.submit(signed({}, 1))]
    await first.clock.advance(2_000)
    for (const [key, bytes] of promiseRecords.values) if (key === 'promises/id/000000000001') bytes[20]! ^= 1
    const second = await startedChain('preconf', { promiseRecords, store: new MemoryStore() })
    const { promises, next } = second.chain.promises.records()
    expect([promises.map(({ id }) => id), next]).toEqual([[0], null])
    expect(promises.map(({ hash }) => hashes.includes(hash))).toEqual([true])
    expect(second.bugs).toMatchObject([
      { message: 'the ledger of promises is damaged at promises/id/000000000001; the record is left out' },
    ])
  })

  it('returns the records before promises that were open when the process was killed', async () => {
    const promiseRecords = storage()
    const first = await startedChain('preconf', { promiseRecords })
    const kept = await first.chain.submit(signed())
    await first.clock.advance(2_000)
    await first.chain.submit(signed({ nonce: 1n }))
    await first.clock.advance(SLOT)
    const dropped = await first.chain.submit(signed({}, 1))
    await first.chain.promises.drop(dropped)
    const { chain } = await startedChain('preconf', { promiseRecords, store: new MemoryStore() })
    const page = chain.promises.records()
    expect(page).toMatchObject({
      promises: [
        { id: 2, hash: dropped },
        { id: 0, hash: kept },
      ],
      next: null,
    })
  })

  it('reports a storage that fails, and goes on', async () => {
    const failure = new Error('disk full')
    const promiseRecords = {
      get: () => null,
      put: () => {
        throw failure
      },
    }
    const { chain, clock, bugs } = await startedChain('preconf', { promiseRecords })
    const hash = await chain.submit(signed())
    await clock.advance(2_000)
    expect(chain.ledger.find(hash)).toMatchObject({ outcome: 'kept' })
    expect(bugs).toEqual([failure])
  })
})
