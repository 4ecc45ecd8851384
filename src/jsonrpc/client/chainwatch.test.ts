import { describe, expect, it } from 'vitest'
import { ChainWatch } from './chainwatch.ts'
import type { Feed } from './chainwatch.ts'
import type { Rpc } from './rpc.ts'

/** A node with these subscriptions, and a record of them. */
function nodeWith(kinds: readonly string[]) {
  const listeners = new Map<unknown, (result: unknown) => void>()
  const ended: unknown[] = []
  let answer = (): void => {}
  const held = new Promise<void>((resolve) => (answer = resolve))
  const rpc: Rpc = {
    request: () => Promise.reject(new Error('not used')),
    subscribe: async ([kind], listener) => {
      await held
      if (!kinds.includes(String(kind))) throw new Error('no such subscription')
      listeners.set(kind, listener)
      return async () => void ended.push(kind)
    },
  }
  const notify = (kind: string, result: unknown = null) => listeners.get(kind)?.(result)
  return { rpc, answer, notify, listeners, ended }
}

function watched(rpc: Rpc, feeds: readonly Feed[], pollMs: number, slowPollMs: number) {
  const seen = { count: 0 }
  return { seen, watch: new ChainWatch({ rpc, feeds, pollMs, slowPollMs, onActivity: () => seen.count++ }) }
}

const HOUR = 3_600_000
const HEADS: Feed = { params: ['newHeads'], isComplete: true }

describe('a watch', () => {
  it('reports activity at intervals without subscriptions, until it is ended', async () => {
    const { rpc, answer } = nodeWith([])
    const { seen, watch } = watched(rpc, [HEADS], 5, HOUR)
    answer()
    await expect.poll(() => seen.count).toBeGreaterThan(2)
    watch.end()
    const { count } = seen
    await new Promise((resolve) => setTimeout(resolve, 30))
    expect(seen.count).toBe(count)
  })

  it('reports activity at the slow interval with a complete subscription', async () => {
    const { rpc, answer } = nodeWith(['newHeads'])
    const { seen, watch } = watched(rpc, [HEADS], HOUR, 5)
    answer()
    await expect.poll(() => seen.count).toBeGreaterThan(3)
    watch.end()
  })

  it('reports activity once after the complete subscription, then for relevant notifications, and not after its end', async () => {
    const { rpc, answer, notify, listeners } = nodeWith(['newHeads', 'logs'])
    const { seen, watch } = watched(rpc, [HEADS, { params: ['logs'], isRelevant: (log) => log === 'removed' }], HOUR, HOUR)
    answer()
    await expect.poll(() => [listeners.size, seen.count]).toEqual([2, 1])
    notify('newHeads')
    notify('logs', 'new')
    notify('logs', 'removed')
    expect(seen.count).toBe(3)
    watch.end()
    notify('newHeads')
    expect(seen.count).toBe(3)
  })

  it('keeps the short interval without a complete subscription', async () => {
    const { rpc, answer, listeners } = nodeWith(['logs'])
    const { seen, watch } = watched(rpc, [HEADS, { params: ['logs'] }], 5, HOUR)
    answer()
    await expect.poll(() => listeners.size).toBe(1)
    const { count } = seen
    await expect.poll(() => seen.count).toBeGreaterThan(count + 2)
    watch.end()
  })

  it('ends its subscriptions, also those that open after its end', async () => {
    const early = nodeWith(['newHeads', 'logs'])
    const { watch } = watched(early.rpc, [HEADS, { params: ['logs'] }], HOUR, HOUR)
    early.answer()
    await expect.poll(() => early.listeners.size).toBe(2)
    await Promise.resolve()
    watch.end()
    expect(early.ended).toEqual(['newHeads', 'logs'])
    const late = nodeWith(['newHeads'])
    const { seen, watch: other } = watched(late.rpc, [HEADS], HOUR, HOUR)
    other.end()
    late.answer()
    await expect.poll(() => late.ended).toEqual(['newHeads'])
    expect(seen.count).toBe(0)
  })
})
