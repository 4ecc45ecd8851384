import { expect, test } from 'vitest'
import { DEFAULT_L1, SimulatedL1 } from './l1.ts'

const START = 1_700_000_000
const l1 = new SimulatedL1(DEFAULT_L1, { number: 0, timestamp: START }, 'seed')

test('has a block every 12 s since genesis', () => {
  expect([0, 11, 12, 23, 24, 1_200].map((seconds) => l1.originAt(START + seconds).number)).toEqual([0, 0, 1, 1, 2, 100])
  expect(l1.originAt(START + 23).timestamp).toBe(START + 12)
  expect(l1.epochStart(3)).toBe(START + 36)
})

test('has no block before genesis', () => {
  expect(l1.epochAt(START - 100)).toBe(0)
})

test('derives a block’s hash from its number and the seed', () => {
  const again = new SimulatedL1(DEFAULT_L1, { number: 0, timestamp: START }, 'seed')
  const other = new SimulatedL1(DEFAULT_L1, { number: 0, timestamp: START }, 'another')
  expect(l1.originAt(START + 12)).toEqual(again.originAt(START + 20))
  expect(l1.originAt(START).hash).not.toBe(l1.originAt(START + 12).hash)
  expect(l1.originAt(START)).toEqual(again.originAt(START))
  expect(l1.originAt(START).hash).not.toBe(other.originAt(START).hash)
})

test('takes its fees from the options', () => {
  const dear = new SimulatedL1({ ...DEFAULT_L1, baseFee: 5n, blobBaseFee: 6n }, { number: 0, timestamp: START }, 'seed')
  expect(dear.originAt(START)).toMatchObject({ baseFee: 5n, blobBaseFee: 6n })
})

test('continues from the origin of a fork block', () => {
  const first = { number: 500, timestamp: START, hash: l1.originAt(START).hash, sequenceNumber: 3 }
  const fork = new SimulatedL1(DEFAULT_L1, first, 'seed')
  expect(fork.originAt(START + 11)).toMatchObject({ number: 500, hash: first.hash, timestamp: START })
  expect(fork.originAt(START + 12)).toMatchObject({ number: 501, timestamp: START + 12 })
  expect(fork.originAt(START - 100).number).toBe(500)
  expect([fork.sequenceNumberBefore(fork.originAt(START)), fork.sequenceNumberBefore(fork.originAt(START + 12))]).toEqual([3, null])
})
