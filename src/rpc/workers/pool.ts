import type { ViewSlice } from '../../chain/index.ts'
import { CODE, RpcError } from '../errors.ts'
import { CROWDED_STRETCH_MS, FIRST_STRETCHES, STRETCH_MS, WAITING_TASKS } from '../limits.ts'
import type { Parallel, Task } from '../parallel.ts'
import type { JsonText } from '../texts.ts'
import { Job } from './job.ts'
import { Runner } from './runner.ts'
import type { RunnerParts } from './runner.ts'

export interface WorkersOptions extends Omit<RunnerParts, 'onIdle' | 'onEnd'> {
  /** threads at a time */
  readonly most: number
  /** requests that may wait; WAITING_TASKS unless given */
  readonly waitingMost?: number
  /** STRETCH_MS unless given */
  readonly stretchMs?: number
}

/**
 * Threads that heavy requests are worked out in. Each starts when a request finds all others at work, the first with the first request. One
 * that breaks or has fallen too far behind the chain is replaced when the next request needs one.
 */
export class Workers implements Parallel {
  readonly #stretchMs: number
  readonly #options: WorkersOptions
  readonly #waitingMost: number
  /** each with what resolves when it has started */
  readonly #runners = new Map<Runner, Promise<void>>()
  readonly #waiting: Job[] = []
  /** false: closed, or no thread can be started here */
  #isOpen = true
  #isClosed = false

  constructor(options: WorkersOptions) {
    this.#options = options
    this.#waitingMost = options.waitingMost ?? WAITING_TASKS
    this.#stretchMs = options.stretchMs ?? STRETCH_MS
  }

  /** While heavy requests wait for a thread, more of them will come: a hundred stretches in one turn would hold up two seconds of flashblocks. */
  get stretchMs(): number {
    if (this.#isOpen && this.#runners.size === 0) return this.#stretchMs * FIRST_STRETCHES
    return this.#waiting.length > 0 ? Math.min(this.#stretchMs, CROWDED_STRETCH_MS) : this.#stretchMs
  }

  compute(task: Task): Promise<JsonText | null> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(closing())
      if (!this.#isOpen) return resolve(null)
      this.#waiting.push(new Job(task, resolve, reject))
      this.#serve()
      if (this.#waiting.length > this.#waitingMost) this.#waiting.pop()?.reject(tooMany(this.#waitingMost))
    })
  }

  /** Ends the threads, whatever they do; who waits is refused, and who comes later: the rest of a batch would hold up the process that closes. */
  async close(): Promise<void> {
    this.#isOpen = false
    this.#isClosed = true
    const why = closing()
    for (const job of this.#waiting.splice(0)) job.reject(why)
    const runners = [...this.#runners]
    this.#runners.clear()
    await Promise.all(runners.flatMap(([runner, started]) => [runner.end(why), started]))
  }

  /** First come, first served. */
  #serve(): void {
    for (let [job] = this.#waiting; job !== undefined && this.#hasRoom; [job] = this.#waiting) {
      const slice = job.slice()
      this.#waiting.shift()
      if (slice !== null) this.#placeOrRefuse(job, slice)
    }
  }

  get #hasRoom(): boolean {
    return this.#runners.size < this.#options.most || this.#idle.length > 0
  }

  get #idle(): readonly Runner[] {
    return [...this.#runners.keys()].filter((runner) => runner.isIdle)
  }

  /** Whatever goes wrong with one job is not for those behind it. */
  #placeOrRefuse(job: Job, slice: ViewSlice): void {
    try {
      this.#place(job, slice)
    } catch (error) {
      job.reject(error)
    }
  }

  /** There is room. */
  #place(job: Job, slice: ViewSlice): void {
    const idle = this.#idle
    if (idle.some((runner) => runner.take(job, slice))) return
    const [behind] = idle
    if (behind !== undefined && this.#runners.size >= this.#options.most) {
      this.#runners.delete(behind)
      behind.end().catch(this.#options.onBug)
    }
    const runner = new Runner({ ...this.#options, onIdle: () => this.#serve(), onEnd: (each, stood) => this.#lost(each, stood) })
    this.#runners.set(runner, runner.begin(job))
  }

  #lost(runner: Runner, stood: boolean): void {
    this.#runners.delete(runner)
    if (!stood) this.#isOpen = false
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
