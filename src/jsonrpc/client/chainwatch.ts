import type { Rpc } from './rpc.ts'

/** A subscription of a node. */
export interface Feed {
  /** parameters of eth_subscribe */
  readonly params: readonly unknown[]
  /** filters the notifications; all of them unless given */
  readonly isRelevant?: (result: unknown) => boolean
  /** true: the notifications cover all events, so slow polling suffices if the node has this subscription */
  readonly isComplete?: boolean
}

export interface ChainWatchOptions {
  readonly rpc: Rpc
  readonly feeds: readonly Feed[]
  /** called when something may have happened; does not throw */
  readonly onActivity: () => void
  /** the interval without a complete subscription */
  readonly pollMs: number
  /** the interval with one: the connection may be lost, and a rewind is not notified */
  readonly slowPollMs: number
}

/** Calls `onActivity` for notifications of a node and at intervals, until `end`. */
export class ChainWatch {
  readonly #options: ChainWatchOptions
  readonly #ends: (() => Promise<void>)[] = []
  #timer: ReturnType<typeof setInterval>
  #isOver = false

  constructor(options: ChainWatchOptions) {
    this.#options = options
    this.#timer = every(options.pollMs, options.onActivity)
    for (const feed of options.feeds) void this.#subscribe(feed)
  }

  end(): void {
    this.#isOver = true
    clearInterval(this.#timer)
    for (const end of this.#ends.splice(0)) void end().catch(nothing)
  }

  async #subscribe({ params, isRelevant = anything, isComplete = false }: Feed): Promise<void> {
    const { rpc, onActivity, slowPollMs } = this.#options
    try {
      const end = await rpc.subscribe(params, (result) => {
        if (!this.#isOver && isRelevant(result)) onActivity()
      })
      if (this.#isOver) return await end()
      this.#ends.push(end)
      if (!isComplete) return
      clearInterval(this.#timer)
      this.#timer = every(slowPollMs, onActivity)
      // For events before the subscription.
      onActivity()
    } catch {
      // The node has no such subscription: the interval stays.
    }
  }
}

/** The interval does not keep a Node process alive; in a browser it is a number without `unref`. */
function every(ms: number, run: () => void): ReturnType<typeof setInterval> {
  const timer: unknown = setInterval(run, ms)
  if (hasUnref(timer)) timer.unref()
  return timer as ReturnType<typeof setInterval> // the value of setInterval
}

function hasUnref(timer: unknown): timer is { unref(): void } {
  return typeof timer === 'object' && timer !== null && 'unref' in timer
}

function anything(): boolean {
  return true
}

function nothing(): void {}
