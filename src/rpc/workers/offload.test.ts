import { beforeEach, describe, expect, it } from 'vitest'
import { OFFLOAD_START_MS, KNOWN_CALL_KEYS, LONG_AFTER, SHARED_MS } from '../limits.ts'
import { OffloadPolicy } from './offload.ts'

const LIMIT_MS = 5_000

let begun = 0
const threads = { isSharing: false, hasTime: true }
let policy: OffloadPolicy

beforeEach(() => {
  begun = 0
  Object.assign(threads, { isSharing: false, hasTime: true })
  policy = new OffloadPolicy({ isSharing: () => threads.isSharing, hasTime: () => threads.hasTime, begin: () => void begun++ })
})

function ran(tookMs: number, times = 1, callKey = 'like'): void {
  for (let i = 0; i < times; i++) policy.ran({ callKey, limitMs: LIMIT_MS, tookMs })
}

/** The turn of the loop in which waiting sockets are read, and the one that follows it. */
async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve))
}

describe('a crowd', () => {
  it('is one as long as somebody may have waited for a request that took long', async () => {
    expect(policy.isCrowded).toBe(false)
    ran(SHARED_MS)
    expect(policy.isCrowded).toBe(true)
    await turns(1)
    expect(policy.isCrowded).toBe(true)
    ran(SHARED_MS)
    await turns(1)
    expect(policy.isCrowded).toBe(true)
    await turns(2)
    expect(policy.isCrowded).toBe(false)
  })

  it('is over after the turn in which those are read who waited', async () => {
    ran(SHARED_MS)
    await turns(2)
    expect(policy.isCrowded).toBe(false)
  })

  it('is none behind requests that were short', () => {
    ran(SHARED_MS * 0.99, 100)
    expect([policy.isCrowded, policy.isWary]).toEqual([false, false])
  })

  it('lasts as long as something is shared', () => {
    threads.isSharing = true
    expect(policy.isCrowded).toBe(true)
  })
})

describe('what is shared', () => {
  it('took long several times, and other requests are none of it', () => {
    ran(SHARED_MS, LONG_AFTER - 1)
    expect(policy.limitMs('like')).toBe(null)
    ran(SHARED_MS)
    expect(policy.limitMs('like')).toBe(LIMIT_MS)
    expect(policy.limitMs('another')).toBe(null)
  })

  it('is forgotten when it is short more often, and so is what was long only once', () => {
    ran(SHARED_MS, 100)
    ran(SHARED_MS / 2, LONG_AFTER)
    expect(policy.limitMs('like')).toBe(LIMIT_MS)
    ran(SHARED_MS / 2)
    expect(policy.limitMs('like')).toBe(null)
    expect(policy.isWary).toBe(true)
    ran(SHARED_MS / 2, LONG_AFTER - 1)
    expect(policy.isWary).toBe(false)
  })

  it('begins here while no thread has time', () => {
    ran(SHARED_MS, LONG_AFTER)
    threads.hasTime = false
    expect(policy.limitMs('like')).toBe(null)
  })

  it('is of so many kinds at most', () => {
    ran(SHARED_MS, LONG_AFTER, 'first')
    for (let i = 1; i < KNOWN_CALL_KEYS; i++) ran(SHARED_MS, 1, `like ${i}`)
    ran(SHARED_MS, 1, 'like 1')
    expect(policy.limitMs('first')).toBe(LIMIT_MS)
    ran(SHARED_MS, 1, 'one more')
    expect(policy.limitMs('first')).toBe(null)
  })
})

describe('a thread', () => {
  const EACH_MS = OFFLOAD_START_MS / 10

  it('is started when those who had waited took long enough, and again when as much has come together', async () => {
    for (let i = 0; i < LONG_AFTER; i++) {
      ran(EACH_MS)
      await turns(3)
    }
    // The first of a row waits for nobody.
    ran(EACH_MS, 10)
    expect(begun).toBe(0)
    ran(EACH_MS)
    expect(begun).toBe(1)
    ran(EACH_MS, 9)
    expect(begun).toBe(1)
    ran(EACH_MS)
    expect(begun).toBe(2)
  })

  it('is started for none that are not known to take long', () => {
    for (let i = 0; i < 50; i++) ran(EACH_MS, 1, `like ${i}`)
    expect(begun).toBe(0)
  })

  it('is started for nobody who asks one thing after another', async () => {
    for (let i = 0; i < 50; i++) {
      ran(EACH_MS)
      await turns(3)
    }
    expect(begun).toBe(0)
  })

  it('is started for nobody who asks one thing after another while flashblocks come between an answer and the next question', async () => {
    for (let i = 0; i < 50; i++) {
      ran(EACH_MS, 2)
      await turns(3)
      ran(EACH_MS)
      await turns(3)
    }
    expect(begun).toBe(0)
  })
})
