import { expect, test } from 'vitest'
import { acquireBuffer, detachBuffer, releaseBuffer } from './bufferpool.ts'
import { POOL_BYTES, MIN_BUFFER_BYTES } from './limits.ts'

const SIZE = 300_000

test('a released buffer is acquired again, once', () => {
  const [one, two] = [acquireBuffer(SIZE), acquireBuffer(SIZE)]
  expect(one.length).toBeGreaterThanOrEqual(SIZE)
  expect(two.buffer).not.toBe(one.buffer)
  releaseBuffer(one.subarray(7, 9))
  releaseBuffer(one)
  expect(acquireBuffer(SIZE - 1).buffer).toBe(one.buffer)
  expect(acquireBuffer(SIZE).buffer).not.toBe(one.buffer)
  releaseBuffer(two)
  expect(acquireBuffer(10 * SIZE).buffer).not.toBe(two.buffer)
})

test('a foreign buffer is not pooled', () => {
  const mine = new Uint8Array(MIN_BUFFER_BYTES)
  releaseBuffer(mine)
  expect(acquireBuffer(1).buffer).not.toBe(mine.buffer)
})

test('the pool is bounded, drops its oldest buffer first and takes no huge one', () => {
  const many = Array.from({ length: Math.ceil(POOL_BYTES / SIZE) + 10 }, () => acquireBuffer(SIZE))
  for (const chunk of many) releaseBuffer(chunk)
  releaseBuffer(acquireBuffer(POOL_BYTES))
  const again = many.map(() => acquireBuffer(SIZE).buffer)
  const known = again.filter((buffer) => many.some((chunk) => chunk.buffer === buffer))
  expect(known.length * many[0]!.length).toBeLessThanOrEqual(POOL_BYTES)
  expect((known.length + 1) * many[0]!.length).toBeGreaterThan(POOL_BYTES)
  expect(known).not.toContain(many[0]!.buffer)
  expect(known).toContain(many.at(-1)!.buffer)
})

test('a detached text does not share the pooled buffer', () => {
  const pooled = acquireBuffer(SIZE).subarray(0, SIZE).fill(7)
  const copy = detachBuffer(pooled)
  expect(copy.buffer).not.toBe(pooled.buffer)
  expect(acquireBuffer(SIZE).fill(8).buffer).toBe(pooled.buffer)
  expect(Buffer.compare(copy, Buffer.alloc(SIZE, 7))).toBe(0)
  expect(detachBuffer(copy)).toBe(copy)
})
