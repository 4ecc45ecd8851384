import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { logsOfBlock, matchesFilter } from '../../chain/index.ts'
import type { LogFilter, LocatedLog } from '../../chain/index.ts'
import type { Block } from '../../eth/index.ts'
import { Address, Bloom, Hash } from '../../eth/index.ts'
import { BlockRecord, CorruptRecord, byteFilter, encodeBlock } from './index.ts'
import { chainBlocks, formerRecord, someBlock } from './record.fixture.ts'

const RUNS = { seed: 5, numRuns: 200 }
const EVERY: LogFilter = { addresses: null, topics: [] }

function everyLog(block: Block): readonly LocatedLog[] {
  return [...logsOfBlock(block, EVERY)]
}

describe('without decoding it, a record', () => {
  test('has its number, times, hash and counts', () => {
    const property = fc.property(someBlock, (block) => {
      const record = new BlockRecord(encodeBlock(block))
      const { number, timestamp } = block.header
      expect([record.number, record.timestamp, record.timestampMs, record.hash]).toEqual([number, timestamp, block.timestampMs, block.hash])
      expect([record.transactionCount, record.logCount]).toEqual([block.transactions.length, everyLog(block).length])
      expect(block.transactions.map((_, i) => record.transactionHash(i))).toEqual(block.transactions.map(({ hash }) => hash))
    })
    fc.assert(property, RUNS)
  })

  test('has the senders, receivers and nonces of its transactions', () => {
    const property = fc.property(someBlock, (block) => {
      const record = new BlockRecord(encodeBlock(block))
      const stranger = new Uint8Array(20).fill(0xee)
      for (const [i, { from, to, nonce, deposit }] of block.transactions.entries()) {
        const receipt = block.receipts[i]!
        const receiver = to ?? receipt.contractAddress
        expect([record.isSender(Address.toBytes(from), i), record.isSender(stranger, i)]).toEqual([true, false])
        expect([receiver !== null && record.isReceiver(Address.toBytes(receiver), i), record.isReceiver(stranger, i)]).toEqual([
          receiver !== null,
          false,
        ])
        expect(record.nonceOf(i)).toBe(deposit === null ? nonce : (receipt.depositNonce ?? nonce))
      }
    })
    fc.assert(property, RUNS)
  })

  test('returns a log with its position', () => {
    const property = fc.property(someBlock, (block) => {
      const record = new BlockRecord(encodeBlock(block))
      for (const { block: _, ...placed } of everyLog(block)) {
        expect(isDeepStrictEqual(record.log(placed.logIndex), placed)).toBe(true)
      }
    })
    fc.assert(property, RUNS)
  })

  test('matches the logs that the chain matches', () => {
    let [hits, misses] = [0, 0]
    const property = fc.property(someBlock, fc.infiniteStream(fc.nat()), (block, numbers) => {
      const record = new BlockRecord(encodeBlock(block))
      const logs = everyLog(block)
      for (const { log: aim } of logs) {
        const filter = filterNear(aim, () => numbers.next().value)
        const bytes = byteFilter(filter)
        for (const { log, logIndex } of logs) {
          const isMatch = matchesFilter(filter, log)
          expect(record.matches(bytes, logIndex)).toBe(isMatch)
          if (isMatch) hits++
          else misses++
        }
      }
    })
    fc.assert(property, RUNS)
    expect([hits > 100, misses > 100]).toEqual([true, true])
  })

  test.each([-1, 1, 0.5, NaN])('rejects an index out of range: %s', (index) => {
    const record = new BlockRecord(encodeBlock(small))
    expect(record.logCount).toBe(1)
    expect(() => record.log(index)).toThrow(RangeError)
    expect(() => record.matches(EVERY_BYTE, index)).toThrow(RangeError)
    const place = index === 1 ? record.transactionCount : index
    expect(() => record.transactionHash(place)).toThrow(RangeError)
    expect(() => record.isSender(new Uint8Array(20), place)).toThrow(RangeError)
    expect(() => record.isReceiver(new Uint8Array(20), place)).toThrow(RangeError)
    expect(() => record.nonceOf(place)).toThrow(RangeError)
  })
})

const EVERY_BYTE = byteFilter(EVERY)
const OTHER = Hash.fromBigint(77n)

