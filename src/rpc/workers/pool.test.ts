import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { View } from '../../chain/index.ts'
import type { Hash } from '../../eth/index.ts'
import { OFFLOAD_START_MS, LONG_AFTER, SHARED_WAITING, MAIN_THREAD_MS } from '../limits.ts'
import { ALICE, testNode } from '../node.fixture.ts'
import type { TestNode } from '../node.fixture.ts'
import type { FromThread, Thread, ToThread } from './messages.ts'
import type { Workers } from './pool.ts'

const LIKE = 'like'
const LIMIT_MS = 5_000

/** Threads that do only what the test says. */
class Marionette {
  readonly told: ToThread[] = []
  #heard: (message: FromThread) => void = () => {}
  #ended: (why: string) => void = () => {}
  /** what it does while it is told about the chain */
  onBegin = (): void => {}
  readonly thread: Thread = {
    post: (message) => {
      this.told.push(message)
      if (message.kind === 'begin') this.onBegin()
    },
    listen: (heard, ended) => {
      this.#heard = heard
      this.#ended = ended
    },
    hold: () => {},
    end: () => Promise.resolve(),
  }

  ready(): void {
    this.#heard({ kind: 'ready' })
  }

  answer(text = '"0x"'): void {
    this.#heard({ kind: 'answer', text })
  }

  break(): void {
    this.#ended('it broke')
  }

  get tasks() {
    return this.told.filter((message) => message.kind === 'task')
  }
}

interface Stage {
  readonly node: TestNode
  readonly workers: Workers
  readonly threads: Marionette[]
  /** how often one was to be started */
  readonly starts: () => number
  /** @returns what becomes of a task at the head */
  readonly ask: (isShared: boolean, view?: View) => Promise<string | null>
}

const nodes: TestNode[] = []

async function staged(most: number, canStart = (_count: number) => true, prepare = (_each: Marionette) => {}): Promise<Stage> {
  const threads: Marionette[] = []
  let starts = 0
  const start = async () => {
    if (!canStart(++starts)) throw new Error('no more threads')
    const marionette = new Marionette()
    threads.push(marionette)
    prepare(marionette)
    return marionette.thread
  }
  const node = await testNode({ workers: { start, most } })
  nodes.push(node)
  const { workers } = node
  if (workers === null) throw new Error('a node with threads')
  const ask = async (isShared: boolean, seen?: View) => {
    const look = () => {
      const view = seen ?? node.chain.head.view
      return { view, needs: { states: [view.head], blocks: [], hashesBelow: [view.head.header.number] } }
    }
    const answer = await workers.compute({ method: 'eth_call', args: [], look, limitMs: LIMIT_MS, spentMs: 0, isShared })
    return answer === null ? null : answer.text
  }
  return { node, workers, threads, starts: () => starts, ask }
}

/** The first thread, as a crowd starts it. */
async function begun(stage: Stage): Promise<Marionette> {
  for (let i = 0; i <= LONG_AFTER; i++) stage.workers.sharing.ran({ callKey: LIKE, limitMs: LIMIT_MS, tookMs: OFFLOAD_START_MS })
  await turns()
  const [first] = stage.threads
  if (first === undefined) throw new Error('a crowd starts a thread')
  return first
}

async function stood(stage: Stage): Promise<Marionette> {
  const first = await begun(stage)
  first.ready()
  return first
}

async function turns(count = 10): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve))
}

afterEach(async () => {
  vi.restoreAllMocks()
  for (const node of nodes.splice(0)) {
    await node.workers?.close()
    await node.chain.stop()
    expect(node.bugs).toEqual([])
  }
})

