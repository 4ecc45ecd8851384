import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BLANK_HEADER } from '../../eth/header.fixture.ts'
import { Address, Hash, Hex, Transaction } from '../../eth/index.ts'
import type { Block, Header, L1Cost, Log, Receipt } from '../../eth/index.ts'
import { recorded, rebuilt } from '../../../test/conformance/op-blocks.fixture.ts'
import { BlockRecord, RecordArena, TAGS, encodeBlock, encodeBlockInto } from './index.ts'
import { ARENA_CHUNK_BYTES, ARENA_KEPT_CHUNKS } from './limits.ts'
import { bloomOfBits, chainBlocks, hasVectors, importedBlocks, someBlock, someTransaction } from './record.fixture.ts'

const RUNS = { seed: 4, numRuns: 300 }
const SENDER = Address.from(`0x${'5e'.repeat(20)}`)

const RECEIPT: Receipt = {
  type: 2,
  status: 1,
  root: null,
  cumulativeGasUsed: 21_000n,
  logsBloom: new Uint8Array(256),
  logs: [],
  gasUsed: 21_000n,
  effectiveGasPrice: 7n,
  contractAddress: null,
  firstLogIndex: 0,
  blobGasUsed: null,
  blobGasPrice: null,
  depositNonce: null,
  depositReceiptVersion: null,
  l1: null,
}

const L1: L1Cost = {
  gasPrice: 1n,
  gasUsed: 2n,
  fee: 3n,
  baseFeeScalar: 4n,
  blobBaseFee: 5n,
  blobBaseFeeScalar: 6n,
  operatorFeeScalar: null,
  operatorFeeConstant: null,
  daFootprintGasScalar: null,
}

/** A block of one transaction, the oldest form of header around it. */
function blockOf(tx: Transaction, receipt: Partial<Receipt> = {}, rest: Partial<Block> = {}): Block {
  return {
    header: BLANK_HEADER,
    hash: Hash.fromBigint(1n),
    transactions: [tx],
    receipts: [{ ...RECEIPT, type: tx.type, ...receipt }],
    ommers: [],
    withdrawals: null,
    timestampMs: null,
    sizeBytes: 700,
    ...rest,
  }
}

function expectBack(block: Block): void {
  const decoded = BlockRecord.checked(encodeBlock(block), block.header.number).decode()
  if (isDeepStrictEqual(decoded, block)) return
  expect(decoded).toStrictEqual(block) // shows where
  expect.unreachable('the block has become another one')
}

const TRANSFER = Transaction.unsigned({ chainId: 1, to: SENDER }, SENDER)

