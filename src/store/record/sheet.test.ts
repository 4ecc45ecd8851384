import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Address, Hash, Transaction } from '../../eth/index.ts'
import type { Block } from '../../eth/index.ts'
import { BLOOM_BYTES, R_HASH, SHEET_BLOOM, SHEET_LETTERS, SHEET_PLACES, SHEET_RECORD, SHEET_TEXTS } from '../writer/layout.ts'
import { encodeWith } from './encode.ts'
import { BlockRecord } from './index.ts'
import { PEN_BYTES } from './limits.ts'
import { Pen } from './pen.ts'
import { PlainSheet } from './plainsheet.fixture.ts'
import { bloomOfBits, someBlock } from './record.fixture.ts'
import { newSheet } from './sheet.ts'
import type { Sheet } from './sheet.ts'

const SHEETS: readonly (readonly [string, () => Sheet])[] = [
  ['WebAssembly', newSheet],
  ['plain', () => new PlainSheet()],
]
const blob = (size: number): fc.Arbitrary<Uint8Array> => fc.uint8Array({ minLength: size, maxLength: size })

describe.each(SHEETS)('a sheet in %s', (_, make) => {
  const sheet = make()
  const memory = () => new Uint8Array(sheet.memory.buffer)

  test('makes bytes of texts in either case, and touches no other', () => {
    const some = fc.tuple(fc.oneof(blob(20), blob(32)), fc.boolean())
    const property = fc.property(fc.array(some, { maxLength: SHEET_TEXTS }), (values) => {
      const expected = new Uint8Array(SHEET_TEXTS * 40).fill(0xee)
      const places = new Uint32Array(sheet.memory.buffer, SHEET_PLACES, 2 * SHEET_TEXTS)
      let text = ''
      values.forEach(([bytes, isUpper], i) => {
        const hex = Buffer.from(bytes).toString('hex')
        text += `0x${isUpper ? hex.toUpperCase() : hex}`
        places.set([SHEET_RECORD + 40 * i + 3, bytes.length], 2 * i)
        expected.set(bytes, 40 * i + 3)
      })
      memory().fill(0xee, SHEET_RECORD, SHEET_RECORD + expected.length)
      memory().set(Buffer.from(text, 'latin1'), SHEET_LETTERS)
      expect(sheet.putTexts(values.length)).toBe(text.length)
      expect(Buffer.compare(memory().subarray(SHEET_RECORD, SHEET_RECORD + expected.length), expected)).toBe(0)
    })
    fc.assert(property, { seed: 1, numRuns: 200 })
  })

  const bloomOf = (bloom: Uint8Array): string => {
    memory().fill(0xee, SHEET_RECORD, SHEET_RECORD + 300)
    memory().set(bloom, SHEET_BLOOM)
    const end = sheet.putBloom(SHEET_RECORD + 1)
    return `${Buffer.from(memory().subarray(SHEET_RECORD, end)).toString('hex')} ${memory()[SHEET_RECORD + 1 + BLOOM_BYTES + 1]}`
  }

  test('makes the payload of a bloom', () => {
    const most = [...Array.from({ length: 126 }, (_bit, i) => i * 14 + (i % 3)), 2047].map((bit) => bit.toString(16).padStart(4, '0'))
    const swapped = most.map((place) => place.slice(2) + place.slice(0, 2)).join('')
    expect(bloomOf(new Uint8Array(BLOOM_BYTES))).toBe('ee00 238')
    expect(bloomOf(bloomOfBits(1))).toBe('ee02ff07 238')
    expect(bloomOf(bloomOfBits(127))).toBe(`ee80${swapped} 238`)
    expect(bloomOf(bloomOfBits(128))).toBe(`ee01${Buffer.from(bloomOfBits(128)).toString('hex')} 238`)
  })
})

