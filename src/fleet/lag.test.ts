import { expect, test } from 'vitest'
import { Lag } from './lag.ts'
import { HEARTBEAT_MS, LEAST_DELAY_MS } from './limits.ts'

/** The sequencer's clock is ahead of the local one, or behind it. */
test.each([50_000, -50_000])('is the delay beyond the least one, with clocks that differ by %i ms', (ahead) => {
  const lag = new Lag()
  const receive = (epoch: number, sentMs: number, nowMs: number) => {
    lag.noticeReceived(epoch, sentMs + ahead, nowMs)
    lag.noticeApplied(sentMs + ahead, nowMs)
    return lag.lagMs
  }
  expect(receive(1, 1_000, 1_002)).toBe(0)
  expect(receive(1, 1_500, 1_505)).toBe(3)
  expect(receive(1, 2_000, 4_602)).toBe(2_600)
  expect(receive(1, 4_500, 4_602)).toBe(100)
  // Applied later than it was received.
  lag.noticeReceived(1, 5_000 + ahead, 5_002)
  lag.noticeApplied(5_000 + ahead, 5_202)
  expect(lag.lagMs).toBe(200)
})

test('is measured by the clock of the newest sequencer', () => {
  const lag = new Lag()
  lag.noticeReceived(1, 1_000, 1_000)
  lag.noticeReceived(2, 90_000, 2_000)
  lag.noticeReceived(1, 2_000, 2_000)
  lag.noticeApplied(91_000, 3_010)
  expect(lag.lagMs).toBe(10)
})

test('follows clocks that drift apart, and does not forget the least delay within a window', () => {
  const lag = new Lag()
  for (let ms = 0; ms < 5 * LEAST_DELAY_MS; ms += HEARTBEAT_MS) {
    const sentMs = Math.round(ms * (1 - 100e-6))
    lag.noticeReceived(1, sentMs, ms)
    lag.noticeApplied(sentMs, ms)
    expect(lag.lagMs).toBeLessThan(200)
  }
  const lateMs = 6 * LEAST_DELAY_MS - 1
  lag.noticeReceived(1, lateMs - 3_000, lateMs)
  lag.noticeApplied(lateMs - 3_000, lateMs)
  expect(lag.lagMs).toBeGreaterThan(2_500)
})
