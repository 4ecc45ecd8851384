import { TimeSlice, StateSync } from '../../chain/index.ts'
import type { StateHistory, PartialView } from '../../chain/index.ts'
import type { Compat } from '../../compat.ts'
import type { ChainConfig } from '../../evm/index.ts'
import { OutOfTime, tier1 } from '../../evm/index.ts'
import { CODE, RpcError } from '../../jsonrpc/index.ts'
import { MAIN_THREAD_MS, THREAD_GRACE_MS, THREAD_IDLE_MS } from '../limits.ts'
import { refusalOf } from '../refusals.ts'
import { JsonText } from '../texts.ts'
import type { Job } from './job.ts'
import type { FromThread, StartThread, Thread } from './messages.ts'

export interface RunnerParts {
  readonly history: StateHistory
  /** of the newest sealed block, on which most requests look: older than the open one's, and what an edit or a revert leaves */
  readonly headVersion: () => number
  readonly config: ChainConfig
  readonly compat: Compat
  readonly start: StartThread
  /** THREAD_IDLE_MS unless given */
  readonly idleMs?: number
  /** gets what broke in a thread, and why one ended */
  readonly onBug: (error: unknown) => void
  /** it can take a job */
  readonly onIdle: () => void
  /** it is gone; `stood` false: it never was a thread that works */
  readonly onEnd: (runner: WorkerHandle, stood: boolean) => void
}

/** `told`: about the chain, for nobody yet; it is still loading */
type State = 'starting' | 'told' | 'idle' | 'busy' | 'ended'

/** One thread and what it knows. It does one job at a time. */
export class WorkerHandle {
  readonly #parts: RunnerParts
  readonly #feed: StateSync
  #thread: Thread | null = null
  #state: State = 'starting'
  #isReady = false
  #job: Job | null = null
  /** that the thread was told last */
  #slice: PartialView | null = null
  /** when it got its job */
  #sinceMs = 0
  /** until a job, or the rest before the next one, has lasted too long */
  #timer: NodeJS.Timeout | null = null

  constructor(parts: RunnerParts) {
    this.#parts = parts
    this.#feed = new StateSync(parts.history)
  }

  get isIdle(): boolean {
    return this.#state === 'idle'
  }

  /** It has started. */
  get stands(): boolean {
    return this.#state === 'idle' || this.#state === 'busy'
  }

  /** It works, and has not done so for longer than what is short enough to be shared. */
  get hasTimeSoon(): boolean {
    return this.#state === 'busy' && performance.now() - this.#sinceMs < MAIN_THREAD_MS
  }

