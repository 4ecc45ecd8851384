import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { sortedRows } from './sortedrows.ts'

const word = fc.nat(0xffff_ffff)

function rowsOf(pairs: readonly (readonly [number, number])[]): Uint32Array {
  return Uint32Array.from(pairs.flatMap(([high, low]) => [low, high]))
}

function check(pairs: readonly (readonly [number, number])[]): void {
  const rows = rowsOf([...pairs, [0, 0]]) // what is behind them is none of them
  const expected = pairs.toSorted(([a, b], [c, d]) => a - c || b - d)
  expect(sortedRows(rows, pairs.length)).toEqual(rowsOf(expected))
}

test('rows rise, however their keys lie', () => {
  const even = fc.tuple(word, word)
  const near = fc.tuple(fc.nat(2), word)
  const repeated = fc.tuple(fc.constantFrom(0, 7, 0x8000_0000, 0xffff_ffff), fc.nat(3))
  fc.assert(fc.property(fc.array(fc.oneof(even, near, repeated), { maxLength: 300 }), check), { seed: 3, numRuns: 300 })
})

test('so do rows whose keys were chosen to lie together', () => {
  // By insertion alone that would be two million moves.
  check(Array.from({ length: 2_000 }, (_, i) => [5, 2_000 - i] as const))
})
