import type { Rpc } from './rpc.ts'

/** A subscription of a node. */
export interface Feed {
  /** of eth_subscribe */
  readonly params: readonly unknown[]
  /** which of what it tells counts; all unless given */
  readonly isNews?: (result: unknown) => boolean
  /** true: where the node has it, nothing happens that it does not tell of; it need be asked only now and then */
  readonly isPulse?: boolean
}

export interface ChainWatchOptions {
  readonly rpc: Rpc
  readonly feeds: readonly Feed[]
  /** told when something may have happened; does not throw */
  readonly tell: () => void
  /** how often to tell without news: from a node that has no pulse */
  readonly pollMs: number
  /** and from one that has: a connection may be gone, and nobody tells that a chain went back */
  readonly slowPollMs: number
}

/** Tells when something may have happened on a chain, from now until it is ended: by what its node tells, and at intervals. */
export class ChainWatch {
  readonly #options: ChainWatchOptions
  readonly #ends: (() => Promise<void>)[] = []
  #timer: ReturnType<typeof setInterval>
  #isOver = false

  constructor(options: ChainWatchOptions) {
    this.#options = options
    this.#timer = every(options.pollMs, options.tell)
    for (const feed of options.feeds) void this.#subscribe(feed)
  }

  end(): void {
    this.#isOver = true
    clearInterval(this.#timer)
    for (const end of this.#ends.splice(0)) void end().catch(nothing)
  }

  async #subscribe({ params, isNews = anything, isPulse = false }: Feed): Promise<void> {
    const { rpc, tell, slowPollMs } = this.#options
    try {
      const end = await rpc.subscribe(params, (result) => {
        if (!this.#isOver && isNews(result)) tell()
      })
      if (this.#isOver) return await end()
      this.#ends.push(end)
      if (!isPulse) return
      clearInterval(this.#timer)
      this.#timer = every(slowPollMs, tell)
      // What came before the node knew that somebody listens.
      tell()
    } catch {
      // The node has no such subscription, or none at all: the interval stays.
    }
  }
}

/** Node would not end while it waits; a browser has plain numbers. */
function every(ms: number, run: () => void): ReturnType<typeof setInterval> {
  const timer: unknown = setInterval(run, ms)
  if (hasUnref(timer)) timer.unref()
  return timer as ReturnType<typeof setInterval> // what it was before it was looked at
}

function hasUnref(timer: unknown): timer is { unref(): void } {
  return typeof timer === 'object' && timer !== null && 'unref' in timer
}

function anything(): boolean {
  return true
}

function nothing(): void {}