describe('a block round-trips', () => {
  test.each(['preconf', 'native', 'manual'] as const)('from a chain in process: %s', async (kind) => {
    const blocks = await chainBlocks(kind)
    for (const block of blocks) expectBack(block)
    expect(blocks.at(-1)!.timestampMs === null).toBe(kind !== 'native')
    const types = blocks.flatMap(({ transactions }) => transactions.map(({ type }) => type))
    expect(types).toEqual(expect.arrayContaining([0, 1, 2, 4, 0x7e]))
  })

  test.skipIf(!hasVectors)('from execution-apis: frontier to Osaka', async () => {
    const blocks = await importedBlocks()
    for (const block of blocks) expectBack(block)
    const types = blocks.flatMap(({ transactions }) => transactions.map(({ type }) => type))
    expect(types).toEqual(expect.arrayContaining([0, 1, 2, 3, 4]))
    expect(blocks.some(({ receipts }) => receipts.some(({ root }) => root !== null))).toBe(true)
    expect(blocks.some(({ withdrawals }) => withdrawals !== null && withdrawals.length > 0)).toBe(true)
    expect(blocks[0]!.header.baseFeePerGas).toBeNull()
  })

  test.skipIf(recorded.length === 0)('from OP Sepolia', () => {
    const blocks = recorded.map(rebuilt)
    for (const block of blocks) expectBack(block)
    const receipts = blocks.flatMap((block) => block.receipts)
    expect(receipts.some(({ l1 }) => l1 !== null)).toBe(true)
    expect(receipts.some(({ depositNonce, depositReceiptVersion }) => depositNonce !== null && depositReceiptVersion === 1)).toBe(true)
  })

  test('with arbitrary values', () => {
    fc.assert(fc.property(someBlock, expectBack), RUNS)
  })

  test('with ommers of different forks', () => {
    const later = { ...BLANK_HEADER, number: 3, baseFeePerGas: 7n, withdrawalsRoot: Hash.zero, extraData: new Uint8Array(5) }
    expectBack(blockOf(TRANSFER, {}, { ommers: [BLANK_HEADER, later] }))
  })

  test.each([
    ['none, before Shanghai', null],
    ['none', []],
    ['two', [1n, 2n].map((index) => ({ index, validatorIndex: 0n, address: SENDER, amount: 2n ** 64n - 1n }))],
  ])('with withdrawals: %s', (_, withdrawals) => {
    expectBack(blockOf(TRANSFER, {}, { withdrawals }))
  })

  test('with numbers at the ends of their range', () => {
    const most = 2n ** 256n - 1n
    const values = [0n, 255n, 256n, 2n ** 32n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 64n - 1n, 2n ** 64n, 2n ** 128n, 2n ** 200n, most]
    for (const value of values) {
      const tx = { ...TRANSFER, value, r: value }
      expectBack(blockOf({ ...tx, raw: Transaction.encode(tx) }, { effectiveGasPrice: value }))
    }
    const header = { ...BLANK_HEADER, number: Number.MAX_SAFE_INTEGER, timestamp: 2 ** 32, difficulty: most }
    expectBack(blockOf(TRANSFER, {}, { header, timestampMs: Number.MAX_SAFE_INTEGER, sizeBytes: 0 }))
  })
})

describe('values that JSON does not distinguish round-trip', () => {
  const parts = [null, 0n, 9n]
  const operatorFees = parts.flatMap((scalar) => parts.map((constant) => [scalar, constant] as const))

  test.each(operatorFees)('an operator fee of %s and %s', (operatorFeeScalar, operatorFeeConstant) => {
    expectBack(blockOf(TRANSFER, { l1: { ...L1, operatorFeeScalar, operatorFeeConstant } }))
  })

  test.each([
    ['a status', { status: 0 }],
    ['a root', { status: null, root: Hash.fromBigint(5n) }],
    ['neither', { status: null, root: null }],
  ] as const)('an outcome that is %s', (_, outcome) => {
    expectBack(blockOf(TRANSFER, outcome))
  })

  test.each([
    ['a recovered signer', SENDER],
    ['no recovered signer', null],
  ])('the authority of an authorization: %s', (_, authority) => {
    const entry = { chainId: 0n, address: SENDER, nonce: 1n, yParity: 1, r: 2n, s: 3n, authority }
    expectBack(blockOf(Transaction.unsigned({ type: 4, to: SENDER, authorizationList: [entry, entry] }, SENDER)))
  })

  test('the nonce of a deposit, which JSON takes from its receipt', () => {
    const deposit = Transaction.deposit({
      sourceHash: Hash.fromBigint(3n),
      from: SENDER,
      to: null,
      mint: 4n,
      value: 5n,
      gas: 6n,
      isSystemTx: true,
      data: new Uint8Array(7),
    })
    expectBack(blockOf(deposit, { depositNonce: 8n, depositReceiptVersion: 1, contractAddress: SENDER, l1: L1 }))
    expectBack(blockOf(deposit, { depositNonce: 8n }))
    expectBack(blockOf(deposit))
  })

  test('the fees of a transaction that pays less than it offers', () => {
    const tx = Transaction.unsigned({ maxFeePerGas: 100n, maxPriorityFeePerGas: 3n }, SENDER)
    for (const baseFeePerGas of [null, 7n, 99n, 10n ** 9n]) expectBack(blockOf(tx, {}, { header: { ...BLANK_HEADER, baseFeePerGas } }))
  })
})