describe('a thread that a crowd starts', () => {
  it('has no time before it has loaded', async () => {
    const stage = await staged(2)
    const first = await begun(stage)
    expect(stage.workers.sharing.limitMs(LIKE)).toBe(null)
    first.ready()
    expect(stage.workers.sharing.limitMs(LIKE)).toBe(LIMIT_MS)
    expect(stage.starts()).toBe(1)
  })

  it('has time when it has loaded before it was told of the chain', async () => {
    const stage = await staged(1, undefined, (each) => (each.onBegin = () => each.ready()))
    await begun(stage)
    expect(stage.workers.sharing.limitMs(LIKE)).toBe(LIMIT_MS)
  })

  it('is none after the end of all', async () => {
    const stage = await staged(1)
    await stage.workers.close()
    await expect(begun(stage)).rejects.toThrow('a crowd starts a thread')
    expect(stage.starts()).toBe(0)
  })

  it('is not joined by another for those who wait until the last one has loaded', async () => {
    const stage = await staged(4)
    const first = await stood(stage)
    const asked = [1, 2, 3].map(() => stage.ask(true))
    await turns()
    expect([first.tasks.length, stage.starts()]).toEqual([1, 2])
    stage.threads[1]?.ready()
    await turns()
    expect([stage.threads[1]?.tasks.length, stage.starts()]).toEqual([1, 3])
    for (const thread of stage.threads) thread.answer()
    stage.threads[2]?.ready()
    for (const thread of stage.threads) thread.answer()
    expect(await Promise.all(asked)).toEqual(['"0x"', '"0x"', '"0x"'])
  })

  it('is not tried again when there can be no more: who waits is served by those that stand', async () => {
    const stage = await staged(4, (count) => count === 1)
    const first = await stood(stage)
    const asked = [stage.ask(true), stage.ask(true)]
    await turns(50)
    expect(stage.starts()).toBe(2)
    first.answer('1')
    first.answer('2')
    expect(await Promise.all(asked)).toEqual(['1', '2'])
    expect(stage.node.bugs.splice(0)).toEqual([expect.objectContaining({ message: 'no more threads' })])
  })

  it('is not tried again when it breaks before it does anything', async () => {
    const breaks = (each: Marionette) => {
      each.ready()
      each.break()
    }
    const stage = await staged(4, undefined, (each) => {
      if (stage.starts() > 1) each.onBegin = () => breaks(each)
    })
    const first = await stood(stage)
    const asked = [stage.ask(true), stage.ask(true)]
    await turns(50)
    expect(stage.starts()).toBe(2)
    first.answer()
    first.answer()
    await Promise.all(asked)
    expect(stage.node.bugs.splice(0).length).toBe(1)
  })

  it('leaves the work here when not even the first can be started', async () => {
    const stage = await staged(2, () => false)
    for (let i = 0; i <= LONG_AFTER; i++) stage.workers.sharing.ran({ callKey: LIKE, limitMs: LIMIT_MS, tookMs: OFFLOAD_START_MS })
    await turns()
    expect(stage.node.bugs.splice(0).length).toBe(1)
    expect([await stage.ask(true), await stage.ask(false), stage.starts()]).toEqual([null, null, 1])
    expect(stage.workers.sharing.limitMs(LIKE)).toBe(null)
  })
})

