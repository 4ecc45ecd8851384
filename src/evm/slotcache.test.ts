import { expect, test } from 'vitest'
import { slot } from './evm.fixture.ts'
import { SlotCache } from './slotcache.ts'
import { SLOT_CACHE_MAX } from './limits.ts'

const [ONE, OTHER] = [1024, 2048]

test('caches slots of the last account only', () => {
  const known = new SlotCache()
  expect(known.find(ONE, slot(1))).toBeUndefined()
  known.add(ONE, slot(1), 11)
  known.add(ONE, slot(2), 12)
  expect([known.find(ONE, slot(1)), known.find(ONE, slot(2)), known.find(OTHER, slot(1))]).toEqual([11, 12, undefined])
  known.add(OTHER, slot(3), 23)
  expect([known.find(ONE, slot(3)), known.find(OTHER, slot(1)), known.find(OTHER, slot(3))]).toEqual([undefined, undefined, 23])
})

test('deletes one slot or clears everything', () => {
  const known = new SlotCache()
  known.add(ONE, slot(1), 11)
  known.add(ONE, slot(2), 12)
  known.delete(OTHER, slot(1))
  known.delete(ONE, slot(2))
  expect([known.find(ONE, slot(1)), known.find(ONE, slot(2))]).toEqual([11, undefined])
  known.clear()
  expect(known.find(ONE, slot(1))).toBeUndefined()
  // The same account with other entries.
  known.add(ONE, slot(2), 32)
  expect([known.find(ONE, slot(1)), known.find(ONE, slot(2))]).toEqual([undefined, 32])
})

test('starts over when it is full', () => {
  const known = new SlotCache()
  for (let i = 0; i < SLOT_CACHE_MAX; i++) known.add(ONE, slot(i), i)
  expect([known.find(ONE, slot(0)), known.find(ONE, slot(SLOT_CACHE_MAX - 1))]).toEqual([0, SLOT_CACHE_MAX - 1])
  known.add(ONE, slot(SLOT_CACHE_MAX), SLOT_CACHE_MAX)
  expect([known.find(ONE, slot(0)), known.find(ONE, slot(SLOT_CACHE_MAX))]).toEqual([undefined, SLOT_CACHE_MAX])
})
