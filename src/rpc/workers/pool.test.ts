import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { View } from '../../chain/index.ts'
import type { Hash } from '../../eth/index.ts'
import { OFFLOAD_START_MS, LONG_AFTER, OFFLOADED_WAITING, MAIN_THREAD_MS, METHOD_TIME_MS, TRACE_TIME_MOST_MS } from '../limits.ts'
import { ALICE, testNode } from '../node.fixture.ts'
import type { TestNode } from '../node.fixture.ts'
import type { FromThread, Thread, ToThread } from './messages.ts'
import type { Workers } from './pool.ts'

const CALL_KEY = 'call key'
const LIMIT_MS = 5_000

/** A thread that the test controls. */
class ControlledThread {
  readonly posted: ToThread[] = []
  #onMessage: (message: FromThread) => void = () => {}
  #onEnd: (why: string) => void = () => {}
  /** runs while the thread receives the state */
  onInit = (): void => {}
  readonly thread: Thread = {
    post: (message) => {
      this.posted.push(message)
      if (message.kind === 'init') this.onInit()
    },
    listen: (onMessage, onEnd) => {
      this.#onMessage = onMessage
      this.#onEnd = onEnd
    },
    hold: () => {},
    end: () => Promise.resolve(),
  }

  ready(): void {
    this.#onMessage({ kind: 'ready' })
  }

  answer(text = '"0x"'): void {
    this.#onMessage({ kind: 'answer', text, console: null })
  }

  break(): void {
    this.#onEnd('it broke')
  }

  get tasks() {
    return this.posted.filter((message) => message.kind === 'task')
  }
}

interface Stage {
  readonly node: TestNode
  readonly workers: Workers
  readonly threads: ControlledThread[]
  /** Returns how many starts were attempted. */
  readonly starts: () => number
  /** Runs a task at the head, and returns its answer. */
  readonly ask: (isOffloaded: boolean, view?: View, limitMs?: number) => Promise<string | null>
}

const nodes: TestNode[] = []

async function staged(maxThreads: number, canStart = (_count: number) => true, prepare = (_each: ControlledThread) => {}): Promise<Stage> {
  const threads: ControlledThread[] = []
  let starts = 0
  const start = async () => {
    if (!canStart(++starts)) throw new Error('no more threads')
    const each = new ControlledThread()
    threads.push(each)
    prepare(each)
    return each.thread
  }
  const node = await testNode({ workers: { start, maxThreads } })
  nodes.push(node)
  const { workers } = node
  if (workers === null) throw new Error('a node with threads')
  const ask = async (isOffloaded: boolean, seen?: View, limitMs = LIMIT_MS) => {
    const scopedView = () => {
      const view = seen ?? node.chain.head.view
      return { view, needs: { states: [view.head], blocks: [], hashesBelow: [view.head.header.number] } }
    }
    const answer = await workers.compute({ method: 'eth_call', args: [], scopedView, limitMs, spentMs: 0, isOffloaded })
    return answer === null ? null : answer.text
  }
  return { node, workers, threads, starts: () => starts, ask }
}

/** Returns the first thread, which a burst starts. */
async function startedByBurst(stage: Stage): Promise<ControlledThread> {
  for (let i = 0; i <= LONG_AFTER; i++)
    stage.workers.offloadPolicy.record({ callKey: CALL_KEY, limitMs: LIMIT_MS, tookMs: OFFLOAD_START_MS })
  await turns()
  const [first] = stage.threads
  if (first === undefined) throw new Error('a burst starts a thread')
  return first
}

async function loaded(stage: Stage): Promise<ControlledThread> {
  const first = await startedByBurst(stage)
  first.ready()
  return first
}

async function turns(count = 10): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve))
}

afterEach(async () => {
  vi.restoreAllMocks()
  vi.useRealTimers()
  for (const node of nodes.splice(0)) {
    await node.workers?.close()
    await node.chain.stop()
    expect(node.bugs).toEqual([])
  }
})

