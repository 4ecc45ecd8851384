import { toPartialView } from '../../chain/index.ts'
import type { View, PartialView } from '../../chain/index.ts'
import type { Block, Header } from '../../eth/index.ts'
import { CODE, RpcError } from '../../jsonrpc/index.ts'
import {
  BUSY_MAIN_THREAD_MS,
  FIRST_MAIN_THREAD_TIMES,
  OFFLOADED_WAITING,
  MAIN_THREAD_MS,
  METHOD_TIME_MS,
  WAITING_TASKS,
} from '../limits.ts'
import type { WorkerPort, OffloadPolicy, Task } from '../execution/workerport.ts'
import type { JsonText } from '../texts.ts'
import { BurstPolicy } from './offload.ts'
import { Job } from './job.ts'
import { WorkerHandle } from './workerhandle.ts'
import type { WorkerDeps } from './workerhandle.ts'

export interface WorkersOptions extends Omit<WorkerDeps, 'onIdle' | 'onEnd'> {
  readonly maxThreads: number
  /** requests that may wait; WAITING_TASKS unless given */
  readonly maxWaiting?: number
  /** MAIN_THREAD_MS unless given */
  readonly mainThreadMs?: number
}

/**
 * The pool of worker threads for long requests. A thread starts when a request finds all others busy, the first with the first request. One that
 * crashes or has fallen too far behind the chain is replaced when the next request needs one. Offloaded requests wait for a thread that has
 * started: a start takes a hundred times as long as such a request.
 */
