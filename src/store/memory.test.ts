import { beforeAll, describe, expect, it } from 'vitest'
import { Address, Bloom, Hash, Header } from '../eth/index.ts'
import type { Block, Log, Transaction } from '../eth/index.ts'
import { BLANK_HEADER } from '../eth/header.fixture.ts'
import { MemoryStore } from './memory.ts'

const A = Address.from(`0x${'a1'.repeat(20)}`)
const B = Address.from(`0x${'b2'.repeat(20)}`)
const [T0, T1, T2] = [hash(0), hash(1), hash(2)]

describe('the memory store', () => {
  let store: MemoryStore
  let blocks: readonly Block[]

  beforeAll(() => {
    blocks = [block(0, []), block(1, [log(A, T0), log(B, T0, T1)]), block(2, []), block(3, [log(A, T2)])]
    store = filled(blocks)
  })

  it('finds blocks by number and hash, transactions by hash', () => {
    expect(store.byNumber(1)).toBe(blocks[1])
    expect(store.byHash(blocks[3]!.hash)).toBe(blocks[3])
    expect(store.locate(blocks[1]!.transactions[1]!.hash)).toEqual({ block: blocks[1], index: 1 })
    expect([store.byNumber(4), store.byNumber(-1), store.byHash(T0), store.locate(T0)]).toEqual([null, null, null, null])
  })

  it('takes only the next block', () => {
    expect(() => store.append(block(5, []))).toThrow(RangeError)
    expect(() => store.append(block(3, []))).toThrow('block 3 is not the next one, 4')
  })

  it('answers logs in chain order with their places', () => {
    const logs = [...store.logs({ addresses: null, topics: [] }, 0, 9)]
    expect(
      logs.map(({ block, transactionIndex, logIndex, log }) => [block.header.number, transactionIndex, logIndex, log.address]),
    ).toEqual([
      [1, 0, 0, A],
      [1, 1, 1, B],
      [3, 0, 0, A],
    ])
  })

  it('answers logs by range, address and topics', () => {
    const find = (addresses: readonly Address[] | null, topics: readonly (readonly Hash[] | null)[], from = 0, to = 9) =>
      [...store.logs({ addresses: addresses && new Set(addresses), topics: topics.map((any) => any && new Set(any)) }, from, to)].map(
        (placed) => [placed.block.header.number, placed.logIndex],
      )
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

  it('forgets everything about what is cut off, newest first', () => {
    const other = filled(blocks)
    expect(other.truncate(1)).toEqual([blocks[3], blocks[2]])
    expect([other.byNumber(2), other.byHash(blocks[3]!.hash), other.locate(blocks[3]!.transactions[0]!.hash)]).toEqual([null, null, null])
    expect([...other.logs({ addresses: null, topics: [] }, 0, 9)]).toHaveLength(2)
    other.append(block(2, [log(B, T2)]))
    expect([...other.logs({ addresses: null, topics: [] }, 2, 9)]).toHaveLength(1)
    expect(other.truncate(2)).toEqual([])
  })
})

function filled(blocks: readonly Block[]): MemoryStore {
  const store = new MemoryStore()
  for (const block of blocks) store.append(block)
  return store
}

/** One transaction for each log. */
function block(number: number, logs: readonly Log[]): Block {
  const header = { ...BLANK_HEADER, number, logsBloom: Bloom.ofLogs(logs), extraData: new Uint8Array([logs.length]) }
  return {
    header,
    hash: Header.hash(header),
    transactions: logs.map((_, index) => ({ hash: hash(1_000 * (number + 1) + index) }) as Transaction), // the store reads nothing else
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
