import { describe, expect, it } from 'vitest'
import { ChainWatch } from './chainwatch.ts'
import type { Feed } from './chainwatch.ts'
import type { Rpc } from './rpc.ts'

/** A node with these subscriptions, and what became of them. */
function nodeWith(kinds: readonly string[]) {
  const listeners = new Map<unknown, (result: unknown) => void>()
  const ended: unknown[] = []
  let answer = (): void => {}
  const held = new Promise<void>((resolve) => (answer = resolve))
  const rpc: Rpc = {
    request: () => Promise.reject(new Error('nobody asks')),
    subscribe: async ([kind], listener) => {
      await held
      if (!kinds.includes(String(kind))) throw new Error('no such subscription')
      listeners.set(kind, listener)
      return async () => void ended.push(kind)
    },
  }
  const tell = (kind: string, result: unknown = null) => listeners.get(kind)?.(result)
  return { rpc, answer, tell, listeners, ended }
}

function watched(rpc: Rpc, feeds: readonly Feed[], pollMs: number, slowPollMs: number) {
  const seen = { count: 0 }
  return { seen, watch: new ChainWatch({ rpc, feeds, pollMs, slowPollMs, tell: () => seen.count++ }) }
}

const HOUR = 3_600_000
const HEADS: Feed = { params: ['newHeads'], isPulse: true }

describe('a watch', () => {
  it('tells at intervals where the node tells nothing, until it is ended', async () => {
    const { rpc, answer } = nodeWith([])
    const { seen, watch } = watched(rpc, [HEADS], 5, HOUR)
    answer()
    await expect.poll(() => seen.count).toBeGreaterThan(2)
    watch.end()
    const { count } = seen
    await new Promise((resolve) => setTimeout(resolve, 30))
    expect(seen.count).toBe(count)
  })

  it('tells at the slow interval where there is a pulse', async () => {
    const { rpc, answer } = nodeWith(['newHeads'])
    const { seen, watch } = watched(rpc, [HEADS], HOUR, 5)
    answer()
    await expect.poll(() => seen.count).toBeGreaterThan(3)
    watch.end()
  })

  it('tells once when the pulse begins, then of all that is news, and of nothing when it was ended', async () => {
    const { rpc, answer, tell, listeners } = nodeWith(['newHeads', 'logs'])
    const { seen, watch } = watched(rpc, [HEADS, { params: ['logs'], isNews: (log) => log === 'removed' }], HOUR, HOUR)
    answer()
    await expect.poll(() => [listeners.size, seen.count]).toEqual([2, 1])
    tell('newHeads')
    tell('logs', 'new')
    tell('logs', 'removed')
    expect(seen.count).toBe(3)
    watch.end()
    tell('newHeads')
    expect(seen.count).toBe(3)
  })

  it('without a pulse goes on as before beside what the node tells', async () => {
    const { rpc, answer, listeners } = nodeWith(['logs'])
    const { seen, watch } = watched(rpc, [HEADS, { params: ['logs'] }], 5, HOUR)
    answer()
    await expect.poll(() => listeners.size).toBe(1)
    const { count } = seen
    await expect.poll(() => seen.count).toBeGreaterThan(count + 2)
    watch.end()
  })

  it('ends its subscriptions, those too that come afterwards', async () => {
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
