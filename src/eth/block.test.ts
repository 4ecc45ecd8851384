import { describe, expect, it } from 'vitest'
import { Address } from './address.ts'
import { Block } from './block.ts'
import { EMPTY_CODE_HASH, EMPTY_OMMERS, EMPTY_REQUESTS_HASH, EMPTY_ROOT } from './constants.ts'
import { Hash } from './hash.ts'
import { Header } from './header.ts'
import { DecodeError, Hex } from './hex.ts'
import { sha256 } from './keccak.ts'
import { Rlp, type RlpItem } from './rlp.ts'
import { chainRlp, hasVectors, recorded } from './vectors.fixture.ts'
import type { Withdrawal } from './withdrawal.ts'

const HEAD = '0xd226371d0b1551adb03fb52b71f08e3e11247fe9b1af994768af8cdaa8e7dcd7'

const header: Header = {
  parentHash: Hash.fromBigint(1n),
  ommersHash: EMPTY_OMMERS,
  coinbase: Address.zero,
  stateRoot: EMPTY_ROOT,
  transactionsRoot: EMPTY_ROOT,
  receiptsRoot: EMPTY_ROOT,
  logsBloom: new Uint8Array(256),
  difficulty: 0n,
  number: 7,
  gasLimit: 30_000_000n,
  gasUsed: 0n,
  timestamp: 1_700_000_000,
  extraData: Hex.toBytes('0x01000000640000000500000000004c4b40'),
  mixHash: Hash.zero,
  nonce: new Uint8Array(8),
  baseFeePerGas: 5_000_000n,
  withdrawalsRoot: EMPTY_ROOT,
  blobGasUsed: 40_000n,
  excessBlobGas: 0n,
  parentBeaconBlockRoot: Hash.zero,
  requestsHash: EMPTY_REQUESTS_HASH,
}
const later = ['baseFeePerGas', 'withdrawalsRoot', 'blobGasUsed', 'excessBlobGas', 'parentBeaconBlockRoot', 'requestsHash'] as const

describe('a header', () => {
  it.each(later.map((_, count) => count))('with %d of the later fields round-trips', (count) => {
    const older = { ...header, ...Object.fromEntries(later.slice(count).map((field) => [field, null])) }
    expect(Header.decode(Header.encode(older))).toEqual(older)
    expect((Rlp.decode(Header.encode(older)) as readonly RlpItem[]).length).toBe(15 + count) // a header is a list
  })

  it('is not encoded with a gap', () => {
    expect(() => Header.encode({ ...header, withdrawalsRoot: null })).toThrow(RangeError)
  })

  it('is rejected with a field of another size, too few fields or too many', () => {
    const list = Rlp.decode(Header.encode(header)) as readonly RlpItem[] // a header is a list
    const wrong: [string, readonly RlpItem[]][] = [
      ['header', list.slice(0, 14)],
      ['header', [...list, new Uint8Array()]],
      ['header.parentHash', list.with(0, new Uint8Array(31))],
      ['header.coinbase', list.with(2, new Uint8Array())],
      ['header.logsBloom', list.with(6, new Uint8Array(255))],
      ['header.number', list.with(8, new Uint8Array(8).fill(255))],
      ['header.timestamp', list.with(11, Uint8Array.of(0, 1))],
      ['header.nonce', list.with(14, new Uint8Array(7))],
      ['header.extraData', list.with(12, [])],
    ]
    for (const [field, items] of wrong) expect(() => Header.decode(Rlp.encode(items))).toThrow(expect.objectContaining({ field }))
  })
})

describe('a block', () => {
  const withdrawal: Withdrawal = { index: 3n, validatorIndex: 9n, address: Address.zero, amount: 2n ** 63n }

  it.each<[string, Withdrawal[] | null]>([
    ['no withdrawals', null],
    ['an empty list of them', []],
    ['one', [withdrawal]],
  ])('with %s is read as it was written', (_, withdrawals) => {
    const rlp = Block.encode({ header, transactions: [], ommers: [header], withdrawals })
    expect(Block.sizeBytes({ ommers: [header], withdrawals }, Header.encode(header).length, 0)).toBe(rlp.length)
    const expected = { header, hash: Header.hash(header), transactions: [], ommers: [header], withdrawals, sizeBytes: rlp.length }
    expect(Block.decode(rlp)).toEqual(expected)
  })

  it('names the invalid transaction, and in a chain the block and its position', () => {
    const good = Block.encode({ header, transactions: [], ommers: [], withdrawals: null })
    const bad = Rlp.encode([Header.toRlp(header), ['0x0200'], []])
    expect(() => Block.decode(bad)).toThrow(/^transaction 0: transaction /)
    const chain = Block.decodeChain(Buffer.concat([good, bad]))
    expect(chain.next().done).toBe(false)
    expect(() => chain.next()).toThrow(new RegExp(`^block 1 at byte ${good.length}: transaction 0: `))
    expect(() => [...Block.decodeChain(good.subarray(0, 50))]).toThrow(DecodeError)
  })

  it('is rejected with a legacy transaction in an envelope’s place and with two or five items', () => {
    const inner = Rlp.encode([1, 2, 3])
    for (const items of [
      [Header.toRlp(header), [inner], []],
      [Header.toRlp(header), []],
      [Header.toRlp(header), [], [], [], []],
    ])
      expect(() => Block.decode(Rlp.encode(items))).toThrow(DecodeError)
  })
})

describe('constants', () => {
  it('are the hashes of empty values', () => {
    expect(EMPTY_ROOT).toBe(Hash.keccak(Rlp.encode('0x')))
    expect(EMPTY_OMMERS).toBe(Hash.keccak(Rlp.encode([])))
    expect(EMPTY_CODE_HASH).toBe(Hash.keccak(new Uint8Array()))
    expect(EMPTY_REQUESTS_HASH).toBe(Hash.from(sha256(new Uint8Array())))
  })
})

describe.skipIf(!hasVectors)('the recorded L1 chain', () => {
  it('is 54 linked blocks up to the known head, and is encoded to the same bytes', () => {
    const bytes = chainRlp()
    const blocks = [...Block.decodeChain(bytes)]
    expect(blocks.length).toBe(54)
    for (const [i, block] of blocks.entries()) if (i > 0) expect(block.header.parentHash).toBe(blocks[i - 1]?.hash)
    expect(blocks.at(-1)?.hash).toBe(HEAD)
    expect(Buffer.concat(blocks.map(Block.encode)).equals(bytes)).toBe(true)
    expect(blocks.reduce((sum, block) => sum + block.sizeBytes, 0)).toBe(bytes.length)
  })

  it('begins at the recorded genesis and holds the recorded block 3', () => {
    const blocks = [...Block.decodeChain(chainRlp())]
    const genesis = Block.decode(Hex.toBytes(String(recorded('debug_getRawBlock/get-genesis.io'))))
    expect(blocks[0]?.header.parentHash).toBe(genesis.hash)
    expect(Hex.fromBytes(Block.encode(blocks[2] as Block))).toBe(recorded('debug_getRawBlock/get-block-n.io')) // there are 54
  })
})