/** A filter for the log: each condition is absent, matches, matches among others, does not match, or cannot match. */
function filterNear(log: LocatedLog['log'], next: () => number): LogFilter {
  const condition = <T>(value: T | undefined, other: T): ReadonlySet<T> | null => {
    const choice = next() % 8
    if (choice === 0) return new Set()
    if (choice === 1) return new Set([other])
    if (choice < 4 || value === undefined) return null
    return new Set(choice === 4 ? [other, value] : [value])
  }
  const topics = Array.from({ length: next() % 6 }, (_, i) => condition(log.topics[i], OTHER))
  return { addresses: condition(log.address, Address.zero), topics }
}

// --- records that are broken --------------------------------------------------------------------------------------------------------------------

const OLD_RECEIVER = Address.from(`0x${'07'.repeat(20)}`)

let small: Block
let bytes: Uint8Array

beforeAll(async () => {
  const blocks = await chainBlocks('manual')
  small = blocks.find((block) => everyLog(block).length === 1) ?? expect.unreachable('no block has one log')
  bytes = encodeBlock(small)
})

describe('a verified record', () => {
  test('is not copied', () => {
    const record = BlockRecord.checked(bytes, small.header.number)
    expect(record.bytes).toBe(bytes)
    expect(record.decode().hash).toBe(small.hash)
  })

  test('may be anywhere in a larger buffer', () => {
    const larger = new Uint8Array(bytes.length + 20)
    larger.set(bytes, 13)
    const record = BlockRecord.checked(larger.subarray(13, 13 + bytes.length), small.header.number)
    expect(record.decode()).toEqual(small)
  })

  test('of format 2 is read', () => {
    const former = formerRecord()
    expect(former[3]).toBe(2)
    const record = BlockRecord.checked(former, 9)
    const { header, transactions, receipts, ...rest } = record.decode()
    expect(rest).toMatchObject({ hash: Hash.fromBigint(1n), sizeBytes: 700, timestampMs: null })
    expect(transactions.map(({ nonce, to }) => [nonce, to])).toEqual([
      [4n, OLD_RECEIVER],
      [5n, null],
    ])
    expect(receipts.map(({ logs }) => logs.length)).toEqual([1, 0])
    for (const { logs, logsBloom } of receipts) expect(logsBloom).toEqual(Bloom.ofLogs(logs))
    expect(header.logsBloom).toEqual(receipts[0]!.logsBloom)
    expect(record.isReceiver(Address.toBytes(OLD_RECEIVER), 0)).toBe(true)
    expect(record.isReceiver(Address.toBytes(receipts[1]!.contractAddress!), 1)).toBe(true)
  })

  test('returns Uint8Arrays even for a Buffer', () => {
    const [tx] = BlockRecord.checked(Buffer.from(bytes), small.header.number).decode().transactions
    expect(Object.getPrototypeOf(tx!.data)).toBe(Uint8Array.prototype)
  })

  test('is rejected with any bit flipped', () => {
    for (let at = 0; at < bytes.length; at++) {
      for (let bit = 0; bit < 8; bit++) {
        const broken = bytes.slice()
        broken[at]! ^= 1 << bit
        expect(() => BlockRecord.checked(broken, small.header.number)).toThrow(CorruptRecord)
      }
    }
  })

  test('is rejected at any other length', () => {
    for (let size = 0; size < bytes.length; size++) expect(faultOf(bytes.subarray(0, size))).toMatch(/bytes/)
    expect(faultOf(Buffer.concat([bytes, bytes]))).toMatch(/bytes instead of/)
  })

  test('names the block and the fault', () => {
    const { number } = small.header
    const broken = bytes.slice()
    broken[200]! ^= 1
    const wrong = `the record of block ${number} is corrupt: its checksum does not match its bytes`
    expect(() => BlockRecord.checked(broken, number)).toThrow(expect.objectContaining({ number, message: wrong }))
    expect(faultOf(bytes.subarray(0, 10))).toBe('it has only 10 bytes')
    expect(faultOf(bytes.subarray(0, 200))).toBe(`it has 200 bytes instead of ${bytes.length}`)
    expect(faultOf(bytes, number + 1)).toBe(`it is that of block ${number}`)
    expect(faultOf(bytes.slice().fill(0, 0, 1))).toBe('it does not begin as a record')
    expect(faultOf(bytes.slice().fill(1, 3, 4))).toBe('it has the format 1, not 4 or 2')
    expect(faultOf(bytes.slice().fill(5, 3, 4))).toBe('it has the format 5, not 4 or 2')
  })
})

function faultOf(record: Uint8Array, number = small.header.number): string | null {
  try {
    BlockRecord.checked(record, number)
    return null
  } catch (error) {
    if (!(error instanceof CorruptRecord)) throw error
    return error.reason
  }
}