describe('logs', () => {
  const log = (topics: number, bytes: number): Log => ({
    address: SENDER,
    topics: Array.from({ length: topics }, (_, i) => Hash.fromBigint(BigInt(i))),
    data: new Uint8Array(bytes).fill(0xab),
  })

  test('round-trip with 0 to 4 topics, without data and with much', () => {
    const logs = [log(0, 0), log(1, 1), log(2, 31), log(3, 33), log(4, 3_000_000), log(0, 5)]
    expectBack(blockOf(TRANSFER, { logs }))
  })

  test('of many transactions round-trip in place, also after one without logs', () => {
    const counts = [0, 3, 0, 0, 2, 1, 0]
    let firstLogIndex = 0
    const receipts = counts.map((count) => {
      const receipt = { ...RECEIPT, firstLogIndex, logs: Array.from({ length: count }, (_, i) => log(i, i)) }
      firstLogIndex += count
      return receipt
    })
    expectBack({ ...blockOf(TRANSFER), transactions: counts.map(() => TRANSFER), receipts })
  })
})

describe('the envelope of a decoded transaction', () => {
  test('equals the original for every type', () => {
    const seen = new Set<number>()
    const property = fc.property(someTransaction, (tx) => {
      seen.add(tx.type)
      const [decoded] = new BlockRecord(encodeBlock(blockOf(tx))).decode().transactions
      expect(Hex.fromBytes(decoded!.raw)).toBe(Hex.fromBytes(tx.raw))
      expect(Hash.keccak(decoded!.raw)).toBe(tx.hash)
    })
    fc.assert(property, RUNS)
    expect([...seen].toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 0x7e])
  })

  test('is encoded once, and copied with the transaction', () => {
    const [decoded] = new BlockRecord(encodeBlock(blockOf(TRANSFER))).decode().transactions
    expect(decoded!.raw).toBe(decoded!.raw)
    expect({ ...decoded! }.raw).toBe(decoded!.raw)
  })
})

describe('encoding rejects', () => {
  test.each<[string, Block, RegExp]>([
    ['a pending block', blockOf(TRANSFER, {}, { hash: Hash.zero }), /block 0 is pending/],
    ['a block without receipts', blockOf(TRANSFER, {}, { receipts: [] }), /1 transactions and 0 receipts/],
    ['a receipt that counts the logs wrongly', blockOf(TRANSFER, { firstLogIndex: 2 }), /begins at log 2, not 0/],
    ['a number below zero', blockOf({ ...TRANSFER, value: -1n }), /-1 is not a quantity/],
    ['a number of more than 256 bits', blockOf({ ...TRANSFER, value: 2n ** 256n }), /does not fit 32 bytes/],
    ['a size that is no whole number', blockOf(TRANSFER, {}, { sizeBytes: 0.5 }), /0.5 is not a quantity/],
    ['a bloom of another size', blockOf(TRANSFER, { logsBloom: new Uint8Array(255) }), /a bloom of 255 bytes/],
  ])('%s, and encodes the next block', (_, block, message) => {
    expect(() => encodeBlock(block)).toThrow(RangeError)
    expect(() => encodeBlock(block)).toThrow(message)
    expectBack(blockOf(TRANSFER))
  })

  test('nothing because of the previous block: records do not share bytes', () => {
    const block = blockOf(TRANSFER)
    const first = encodeBlock(block)
    const kept = first.slice()
    encodeBlock(blockOf({ ...TRANSFER, value: 99n }))
    expect(first).toEqual(kept)
    expect(encodeBlock(block)).toEqual(kept)
  })
})