export class Workers implements WorkerPort {
  readonly #mainThreadMs: number
  readonly #options: WorkersOptions
  readonly #maxWaiting: number
  /** each with the promise of its start */
  readonly #handles = new Map<WorkerHandle, Promise<void>>()
  readonly #waiting: Job[] = []
  /** decides which requests are offloaded */
  readonly offloadPolicy: OffloadPolicy = new BurstPolicy({
    hasOffloaded: () => this.#counts.offloaded > 0,
    hasCapacity: () => this.#hasCapacity,
    start: () => {
      if (this.#isOpen && this.#handles.size === 0) this.#start(null)
    },
  })

  /** tasks that wait or run: offloaded ones, and those that took too long on the main thread */
  readonly #counts = { offloaded: 0, long: 0 }
  /** the newest slice for offloaded tasks */
  #offloadedSlice: { readonly view: View; readonly block: Block; readonly nextHeader: Header; readonly slice: PartialView } | null = null
  #capacityTimer: NodeJS.Timeout | null = null
  /** lower than the option once a thread could not be started */
  #maxThreads: number
  /** false: closed, or no thread can be started */
  #isOpen = true
  #isClosed = false

  constructor(options: WorkersOptions) {
    this.#options = options
    this.#maxThreads = options.maxThreads
    this.#maxWaiting = options.maxWaiting ?? WAITING_TASKS
    this.#mainThreadMs = options.mainThreadMs ?? MAIN_THREAD_MS
  }

  /** Shorter while more long requests run than there are threads: a hundred full time slices in one turn would delay flashblocks by two seconds. */
  get mainThreadMs(): number {
    if (this.#isOpen && this.#handles.size === 0) return this.#mainThreadMs * FIRST_MAIN_THREAD_TIMES
    return this.#counts.long > this.#maxThreads ? Math.min(this.#mainThreadMs, BUSY_MAIN_THREAD_MS) : this.#mainThreadMs
  }

  async compute(task: Task): Promise<JsonText | null> {
    const kind = task.isOffloaded ? 'offloaded' : 'long'
    this.#counts[kind]++
    const timer = task.isOffloaded ? undefined : setTimeout(() => this.#endWait(task), METHOD_TIME_MS)
    try {
      return await this.#enqueue(task)
    } finally {
      clearTimeout(timer)
      this.#counts[kind]--
    }
  }

  #enqueue(task: Task): Promise<JsonText | null> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(closing())
      if (!this.#isOpen) return resolve(null)
      this.#waiting.push(new Job(task, this.#slice, resolve, reject))
      this.#dispatch()
      if (task.isOffloaded) this.#watchCapacity()
      if (this.#waiting.length > this.#maxWaiting) this.#waiting.pop()?.reject(tooMany(this.#maxWaiting))
    })
  }

  /** Refuses a task that no thread has taken. */
  #endWait(task: Task): void {
    const at = this.#waiting.findIndex((job) => job.task === task)
    if (at >= 0) for (const job of this.#waiting.splice(at, 1)) job.reject(noThread())
  }

  /** Offloaded tasks read one block of one View during a flashblock: their slice is one object, which a thread receives once. */
  readonly #slice = ({ scopedView, isOffloaded }: Task): PartialView => {
    const { view, needs } = scopedView()
    const [block] = needs.states
    if (!isOffloaded || block === undefined) return toPartialView(view, needs)
    const last = this.#offloadedSlice
    if (last?.view === view && last.block === block && last.nextHeader === view.nextHeader) return last.slice
    const slice = toPartialView(view, needs)
    this.#offloadedSlice = { view, block, nextHeader: view.nextHeader, slice }
    return slice
  }

  /** Ends the threads and refuses waiting and later requests: the rest of a batch would delay the exit of the process. */
  async close(): Promise<void> {
    this.#isOpen = false
    this.#isClosed = true
    const why = closing()
    if (this.#capacityTimer !== null) clearTimeout(this.#capacityTimer)
    for (const job of this.#waiting.splice(0)) job.reject(why)
    const handles = [...this.#handles]
    this.#handles.clear()
    await Promise.all(handles.flatMap(([worker, started]) => [worker.end(why), started]))
  }

  /** First in, first out. */
  #dispatch(): void {
    for (let [job] = this.#waiting; job !== undefined && this.#canTakeJob; [job] = this.#waiting) {
      if (job.task.isOffloaded && this.#idle.length === 0) return this.#grow()
      const slice = job.slice()
      this.#waiting.shift()
      if (slice === null) continue
      try {
        this.#assign(job, slice)
      } catch (error) {
        job.reject(error)
      }
    }
  }

  /** Returns offloaded jobs to the main thread once all threads have been busy for too long: they might wait for seconds. */
  #watchCapacity(): void {
    if (this.#capacityTimer !== null || this.#waiting.length === 0) return
    this.#capacityTimer = setTimeout(() => {
      this.#capacityTimer = null
      if (this.#hasCapacity) this.#watchCapacity()
      else this.#returnOffloaded()
    }, MAIN_THREAD_MS)
  }

  /** Returns one job per turn of the event loop: a hundred in one turn would delay flashblocks. */
  #returnOffloaded(): void {
    const at = this.#waiting.findIndex(({ task }) => task.isOffloaded)
    if (at < 0) return
    for (const job of this.#waiting.splice(at, 1)) job.resolve(null)
    setImmediate(() => (this.#hasCapacity ? this.#watchCapacity() : this.#returnOffloaded()))
  }

  /** Starts one more thread, unless one is still starting. */
  #grow(): void {
    if ([...this.#handles.keys()].every((worker) => worker.hasStarted)) this.#start(null)
  }

  /** False while long tasks run: an offloaded task could wait seconds for one. */
  get #hasCapacity(): boolean {
    if (this.#idle.length > 0) return true
    const hasRoom = this.#counts.long === 0 && this.#waiting.length < Math.min(OFFLOADED_WAITING, this.#maxWaiting)
    return hasRoom && [...this.#handles.keys()].some((worker) => worker.isBusyBriefly)
  }

  get #canTakeJob(): boolean {
    return this.#handles.size < this.#maxThreads || this.#idle.length > 0
  }

  get #idle(): readonly WorkerHandle[] {
    return [...this.#handles.keys()].filter((worker) => worker.isIdle)
  }

  #assign(job: Job, slice: PartialView): void {
    const idle = this.#idle
    if (idle.some((worker) => worker.run(job, slice))) return
    // The idle threads cannot be updated to the state of the slice.
    if (job.task.isOffloaded) {
      for (const worker of idle) this.#discard(worker)
      return job.resolve(null)
    }
    const [behind] = idle
    if (behind !== undefined && this.#handles.size >= this.#maxThreads) this.#discard(behind)
    this.#start(job)
  }

  #discard(worker: WorkerHandle): void {
    this.#handles.delete(worker)
    worker.end().catch(this.#options.onBug)
  }

  #start(job: Job | null): void {
    const worker = new WorkerHandle({
      ...this.#options,
      onIdle: () => this.#dispatch(),
      onEnd: (each, hadStarted) => this.#onEnd(each, hadStarted),
    })
    this.#handles.set(worker, worker.start(job))
  }

  #onEnd(worker: WorkerHandle, hadStarted: boolean): void {
    this.#handles.delete(worker)
    if (!hadStarted) this.#maxThreads = this.#handles.size
    if (this.#maxThreads === 0) this.#isOpen = false
    if (this.#isOpen) this.#dispatch()
    else for (const job of this.#waiting.splice(0)) job.resolve(null)
  }
}

function closing(): RpcError {
  return new RpcError(CODE.server, 'the node is closing')
}

function noThread(): RpcError {
  return new RpcError(CODE.timeout, `request timed out: all threads were busy with other requests for ${METHOD_TIME_MS} ms; ask again`)
}

function tooMany(max: number): RpcError {
  return new RpcError(
    CODE.limitExceeded,
    `too many heavy requests: ${max} are waiting for a thread already; ask again when some are answered`,
  )
}
