import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { RowSorter } from './rowsorter.ts'

const word = fc.integer({ min: 0, max: 0xffff_ffff })
/** Random rows, equal rows, and rows with equal upper bits. */
const high = fc.oneof(word, fc.constantFrom(0, 7, 0xffff_ffff), fc.integer({ min: 0x1234_0000, max: 0x1234_ffff }))

it('sorts arbitrary rows by key and position', () => {
  const sorter = new RowSorter()
  fc.assert(
    fc.property(fc.array(fc.tuple(word, high), { maxLength: 600 }), (pairs) => {
      const rows = Uint32Array.from(pairs.flat())
      const expected = rows.slice()
      new BigUint64Array(expected.buffer).sort()
      // Rows after the counted ones are not read.
      expect(sorter.sort(Uint32Array.of(...rows, 1, 1), pairs.length)).toEqual(expected)
    }),
  )
})

it('sorts values that were chosen to have similar keys', () => {
  const count = 16_384
  const rows = Uint32Array.from({ length: 2 * count }, (_, i) => (i % 2 === 0 ? i : 0x7777_0000 + (((count - i) * 48_271) % 65_536)))
  const expected = rows.slice()
  new BigUint64Array(expected.buffer).sort()
  expect(new RowSorter().sort(rows, count)).toEqual(expected)
})
