import { CROWD_MS, KNOWN_LIKES, LONG_AFTER, SHARED_MS } from '../limits.ts'
import type { Ran, Sharing } from '../parallel.ts'

/** The threads, as far as it concerns a crowd. */
export interface Shared {
  /** something that is shared waits or is being worked on */
  readonly isSharing: () => boolean
  /** a thread will soon have time */
  readonly hasTime: () => boolean
  /** Starts a thread for those who come, unless there is one. */
  readonly begin: () => void
}

/**
 * Tells when requests that take long come several at once. Nobody can see the sockets that wait while something is worked out, but they are
 * read in the turn of the loop that follows, which does not sleep: who comes by then has waited. A client that asks one thing at a time has
 * its answer first, and comes later.
 */
export class Crowd implements Sharing {
  readonly #threads: Shared
  /** how often they took long more than they did not, and what they may take */
  readonly #likes = new Map<string, { readonly long: number; readonly limitMs: number }>()
  /** of those that took long here, how many may still have others behind them */
  #passing = 0
  /** what those took that are known to take long, and had waited, more than those that had not: a flashblock may lie before who comes alone */
  #waitedMs = 0

  constructor(threads: Shared) {
    this.#threads = threads
  }

  get isCrowded(): boolean {
    return this.#passing > 0 || this.#threads.isSharing()
  }

  get isWary(): boolean {
    return this.#likes.size > 0
  }

  limitMs(like: string): number | null {
    const limitMs = this.#knownMs(like)
    return limitMs !== null && this.#threads.hasTime() ? limitMs : null
  }

  ran(request: Ran): void {
    if (request.tookMs < SHARED_MS) return this.#wasShort(request)
    this.#wasLong(request)
    if (this.#knownMs(request.like) !== null) this.#waited(this.#passing > 0 ? request.tookMs : -request.tookMs)
    this.#passing++
    setImmediate(() => setImmediate(() => this.#passing--))
  }

  #knownMs(like: string): number | null {
    const known = this.#likes.get(like)
    return known === undefined || known.long < LONG_AFTER ? null : known.limitMs
  }

  #waited(ms: number): void {
    this.#waitedMs = Math.max(0, this.#waitedMs + ms)
    if (this.#waitedMs < CROWD_MS) return
    this.#waitedMs = 0
    this.#threads.begin()
  }

  #wasLong({ like, limitMs }: Ran): void {
    const long = this.#likes.get(like)?.long ?? 0
    if (long === 0 && this.#likes.size >= KNOWN_LIKES) this.#likes.clear()
    this.#likes.set(like, { long: Math.min(long + 1, 2 * LONG_AFTER), limitMs })
  }

  #wasShort({ like, limitMs }: Ran): void {
    const long = this.#likes.get(like)?.long ?? 0
    if (long > 1) this.#likes.set(like, { long: long - 1, limitMs })
    else this.#likes.delete(like)
  }
}