describe('an arena', () => {
  const large = blockOf({ ...TRANSFER, data: new Uint8Array(ARENA_CHUNK_BYTES).fill(7) })
  const topics = Array.from({ length: 700 }, (_, i) => Hash.fromBigint(BigInt(i)))
  const blocks = [
    blockOf(TRANSFER),
    large,
    ...topics.map((topic) => blockOf(TRANSFER, { logs: [{ address: SENDER, topics: [topic], data: new Uint8Array(999) }] })),
  ]
  const many = blockOf(TRANSFER, {
    logs: topics.map((topic) => ({ address: SENDER, topics: [topic, topic, topic], data: new Uint8Array(0) })),
  })
  const expected = [...blocks, many].map(encodeBlock)

  test('holds records until it is cleared, and then reuses its memory', () => {
    const draft = new RecordArena()
    for (let round = 0; round < 3; round++) {
      const records = [...blocks, many].map((block) => encodeBlockInto(draft, block))
      expect(records.map((record, i) => Buffer.compare(record, expected[i]!))).toEqual(expected.map(() => 0))
      draft.clear()
    }
    expect(encodeBlockInto(draft, many)).toEqual(expected.at(-1))
  })

  test('fills its chunks completely, and allocates separate memory for a larger record', () => {
    const draft = new RecordArena()
    const keep = (size: number): Uint8Array => draft.add(new Uint8Array(size).fill(size))
    const sizes = [
      ARENA_CHUNK_BYTES - 9,
      9,
      9,
      ARENA_CHUNK_BYTES - 9,
      1,
      ARENA_CHUNK_BYTES,
      ARENA_CHUNK_BYTES + 1,
      ARENA_CHUNK_BYTES - 1,
      2,
    ]
    const kept = sizes.map(keep)
    expect(kept.map((record, i) => Buffer.compare(record, new Uint8Array(sizes[i]!).fill(sizes[i]!)))).toEqual(sizes.map(() => 0))
    const chunks = kept.map(({ buffer }) => kept.findIndex((record) => record.buffer === buffer))
    expect(chunks).toEqual([0, 0, 2, 2, 4, 5, 6, 7, 8])
  })

  test('reuses its chunks, and releases those beyond the limit', () => {
    const draft = new RecordArena()
    const buffers = () => Array.from({ length: ARENA_KEPT_CHUNKS + 1 }, () => draft.add(new Uint8Array(ARENA_CHUNK_BYTES)).buffer)
    const before = buffers()
    draft.clear()
    expect(buffers().map((buffer, i) => buffer === before[i])).toEqual(before.map((_, i) => i < ARENA_KEPT_CHUNKS))
  })

  test('works after a block that could not be encoded', () => {
    const draft = new RecordArena()
    expect(() => encodeBlockInto(draft, blockOf({ ...TRANSFER, value: -1n }))).toThrow(RangeError)
    expect(encodeBlockInto(draft, many)).toEqual(expected.at(-1))
  })
})

test('the layout is an on-disk format: when this changes, its number must; a new field only adds a tag', () => {
  const table = new TextEncoder().encode(JSON.stringify(TAGS.slice(0, 87)))
  const header: Header = { ...BLANK_HEADER, number: 9, baseFeePerGas: 8n, logsBloom: bloomOfBits(128) }
  const log = { address: SENDER, topics: [Hash.zero], data: new Uint8Array(3) }
  const receipt = { l1: L1, logs: [log], logsBloom: bloomOfBits(9) }
  const record = encodeBlock(blockOf(TRANSFER, receipt, { header, timestampMs: 1, ommers: [header] }))
  expect([Hash.keccak(table), Hash.keccak(record)]).toEqual([
    '0x798bcb924334f295960724c29c33895af56e8f0e3905a328c0fcefc61648149d',
    '0x193f3695a6a91a06279f877dbb42b73000e0fed047f38635b9a845a9db5dfdc7',
  ])
})
