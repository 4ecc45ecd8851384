import { expect, test } from 'vitest'
import { giveBackChunk, lendChunk, ownText } from './chunks.ts'
import { IDLE_BYTES, SMALLEST_CHUNK_BYTES } from './limits.ts'

const SIZE = 300_000

test('memory that is given back is lent again, and to one at a time', () => {
  const [one, two] = [lendChunk(SIZE), lendChunk(SIZE)]
  expect(one.length).toBeGreaterThanOrEqual(SIZE)
  expect(two.buffer).not.toBe(one.buffer)
  giveBackChunk(one.subarray(7, 9))
  giveBackChunk(one)
  expect(lendChunk(SIZE - 1).buffer).toBe(one.buffer)
  expect(lendChunk(SIZE).buffer).not.toBe(one.buffer)
  giveBackChunk(two)
  expect(lendChunk(10 * SIZE).buffer).not.toBe(two.buffer)
})

test('what was not lent is not taken', () => {
  const mine = new Uint8Array(SMALLEST_CHUNK_BYTES)
  giveBackChunk(mine)
  expect(lendChunk(1).buffer).not.toBe(mine.buffer)
})

test('no more waits than is said, the oldest goes first, and nothing huge', () => {
  const many = Array.from({ length: Math.ceil(IDLE_BYTES / SIZE) + 10 }, () => lendChunk(SIZE))
  for (const chunk of many) giveBackChunk(chunk)
  giveBackChunk(lendChunk(IDLE_BYTES))
  const again = many.map(() => lendChunk(SIZE).buffer)
  const known = again.filter((buffer) => many.some((chunk) => chunk.buffer === buffer))
  expect(known.length * many[0]!.length).toBeLessThanOrEqual(IDLE_BYTES)
  expect((known.length + 1) * many[0]!.length).toBeGreaterThan(IDLE_BYTES)
  expect(known).not.toContain(many[0]!.buffer)
  expect(known).toContain(many.at(-1)!.buffer)
})

test('a text that is kept lies in memory of its own', () => {
  const lent = lendChunk(SIZE).subarray(0, SIZE).fill(7)
  const own = ownText(lent)
  expect(own.buffer).not.toBe(lent.buffer)
  expect(lendChunk(SIZE).fill(8).buffer).toBe(lent.buffer)
  expect(Buffer.compare(own, Buffer.alloc(SIZE, 7))).toBe(0)
  expect(ownText(own)).toBe(own)
})
