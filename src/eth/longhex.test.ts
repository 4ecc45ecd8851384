import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { DecodeError, Hex } from './hex.ts'
import { LongHex } from './longhex.ts'

const CHUNK = 65_536

it.each([1_024, 1_025, 1_039, 1_040, 1_041, 1_055, 5_000, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 2 * CHUNK + 33])(
  'encodes and decodes %i bytes as Buffer does, in both letter cases',
  (size) => {
    const whole = Uint8Array.from({ length: size + 7 }, (_, i) => (i * 167 + (i >> 8)) & 0xff)
    const input = whole.subarray(3, 3 + size)
    const hex = Hex.fromBytes(input)
    expect(hex).toBe(`0x${Buffer.from(input).toString('hex')}`)
    expect(Hex.fromRange(whole, 3, size)).toBe(hex)
    expect(Buffer.compare(Hex.toBytes(hex), input)).toBe(0)
    expect(Buffer.compare(Hex.toBytes(`0x${hex.slice(2).toUpperCase()}`), input)).toBe(0)
  },
)

it('encodes and decodes short texts as well', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), (input) => {
      const text = LongHex.encode(input, 0, input.length)
      expect(text).toBe(Buffer.from(input).toString('hex'))
      const out = new Uint8Array(input.length)
      expect(LongHex.decode(`0x${text}`, out)).toBe(true)
      expect(out).toEqual(input)
    }),
  )
})

it('accepts the 22 hex digits and rejects every other character, at every place of a vector', () => {
  const isDigit = (character: string) => /^[0-9a-fA-F]$/.test(character)
  const out = new Uint8Array(40)
  for (let code = 0; code < 0x400; code++) {
    const character = String.fromCharCode(code)
    for (let place = 0; place < 80; place++) {
      const text = `0x${'0'.repeat(place)}${character}${'0'.repeat(79 - place)}`
      if (LongHex.decode(text, out) !== isDigit(character)) expect({ code, place, isDigit: isDigit(character) }).toBe(null)
      if (isDigit(character)) expect(out[place >> 1]).toBe(Number.parseInt(character, 16) << (place % 2 === 0 ? 4 : 0))
    }
  }
})

it.each(['\u0130', '\u2030', '\ud83d\ude00', '\ud83d', 'g', ' ', 'x'])('rejects %j in each chunk of a long text', (wrong) => {
  const digits = '0'.repeat(4 * CHUNK)
  for (const place of [0, 1_000, 2 * CHUNK - wrong.length, 2 * CHUNK, 4 * CHUNK - wrong.length]) {
    const text = `0x${digits.slice(0, place)}${wrong}${digits.slice(place + wrong.length)}`
    expect(() => Hex.toBytes(text, 'data')).toThrow(DecodeError)
  }
})
