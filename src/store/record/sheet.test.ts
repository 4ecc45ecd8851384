import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Address, Hash, Transaction } from '../../eth/index.ts'
import type { Block } from '../../eth/index.ts'
import { BLOOM_BYTES, SHEET_BLOOM, SHEET_LETTERS, SHEET_PLACES, SHEET_RECORD, SHEET_TEXTS } from '../writer/layout.ts'
import { encodeWith } from './encode.ts'
import { BlockRecord } from './index.ts'
import { PEN_BYTES } from './limits.ts'
import { Pen } from './pen.ts'
import { PlainSheet } from './plainsheet.ts'
import { bloomOfBits, someBlock } from './record.fixture.ts'
import type { Sheet } from './sheet.ts'
import { newSheet } from './wasmsheet.ts'

const SHEETS: readonly (readonly [string, () => Sheet])[] = [
  ['WebAssembly', newSheet],
  ['plain', () => new PlainSheet()],
]
const blob = (size: number): fc.Arbitrary<Uint8Array> => fc.uint8Array({ minLength: size, maxLength: size })

test('this engine has vectors: the two are not the same', () => {
  expect(newSheet()).not.toBeInstanceOf(PlainSheet)
})

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
