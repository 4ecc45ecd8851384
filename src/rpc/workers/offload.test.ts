import { beforeEach, describe, expect, it } from 'vitest'
import { OFFLOAD_START_MS, OFFLOADS_SKIPPED, KNOWN_CALL_KEYS, LONG_AFTER, OFFLOAD_MIN_MS, UNCONFIRMED_OFFLOADS } from '../limits.ts'
import { BurstPolicy } from './offload.ts'

const LIMIT_MS = 5_000

let started = 0
const threads = { hasOffloaded: false, hasCapacity: true }
let policy: BurstPolicy

beforeEach(() => {
  started = 0
  Object.assign(threads, { hasOffloaded: false, hasCapacity: true })
  policy = new BurstPolicy({
    hasOffloaded: () => threads.hasOffloaded,
    hasCapacity: () => threads.hasCapacity,
    start: () => void started++,
  })
})

function ran(tookMs: number, times = 1, callKey = 'call key'): void {
  for (let i = 0; i < times; i++) policy.record({ callKey, limitMs: LIMIT_MS, tookMs })
}

/** Waits for turns of the event loop: the first one reads waiting sockets. */
async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve))
}

describe('a burst', () => {
  it('lasts while requests may be waiting behind one that took long', async () => {
    expect(policy.isBurst).toBe(false)
    ran(OFFLOAD_MIN_MS)
    expect(policy.isBurst).toBe(true)
    await turns(1)
    expect(policy.isBurst).toBe(true)
    ran(OFFLOAD_MIN_MS)
    await turns(1)
    expect(policy.isBurst).toBe(true)
    await turns(2)
    expect(policy.isBurst).toBe(false)
  })

  it('ends after the turn that reads the waiting sockets', async () => {
    ran(OFFLOAD_MIN_MS)
    await turns(2)
    expect(policy.isBurst).toBe(false)
  })

  it('does not start behind short requests', () => {
    ran(OFFLOAD_MIN_MS * 0.99, 100)
    expect([policy.isBurst, policy.needsAllTimes]).toEqual([false, false])
  })

  it('lasts while a request is offloaded', () => {
    threads.hasOffloaded = true
    expect(policy.isBurst).toBe(true)
  })
})

describe('requests of a client that sends one at a time, without a pause', () => {
  /** Offloads requests one after the other. Returns how many. */
  const offloaded = (requests: number): number => {
    let count = 0
    for (let i = 0; i < requests; i++) if (policy.limitMs('call key') !== null) count++
    return count
  }

  beforeEach(() => ran(OFFLOAD_MIN_MS, LONG_AFTER))

  it('are offloaded a few times, then rarely', () => {
    expect(offloaded(UNCONFIRMED_OFFLOADS + OFFLOADS_SKIPPED)).toBe(UNCONFIRMED_OFFLOADS)
    expect(offloaded(10 * (1 + OFFLOADS_SKIPPED))).toBe(10)
  })

  it('are all offloaded from the moment that another request arrives during one', () => {
    offloaded(UNCONFIRMED_OFFLOADS + 1)
    threads.hasOffloaded = true
    expect(offloaded(10)).toBe(10)
    threads.hasOffloaded = false
    expect(offloaded(OFFLOADS_SKIPPED)).toBe(UNCONFIRMED_OFFLOADS)
  })
})

describe('a call key', () => {
  it('is offloaded after several long requests, others are not', () => {
    ran(OFFLOAD_MIN_MS, LONG_AFTER - 1)
    expect(policy.limitMs('call key')).toBe(null)
    ran(OFFLOAD_MIN_MS)
    expect(policy.limitMs('call key')).toBe(LIMIT_MS)
    expect(policy.limitMs('another')).toBe(null)
  })

  it('is no longer offloaded when its requests are short more often, and is dropped in the end', () => {
    ran(OFFLOAD_MIN_MS, 100)
    ran(OFFLOAD_MIN_MS / 2, LONG_AFTER)
    expect(policy.limitMs('call key')).toBe(LIMIT_MS)
    ran(OFFLOAD_MIN_MS / 2)
    expect(policy.limitMs('call key')).toBe(null)
    expect(policy.needsAllTimes).toBe(true)
    ran(OFFLOAD_MIN_MS / 2, LONG_AFTER - 1)
    expect(policy.needsAllTimes).toBe(false)
  })

  it('is not offloaded while no thread has capacity', () => {
    ran(OFFLOAD_MIN_MS, LONG_AFTER)
    threads.hasCapacity = false
    expect(policy.limitMs('call key')).toBe(null)
  })

  it('is one of a limited number', () => {
    ran(OFFLOAD_MIN_MS, LONG_AFTER, 'first')
    for (let i = 1; i < KNOWN_CALL_KEYS; i++) ran(OFFLOAD_MIN_MS, 1, `call key ${i}`)
    ran(OFFLOAD_MIN_MS, 1, 'call key 1')
    expect(policy.limitMs('first')).toBe(LIMIT_MS)
    ran(OFFLOAD_MIN_MS, 1, 'one more')
    expect(policy.limitMs('first')).toBe(null)
  })
})

describe('a thread', () => {
  const EACH_MS = OFFLOAD_START_MS / 10

  it('is started when requests that had waited took long enough in sum, and again after the same sum', async () => {
    for (let i = 0; i < LONG_AFTER; i++) {
      ran(EACH_MS)
      await turns(3)
    }
    // The first request of a burst did not wait.
    ran(EACH_MS, 10)
    expect(started).toBe(0)
    ran(EACH_MS)
    expect(started).toBe(1)
    ran(EACH_MS, 9)
    expect(started).toBe(1)
    ran(EACH_MS)
    expect(started).toBe(2)
  })

  it('is not started for call keys that were not long before', () => {
    for (let i = 0; i < 50; i++) ran(EACH_MS, 1, `call key ${i}`)
    expect(started).toBe(0)
  })

  it('is not started for requests that follow one another', async () => {
    for (let i = 0; i < 50; i++) {
      ran(EACH_MS)
      await turns(3)
    }
    expect(started).toBe(0)
  })

  it('is not started for requests that follow one another with flashblocks in between', async () => {
    for (let i = 0; i < 50; i++) {
      ran(EACH_MS, 2)
      await turns(3)
      ran(EACH_MS)
      await turns(3)
    }
    expect(started).toBe(0)
  })
})
