import { FETCH_ROUNDS, StateSync, TimeSlice, baseValues, replicaOrigin } from '../../chain/index.ts'
import type { MissingKey, PartialView, StateHistory } from '../../chain/index.ts'
import type { Compat } from '../../compat.ts'
import type { ChainConfig } from '../../evm/index.ts'
import { OutOfTime, tier1 } from '../../evm/index.ts'
import { CODE, RpcError } from '../../jsonrpc/index.ts'
import { MAIN_THREAD_MS, THREAD_GRACE_MS, THREAD_IDLE_MS } from '../limits.ts'
import { refusalOf } from '../refusals.ts'
import { JsonText } from '../texts.ts'
import type { Job } from './job.ts'
import type { FromThread, StartThread, Thread } from './messages.ts'

export interface WorkerDeps {
  readonly history: StateHistory
  /** version of the newest sealed block, which most requests read: older than the version of the pending block, of an edit or of a revert */
  readonly headVersion: () => number
  readonly config: ChainConfig
  readonly compat: Compat
  readonly start: StartThread
  /** THREAD_IDLE_MS unless given */
  readonly idleMs?: number
  /** receives the bugs of a thread, and why one ended */
  readonly onBug: (error: unknown) => void
  /** the thread can run a job */
  readonly onIdle: () => void
  /** the thread has ended; `hadStarted` is false if it never worked */
  readonly onEnd: (worker: WorkerHandle, hadStarted: boolean) => void
}

/** `loading`: the thread has the state, has no job yet and is still importing its modules */
type State = 'starting' | 'loading' | 'idle' | 'busy' | 'ended'

/** The main thread's handle of one worker thread, which runs one job at a time. */
export class WorkerHandle {
  readonly #deps: WorkerDeps
  readonly #sync: StateSync
  #thread: Thread | null = null
  #state: State = 'starting'
  #isReady = false
  #job: Job | null = null
  /** the last slice that was posted */
  #slice: PartialView | null = null
  /** start of the job */
  #sinceMs = 0
  /** part of the job's time limit that was used; fetching values of the fork block does not count */
  #spentMs = 0
  /** fetches for the job */
  #rounds = 0
  /** limits the time of a job, or the idle time before the next one */
  #timer: NodeJS.Timeout | null = null

  constructor(deps: WorkerDeps) {
    this.#deps = deps
    this.#sync = new StateSync(deps.history)
  }

  get isIdle(): boolean {
    return this.#state === 'idle'
  }

  get hasStarted(): boolean {
    return this.#state === 'idle' || this.#state === 'busy'
  }

  /** The current job has not taken longer than an offloaded one may. */
  get isBusyBriefly(): boolean {
    return this.#state === 'busy' && performance.now() - this.#sinceMs < MAIN_THREAD_MS
  }

