import { expect, it } from 'vitest'
import { METHODS } from '../table.ts'
import { THREAD_METHODS } from './threadservice.ts'

it('a thread has every method whose result can be computed in one', () => {
  const computed = [...METHODS.values()].filter((row) => row.computed !== undefined).map(({ name }) => name)
  expect(computed.filter((name) => !THREAD_METHODS.has(name))).toEqual([])
})
