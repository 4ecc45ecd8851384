import { toPartialView } from '../../chain/index.ts'
import type { View, PartialView } from '../../chain/index.ts'
import type { Block } from '../../eth/index.ts'
import { CODE, RpcError } from '../../jsonrpc/index.ts'
import { BUSY_MAIN_THREAD_MS, FIRST_MAIN_THREAD_TIMES, SHARED_WAITING, MAIN_THREAD_MS, WAITING_TASKS } from '../limits.ts'
import type { Parallel, Sharing, Task } from '../execution/workerport.ts'
import type { JsonText } from '../texts.ts'
import { OffloadPolicy } from './offload.ts'
import { Job } from './job.ts'
import { WorkerHandle } from './workerhandle.ts'
import type { RunnerParts } from './workerhandle.ts'

export interface WorkersOptions extends Omit<RunnerParts, 'onIdle' | 'onEnd'> {
  /** threads at a time */
  readonly most: number
  /** requests that may wait; WAITING_TASKS unless given */
  readonly waitingMost?: number
  /** MAIN_THREAD_MS unless given */
  readonly mainThreadMs?: number
}

/**
 * Threads that heavy requests are worked out in. Each starts when a request finds all others at work, the first with the first request. One
 * that breaks or has fallen too far behind the chain is replaced when the next request needs one. What is shared waits for a thread that stands:
 * to start one takes a hundred times as long as such a request.
 */
export class Workers implements Parallel {
  readonly #mainThreadMs: number
  readonly #options: WorkersOptions
  readonly #waitingMost: number
  /** each with what resolves when it has started */
  readonly #runners = new Map<WorkerHandle, Promise<void>>()
  readonly #waiting: Job[] = []
  /** tells which requests are shared */
  readonly sharing: Sharing = new OffloadPolicy({
    isSharing: () => this.#at.shared > 0,
    hasTime: () => this.#hasTime,
    begin: () => {
      if (this.#isOpen && this.#runners.size === 0) this.#start(null)
    },
  })

  /** tasks that wait or are being worked on: of those that are shared, and of those that took too long */
  readonly #at = { shared: 0, long: 0 }
  /** the newest slice of what is shared, and of what it was cut */
  #shared: { readonly view: View; readonly block: Block; readonly slice: PartialView } | null = null
  #watching: NodeJS.Timeout | null = null
  /** threads at a time; fewer than wished for when another could not be started */
  #most: number
  /** false: closed, or no thread can be started here */
  #isOpen = true
  #isClosed = false

  constructor(options: WorkersOptions) {
    this.#options = options
    this.#most = options.most
    this.#waitingMost = options.waitingMost ?? WAITING_TASKS
    this.#mainThreadMs = options.mainThreadMs ?? MAIN_THREAD_MS
  }

  /** While heavy requests wait for a thread, more of them will come: a hundred stretches in one turn would hold up two seconds of flashblocks. */
  get mainThreadMs(): number {
    if (this.#isOpen && this.#runners.size === 0) return this.#mainThreadMs * FIRST_MAIN_THREAD_TIMES
    return this.#at.long > this.#most ? Math.min(this.#mainThreadMs, BUSY_MAIN_THREAD_MS) : this.#mainThreadMs
  }

  async compute(task: Task): Promise<JsonText | null> {
    const kind = task.isShared ? 'shared' : 'long'
    this.#at[kind]++
    try {
      return await this.#answer(task)
    } finally {
      this.#at[kind]--
    }
  }

  #answer(task: Task): Promise<JsonText | null> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(closing())
      if (!this.#isOpen) return resolve(null)
      this.#waiting.push(new Job(task, this.#cut, resolve, reject))
      this.#serve()
      if (task.isShared) this.#watch()
      if (this.#waiting.length > this.#waitingMost) this.#waiting.pop()?.reject(tooMany(this.#waitingMost))
    })
  }

  /** Those that are shared look at one block of one View, a flashblock long: the slice is the same object, and threads are told it once. */
  readonly #cut = ({ look, isShared }: Task): PartialView => {
    const { view, needs } = look()
    const [block] = needs.states
    if (!isShared || block === undefined) return toPartialView(view, needs)
    const last = this.#shared
    if (last?.view === view && last.block === block) return last.slice
    const slice = toPartialView(view, needs)
    this.#shared = { view, block, slice }
    return slice
  }

