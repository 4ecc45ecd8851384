import { describe, expect, test } from 'vitest'
import type { Block } from '../../eth/index.ts'
import { testChain } from '../chain.fixture.ts'
import { ManualClock } from './clock.ts'
import { ChainTime } from './chaintime.ts'

const { chain } = testChain('manual')

function block(timestamp: number, timestampMs: number | null = null): Block {
  return { ...chain.genesis, header: { ...chain.genesis.header, timestamp }, timestampMs }
}

function timeAt(nowMs: number): { time: ChainTime; clock: ManualClock } {
  const clock = new ManualClock(nowMs)
  return { time: new ChainTime(clock), clock }
}

describe('the next timestamp', () => {
  test('is the clock’s second, and at least one second after the parent’s', () => {
    const { time } = timeAt(100_900)
    expect(time.nextTimestampMs(block(90), false)).toBe(100_000)
    expect(time.nextTimestampMs(block(100), false)).toBe(101_000)
    expect(time.nextTimestampMs(block(500), false)).toBe(501_000)
  })

  test('native: is the clock’s multiple of 200 ms, and at least 200 ms after the parent’s', () => {
    const { time } = timeAt(100_950)
    expect(time.nextTimestampMs(block(90), true)).toBe(100_800)
    expect(time.nextTimestampMs(block(100, 100_800), true)).toBe(101_000)
    expect(time.nextTimestampMs(block(100, 100_600), true)).toBe(100_800)
    expect(time.nextTimestampMs(block(101), true)).toBe(101_200)
  })

  test('can be set for one block; time advances from there', async () => {
    const { time, clock } = timeAt(100_000)
    time.setNext(500)
    expect(time.nextTimestampMs(block(90), false)).toBe(500_000)
    expect(time.nowMs()).toBe(100_000)
    time.onSealed(500_000)
    expect(time.nowMs()).toBe(500_000)
    await clock.advance(3_000)
    expect(time.nextTimestampMs(block(500), false)).toBe(503_000)
  })

  test('can be set behind the clock; time then stays behind', () => {
    const { time } = timeAt(100_000)
    time.setNext(50)
    time.onSealed(50_000)
    expect(time.nowMs()).toBe(50_000)
  })

  test('follows the parent by the interval, independent of the clock', () => {
    const { time } = timeAt(100_000)
    time.setInterval(7)
    expect(time.nextTimestampMs(block(10), false)).toBe(17_000)
    expect(time.nextTimestampMs(block(10, 10_400), true)).toBe(17_400)
    time.setInterval(null)
    expect(time.nextTimestampMs(block(10), false)).toBe(100_000)
  })

  test('set for one block takes precedence over the interval', () => {
    const { time } = timeAt(100_000)
    time.setInterval(7)
    time.setNext(300)
    expect(time.nextTimestampMs(block(10), false)).toBe(300_000)
    time.onSealed(300_000)
    expect(time.nextTimestampMs(block(300), false)).toBe(307_000)
  })
})

describe('the offset', () => {
  test('accumulates; a set time replaces it and clears the next timestamp', () => {
    const { time } = timeAt(100_000)
    time.increase(5_000)
    time.increase(1_000)
    expect([time.nowMs(), time.offsetMs]).toEqual([106_000, 6_000])
    time.setNext(900)
    time.set(50_000)
    expect([time.nowMs(), time.offsetMs, time.nextTimestampMs(block(1), false)]).toEqual([50_000, -50_000, 50_000])
  })

  test('follows a block that is ahead, and ignores one that is behind', () => {
    const { time } = timeAt(100_000)
    time.onSealed(99_000)
    expect(time.nowMs()).toBe(100_000)
    time.onSealed(103_000)
    expect(time.nowMs()).toBe(103_000)
  })

  test('a time snapshot restores the time, not the offset', async () => {
    const { time, clock } = timeAt(100_000)
    time.increase(5_000)
    time.setNext(200)
    time.setInterval(3)
    const mark = time.snapshot()
    time.set(1_000_000)
    time.setInterval(null)
    await clock.advance(60_000)
    time.restore(mark)
    expect(time.nowMs()).toBe(105_000)
    expect(time.nextTimestampMs(block(1), false)).toBe(200_000)
    time.onSealed(200_000)
    expect(time.nextTimestampMs(block(200), false)).toBe(203_000)
  })
})
