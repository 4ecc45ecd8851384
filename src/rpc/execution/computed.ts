import type { ViewScope, View } from '../../chain/index.ts'
import type { Compat } from '../../compat.ts'
import { Deadline, OutOfTime } from '../../evm/index.ts'
import type { Context } from '../context.ts'
import type { MethodDoc } from '../../jsonrpc/index.ts'
import { OFFLOAD_MIN_MS } from '../limits.ts'
import { method } from '../method.ts'
import type { Method, Param, Values } from '../method.ts'
import type { ComputeDeps, WorkerPort, OffloadPolicy } from './workerport.ts'

/** A method that computes its result from one View, however long that takes. */
interface ComputedRow<P extends readonly Param<unknown>[]> extends Omit<MethodDoc<P>, 'timeLimitMs'> {
  /** Returns the JSON-ready result, the same in every thread. Synchronous; throws RpcError and the errors that `refusalOf` translates. */
  readonly compute: (deps: ComputeDeps, args: Values<P>) => unknown
  /** The data that `compute` reads. Called after `compute` ran out of time, so the blocks exist. */
  readonly needs: (deps: ComputeDeps, args: Values<P>) => ViewScope
  /** The call key: requests with the same one take about as long, and `needs` can be called before `compute`. null or absent: unknown. */
  readonly callKeyOf?: (args: Values<P>) => string | null
}

/**
 * Starts on this thread, where most requests end quickly. A request that takes longer than `mainThreadMs` starts again in a worker thread with the rest of its
 * time, so that no flashblock waits for it; without threads it continues here. When several requests arrive together whose call key took long before,
 * threads get them from the start, and this thread serves its sockets.
 */
export function computed<const P extends readonly Param<unknown>[]>({ compute, needs, callKeyOf, ...row }: ComputedRow<P>): Method {
  const keyOf = (args: Values<P>) => {
    const callKey = callKeyOf?.(args) ?? null
    return callKey === null ? null : `${row.name} ${callKey}`
  }
  const record = (offloadPolicy: OffloadPolicy, { limitMs, spentMs: tookMs }: TimeBudget, args: Values<P>) => {
    if (limitMs === null || (tookMs < OFFLOAD_MIN_MS && !offloadPolicy.needsAllTimes)) return
    const callKey = keyOf(args)
    if (callKey !== null) offloadPolicy.record({ callKey, limitMs, tookMs })
  }
  const offloadLimitMs = (offloadPolicy: OffloadPolicy, args: Values<P>) => {
    const callKey = keyOf(args)
    return callKey === null ? null : offloadPolicy.limitMs(callKey)
  }
  const onMainThread = (
    context: Context,
    workers: WorkerPort,
    offloadPolicy: OffloadPolicy | null,
    args: Values<P>,
    onConsole: OnConsole,
  ) => {
    const { chain, compat } = context
    const { view } = chain.head
    const budget = new TimeBudget(workers.mainThreadMs)
    try {
      const result = compute({ view, compat, deadline: (limitMs) => budget.deadline(limitMs), onConsole }, args)
      if (offloadPolicy !== null) record(offloadPolicy, budget, args)
      return result
    } catch (error) {
      if (!(error instanceof OutOfTime) || budget.limitMs === null) throw error
      const { limitMs, spentMs } = budget
      const here = withFullTime(view, compat, onConsole)
      const scopedView = { view, needs: needs(here, args) }
      const task = { method: row.name, args, scopedView: () => scopedView, limitMs, spentMs, isOffloaded: false, onConsole }
      return inThread(workers, task, () => compute(here, args))
    }
  }
  const offloaded = (
    context: Context,
    workers: WorkerPort,
    offloadPolicy: OffloadPolicy,
    args: Values<P>,
    limitMs: number,
    onConsole: OnConsole,
  ) => {
    const { chain, compat } = context
    const scopedView = () => ({ view: chain.head.view, needs: needs(withFullTime(chain.head.view, compat), args) })
    const task = { method: row.name, args, scopedView, limitMs, spentMs: 0, isOffloaded: true, onConsole }
    return inThread(workers, task, () => onMainThread(context, workers, offloadPolicy, args, onConsole))
  }
  return {
    ...method({
      ...row,
      // Its own deadline ends it in any thread, and METHOD_TIME_MS the wait for one.
      timeLimitMs: Infinity,
      handler: (context, args: Values<P>, caller, isAlone) => {
        const { chain, compat, workers, observer } = context
        const onConsole = observer?.onConsole === undefined || caller.isInProcess ? undefined : observer.onConsole.bind(null, row.name)
        if (workers === null) return compute(withFullTime(chain.head.view, compat, onConsole), args)
        // Items of a batch and requests in process run one after the other.
        const offloadPolicy = isAlone ? context.offloadPolicy : null
        if (offloadPolicy?.isBurst !== true) return onMainThread(context, workers, offloadPolicy, args, onConsole)
        const limitMs = offloadLimitMs(offloadPolicy, args)
        return limitMs === null
          ? onMainThread(context, workers, offloadPolicy, args, onConsole)
          : offloaded(context, workers, offloadPolicy, args, limitMs, onConsole)
      },
    }),
    computed: (deps, args) => compute(deps, args as Values<P>), // parsed by the schemas of the same row
  }
}

type OnConsole = ComputeDeps['onConsole']

function withFullTime(view: View, compat: Compat, onConsole?: OnConsole): ComputeDeps {
  return { view, compat, deadline: (limitMs) => new Deadline(limitMs), onConsole }
}

async function inThread(workers: WorkerPort, task: Parameters<WorkerPort['compute']>[0], here: () => unknown): Promise<unknown> {
  return (await workers.compute(task)) ?? here()
}

/** The time of a request on the main thread. */
class TimeBudget {
  readonly #lengthMs: number
  #startMs = 0
  /** the limit that the method set; null: not more than the time on the main thread */
  limitMs: number | null = null

  constructor(lengthMs: number) {
    this.#lengthMs = lengthMs
  }

  /** milliseconds since the deadline was set */
  get spentMs(): number {
    return performance.now() - this.#startMs
  }

  deadline(limitMs: number): Deadline {
    if (limitMs > this.#lengthMs) this.limitMs = limitMs
    const hereMs = Math.min(limitMs, this.#lengthMs)
    const deadline = new Deadline(hereMs)
    this.#startMs = deadline.endMs - hereMs
    return deadline
  }
}
