import { expect, test } from 'vitest'
import { grouped } from './terminal.ts'

test.each([
  [0, '0'],
  [999, '999'],
  [1_000, '1,000'],
  [12_345_678, '12,345,678'],
  [-1_234, '-1,234'],
  [10n ** 18n, '1,000,000,000,000,000,000'],
])('grouped(%s) is %s', (value, text) => {
  expect(grouped(value)).toBe(text)
})
