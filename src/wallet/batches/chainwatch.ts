import type { WalletChain } from '../chains/chain.ts'
import { POLL_MS, SLOW_POLL_MS } from '../limits.ts'

/**
 * Tells when something may have happened on a chain: its flashblocks and blocks as far as the node tells them, else at intervals. It listens only
 * while somebody listens to it.
 */
export class ChainWatch {
  readonly #chain: WalletChain
  readonly #listeners = new Set<() => void>()
  #current: Listening | null = null

  constructor(chain: WalletChain) {
    this.#chain = chain
  }

  /** Answers what ends it. Listeners do not throw. */
  watch(listener: () => void): () => void {
    this.#listeners.add(listener)
    this.#current ??= new Listening(this.#chain, () => {
      for (const each of [...this.#listeners]) each()
    })
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size > 0) return
      this.#current?.end()
      this.#current = null
    }
  }
}

/** One stretch of listening, from the first listener to the last. */
class Listening {
  readonly #tell: () => void
  readonly #ends: (() => Promise<void>)[] = []
  #timer: ReturnType<typeof setInterval>
  #isOver = false

  constructor(chain: WalletChain, tell: () => void) {
    this.#tell = tell
    this.#timer = this.#every(POLL_MS)
    for (const kind of ['newFlashblocks', 'newHeads']) void this.#subscribe(chain, kind)
  }

  end(): void {
    this.#isOver = true
    clearInterval(this.#timer)
    for (const end of this.#ends) void end().catch(nothing)
  }

  /** A node that tells of its blocks is still asked now and then: a connection may be gone, and nobody tells that a chain went back. */
  async #subscribe(chain: WalletChain, kind: string): Promise<void> {
    try {
      const end = await chain.rpc.subscribe([kind], this.#tell)
      if (this.#isOver) return await end()
      this.#ends.push(end)
      clearInterval(this.#timer)
      this.#timer = this.#every(SLOW_POLL_MS)
      // What came before the node knew that somebody listens.
      this.#tell()
    } catch {
      // The node has no such subscription, or none at all: the interval stays.
    }
  }

  #every(ms: number): ReturnType<typeof setInterval> {
    const timer: unknown = setInterval(this.#tell, ms)
    if (hasUnref(timer)) timer.unref()
    return timer as ReturnType<typeof setInterval> // what it was before it was looked at
  }
}

/** Node would not end while it waits; a browser has plain numbers. */
function hasUnref(timer: unknown): timer is { unref(): void } {
  return typeof timer === 'object' && timer !== null && 'unref' in timer
}

function nothing(): void {}
