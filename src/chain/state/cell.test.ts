import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { Cell } from './cell.ts'

const action = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('write' as const),
      value: fc.integer({ min: 0, max: 3 }),
      gap: fc.integer({ min: 1, max: 3 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('undo', 'prune'), percent: fc.integer({ min: 0, max: 100 }) }) },
)

it('a cell reads the value of every version, also after undo and prune', () => {
  fc.assert(
    fc.property(fc.array(action, { minLength: 60, maxLength: 200, size: 'max' }), (actions) => {
      const cell = new Cell(0)
      // The value of each version; a version without a write has the previous one's.
      let model: number[] = [0]
      let written: number[] = []
      let floor = 0
      for (const step of actions) {
        const newest = model.length - 1
        if (step.kind === 'write') {
          if (step.value === cell.newest) continue
          model = [...model, ...Array.from({ length: step.gap - 1 }, () => cell.newest), step.value]
          cell.write(model.length - 1, step.value)
          written.push(model.length - 1)
        } else if (step.kind === 'prune') {
          floor += Math.round((step.percent / 400) * (newest - floor))
          cell.prune(floor)
          written = written.filter((version) => version > floor)
        } else if (written.length > 0) {
          cell.undo()
          model.length = written.pop()!
        }
        expect(cell.newest).toBe(model.at(-1))
        const readable = model.slice(floor)
        expect(readable.map((_, index) => cell.at(floor + index))).toEqual(readable)
        expect(cell.isEmpty).toBe(readable.every((value) => value === 0))
      }
    }),
    { seed: 7, numRuns: 30 },
  )
})

it('prune returns the number of dropped entries', () => {
  const cell = new Cell(0)
  for (let version = 1; version <= 40; version++) cell.write(version, version)
  expect(cell.prune(0)).toBe(0)
  expect(cell.prune(10)).toBe(9)
  expect(cell.prune(10)).toBe(0)
  expect(cell.prune(40)).toBe(30)
  cell.write(41, 0)
  expect(cell.prune(41)).toBe(2)
  expect(cell.isEmpty).toBe(true)
})
