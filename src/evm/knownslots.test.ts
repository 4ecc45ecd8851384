import { expect, test } from 'vitest'
import { slot } from './evm.fixture.ts'
import { KnownSlots } from './knownslots.ts'
import { KNOWN_SLOTS_MAX } from './limits.ts'

const [ONE, OTHER] = [1024, 2048]

test('knows slots of the account that was asked for last, and of no other', () => {
  const known = new KnownSlots()
  expect(known.find(ONE, slot(1))).toBeUndefined()
  known.add(ONE, slot(1), 11)
  known.add(ONE, slot(2), 12)
  expect([known.find(ONE, slot(1)), known.find(ONE, slot(2)), known.find(OTHER, slot(1))]).toEqual([11, 12, undefined])
  known.add(OTHER, slot(3), 23)
  expect([known.find(ONE, slot(3)), known.find(OTHER, slot(1)), known.find(OTHER, slot(3))]).toEqual([undefined, undefined, 23])
})

test('forgets one slot of an account, or everything', () => {
  const known = new KnownSlots()
  known.add(ONE, slot(1), 11)
  known.add(ONE, slot(2), 12)
  known.forget(OTHER, slot(1))
  known.forget(ONE, slot(2))
  expect([known.find(ONE, slot(1)), known.find(ONE, slot(2))]).toEqual([11, undefined])
  known.forgetAll()
  expect(known.find(ONE, slot(1))).toBeUndefined()
  // The same account as before, whose places are others now.
  known.add(ONE, slot(2), 32)
  expect([known.find(ONE, slot(1)), known.find(ONE, slot(2))]).toEqual([undefined, 32])
})

test('begins anew when it knows as many as it may', () => {
  const known = new KnownSlots()
  for (let i = 0; i < KNOWN_SLOTS_MAX; i++) known.add(ONE, slot(i), i)
  expect([known.find(ONE, slot(0)), known.find(ONE, slot(KNOWN_SLOTS_MAX - 1))]).toEqual([0, KNOWN_SLOTS_MAX - 1])
  known.add(ONE, slot(KNOWN_SLOTS_MAX), KNOWN_SLOTS_MAX)
  expect([known.find(ONE, slot(0)), known.find(ONE, slot(KNOWN_SLOTS_MAX))]).toEqual([undefined, KNOWN_SLOTS_MAX])
})
