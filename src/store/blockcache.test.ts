import { expect, test } from 'vitest'
import { BlockCache } from './blockcache.ts'

function filled(cache: BlockCache<string>, from: number, to: number, sizeBytes = 0): BlockCache<string> {
  for (let number = from; number <= to; number++) cache.set(number, `block ${number}`, sizeBytes)
  return cache
}

function known(cache: BlockCache<string>): readonly number[] {
  return Array.from({ length: 100 }, (_, number) => number).filter((number) => cache.get(number) === `block ${number}`)
}

test('holds as many blocks as there are places, the newest of consecutive ones', () => {
  const cache = filled(new BlockCache<string>(4), 0, 9)
  expect(known(cache)).toEqual([6, 7, 8, 9])
  expect(cache.get(5)).toBeNull()
})

test('the total size is limited: the oldest of consecutive blocks leave first, and the newest stays whatever its size', () => {
  const cache = filled(new BlockCache<string>(8, 30), 10, 15, 10)
  expect(known(cache)).toEqual([13, 14, 15])
  cache.set(16, 'block 16', 20)
  expect(known(cache)).toEqual([15, 16])
  cache.set(17, 'block 17', 31)
  expect(known(cache)).toEqual([17])
  expect(known(filled(cache, 18, 22, 10))).toEqual([20, 21, 22])
})

test('a value replaces the former one of its block', () => {
  const cache = filled(new BlockCache<string>(4, 30), 1, 2, 10)
  for (let times = 0; times < 3; times++) cache.set(2, 'block 2', 20)
  expect(known(cache)).toEqual([1, 2])
})

test('blocks above a height leave, with their size', () => {
  const cache = filled(new BlockCache<string>(8, 60), 1, 6, 10)
  cache.truncate(3)
  expect(known(cache)).toEqual([1, 2, 3])
  expect(known(filled(cache, 4, 6, 10))).toEqual([1, 2, 3, 4, 5, 6])
})
