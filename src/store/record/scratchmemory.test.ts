import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Address, Hash, Transaction } from '../../eth/index.ts'
import type { Block } from '../../eth/index.ts'
import {
  BLOOM_BYTES,
  RECORD_HASH_OFFSET,
  SCRATCH_BLOOM,
  SCRATCH_HEX,
  SCRATCH_TARGETS,
  SCRATCH_RECORD,
  SCRATCH_BATCH_LENGTH,
} from '../writer/layout.ts'
import { BlockEncoder } from './encode.ts'
import { FieldEncoder } from './fieldencoder.ts'
import { BlockRecord } from './index.ts'
import { SCRATCH_KEPT_BYTES } from './limits.ts'
import { RecordWriter } from './recordwriter.ts'
import { ScalarScratchMemory } from './scalarscratch.fixture.ts'
import { bloomOfBits, someBlock } from './record.fixture.ts'
import { newScratchMemory } from './scratchmemory.ts'
import type { ScratchMemory } from './scratchmemory.ts'

const MEMORIES: readonly (readonly [string, () => ScratchMemory])[] = [
  ['WebAssembly', newScratchMemory],
  ['TypeScript', () => new ScalarScratchMemory()],
]
const blob = (size: number): fc.Arbitrary<Uint8Array> => fc.uint8Array({ minLength: size, maxLength: size })

describe.each(MEMORIES)('scratch memory in %s', (_, make) => {
  const scratch = make()
  const memory = () => new Uint8Array(scratch.memory.buffer)

  test('decodes hex of either case and changes no other byte', () => {
    const some = fc.tuple(fc.oneof(blob(20), blob(32)), fc.boolean())
    const property = fc.property(fc.array(some, { maxLength: SCRATCH_BATCH_LENGTH }), (values) => {
      const expected = new Uint8Array(SCRATCH_BATCH_LENGTH * 40).fill(0xee)
      const places = new Uint32Array(scratch.memory.buffer, SCRATCH_TARGETS, 2 * SCRATCH_BATCH_LENGTH)
      let text = ''
      values.forEach(([bytes, isUpper], i) => {
        const hex = Buffer.from(bytes).toString('hex')
        text += `0x${isUpper ? hex.toUpperCase() : hex}`
        places.set([SCRATCH_RECORD + 40 * i + 3, bytes.length], 2 * i)
        expected.set(bytes, 40 * i + 3)
      })
      memory().fill(0xee, SCRATCH_RECORD, SCRATCH_RECORD + expected.length)
      memory().set(Buffer.from(text, 'latin1'), SCRATCH_HEX)
      expect(scratch.decodeHex(values.length)).toBe(text.length)
      expect(Buffer.compare(memory().subarray(SCRATCH_RECORD, SCRATCH_RECORD + expected.length), expected)).toBe(0)
    })
    fc.assert(property, { seed: 1, numRuns: 200 })
  })

  const bloomOf = (bloom: Uint8Array): string => {
    memory().fill(0xee, SCRATCH_RECORD, SCRATCH_RECORD + 300)
    memory().set(bloom, SCRATCH_BLOOM)
    const end = scratch.encodeBloom(SCRATCH_RECORD + 1)
    return `${Buffer.from(memory().subarray(SCRATCH_RECORD, end)).toString('hex')} ${memory()[SCRATCH_RECORD + 1 + BLOOM_BYTES + 1]}`
  }

  test('encodes a bloom', () => {
    const most = [...Array.from({ length: 126 }, (_bit, i) => i * 14 + (i % 3)), 2047].map((bit) => bit.toString(16).padStart(4, '0'))
    const swapped = most.map((place) => place.slice(2) + place.slice(0, 2)).join('')
    expect(bloomOf(new Uint8Array(BLOOM_BYTES))).toBe('ee00 238')
    expect(bloomOf(bloomOfBits(1))).toBe('ee02ff07 238')
    expect(bloomOf(bloomOfBits(127))).toBe(`ee80${swapped} 238`)
    expect(bloomOf(bloomOfBits(128))).toBe(`ee01${Buffer.from(bloomOfBits(128)).toString('hex')} 238`)
  })
})

test('both implementations encode any bloom alike', () => {
  const [one, other] = [newScratchMemory(), new ScalarScratchMemory()]
  const payload = (scratch: ScratchMemory, bloom: Uint8Array): Uint8Array => {
    const bytes = new Uint8Array(scratch.memory.buffer)
    bytes.set(bloom, SCRATCH_BLOOM)
    return bytes.slice(SCRATCH_RECORD, scratch.encodeBloom(SCRATCH_RECORD))
  }
  const bits = fc.array(fc.integer({ min: 0, max: 2047 }), { maxLength: 140 }).map((places) => {
    const bloom = new Uint8Array(BLOOM_BYTES)
    for (const bit of places) bloom[bit >> 3]! |= 0x80 >> (bit & 7)
    return bloom
  })
  const property = fc.property(fc.oneof(bits, blob(BLOOM_BYTES)), (bloom) => {
    expect(Buffer.compare(payload(one, bloom), payload(other, bloom))).toBe(0)
  })
  fc.assert(property, { seed: 2, numRuns: 500 })
})

