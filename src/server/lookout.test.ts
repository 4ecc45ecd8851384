import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { LOOKOUT_AFTER, LOOKOUT_MS, LOOKOUT_NEAR_MS } from './limits.ts'
import { Lookout, lookedOutFor } from './lookout.ts'
import type { Reply } from './port.ts'

const CALLER = { tier: 'dedicated', session: null, origin: null } as const
const REPLY: Reply = { body: '{}' }
const SOON_MS = LOOKOUT_MS / 2

/** A lookout whose time and turns are the test's. */
function setUp(answer: () => Reply | Promise<Reply> = () => REPLY) {
  let nowMs = 1_000
  let turns: (() => void)[] = []
  const lookout = new Lookout({ handle: answer }, { nowMs: () => nowMs, nextTurn: (look) => void turns.push(look) })
  return {
    ask: () => lookout.handle('{}', CALLER),
    askInARow: (count: number, gapMs = SOON_MS) => {
      for (let i = 0; i < count; i++) {
        nowMs += gapMs
        void lookout.handle('{}', CALLER)
      }
    },
    wait: (ms: number) => void (nowMs += ms),
    /** One turn of the loop. @returns whether the next one is to come at once */
    turn: () => {
      const due = turns
      turns = []
      for (const look of due) look()
      return turns.length > 0
    },
    isAwake: () => turns.length > 0,
    looks: () => turns.length,
  }
}

/** The first of them is near to nothing. */
const ENOUGH = LOOKOUT_AFTER + 1

describe('who asks at once', () => {
  test('is looked out for after a few requests, not before', () => {
    const { ask, askInARow, isAwake } = setUp()
    expect(ask()).toBe(REPLY)
    askInARow(LOOKOUT_AFTER - 1)
    expect(isAwake()).toBe(false)
    askInARow(1)
    expect(isAwake()).toBe(true)
  })

  test('is looked out for once, however many ask', () => {
    const { askInARow, turn, looks } = setUp()
    askInARow(ENOUGH + 20)
    expect(looks()).toBe(1)
    expect(turn()).toBe(true)
    askInARow(20)
    expect(looks()).toBe(1)
  })

  test('is looked out for as long as requests come, however long each takes', () => {
    const { askInARow, wait, turn } = setUp()
    askInARow(ENOUGH)
    for (let i = 0; i < 1_000; i++) {
      wait(LOOKOUT_MS * 0.9)
      expect(turn()).toBe(true)
      askInARow(1, 0)
    }
  })

  test('has time to fall asleep and be woken between two requests as long as nobody looks out', () => {
    const { askInARow, isAwake } = setUp()
    askInARow(ENOUGH, LOOKOUT_NEAR_MS * 0.99)
    expect(isAwake()).toBe(true)
  })
})

describe('the loop sleeps', () => {
  test('when nothing came in time, and counts anew', () => {
    const { askInARow, wait, turn, isAwake } = setUp()
    askInARow(ENOUGH)
    wait(LOOKOUT_MS * 1.01)
    expect(turn()).toBe(false)
    askInARow(LOOKOUT_AFTER - 1)
    expect(isAwake()).toBe(false)
    askInARow(1)
    expect(isAwake()).toBe(true)
  })

  test('between requests that are far apart, and one of them interrupts a row', () => {
    const { askInARow, isAwake } = setUp()
    askInARow(1_000, LOOKOUT_NEAR_MS * 1.01)
    expect(isAwake()).toBe(false)
    askInARow(LOOKOUT_AFTER - 1)
    askInARow(1, LOOKOUT_NEAR_MS * 1.01)
    askInARow(LOOKOUT_AFTER - 1)
    expect(isAwake()).toBe(false)
  })

  test('while an answer is made elsewhere; its time begins when it is there', async () => {
    const made: ((reply: Reply) => void)[] = []
    const { ask, wait, turn, isAwake } = setUp(() => new Promise((resolve) => made.push(resolve)))
    for (let i = 0; i < ENOUGH; i++) {
      wait(SOON_MS)
      const reply = ask()
      wait(1_000)
      expect(isAwake()).toBe(false)
      made.pop()?.(REPLY)
      expect(await reply).toBe(REPLY)
    }
    expect(isAwake()).toBe(true)
    wait(SOON_MS)
    void ask()
    expect(turn()).toBe(true)
    wait(SOON_MS * 1.01)
    expect(turn()).toBe(false)
  })

  test('after an answer that failed on the way: the failure is the caller’s', async () => {
    const { ask } = setUp(() => Promise.reject(new Error('broken')))
    for (let i = 0; i < ENOUGH; i++) await expect(ask()).rejects.toThrow('broken')
  })

  test('after a request that breaks: the error is the caller’s, and the row goes on', () => {
    let isBroken = false
    const { ask, askInARow, wait, turn } = setUp(() => {
      if (isBroken) throw new Error('broken')
      return REPLY
    })
    askInARow(ENOUGH)
    isBroken = true
    expect(ask).toThrow('broken')
    wait(LOOKOUT_MS * 1.01)
    expect(turn()).toBe(false)
  })

  test('on the real clock and the real loop, a moment after the last request', async () => {
    let turns = 0
    const nextTurn = (look: () => void) => {
      turns++
      setImmediate(look)
    }
    const lookout = new Lookout({ handle: () => REPLY }, { nowMs: () => performance.now(), nextTurn })
    for (let i = 0; i < 1_000; i++) void lookout.handle('{}', CALLER)
    expect(turns).toBe(1)
    await pause(20)
    const before = turns
    await pause(20)
    expect(turns).toBe(before)
  })
})

test('on a single core nobody looks out: the client could not ask meanwhile', () => {
  const rpc = { handle: () => REPLY }
  expect(lookedOutFor(rpc, 1)).toBe(rpc)
  expect(lookedOutFor(rpc, 2)).toBeInstanceOf(Lookout)
})
