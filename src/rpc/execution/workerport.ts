import type { ViewScope, View } from '../../chain/index.ts'
import type { Compat } from '../../compat.ts'
import type { ConsoleCalls, Deadline } from '../../evm/index.ts'
import type { JsonText } from '../texts.ts'

/** The inputs of a method that computes its result: one View and a time limit. It can run in any thread. */
export interface ComputeDeps {
  readonly view: View
  readonly compat: Compat
  /** starts now; `limitMs` for the whole request */
  readonly deadline: (limitMs: number) => Deadline
  /** Called at most once, at the end, with the calls to the console address; absent: they are not logged. */
  readonly onConsole?: ((calls: ConsoleCalls) => void) | undefined
}

/** The part of the chain that a request reads. */
interface ScopedView {
  readonly view: View
  readonly needs: ViewScope
}

/** A request that starts again in a worker thread: it took too long on the main thread, or is offloaded. */
export interface Task {
  /** a method, or another entry of THREAD_METHODS */
  readonly method: string
  /** as the method's schemas parsed them */
  readonly args: readonly unknown[]
  /** Called when the task starts: the View of its first start, or the newest one. Throws RpcError. */
  readonly scopedView: () => ScopedView
  readonly limitMs: number
  /** part of the limit that was used before */
  readonly spentMs: number
  /** offloaded, although it would not take too long on the main thread: it waits for a thread that has started, and reads the newest View */
  readonly isOffloaded: boolean
  /** as in ComputeDeps */
  readonly onConsole?: ComputeDeps['onConsole']
}

/** A request that ran on the main thread. */
export interface MeasuredRequest {
  /** requests with the same key take about as long */
  readonly callKey: string
  /** its time limit */
  readonly limitMs: number
  readonly tookMs: number
}

/** The port to the worker threads. */
export interface WorkerPort {
  /** how long a request may run on the main thread before it starts again in a worker thread */
  readonly mainThreadMs: number
  /** null: the request has to run on the main thread. Throws RpcError: the method's own, no room, a thread that ended, the shutdown. */
  readonly compute: (task: Task) => Promise<JsonText | null>
}

/** Decides which requests start in worker threads: long ones that arrive concurrently. */
export interface OffloadPolicy {
  /** true if several such requests have been detected as waiting */
  readonly isBurst: boolean
  /** The time limit in a thread that should get the request now; null: it should start on the main thread. */
  readonly limitMs: (callKey: string) => number | null
  /** Records a request that ran on the main thread: each one while `needsAllTimes` is true, otherwise those that took OFFLOAD_MIN_MS. */
  readonly record: (request: MeasuredRequest) => void
  readonly needsAllTimes: boolean
}
