import { OFFLOAD_START_MS, OFFLOADS_SKIPPED, KNOWN_CALL_KEYS, LONG_AFTER, OFFLOAD_MIN_MS, UNCONFIRMED_OFFLOADS } from '../limits.ts'
import type { MeasuredRequest, OffloadPolicy } from '../execution/workerport.ts'

/** The worker threads, as the offload policy reads and starts them. */
interface OffloadThreads {
  /** an offloaded request waits or runs */
  readonly hasOffloaded: () => boolean
  /** a thread will soon be free */
  readonly hasCapacity: () => boolean
  /** Starts a thread for the next requests, unless there is one. */
  readonly start: () => void
}

/**
 * Detects concurrent long requests. Sockets that became readable during a computation cannot be seen, but they are read in the following turn
 * of the event loop, which does not sleep: a request that arrives in that turn has probably waited. A client that sends one request at a time gets its
 * response first, and its next request arrives later, unless the client is very fast. A burst is confirmed by a request that arrives while another one is
 * offloaded.
 */
export class BurstPolicy implements OffloadPolicy {
  readonly #threads: OffloadThreads
  /** by call key: the number of long requests minus the number of short ones, and their time limit */
  readonly #keys = new Map<string, { readonly long: number; readonly limitMs: number }>()
  /** long requests after which others may be queued */
  #passing = 0
  /** time of long requests that had waited, minus time of those that had not: a single request may have waited for a flashblock */
  #waitedMs = 0
  /** requests offloaded since a burst was last confirmed */
  #unconfirmed = 0
  /** requests that started on the main thread since the last unconfirmed one */
  #skipped = 0

  constructor(threads: OffloadThreads) {
    this.#threads = threads
  }

  get isBurst(): boolean {
    return this.#passing > 0 || this.#threads.hasOffloaded()
  }

  get needsAllTimes(): boolean {
    return this.#keys.size > 0
  }

  limitMs(callKey: string): number | null {
    const limitMs = this.#knownMs(callKey)
    return limitMs !== null && this.#threads.hasCapacity() && this.#isLikely() ? limitMs : null
  }

  /** False for most requests of a client that sends one at a time: offloading them takes 0.1 ms longer each. */
  #isLikely(): boolean {
    if (this.#threads.hasOffloaded()) {
      this.#unconfirmed = 0
      this.#skipped = 0
      return true
    }
    if (this.#skipped > 0) {
      this.#skipped--
      return false
    }
    this.#unconfirmed++
    if (this.#unconfirmed >= UNCONFIRMED_OFFLOADS) this.#skipped = OFFLOADS_SKIPPED
    return true
  }

  record(request: MeasuredRequest): void {
    if (request.tookMs < OFFLOAD_MIN_MS) return this.#wasShort(request)
    this.#wasLong(request)
    if (this.#knownMs(request.callKey) !== null) this.#waited(this.#passing > 0 ? request.tookMs : -request.tookMs)
    this.#passing++
    setImmediate(() => setImmediate(() => this.#passing--))
  }

  #knownMs(callKey: string): number | null {
    const known = this.#keys.get(callKey)
    return known === undefined || known.long < LONG_AFTER ? null : known.limitMs
  }

  #waited(ms: number): void {
    this.#waitedMs = Math.max(0, this.#waitedMs + ms)
    if (this.#waitedMs < OFFLOAD_START_MS) return
    this.#waitedMs = 0
    this.#threads.start()
  }

  #wasLong({ callKey, limitMs }: MeasuredRequest): void {
    const long = this.#keys.get(callKey)?.long ?? 0
    if (long === 0 && this.#keys.size >= KNOWN_CALL_KEYS) this.#keys.clear()
    this.#keys.set(callKey, { long: Math.min(long + 1, 2 * LONG_AFTER), limitMs })
  }

  #wasShort({ callKey, limitMs }: MeasuredRequest): void {
    const long = this.#keys.get(callKey)?.long ?? 0
    if (long > 1) this.#keys.set(callKey, { long: long - 1, limitMs })
    else this.#keys.delete(callKey)
  }
}