describe('a thread that a burst starts', () => {
  it('has no capacity before it has loaded', async () => {
    const stage = await staged(2)
    const first = await startedByBurst(stage)
    expect(stage.workers.offloadPolicy.limitMs(CALL_KEY)).toBe(null)
    first.ready()
    expect(stage.workers.offloadPolicy.limitMs(CALL_KEY)).toBe(LIMIT_MS)
    expect(stage.starts()).toBe(1)
  })

  it('has capacity when it has loaded before it received the state', async () => {
    const stage = await staged(1, undefined, (each) => (each.onInit = () => each.ready()))
    await startedByBurst(stage)
    expect(stage.workers.offloadPolicy.limitMs(CALL_KEY)).toBe(LIMIT_MS)
  })

  it('is not started after close', async () => {
    const stage = await staged(1)
    await stage.workers.close()
    await expect(startedByBurst(stage)).rejects.toThrow('a burst starts a thread')
    expect(stage.starts()).toBe(0)
  })

  it('is followed by another one only after it has loaded', async () => {
    const stage = await staged(4)
    const first = await loaded(stage)
    const sent = [1, 2, 3].map(() => stage.ask(true))
    await turns()
    expect([first.tasks.length, stage.starts()]).toEqual([1, 2])
    stage.threads[1]?.ready()
    await turns()
    expect([stage.threads[1]?.tasks.length, stage.starts()]).toEqual([1, 3])
    for (const thread of stage.threads) thread.answer()
    stage.threads[2]?.ready()
    for (const thread of stage.threads) thread.answer()
    expect(await Promise.all(sent)).toEqual(['"0x"', '"0x"', '"0x"'])
  })

  it('is not tried again after a failed start: started threads serve the queue', async () => {
    const stage = await staged(4, (count) => count === 1)
    const first = await loaded(stage)
    const sent = [stage.ask(true), stage.ask(true)]
    await turns(50)
    expect(stage.starts()).toBe(2)
    first.answer('1')
    first.answer('2')
    expect(await Promise.all(sent)).toEqual(['1', '2'])
    expect(stage.node.bugs.splice(0)).toEqual([expect.objectContaining({ message: 'no more threads' })])
  })

  it('is not tried again when it ends before its first job', async () => {
    const breaks = (each: ControlledThread) => {
      each.ready()
      each.break()
    }
    const stage = await staged(4, undefined, (each) => {
      if (stage.starts() > 1) each.onInit = () => breaks(each)
    })
    const first = await loaded(stage)
    const sent = [stage.ask(true), stage.ask(true)]
    await turns(50)
    expect(stage.starts()).toBe(2)
    first.answer()
    first.answer()
    await Promise.all(sent)
    expect(stage.node.bugs.splice(0).length).toBe(1)
  })

  it('leaves the work to the main thread when the first start fails', async () => {
    const stage = await staged(2, () => false)
    for (let i = 0; i <= LONG_AFTER; i++)
      stage.workers.offloadPolicy.record({ callKey: CALL_KEY, limitMs: LIMIT_MS, tookMs: OFFLOAD_START_MS })
    await turns()
    expect(stage.node.bugs.splice(0).length).toBe(1)
    expect([await stage.ask(true), await stage.ask(false), stage.starts()]).toEqual([null, null, 1])
    expect(stage.workers.offloadPolicy.limitMs(CALL_KEY)).toBe(null)
  })
})

