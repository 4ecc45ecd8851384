import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { IntrinsicGas } from './intrinsicgas.ts'

it('counts a zero byte as one token and any other as four, at every length and alignment', () => {
  const data = fc.array(fc.oneof(fc.constantFrom(0, 1, 0x7f, 0x80, 0xff), fc.nat(255)), { maxLength: 700 })
  fc.assert(
    fc.property(data, fc.nat(5), (bytes, offset) => {
      const view = Uint8Array.from([...Array<number>(offset).fill(0), ...bytes, 0, 0]).subarray(offset, offset + bytes.length)
      expect(IntrinsicGas.tokens(view)).toBe(bytes.reduce((sum, byte) => sum + (byte === 0 ? 1 : 4), 0))
    }),
    { numRuns: 2_000 },
  )
})

it('counts every byte value at every place of a word', () => {
  for (let place = 0; place < 4; place++) {
    for (let value = 0; value < 256; value++) {
      const data = new Uint8Array(256)
      data[100 + place] = value
      expect(IntrinsicGas.tokens(data)).toBe(value === 0 ? 256 : 259)
    }
  }
})
