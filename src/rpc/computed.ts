import type { ViewScope, View } from '../chain/index.ts'
import type { Compat } from '../compat.ts'
import { Deadline, OutOfTime } from '../evm/index.ts'
import type { Context } from './context.ts'
import { SHARED_MS } from './limits.ts'
import { method } from './method.ts'
import type { Method, MethodRow, Param, Values } from './method.ts'
import type { Ground, Parallel, Sharing, Spell } from './parallel.ts'

/** A method that looks at one View and works something out, however long that takes. */
export interface ComputedRow<P extends readonly Param<unknown>[]> extends Omit<MethodRow<P>, 'handler' | 'timeLimitMs' | 'computed'> {
  /** The answer, JSON-ready; the same in every thread. Synchronous; throws RpcError and what `refusalOf` knows. */
  readonly compute: (ground: Ground, args: Values<P>) => unknown
  /** What `compute` looks at. Called when that has begun and run out of time, so what it names is there. */
  readonly needs: (ground: Ground, args: Values<P>) => ViewScope
  /** Of those with the same one takes as long as another, and `needs` can be called before `compute`; null: nothing is known of it. Absent: of none. */
  readonly likeOf?: (args: Values<P>) => string | null
}

/**
 * Begins beside everybody else, where most are done before anybody notices. What takes longer than `stretchMs` begins anew in another thread,
 * with what is left of its time, so that no flashblock waits for it; without threads it goes on here. When several come at once whose like took
 * long, threads have them from the start, and this one keeps to its sockets.
 */
export function computed<const P extends readonly Param<unknown>[]>({ compute, needs, likeOf, ...row }: ComputedRow<P>): Method {
  const like = (args: Values<P>) => {
    const alike = likeOf?.(args) ?? null
    return alike === null ? null : `${row.name} ${alike}`
  }
  const tell = (sharing: Sharing, { limitMs, spentMs: tookMs }: Stretch, args: Values<P>) => {
    if (limitMs === null || (tookMs < SHARED_MS && !sharing.isWary)) return
    const alike = like(args)
    if (alike !== null) sharing.ran({ like: alike, limitMs, tookMs })
  }
  const sharedLimitMs = (sharing: Sharing, args: Values<P>) => {
    const alike = like(args)
    return alike === null ? null : sharing.limitMs(alike)
  }
  const begun = (context: Context, parallel: Parallel, args: Values<P>) => {
    const { chain, compat, sharing, spell } = context
    const { view } = chain.head
    const stretch = new Stretch(parallel.stretchMs)
    try {
      const result = compute({ view, compat, deadline: (limitMs) => stretch.deadline(limitMs), spell }, args)
      if (sharing !== null) tell(sharing, stretch, args)
      return result
    } catch (error) {
      if (!(error instanceof OutOfTime) || stretch.limitMs === null) throw error
      const { limitMs, spentMs } = stretch
      const here = withoutHurry(view, compat, spell)
      const look = { view, needs: needs(here, args) }
      const task = { method: row.name, args, look: () => look, limitMs, spentMs, isShared: false }
      return elsewhere(parallel, task, () => compute(here, args))
    }
  }
  const shared = (context: Context, parallel: Parallel, args: Values<P>, limitMs: number) => {
    const { chain, compat, spell } = context
    const look = () => ({ view: chain.head.view, needs: needs(withoutHurry(chain.head.view, compat, spell), args) })
    const task = { method: row.name, args, look, limitMs, spentMs: 0, isShared: true }
    return elsewhere(parallel, task, () => begun(context, parallel, args))
  }
  return method({
    ...row,
    // It ends by its own limit, wherever it runs.
    timeLimitMs: Infinity,
    computed: compute,
    handler: (context: Context, args: Values<P>) => {
      const { chain, compat, parallel, sharing, spell } = context
      if (parallel === null) return compute(withoutHurry(chain.head.view, compat, spell), args)
      const limitMs = sharing?.isCrowded === true ? sharedLimitMs(sharing, args) : null
      return limitMs === null ? begun(context, parallel, args) : shared(context, parallel, args, limitMs)
    },
  })
}

function withoutHurry(view: View, compat: Compat, spell: Spell): Ground {
  return { view, compat, deadline: (limitMs) => new Deadline(limitMs), spell }
}

async function elsewhere(parallel: Parallel, task: Parameters<Parallel['compute']>[0], here: () => unknown): Promise<unknown> {
  return (await parallel.compute(task)) ?? here()
}

/** The time that a request has beside everybody else. */
class Stretch {
  readonly #lengthMs: number
  #startMs = 0
  /** what it asked for; null: no more than it has here */
  limitMs: number | null = null

  constructor(lengthMs: number) {
    this.#lengthMs = lengthMs
  }

  /** since the deadline was set */
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