test('either makes the same of any bloom', () => {
  const [one, other] = [newSheet(), new PlainSheet()]
  const payload = (sheet: Sheet, bloom: Uint8Array): Uint8Array => {
    const bytes = new Uint8Array(sheet.memory.buffer)
    bytes.set(bloom, SHEET_BLOOM)
    return bytes.slice(SHEET_RECORD, sheet.putBloom(SHEET_RECORD))
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

describe('a pen', () => {
  const tx = Transaction.unsigned({ chainId: 1, data: new Uint8Array(PEN_BYTES).fill(7) }, Address.zero)
  const large = fc.sample(someBlock, { seed: 5, numRuns: 40 }).find(({ transactions }) => transactions.length > 1)!
  const larger: Block = { ...large, transactions: large.transactions.map((was, i) => (i === 0 ? tx : was)) }

  test('makes the same record on a sheet of either kind, also when that has to grow or was given back', () => {
    const pens = SHEETS.map(([, make]) => new Pen(make))
    const property = fc.property(someBlock, (block) => {
      const [one, other] = pens.map((pen) => encodeWith(pen, block))
      expect(Buffer.compare(one!, other!)).toBe(0)
      expect(BlockRecord.checked(one!, block.header.number).logCount).toBe(block.receipts.flatMap(({ logs }) => logs).length)
    })
    fc.assert(property, { seed: 3, numRuns: 200 })
    const [one, other] = pens.map((pen) => encodeWith(pen, larger))
    expect(one!.length).toBeGreaterThan(PEN_BYTES)
    expect(Buffer.compare(one!, other!)).toBe(0)
    const [decoded] = BlockRecord.checked(one!, larger.header.number).decode().transactions
    expect(Buffer.compare(decoded!.data, tx.data)).toBe(0)
    fc.assert(property, { seed: 4, numRuns: 20 })
  })

  const hash = Hash.from(`0x${'ab'.repeat(32)}`)
  const log = (pen: Pen): void => pen.log(1, Address.zero, [hash, hash], new Uint8Array(3).fill(7))
  const withTexts = (pen: Pen, count: number): void => {
    for (let i = 0; i < count; i++) pen.addressAt(R_HASH, Address.zero)
  }
  const fields: readonly (readonly [string, number, (pen: Pen) => void])[] = [
    ['a mark', 1, (pen) => pen.mark(9)],
    ['a number of 32 bits', 4, (pen) => pen.u32(0x01020304)],
    ['an address', 21, (pen) => pen.address(9, Address.from(`0x${'cd'.repeat(20)}`))],
    ['a hash', 33, (pen) => pen.hash(9, hash)],
    ['hashes', 69, (pen) => pen.hashes(9, [hash, hash])],
    ['a number', 9, (pen) => pen.quantity(9, Number.MAX_SAFE_INTEGER)],
    ['a quantity of 64 bits', 10, (pen) => pen.quantity(9, 2n ** 64n - 1n)],
    ['a quantity of 256 bits', 34, (pen) => pen.quantity(9, 2n ** 256n - 1n)],
    ['bytes', 25, (pen) => pen.bytes(9, new Uint8Array(20).fill(7))],
    ['a bloom with places', 256, (pen) => pen.bloom(9, bloomOfBits(127))],
    ['a whole bloom', 258, (pen) => pen.bloom(9, bloomOfBits(128))],
    ['a log', 99, log],
    ['a log in the middle of a batch of texts', 99, (pen) => (withTexts(pen, SHEET_TEXTS - 2), log(pen))],
  ]

  test.each(fields)('grows for %s wherever the memory ends', (_, size, write) => {
    const room = newSheet().memory.buffer.byteLength - SHEET_RECORD
    const written = (begun: number, make: () => Sheet): Uint8Array => {
      const pen = new Pen(make)
      pen.begin(begun)
      write(pen)
      return pen.finish().slice(begun)
    }
    const expected = written(96, newSheet)
    expect(expected.length).toBe(size)
    for (const [, make] of SHEETS) {
      for (const left of [0, 1, size >> 1, size - 1, size]) expect(written(room - left, make)).toEqual(expected)
    }
  })

  test('keeps its memory for the next record, but not that of a very long one', () => {
    let sheets = 0
    const pen = new Pen(() => (sheets++, newSheet()))
    const write = (bytes: number): number => {
      pen.begin(96)
      pen.raw(new Uint8Array(bytes))
      return pen.finish().length
    }
    expect([write(1), write(2 ** 21), write(1), sheets]).toEqual([97, 96 + 2 ** 21, 97, 1])
    expect([write(PEN_BYTES), sheets]).toEqual([96 + PEN_BYTES, 1])
    expect([write(1), write(1), sheets]).toEqual([97, 97, 2])
  })

  test('begins a record with zeros, whatever stood there, and with none of the texts of one that was not finished', () => {
    const pen = new Pen()
    pen.begin(16)
    log(pen)
    pen.begin(200)
    expect(pen.finish().subarray(12)).toEqual(new Uint8Array(188))
  })

  test('refuses an address or a hash of another length, and writes the next record', () => {
    const pen = new Pen()
    pen.begin(96)
    pen.hashAt(48, `0x${'ab'.repeat(31)}` as Hash) // which it is not
    expect(() => pen.finish()).toThrow(/a hash 32/)
    pen.begin(96)
    pen.hashAt(48, Hash.from(`0x${'ab'.repeat(32)}`))
    expect(pen.finish().subarray(48, 80)).toEqual(new Uint8Array(32).fill(0xab))
  })
})
