import { describe, expect, test, vi } from 'vitest'
import { ManualClock, RealClock } from './clock.ts'

describe('the manual clock', () => {
  test('moves only on advance', () => {
    const clock = new ManualClock(5_000)
    expect(clock.nowMs()).toBe(5_000)
    expect(clock.nowMs()).toBe(5_000)
  })

  test('runs due alarms by time, then by creation order, each at its own time', async () => {
    const clock = new ManualClock(1_000)
    const log: [string, number][] = []
    const note = (name: string) => () => void log.push([name, clock.nowMs()])
    clock.at(1_300, note('c'))
    clock.at(1_100, note('a'))
    clock.at(1_100, note('b'))
    clock.at(1_401, note('too late'))
    await clock.advance(400)
    expect(log).toEqual([
      ['a', 1_100],
      ['b', 1_100],
      ['c', 1_300],
    ])
    expect(clock.nowMs()).toBe(1_400)
  })

  test('awaits each alarm, and runs alarms set meanwhile in the same advance', async () => {
    const clock = new ManualClock(0)
    const log: number[] = []
    const again = async (): Promise<void> => {
      await Promise.resolve()
      log.push(clock.nowMs())
      clock.at(clock.nowMs() + 100, again)
    }
    clock.at(100, again)
    await clock.advance(350)
    expect(log).toEqual([100, 200, 300])
  })

  test('an alarm in the past runs at the start of the next advance', async () => {
    const clock = new ManualClock(1_000)
    const seen: number[] = []
    clock.at(10, () => void seen.push(clock.nowMs()))
    expect(seen).toEqual([])
    await clock.advance(0)
    expect(seen).toEqual([1_000])
  })

  test('a cancelled alarm does not run', async () => {
    const clock = new ManualClock(0)
    let count = 0
    const cancel = clock.at(10, () => void count++)
    cancel()
    await clock.advance(100)
    expect(count).toBe(0)
  })
})

describe('the machine’s clock', () => {
  test('runs an alarm at its time, not before, and at once if the time has passed', async () => {
    const clock = new RealClock()
    const start = clock.nowMs()
    expect(Math.abs(start - Date.now())).toBeLessThan(1_000)
    const order: string[] = []
    let cancelled = false
    clock.at(start + 5, () => void (cancelled = true))()
    await new Promise<void>((resolve) => {
      clock.at(start + 30, () => {
        order.push('later')
        // Node's timers may fire a fraction of a millisecond early
        expect(clock.nowMs()).toBeGreaterThanOrEqual(start + 29)
        resolve()
      })
      clock.at(start - 1_000, () => void order.push('past'))
    })
    expect(order).toEqual(['past', 'later'])
    expect(cancelled).toBe(false)
  })
})

test('the machine’s clock runs an alarm of many days at its time, and not after it is cancelled', async () => {
  vi.useFakeTimers()
  try {
    const clock = new RealClock()
    const [month, runs] = [30 * 86_400_000, [] as string[]]
    clock.at(clock.nowMs() + month, () => void runs.push('kept'))
    const cancel = clock.at(clock.nowMs() + month, () => void runs.push('cancelled'))
    await vi.advanceTimersByTimeAsync(month - 1)
    expect(runs).toEqual([])
    cancel()
    await vi.advanceTimersByTimeAsync(1)
    expect([runs, vi.getTimerCount()]).toEqual([['kept'], 0])
  } finally {
    vi.useRealTimers()
  }
})