describe('what is shared', () => {
  it('tells a thread of one View once', async () => {
    const stage = await staged(1)
    const first = await stood(stage)
    const { view } = stage.node.chain.head
    const asked = [stage.ask(true, view), stage.ask(true, view), stage.ask(false, view), stage.ask(true, view)]
    for (let i = 0; i < 4; i++) first.answer()
    await Promise.all(asked)
    await stage.node.chain.mine(1)
    const later = stage.ask(true)
    first.answer()
    await later
    expect(first.tasks.map(({ slice }) => slice?.head.header.number ?? null)).toEqual([0, null, 0, 0, 1])
  })

  it('tells it anew when the chain went on between, or was taken back', async () => {
    const stage = await staged(1)
    const first = await stood(stage)
    const { chain } = stage.node
    const seen: Hash[] = []
    const ask = async () => {
      const asked = stage.ask(true)
      first.answer()
      await asked
      seen.push(chain.head.view.head.hash)
    }
    await ask()
    await chain.mine(1)
    await ask()
    await chain.rollback(1)
    await ask()
    await chain.mine(1)
    await ask()
    expect(first.tasks.map(({ slice }) => slice?.head.hash ?? null)).toEqual(seen)
  })

  it('is left to whoever asked when no thread can follow to where it looks, and such threads are ended', async () => {
    const stage = await staged(1)
    const { view } = stage.node.chain.head
    await stage.node.chain.mine(1)
    await stage.node.chain.edit((world) => world.setBalance(ALICE, 1n))
    await stood(stage)
    expect(await stage.ask(true, view)).toBe(null)
    expect(stage.workers.sharing.limitMs(LIKE)).toBe(null)
    await begun(stage)
    stage.threads[1]?.ready()
    expect(stage.workers.sharing.limitMs(LIKE)).toBe(LIMIT_MS)
    expect(stage.starts()).toBe(2)
  })

  it('is left to whoever asked when all threads turn out to work on something long, one in each turn of the loop', async () => {
    const stage = await staged(1)
    const first = await stood(stage)
    const held = stage.ask(true)
    const left: number[] = []
    const asked = [1, 2, 3].map((each) => stage.ask(true).then((answer) => answer === null && left.push(each)))
    for (; left.length === 0; await turns(1));
    expect(left).toEqual([1])
    await Promise.all(asked)
    expect([left, first.tasks.length]).toEqual([[1, 2, 3], 1])
    first.answer()
    expect(await held).toBe('"0x"')
  })

  it('waits on when a thread has time again before that', async () => {
    const stage = await staged(1)
    const first = await stood(stage)
    const asked = [stage.ask(true), stage.ask(true)]
    first.answer()
    await pause(MAIN_THREAD_MS / 2)
    first.answer()
    expect(await Promise.all(asked)).toEqual(['"0x"', '"0x"'])
    await pause(MAIN_THREAD_MS * 2)
    expect(first.tasks.length).toBe(2)
  })

  it('waits for those that are short alone, and not in masses', async () => {
    const stage = await staged(1)
    const first = await stood(stage)
    const { sharing } = stage.workers
    const asked = Array.from({ length: SHARED_WAITING }, () => stage.ask(true))
    expect(sharing.limitMs(LIKE)).toBe(LIMIT_MS)
    asked.push(stage.ask(true))
    expect(sharing.limitMs(LIKE)).toBe(null)
    expect(sharing.isCrowded).toBe(true)
    for (let i = 0; i <= SHARED_WAITING; i++) first.answer()
    await Promise.all(asked)
    await turns()
    expect([sharing.isCrowded, sharing.limitMs(LIKE)]).toEqual([false, LIMIT_MS])
    const long = stage.ask(false)
    expect(sharing.limitMs(LIKE)).toBe(null)
    first.answer()
    await long
    expect(sharing.limitMs(LIKE)).toBe(LIMIT_MS)
  })

  it('goes to a thread that does nothing while another takes long', async () => {
    const stage = await staged(2)
    const first = await stood(stage)
    const asked = [stage.ask(false), stage.ask(true)]
    await turns()
    expect(stage.workers.sharing.limitMs(LIKE)).toBe(null)
    stage.threads[1]?.ready()
    stage.threads[1]?.answer()
    expect(stage.workers.sharing.limitMs(LIKE)).toBe(LIMIT_MS)
    first.answer()
    await Promise.all(asked)
  })

  it('does not wait for one that takes longer than it should', async () => {
    const stage = await staged(1)
    const first = await stood(stage)
    const asked = stage.ask(true)
    const startMs = performance.now()
    const now = vi.spyOn(performance, 'now').mockReturnValue(startMs + MAIN_THREAD_MS + 1)
    expect(stage.workers.sharing.limitMs(LIKE)).toBe(null)
    now.mockRestore()
    first.answer()
    await asked
  })

  it('is counted no more when its thread ended under it', async () => {
    const stage = await staged(1)
    const first = await stood(stage)
    const asked = stage.ask(true)
    first.break()
    await expect(asked).rejects.toMatchObject({ code: -32_603 })
    await turns()
    expect(stage.workers.sharing.isCrowded).toBe(false)
    expect(stage.node.bugs.splice(0).length).toBe(1)
  })
})

describe('the time beside everybody else', () => {
  it('is short while more take long than there are threads, whatever is shared', async () => {
    const stage = await staged(1)
    const first = await stood(stage)
    const shared = [stage.ask(true), stage.ask(true)]
    expect(stage.workers.mainThreadMs).toBe(MAIN_THREAD_MS)
    first.answer()
    first.answer()
    await Promise.all(shared)
    const long = [stage.ask(false)]
    expect(stage.workers.mainThreadMs).toBe(MAIN_THREAD_MS)
    long.push(stage.ask(false))
    expect(stage.workers.mainThreadMs).toBeLessThan(MAIN_THREAD_MS)
    first.answer()
    first.answer()
    await Promise.all(long)
    expect(stage.workers.mainThreadMs).toBe(MAIN_THREAD_MS)
  })
})
