import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { DecodeError, Hex } from './hex.ts'

const bytes = fc.uint8Array({ maxLength: 300 })

it('encodes as Buffer does and decodes, at every length around the change of method', () => {
  fc.assert(
    fc.property(bytes, (input) => {
      const hex = Hex.fromBytes(input)
      expect(hex).toBe(`0x${Buffer.from(input).toString('hex')}`)
      expect(Hex.toBytes(hex)).toEqual(input)
      expect(Hex.toBytes(`0x${hex.slice(2).toUpperCase()}`)).toEqual(input)
    }),
  )
})

it('reads a view of a larger buffer', () => {
  const whole = Uint8Array.from({ length: 200 }, (_, i) => i)
  expect(Hex.fromBytes(whole.subarray(3, 5))).toBe('0x0304')
  expect(Hex.fromRange(whole.subarray(100), 3, 2)).toBe('0x6768')
  expect(Hex.fromRange(whole.subarray(100), 1, 70)).toBe(`0x${Buffer.from(whole.subarray(101, 171)).toString('hex')}`)
  expect(Hex.fromBytes(whole.subarray(100, 170))).toBe(`0x${Buffer.from(whole.subarray(100, 170)).toString('hex')}`)
})

it.each(['', '0', '00', '1x00', '0X00', '0x0', '0x0g', '0xg0', '0x é0', `0x${'0'.repeat(200)}zz`, `0xzz${'0'.repeat(200)}`])(
  'rejects %j as bytes',
  (text) => {
    expect(() => Hex.toBytes(text, 'thing')).toThrow(DecodeError)
    expect(() => Hex.toBytes(text, 'thing')).toThrow(/^thing /)
  },
)

it('writes quantities without leading zeros', () => {
  expect([0, 1n, 255, 2n ** 256n - 1n].map((value) => Hex.fromQuantity(value))).toEqual(['0x0', '0x1', '0xff', `0x${'f'.repeat(64)}`])
  for (const wrong of [-1, -1n, 1.5, 2 ** 53, Number.NaN]) expect(() => Hex.fromQuantity(wrong)).toThrow(RangeError)
})

it('pads to 32 bytes and no further', () => {
  expect(Hex.fromBytes32(1n)).toBe(`0x${'0'.repeat(63)}1`)
  expect(() => Hex.fromBytes32(2n ** 256n)).toThrow(RangeError)
  expect(() => Hex.fromBytes32(-1n)).toThrow(RangeError)
})