  get #hasEnded(): boolean {
    return this.#state === 'ended'
  }

  /** Starts the thread, posts the whole state at the oldest version that the job reads, and runs the job, if there is one. Yields to the event loop. */
  async start(job: Job | null): Promise<void> {
    this.#job = job
    try {
      await this.#startThread()
      if (this.#state === 'starting') await this.#postState(job)
      if (this.#state === 'starting') this.#runFirst(job)
    } catch (error) {
      // The version of the start has been pruned, and with it the state that the job reads.
      const refusal = refusalOf(error, this.#deps.compat)
      if (refusal === null) this.#deps.onBug(error)
      this.end(refusal ?? crashed()).catch(this.#deps.onBug)
      this.#deps.onEnd(this, refusal !== null || job !== null)
    }
  }

  /** Returns false if the thread cannot follow to the state of the slice. */
  run(job: Job, slice: PartialView): boolean {
    const steps = this.#sync.catchUp(slice.versions.values())
    if (steps === null || this.#thread === null) return false
    const { method, args, limitMs, spentMs } = job.task
    const isPosted = steps.length === 0 && slice === this.#slice
    if (steps.length > 0) this.#thread.post({ kind: 'sync', steps })
    this.#thread.post({ kind: 'task', method, args, slice: isPosted ? null : slice, spentMs })
    this.#slice = slice
    this.#thread.hold(true)
    this.#state = 'busy'
    this.#sinceMs = performance.now()
    this.#job = job
    this.#spentMs = spentMs
    this.#rounds = 0
    this.#limitTime(limitMs)
    return true
  }

  #limitTime(limitMs: number): void {
    this.#stopTimer()
    this.#timer = setTimeout(() => this.#onOverdue(limitMs), limitMs - this.#spentMs + THREAD_GRACE_MS)
  }

  /** Ends the thread, and refuses its job with `why`. */
  async end(why: RpcError = NO_JOB): Promise<void> {
    this.#state = 'ended'
    this.#takeJob()?.reject(why)
    await this.#thread?.end()
  }

  async #startThread(): Promise<void> {
    const thread = await this.#deps.start()
    if (this.#hasEnded) return thread?.end()
    if (thread === null) return this.#onThreadEnd(null)
    this.#thread = thread
    thread.listen(
      (message) => this.#onMessage(message),
      (why) => this.#onThreadEnd(why),
    )
    thread.hold(true)
  }

  async #postState(job: Job | null): Promise<void> {
    const { config, compat } = this.#deps
    const versions = job?.slice()?.versions.values() ?? [this.#deps.headVersion()]
    const { mode, promoteAtGas, operationsPerFunction } = tier1.settings
    const { base } = this.#deps.history
    const origin = base === null ? null : replicaOrigin(base)
    this.#thread?.post({ kind: 'init', config, origin, compat, tier1: { mode, promoteAtGas, operationsPerFunction } })
    const timeSlice = new TimeSlice()
    for (const step of this.#sync.start(Math.min(...versions, this.#deps.history.version))) {
      this.#thread?.post({ kind: 'sync', steps: [step] })
      await timeSlice.yieldIfExpired()
      if (this.#hasEnded) return
    }
  }

  #runFirst(job: Job | null): void {
    if (job === null) {
      // An offloaded job would wait 130 ms for the modules to load.
      if (this.#isReady) this.#becomeIdle()
      else this.#state = 'loading'
      return
    }
    const slice = job.slice()
    if (slice !== null && this.run(job, slice)) return
    // The versions that the job reads are too far apart; or they are gone, and `slice` has settled it.
    job.resolve(null)
    this.#takeJob()
    this.#becomeIdle()
  }

  #onMessage(message: FromThread): void {
    if (message.kind === 'ready') {
      this.#isReady = true
      if (this.#state === 'loading') this.#becomeIdle()
      return
    }
    if (message.kind === 'missing') {
      this.#stopTimer()
      this.#spentMs += message.tookMs
      this.#continueWith(message.keys).catch((error: unknown) => this.#fail(error))
      return
    }
    const job = this.#takeJob()
    if (job === null) return
    if (message.kind !== 'bug' && message.console !== null) job.task.onConsole?.(message.console)
    if (message.kind === 'answer') job.resolve(new JsonText(message.text))
    else if (message.kind === 'refusal') job.reject(new RpcError(message.code, message.message, message.data))
    else {
      this.#deps.onBug(new Error(`${job.task.method} crashed in its thread: ${message.report}`))
      job.reject(crashed())
    }
    this.#becomeIdle()
  }

  /** Fetches what the job lacks, and runs it again. Throws UpstreamError. */
  async #continueWith(keys: readonly MissingKey[]): Promise<void> {
    const job = this.#job
    const { base } = this.#deps.history
    if (job === null || base === null) return
    if (this.#rounds++ === FETCH_ROUNDS) throw new RpcError(CODE.server, `the request needs more than ${FETCH_ROUNDS} fetches in a thread`)
    await base.fetch(keys)
    if (this.#job !== job) return
    const { method, args, limitMs } = job.task
    this.#thread?.post({ kind: 'base', values: baseValues(base, keys) })
    this.#thread?.post({ kind: 'task', method, args, slice: null, spentMs: this.#spentMs })
    this.#limitTime(limitMs)
  }

  #fail(error: unknown): void {
    const job = this.#takeJob()
    if (job === null) return
    job.reject(error)
    this.#becomeIdle()
  }

  #becomeIdle(): void {
    this.#state = 'idle'
    this.#thread?.hold(false)
    this.#timer = setTimeout(() => this.#endThread(), this.#deps.idleMs ?? THREAD_IDLE_MS).unref()
    this.#deps.onIdle()
  }

  #endThread(why?: RpcError): void {
    this.end(why).catch(this.#deps.onBug)
    this.#deps.onEnd(this, true)
  }

  /** `why` null: this platform has no threads. */
  #onThreadEnd(why: string | null): void {
    if (this.#hasEnded) return
    const wasUnused = this.#job === null && !this.hasStarted
    this.#state = 'ended'
    if (why !== null) this.#deps.onBug(new Error(`a thread for heavy requests has ended: ${why}`))
    const job = this.#takeJob()
    if (this.#isReady) job?.reject(new RpcError(CODE.internal, 'the thread that worked on this request has ended; ask again'))
    else job?.resolve(null)
    this.#deps.onEnd(this, this.#isReady && !wasUnused)
  }

  /** The thread missed its own deadline. */
  #onOverdue(limitMs: number): void {
    this.#deps.onBug(new Error(`${this.#job?.task.method} did not end in time; its thread is terminated`))
    this.#endThread(new RpcError(CODE.server, new OutOfTime(limitMs).message))
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

/** The message of a bug may contain anything, so the client does not get it. */
function crashed(): RpcError {
  return new RpcError(CODE.internal, 'method handler crashed')
}