describe('the record writer', () => {
  const tx = Transaction.unsigned({ chainId: 1, data: new Uint8Array(SCRATCH_KEPT_BYTES).fill(7) }, Address.zero)
  const large = fc.sample(someBlock, { seed: 5, numRuns: 40 }).find(({ transactions }) => transactions.length > 1)!
  const larger: Block = { ...large, transactions: large.transactions.map((was, i) => (i === 0 ? tx : was)) }

  test('writes the same record in both implementations, also after growth and replacement', () => {
    const encoders = MEMORIES.map(([, make]) => new BlockEncoder(new FieldEncoder(make)))
    const property = fc.property(someBlock, (block) => {
      const [one, other] = encoders.map((encoder) => encoder.encode(block))
      expect(Buffer.compare(one!, other!)).toBe(0)
      expect(BlockRecord.checked(one!, block.header.number).logCount).toBe(block.receipts.flatMap(({ logs }) => logs).length)
    })
    fc.assert(property, { seed: 3, numRuns: 200 })
    const [one, other] = encoders.map((encoder) => encoder.encode(larger))
    expect(one!.length).toBeGreaterThan(SCRATCH_KEPT_BYTES)
    expect(Buffer.compare(one!, other!)).toBe(0)
    const [decoded] = BlockRecord.checked(one!, larger.header.number).decode().transactions
    expect(Buffer.compare(decoded!.data, tx.data)).toBe(0)
    fc.assert(property, { seed: 4, numRuns: 20 })
  })

  const hash = Hash.from(`0x${'ab'.repeat(32)}`)
  const log = (writer: RecordWriter): void => writer.log(1, Address.zero, [hash, hash], new Uint8Array(3).fill(7))
  const withTexts = (writer: RecordWriter, count: number): void => {
    for (let i = 0; i < count; i++) writer.addressAt(RECORD_HASH_OFFSET, Address.zero)
  }
  const fields: readonly (readonly [string, number, (writer: RecordWriter) => void])[] = [
    ['a tag', 1, (writer) => writer.mark(9)],
    ['a number of 32 bits', 4, (writer) => writer.u32(0x01020304)],
    ['an address', 21, (writer) => writer.putAddress(9, Address.from(`0x${'cd'.repeat(20)}`))],
    ['a hash', 33, (writer) => writer.putHash(9, hash)],
    ['hashes', 69, (writer) => writer.putHashes(9, [hash, hash])],
    ['a number', 9, (writer) => writer.putQuantity(9, Number.MAX_SAFE_INTEGER)],
    ['a quantity of 64 bits', 10, (writer) => writer.putQuantity(9, 2n ** 64n - 1n)],
    ['a quantity of 256 bits', 34, (writer) => writer.putQuantity(9, 2n ** 256n - 1n)],
    ['bytes', 25, (writer) => writer.putBytes(9, new Uint8Array(20).fill(7))],
    ['a bloom with bit positions', 256, (writer) => writer.putBloom(9, bloomOfBits(127))],
    ['a whole bloom', 258, (writer) => writer.putBloom(9, bloomOfBits(128))],
    ['a log', 99, log],
    ['a log within a batch of texts', 99, (writer) => (withTexts(writer, SCRATCH_BATCH_LENGTH - 2), log(writer))],
  ]

  test.each(fields)('grows for %s wherever memory ends', (_, size, write) => {
    const room = newScratchMemory().memory.buffer.byteLength - SCRATCH_RECORD
    const written = (begins: number, make: () => ScratchMemory): Uint8Array => {
      const writer = new RecordWriter(make)
      writer.begin(begins)
      write(writer)
      return writer.finish().slice(begins)
    }
    const expected = written(96, newScratchMemory)
    expect(expected.length).toBe(size)
    for (const [, make] of MEMORIES) {
      for (const left of [0, 1, size >> 1, size - 1, size]) expect(written(room - left, make)).toEqual(expected)
    }
  })

  test('keeps its memory for the next record, except after a very long one', () => {
    let memories = 0
    const writer = new RecordWriter(() => (memories++, newScratchMemory()))
    const write = (bytes: number): number => {
      writer.begin(96)
      writer.raw(new Uint8Array(bytes))
      return writer.finish().length
    }
    expect([write(1), write(2 ** 21), write(1), memories]).toEqual([97, 96 + 2 ** 21, 97, 1])
    expect([write(SCRATCH_KEPT_BYTES), memories]).toEqual([96 + SCRATCH_KEPT_BYTES, 1])
    expect([write(1), write(1), memories]).toEqual([97, 97, 2])
  })

  test('begins a record with zeros and without the pending texts of an unfinished one', () => {
    const writer = new RecordWriter()
    writer.begin(16)
    log(writer)
    writer.begin(200)
    expect(writer.finish().subarray(12)).toEqual(new Uint8Array(188))
  })

  test('rejects an address or a hash of another length, and writes the next record', () => {
    const writer = new RecordWriter()
    writer.begin(96)
    writer.hashAt(48, `0x${'ab'.repeat(31)}` as Hash) // which it is not
    expect(() => writer.finish()).toThrow(/a hash 32/)
    writer.begin(96)
    writer.hashAt(48, Hash.from(`0x${'ab'.repeat(32)}`))
    expect(writer.finish().subarray(48, 80)).toEqual(new Uint8Array(32).fill(0xab))
  })
})
