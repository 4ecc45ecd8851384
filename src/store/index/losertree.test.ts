import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { LoserTree } from './losertree.ts'

it('merges ascending rows, equal keys in the order of rows', () => {
  const key = fc.oneof(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: 2 ** 39 - 1 }))
  const row = fc.uniqueArray(key, { maxLength: 30 }).map((keys) => keys.sort((a, b) => a - b))
  fc.assert(
    fc.property(fc.array(row, { minLength: 1, maxLength: 20 }), (rows) => {
      const expected = rows.flatMap((keys, i) => keys.map((value) => ({ value, i }))).sort((a, b) => a.value - b.value || a.i - b.i)
      const left = rows.map((keys) => [...keys])
      const next = (i: number): number => left[i]!.shift() ?? Infinity
      const keys = rows.map((_, i) => next(i))
      const tournament = new LoserTree(keys)
      for (const { value, i } of expected) {
        expect([keys[tournament.winner], tournament.winner]).toEqual([value, i])
        tournament.replace((keys[i] = next(i)))
      }
      expect(keys[tournament.winner]).toBe(Infinity)
    }),
  )
})