  /** Ends the threads, whatever they do; who waits is refused, and who comes later: the rest of a batch would hold up the process that closes. */
  async close(): Promise<void> {
    this.#isOpen = false
    this.#isClosed = true
    const why = closing()
    if (this.#watching !== null) clearTimeout(this.#watching)
    for (const job of this.#waiting.splice(0)) job.reject(why)
    const runners = [...this.#runners]
    this.#runners.clear()
    await Promise.all(runners.flatMap(([worker, started]) => [worker.end(why), started]))
  }

  /** First come, first served. */
  #serve(): void {
    for (let [job] = this.#waiting; job !== undefined && this.#hasRoom; [job] = this.#waiting) {
      if (job.task.isShared && this.#idle.length === 0) return this.#grow()
      const slice = job.slice()
      this.#waiting.shift()
      if (slice !== null) this.#placeOrRefuse(job, slice)
    }
  }

  /** What is shared is let go, to be worked out here, when all threads have worked for so long that it might have to wait for seconds. */
  #watch(): void {
    if (this.#watching !== null || this.#waiting.length === 0) return
    this.#watching = setTimeout(() => {
      this.#watching = null
      if (this.#hasTime) this.#watch()
      else this.#letGo()
    }, MAIN_THREAD_MS)
  }

  /** One in each turn of the loop: a hundred of them would hold up flashblocks. */
  #letGo(): void {
    const at = this.#waiting.findIndex(({ task }) => task.isShared)
    if (at < 0) return
    for (const job of this.#waiting.splice(at, 1)) job.resolve(null)
    setImmediate(() => (this.#hasTime ? this.#watch() : this.#letGo()))
  }

  /** One thread more for those who wait, when the last one stands. */
  #grow(): void {
    if ([...this.#runners.keys()].every((worker) => worker.stands)) this.#start(null)
  }

  /** For what is shared. Behind a task that takes seconds it would wait for as long. */
  get #hasTime(): boolean {
    if (this.#idle.length > 0) return true
    const hasRoom = this.#at.long === 0 && this.#waiting.length < Math.min(SHARED_WAITING, this.#waitingMost)
    return hasRoom && [...this.#runners.keys()].some((worker) => worker.hasTimeSoon)
  }

  get #hasRoom(): boolean {
    return this.#runners.size < this.#most || this.#idle.length > 0
  }

  get #idle(): readonly WorkerHandle[] {
    return [...this.#runners.keys()].filter((worker) => worker.isIdle)
  }

  /** Whatever goes wrong with one job is not for those behind it. */
  #placeOrRefuse(job: Job, slice: PartialView): void {
    try {
      this.#place(job, slice)
    } catch (error) {
      job.reject(error)
    }
  }

  /** There is room. */
  #place(job: Job, slice: PartialView): void {
    const idle = this.#idle
    if (idle.some((worker) => worker.take(job, slice))) return
    if (job.task.isShared) return this.#unplaced(job, idle)
    const [behind] = idle
    if (behind !== undefined && this.#runners.size >= this.#most) this.#giveUp(behind)
    this.#start(job)
  }

  /** Threads that cannot follow to the newest state are of no use to a crowd; it will have another. */
  #unplaced(job: Job, behind: readonly WorkerHandle[]): void {
    for (const worker of behind) this.#giveUp(worker)
    job.resolve(null)
  }

  #giveUp(behind: WorkerHandle): void {
    this.#runners.delete(behind)
    behind.end().catch(this.#options.onBug)
  }

  #start(job: Job | null): void {
    const worker = new WorkerHandle({ ...this.#options, onIdle: () => this.#serve(), onEnd: (each, stood) => this.#lost(each, stood) })
    this.#runners.set(worker, worker.begin(job))
  }

  #lost(worker: WorkerHandle, stood: boolean): void {
    this.#runners.delete(worker)
    if (!stood) this.#most = this.#runners.size
    if (this.#most === 0) this.#isOpen = false
    if (this.#isOpen) this.#serve()
    else for (const job of this.#waiting.splice(0)) job.resolve(null)
  }
}

function closing(): RpcError {
  return new RpcError(CODE.server, 'the node is closing')
}

function tooMany(most: number): RpcError {
  return new RpcError(
    CODE.limitExceeded,
    `too many heavy requests: ${most} are waiting for a thread already; ask again when some are answered`,
  )
}