describe('an offloaded task', () => {
  it('posts the slice of one View once', async () => {
    const stage = await staged(1)
    const first = await loaded(stage)
    const { view } = stage.node.chain.head
    const sent = [stage.ask(true, view), stage.ask(true, view), stage.ask(false, view), stage.ask(true, view)]
    for (let i = 0; i < 4; i++) first.answer()
    await Promise.all(sent)
    await stage.node.chain.mine(1)
    const later = stage.ask(true)
    first.answer()
    await later
    expect(first.tasks.map(({ slice }) => slice?.head.header.number ?? null)).toEqual([0, null, 0, 0, 1])
  })

  it('posts the slice again after a block or a rewind', async () => {
    const stage = await staged(1)
    const first = await loaded(stage)
    const { chain } = stage.node
    const seen: Hash[] = []
    const ask = async () => {
      const sent = stage.ask(true)
      first.answer()
      await sent
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

  it('returns to the main thread when no thread can follow to its state, and such threads are ended', async () => {
    const stage = await staged(1)
    const { view } = stage.node.chain.head
    await stage.node.chain.mine(1)
    await stage.node.chain.edit((world) => world.setBalance(ALICE, 1n))
    await loaded(stage)
    expect(await stage.ask(true, view)).toBe(null)
    expect(stage.workers.offloadPolicy.limitMs(CALL_KEY)).toBe(null)
    await startedByBurst(stage)
    stage.threads[1]?.ready()
    expect(stage.workers.offloadPolicy.limitMs(CALL_KEY)).toBe(LIMIT_MS)
    expect(stage.starts()).toBe(2)
  })

  it('returns to the main thread when all threads turn out to be busy for long, one per turn of the event loop', async () => {
    const stage = await staged(1)
    const first = await loaded(stage)
    const held = stage.ask(true)
    const left: number[] = []
    const sent = [1, 2, 3].map((each) => stage.ask(true).then((answer) => answer === null && left.push(each)))
    for (; left.length === 0; await turns(1));
    expect(left).toEqual([1])
    await Promise.all(sent)
    expect([left, first.tasks.length]).toEqual([[1, 2, 3], 1])
    first.answer()
    expect(await held).toBe('"0x"')
  })

  it('stays in the queue when a thread has capacity again before that', async () => {
    const stage = await staged(1)
    const first = await loaded(stage)
    const sent = [stage.ask(true), stage.ask(true)]
    first.answer()
    await pause(MAIN_THREAD_MS / 2)
    first.answer()
    expect(await Promise.all(sent)).toEqual(['"0x"', '"0x"'])
    await pause(MAIN_THREAD_MS * 2)
    expect(first.tasks.length).toBe(2)
  })

  it('waits behind short tasks only, and behind a limited number of them', async () => {
    const stage = await staged(1)
    const first = await loaded(stage)
    const { offloadPolicy } = stage.workers
    const sent = Array.from({ length: OFFLOADED_WAITING }, () => stage.ask(true))
    expect(offloadPolicy.limitMs(CALL_KEY)).toBe(LIMIT_MS)
    sent.push(stage.ask(true))
    expect(offloadPolicy.limitMs(CALL_KEY)).toBe(null)
    expect(offloadPolicy.isBurst).toBe(true)
    for (let i = 0; i <= OFFLOADED_WAITING; i++) first.answer()
    await Promise.all(sent)
    await turns()
    expect([offloadPolicy.isBurst, offloadPolicy.limitMs(CALL_KEY)]).toEqual([false, LIMIT_MS])
    const long = stage.ask(false)
    expect(offloadPolicy.limitMs(CALL_KEY)).toBe(null)
    first.answer()
    await long
    expect(offloadPolicy.limitMs(CALL_KEY)).toBe(LIMIT_MS)
  })

  it('goes to an idle thread while another one is busy', async () => {
    const stage = await staged(2)
    const first = await loaded(stage)
    const sent = [stage.ask(false), stage.ask(true)]
    await turns()
    expect(stage.workers.offloadPolicy.limitMs(CALL_KEY)).toBe(null)
    stage.threads[1]?.ready()
    stage.threads[1]?.answer()
    expect(stage.workers.offloadPolicy.limitMs(CALL_KEY)).toBe(LIMIT_MS)
    first.answer()
    await Promise.all(sent)
  })

  it('does not wait for a thread that has been busy for too long', async () => {
    const stage = await staged(1)
    const first = await loaded(stage)
    const sent = stage.ask(true)
    const startMs = performance.now()
    const now = vi.spyOn(performance, 'now').mockReturnValue(startMs + MAIN_THREAD_MS + 1)
    expect(stage.workers.offloadPolicy.limitMs(CALL_KEY)).toBe(null)
    now.mockRestore()
    first.answer()
    await sent
  })

  it('is no longer counted when its thread has ended', async () => {
    const stage = await staged(1)
    const first = await loaded(stage)
    const sent = stage.ask(true)
    first.break()
    await expect(sent).rejects.toMatchObject({ code: -32_603 })
    await turns()
    expect(stage.workers.offloadPolicy.isBurst).toBe(false)
    expect(stage.node.bugs.splice(0).length).toBe(1)
  })
})

describe('a long request', () => {
  it('is refused when it has waited too long for a thread', async () => {
    const stage = await staged(1)
    const first = await loaded(stage)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const running = stage.ask(false, undefined, TRACE_TIME_MOST_MS)
    const waiting = stage.ask(false).catch((error: unknown) => error)
    vi.advanceTimersByTime(METHOD_TIME_MS)
    expect(await waiting).toMatchObject({ code: -32_002 })
    const later = stage.ask(false)
    first.answer('"0x1"')
    first.answer('"0x2"')
    expect(await Promise.all([running, later])).toEqual(['"0x1"', '"0x2"'])
    expect(vi.getTimerCount()).toBe(1) // the idle thread's
  })
})

describe('the time on the main thread', () => {
  it('is short while there are more long requests than threads, regardless of the offload policy', async () => {
    const stage = await staged(1)
    const first = await loaded(stage)
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