  get #hasEnded(): boolean {
    return this.#state === 'ended'
  }

  /**
   * Starts the thread, tells it the whole state as it was at the oldest version that the job needs, and lets it do the job; null: for whoever
   * comes. Others have turns meanwhile.
   */
  async begin(job: Job | null): Promise<void> {
    this.#job = job
    try {
      await this.#start()
      if (this.#state === 'starting') await this.#teach(job)
      if (this.#state === 'starting') this.#doFirst(job)
    } catch (error) {
      // The version that it began with is gone, and so is what the job needs.
      const refusal = refusalOf(error, this.#parts.compat)
      if (refusal === null) this.#parts.onBug(error)
      this.end(refusal ?? broken()).catch(this.#parts.onBug)
      this.#parts.onEnd(this, refusal !== null || job !== null)
    }
  }

  /** False: it cannot follow to where the slice is. */
  take(job: Job, slice: PartialView): boolean {
    const steps = this.#feed.catchUp(slice.versions.values())
    if (steps === null || this.#thread === null) return false
    const { method, args, limitMs, spentMs } = job.task
    const isKnown = steps.length === 0 && slice === this.#slice
    if (steps.length > 0) this.#thread.post({ kind: 'feed', steps })
    this.#thread.post({ kind: 'task', method, args, slice: isKnown ? null : slice, spentMs })
    this.#slice = slice
    this.#thread.hold(true)
    this.#state = 'busy'
    this.#sinceMs = performance.now()
    this.#job = job
    this.#stopTimer()
    this.#timer = setTimeout(() => this.#giveUp(limitMs), limitMs - spentMs + THREAD_GRACE_MS)
    return true
  }

  /** Ends the thread. A job that it has is refused with `why`. */
  async end(why: RpcError = NO_JOB): Promise<void> {
    this.#state = 'ended'
    this.#takeJob()?.reject(why)
    await this.#thread?.end()
  }

  async #start(): Promise<void> {
    const thread = await this.#parts.start()
    if (this.#hasEnded) return thread?.end()
    if (thread === null) return this.#lost(null)
    this.#thread = thread
    thread.listen(
      (message) => this.#heard(message),
      (why) => this.#lost(why),
    )
    thread.hold(true)
  }

  async #teach(job: Job | null): Promise<void> {
    const { config, compat } = this.#parts
    const versions = job?.slice()?.versions.values() ?? [this.#parts.headVersion()]
    const { mode, promoteAtGas, operationsPerFunction } = tier1.settings
    this.#thread?.post({ kind: 'begin', config, compat, tier1: { mode, promoteAtGas, operationsPerFunction } })
    const breath = new TimeSlice()
    for (const step of this.#feed.start(Math.min(...versions, this.#parts.history.version))) {
      this.#thread?.post({ kind: 'feed', steps: [step] })
      await breath.yieldIfExpired()
      if (this.#hasEnded) return
    }
  }

  #doFirst(job: Job | null): void {
    if (job === null) return this.#await()
    const slice = job.slice()
    if (slice !== null && this.take(job, slice)) return
    // What it needs lies too far apart, or is gone by now and it was told so.
    job.resolve(null)
    this.#takeJob()
    this.#rest()
  }

  /** For whoever comes, when it has loaded: what is shared would wait for that, 130 ms. */
  #await(): void {
    if (this.#isReady) this.#rest()
    else this.#state = 'told'
  }

  #heard(message: FromThread): void {
    if (message.kind === 'ready') {
      this.#isReady = true
      if (this.#state === 'told') this.#rest()
      return
    }
    const job = this.#takeJob()
    if (job === null) return
    if (message.kind === 'answer') job.resolve(new JsonText(message.text))
    else if (message.kind === 'refusal') job.reject(new RpcError(message.code, message.message, message.data))
    else {
      this.#parts.onBug(new Error(`${job.task.method} broke in its thread: ${message.report}`))
      job.reject(broken())
    }
    this.#rest()
  }

  #rest(): void {
    this.#state = 'idle'
    this.#thread?.hold(false)
    this.#timer = setTimeout(() => this.#retire(), this.#parts.idleMs ?? THREAD_IDLE_MS).unref()
    this.#parts.onIdle()
  }

  #retire(): void {
    this.end().catch(this.#parts.onBug)
    this.#parts.onEnd(this, true)
  }

  /** `why` null: there are no threads here. */
  #lost(why: string | null): void {
    if (this.#hasEnded) return
    const isForNobody = this.#job === null && !this.stands
    this.#state = 'ended'
    if (why !== null) this.#parts.onBug(new Error(`a thread for heavy requests has ended: ${why}`))
    const job = this.#takeJob()
    if (this.#isReady) job?.reject(new RpcError(CODE.internal, 'the thread that worked on this request has ended; ask again'))
    else job?.resolve(null)
    this.#parts.onEnd(this, this.#isReady && !isForNobody)
  }

  /** It does not even keep to its deadline. */
  #giveUp(limitMs: number): void {
    this.#parts.onBug(new Error(`${this.#job?.task.method} did not end in time; its thread is given up`))
    this.end(new RpcError(CODE.server, new OutOfTime(limitMs).message)).catch(this.#parts.onBug)
    this.#parts.onEnd(this, true)
  }

  #takeJob(): Job | null {
    const job = this.#job
    this.#job = null
    this.#stopTimer()
    return job
  }

  #stopTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }
}

const NO_JOB = new RpcError(CODE.internal, 'an idle thread was ended')

/** The words of a bug may hold anything, so the client does not get them. */
function broken(): RpcError {
  return new RpcError(CODE.internal, 'method handler crashed')
}
