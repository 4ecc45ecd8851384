import { expect, test } from 'vitest'
import { l1Config, opConfig } from './evm.fixture.ts'
import { requireSupported, rulesAt, UnsupportedFork } from './forks.ts'

const mainnet = l1Config('frontier', {
  l1: [
    { fork: 'frontier', block: 0, timestamp: null },
    { fork: 'london', block: 100, timestamp: null },
    { fork: 'shanghai', block: null, timestamp: 5_000 },
    { fork: 'bpo1', block: null, timestamp: 9_000 },
  ],
})

test('forks activate at their block or timestamp', () => {
  expect(rulesAt(mainnet, 99, 4_999).l1).toBe('frontier')
  expect(rulesAt(mainnet, 100, 4_999).l1).toBe('london')
  expect(rulesAt(mainnet, 100, 5_000).l1).toBe('shanghai')
  expect(rulesAt(mainnet, 100, 9_000).l1).toBe('bpo1')
})

test('a fork includes all earlier forks', () => {
  const rules = rulesAt(mainnet, 100, 5_000)
  expect(['frontier', 'berlin', 'paris', 'shanghai'].every((fork) => rules.has(fork as 'paris'))).toBe(true)
  expect(rules.has('cancun')).toBe(false)
  expect(rules.hasOp('bedrock')).toBe(false)
})

test('equal forks return the same object', () => {
  expect(rulesAt(mainnet, 1, 1)).toBe(rulesAt(mainnet, 50, 2))
  expect(rulesAt(mainnet, 1, 1)).not.toBe(rulesAt(mainnet, 100, 1))
})

test.each([
  ['canyon', 'shanghai'],
  ['fjord', 'cancun'],
  ['holocene', 'cancun'],
  ['isthmus', 'prague'],
  ['jovian', 'prague'],
  ['azul', 'osaka'],
  ['karst', 'osaka'],
] as const)('%s includes the rules of %s', (op, l1) => {
  const rules = rulesAt(opConfig(op), 0, 0)
  expect(rules).toMatchObject({ l1, op, blob: null })
})

test('OP blocks before Fjord are not supported', () => {
  expect(() => requireSupported(rulesAt(opConfig('ecotone'), 0, 0))).toThrow(UnsupportedFork)
  expect(() => requireSupported(rulesAt(opConfig('fjord'), 0, 0))).not.toThrow()
  expect(() => requireSupported(rulesAt(mainnet, 0, 0))).not.toThrow()
})
