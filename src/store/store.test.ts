import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { Address, Bloom, Hash, Header, Transaction } from '../eth/index.ts'
import type { Block, Log } from '../eth/index.ts'
import type { Account, WriteSet } from '../evm/index.ts'
import { BLANK_HEADER } from '../eth/header.fixture.ts'
import { BlockRemoved, MemoryStorage, Store, openLmdb } from './index.ts'
import type { StorageBackend } from './index.ts'
import { encodeBlock } from './record/index.ts'
import { IDLE_MS } from './limits.ts'
import { STORAGE_FORMAT, StorageError } from './storage/index.ts'
import type { StorageChange } from './storage/index.ts'

const A = Address.from(`0x${'a1'.repeat(20)}`)
const B = Address.from(`0x${'b2'.repeat(20)}`)
const [T0, T1, T2] = [hash(0), hash(1), hash(2)]
const EVERYTHING = { addresses: null, topics: [] }

const folders: string[] = []
const backends: StorageBackend[] = []

afterAll(async () => {
  await Promise.all(backends.map((storage) => storage.close()))
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

const KINDS: Readonly<Record<string, () => Promise<StorageBackend>>> = {
  memory: async () => new MemoryStorage(),
  lmdb: () => {
    const folder = mkdtempSync(join(tmpdir(), 'pocketchain-store-'))
    folders.push(folder)
    return openLmdb(folder)
  },
}

describe.each(Object.entries(KINDS))('the store on storage of kind %s', (_, open) => {
  const blocks = [block(0, []), block(1, [log(A, T0), log(B, T0, T1)]), block(2, []), block(3, [log(A, T2)])]

  it('finds blocks by number and hash, transactions by hash', async () => {
    const store = await filled(blocks)
    const [, one] = blocks
    expect(store.byNumber(1)?.hash).toBe(one!.hash)
    expect(store.byHash(blocks[3]!.hash)?.header.number).toBe(3)
    expect(store.numberOf(blocks[3]!.hash)).toBe(3)
    expect(store.locationOf(one!.transactions[1]!.hash)).toEqual({ number: 1, index: 1 })
    expect(store.locate(one!.transactions[1]!.hash)).toMatchObject({ block: { hash: one!.hash }, index: 1 })
    expect([store.hashOf(3), store.timestampOf(3), store.headerOf(3)]).toEqual([blocks[3]!.hash, 3, blocks[3]!.header])
    const paid = one!.receipts.map(({ type, gasUsed, effectiveGasPrice }) => ({ type, gasUsed, effectiveGasPrice }))
    expect(store.gasPaymentsOf(1)).toEqual(paid)
    expect([store.byNumber(4), store.byNumber(-1), store.byHash(T0), store.locate(T0)]).toEqual([null, null, null, null])
  })

  it('upgrades storage of an older format with the first change', async () => {
    const storage = await open()
    backends.push(storage)
    const [genesis, one] = blocks
    const meta = { format: 1, genesisHash: genesis!.hash }
    storage.commit({ meta, blocks: [{ number: 0, record: encodeBlock(genesis!), writes: NO_WRITES }] })
    const store = new Store(storage)
    expect([store.byNumber(0)?.hash, storage.meta]).toEqual([genesis!.hash, meta])
    store.append(one!, NO_WRITES)
    store.flush()
    expect(storage.meta).toEqual({ format: STORAGE_FORMAT, genesisHash: genesis!.hash })
    expect([store.byNumber(0), store.byNumber(1)]).toMatchObject([{ hash: genesis!.hash }, { hash: one!.hash }])
  })

  it('accepts only the next block, and shows nothing before it is flushed', async () => {
    const store = await filled(blocks)
    expect(() => store.append(block(5, []), NO_WRITES)).toThrow(RangeError)
    expect(() => store.append(block(3, []), NO_WRITES)).toThrow('block 3 is not the next one, 4')
    store.append(block(4, []), NO_WRITES)
    expect([store.height, store.byNumber(4)]).toEqual([3, null])
    store.flush()
    expect(store.height).toBe(4)
  })

  it('returns logs in chain order with their positions', async () => {
    const logs = [...(await filled(blocks)).logs(EVERYTHING, 0, 9)]
    expect(
      logs.map(({ block: { header }, transactionIndex, logIndex, log }) => [header.number, transactionIndex, logIndex, log.address]),
    ).toEqual([
      [1, 0, 0, A],
      [1, 1, 1, B],
      [3, 0, 0, A],
    ])
  })

  it('returns logs by range, address and topics, as values and as text', async () => {
    const store = await filled(blocks)
    const find = (addresses: readonly Address[] | null, topics: readonly (readonly Hash[] | null)[], from = 0, to = 9) => {
      const filter = { addresses: addresses && new Set(addresses), topics: topics.map((any) => any && new Set(any)) }
      const values = [...store.logs(filter, from, to)].map((placed) => [placed.block.header.number, placed.logIndex])
      const text = JSON.parse(Buffer.concat([...store.logsJsonBytes(filter, from, to)]).toString()) as {
        blockNumber: string
        logIndex: string
      }[]
      expect(text.map(({ blockNumber, logIndex }) => [Number(blockNumber), Number(logIndex)])).toEqual(values)
      expect(store.countLogs(filter, from, to)).toBeGreaterThanOrEqual(values.length)
      return values
    }
    expect(find([A], [])).toEqual([
      [1, 0],
      [3, 0],
    ])
    expect(find([A], [], 2)).toEqual([[3, 0]])
    expect(find([A, B], [[T0]], 0, 1)).toEqual([
      [1, 0],
      [1, 1],
    ])
    expect(find(null, [null, [T1, T2]])).toEqual([[1, 1]])
    expect(find(null, [[T0], null, null, null])).toEqual([
      [1, 0],
      [1, 1],
    ])
    expect(find([B], [[T2]])).toEqual([])
    expect(find(null, [], 3, 1)).toEqual([])
  })

  it('finds the transactions of an address from either end, and those of a sender by nonce', async () => {
    const store = await filled(blocks)
    const sender = blocks[1]!.transactions[0]!.from
    const places = [
      { number: 1, index: 0 },
      { number: 1, index: 1 },
      { number: 3, index: 0 },
    ]
    for (const address of [sender, A]) {
      expect([...store.transactionsFrom(address, 0)]).toEqual(places)
      expect([...store.transactionsFrom(address, 2)]).toEqual(places.slice(2))
      expect([...store.transactionsBefore(address, 9)]).toEqual(places.toReversed())
      expect([...store.transactionsBefore(address, 3)]).toEqual(places.slice(0, 2).toReversed())
    }
    expect([...store.transactionsFrom(B, 0), ...store.transactionsBefore(B, 9)]).toEqual([])
    expect([1_000n, 1_001n, 3_000n].map((nonce) => store.bySenderAndNonce(sender, nonce))).toEqual(places)
    expect([0n, 999n, 1_002n, 2_999n, 3_001n].map((nonce) => store.bySenderAndNonce(sender, nonce))).toEqual(Array(5).fill(null))
    expect(store.bySenderAndNonce(A, 1_000n)).toBe(null)
    store.truncate(2)
    store.flush()
    expect([...store.transactionsBefore(A, 9)]).toEqual(places.slice(0, 2).toReversed())
    expect(store.bySenderAndNonce(sender, 3_000n)).toBe(null)
  })

  it('removes truncated blocks from every query', async () => {
    const store = await filled(blocks)
    store.truncate(1)
    expect(store.height).toBe(3)
    store.flush()
    expect([store.byNumber(2), store.byHash(blocks[3]!.hash), store.locate(blocks[3]!.transactions[0]!.hash)]).toEqual([null, null, null])
    expect([...store.logs(EVERYTHING, 0, 9)]).toHaveLength(2)
    store.append(block(2, [log(B, T2)]), NO_WRITES)
    store.flush()
    expect([...store.logs(EVERYTHING, 2, 9)]).toHaveLength(1)
    expect(store.locate(block(2, [log(B, T2)]).transactions[0]!.hash)?.block.header.number).toBe(2)
  })

  it('is unchanged after a failed flush', async () => {
    const storage = await open()
    backends.push(storage)
    const store = new Store(storage)
    for (const each of blocks) store.append(each, NO_WRITES)
    store.flush()
    store.truncate(1)
    const other = block(2, [log(B, T2)])
    store.append(other, { ...NO_WRITES, accounts: new Map([[A, BROKEN]]) })
    if (storage.state === null) return // memory refuses nothing
    expect(() => store.flush()).toThrow('broken')
    expect([store.height, store.hashOf(2), store.numberOf(blocks[3]!.hash), store.numberOf(other.hash)]).toEqual([
      3,
      blocks[2]!.hash,
      3,
      null,
    ])
    expect([...store.logs({ addresses: new Set([A]), topics: [] }, 0, 9)]).toHaveLength(2)
  })

  it('returns a record that later appends do not change', async () => {
    const store = await filled(blocks)
    const records = () => blocks.map(({ header }) => store.recordOf(header.number))
    const held = records()
    const copies = held.map((record) => record.slice())
    const flush = (...added: Block[]) => {
      for (const each of added) store.append(each, NO_WRITES)
      store.flush()
    }
    flush(block(4, [log(B, T1)]), block(5, [log(B, T1), log(B, T2)]))
    store.truncate(3)
    flush(block(4, []), block(5, [log(A, T0)]))
    store.append(block(6, [log(B, T2)]), NO_WRITES)
    store.truncate(5)
    flush(block(6, []))
    expect(held).toEqual(copies)
    expect(records()).toEqual(copies)
    expect(store.byNumber(6)?.transactions).toEqual([])
  })

  it('ends reads of blocks that are removed', async () => {
    const many = Array.from({ length: 40 }, (_, i) => block(i, [log(A, T0), { ...log(B, T1), data: new Uint8Array(50_000) }]))
    const store = await filled(many)
    const untouched = store.logsJsonBytes(EVERYTHING, 0, 20)[Symbol.iterator]()
    const cut = store.logsJsonBytes(EVERYTHING, 0, 39)[Symbol.iterator]()
    for (const text of [untouched, cut]) expect(text.next().done).toBe(false)
    store.truncate(30)
    store.flush()
    expect(() => cut.next()).toThrow(BlockRemoved)
    expect(untouched.next().done).toBe(false)
  })

  it('merges the sections of its index once nothing is appended', async () => {
    const store = await filled([])
    const storage = backends.at(-1)!
    appendWide(store)
    expect(storage.sections().length).toBeGreaterThan(6)
    store.edit(NO_WRITES, () => Hash.zero) // staged: not part of the merges
    await vi.waitFor(() => expect(storage.sections().length).toBeLessThan(4))
    for (const each of [store, new Store(storage)]) {
      const rare = [...each.logs({ addresses: new Set([B]), topics: [] }, 0, 9)]
      expect(rare.map(({ block: { header }, logIndex }) => [header.number, logIndex])).toEqual(Array.from({ length: 10 }, (_, i) => [i, i]))
    }
    store.flush()
    expect(storage.stateRoot).toBe(Hash.zero)
  })

  it('is not touched after it was closed', async () => {
    const storage = await open()
    const store = new Store(storage)
    appendWide(store)
    await store.close()
    await sleep(2 * IDLE_MS) // a commit to closed storage would throw, which fails the test run
  })

  async function filled(all: readonly Block[]): Promise<Store> {
    const storage = await open()
    backends.push(storage)
    const store = new Store(storage)
    for (const each of all) store.append(each, NO_WRITES)
    store.flush()
    return store
  }
})

it('finds any of 300 transactions of a sender by nonce with at most five reads of records, each once', () => {
  const storage = new CountingStorage()
  const store = new Store(storage)
  for (let number = 0; number <= 15; number++)
    store.append(
      block(
        number,
        Array.from({ length: number === 0 ? 0 : 20 }, () => log(A)),
      ),
      NO_WRITES,
    )
  store.flush()
  const sender = store.byNumber(1)!.transactions[0]!.from
  for (let number = 1; number <= 15; number++) {
    for (const index of [0, 7, 19]) {
      storage.reads.length = 0
      expect(store.bySenderAndNonce(sender, BigInt(1_000 * number + index))).toEqual({ number, index })
      expect(storage.reads.length).toBeLessThanOrEqual(5)
      expect(new Set(storage.reads).size).toBe(storage.reads.length)
    }
  }
  expect(store.bySenderAndNonce(sender, 15_020n)).toBeNull()
})

it('gives up merging on a full disk, which the next flush reports', async () => {
  let refused = 0
  const storage = new (class extends MemoryStorage {
    override commit(change: StorageChange): void {
      if (change.blocks === undefined || refused > 0) {
        refused++
        throw new StorageError('full', 'no room left')
      }
      super.commit(change)
    }
  })()
  const store = new Store(storage)
  appendWide(store)
  await vi.waitFor(() => expect(refused).toBe(1))
  await sleep(2 * IDLE_MS)
  expect([refused, [...store.logs({ addresses: new Set([B]), topics: [] }, 0, 9)].length]).toEqual([1, 10])
  store.append(wide(10), NO_WRITES)
  expect(() => store.flush()).toThrow('no room left')
})

/** Appends ten blocks of 9,000 logs, each of which becomes a section of the index. */
function appendWide(store: Store): void {
  for (let number = 0; number < 10; number++) {
    store.append(wide(number), NO_WRITES)
    store.flush()
  }
}

/** A block with one transaction and 9,000 logs of A, except that the log with the number of the block is of B. */
function wide(number: number): Block {
  const logs = Array.from({ length: 9_000 }, (_, index) => log(index === number ? B : A, T0))
  const { header, ...rest } = block(number, [log(A)])
  return { header, ...rest, receipts: [{ ...rest.receipts[0]!, logs }] }
}

class CountingStorage extends MemoryStorage {
  readonly reads: number[] = []

  override block(number: number): Uint8Array | null {
    this.reads.push(number)
    return super.block(number)
  }
}

/** Nothing changes. */
const NO_WRITES: WriteSet = { accounts: new Map(), storage: new Map(), codes: new Map() }
/** A write set that fails while it is written. */
const BROKEN: Account = {
  get nonce(): bigint {
    throw new Error('broken')
  },
  balance: 0n,
  codeHash: Hash.zero,
}

/** One transaction for each log. */
function block(number: number, logs: readonly Log[]): Block {
  const transactions = logs.map((_, index) =>
    Transaction.sign({ chainId: 1, nonce: BigInt(1_000 * number + index), gas: 21_000n, to: A }, KEY),
  )
  const header = { ...BLANK_HEADER, number, timestamp: number, logsBloom: Bloom.ofLogs(logs), extraData: new Uint8Array([logs.length]) }
  return {
    header,
    hash: Header.hash(header),
    transactions,
    receipts: logs.map((log, index) => ({ ...RECEIPT, logs: [log], firstLogIndex: index })),
    ommers: [],
    withdrawals: null,
    timestampMs: null,
    sizeBytes: 0,
  }
}

function log(address: Address, ...topics: readonly Hash[]): Log {
  return { address, topics, data: new Uint8Array(0) }
}

function hash(number: number): Hash {
  return Hash.fromBigint(BigInt(number) + (1n << 255n))
}

const KEY = new Uint8Array(32).fill(7)
const RECEIPT: Block['receipts'][number] = {
  type: 2,
  status: 1,
  root: null,
  cumulativeGasUsed: 0n,
  logsBloom: Bloom.empty,
  logs: [],
  gasUsed: 0n,
  effectiveGasPrice: 0n,
  contractAddress: null,
  firstLogIndex: 0,
  blobGasUsed: null,
  blobGasPrice: null,
  depositNonce: null,
  depositReceiptVersion: null,
  l1: null,
}
