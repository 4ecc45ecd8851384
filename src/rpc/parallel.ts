import type { ViewScope, View } from '../chain/index.ts'
import type { Compat } from '../compat.ts'
import type { Deadline } from '../evm/index.ts'
import type { JsonText } from './texts.ts'

/** All that a method has which only works something out: one View (law 1) and a limit of time. It can stand in any thread. */
export interface Ground {
  readonly view: View
  readonly compat: Compat
  /** begins now; `limitMs` for all that the request does */
  readonly deadline: (limitMs: number) => Deadline
  readonly spell: Spell
}

/** What becomes of a result that is bytes, `size` of them from `at` on: their hex, or word that it was written where it belongs. Called once, last. */
export type Spell = (bytes: Uint8Array, at: number, size: number) => unknown

/** What a request looks at. */
export interface Look {
  readonly view: View
  readonly needs: ViewScope
}

/** A request that is to be worked out from its start in another thread: it took too long beside everybody else, or is shared. */
export interface Task {
  readonly method: string
  /** as the method's schemas parsed them */
  readonly args: readonly unknown[]
  /** Where it looks when it is begun: at one View, or at the newest one. Throws RpcError. */
  readonly look: () => Look
  readonly limitMs: number
  /** of the limit, before */
  readonly spentMs: number
  /** it would not take too long here: it waits for a thread that stands, a moment only, and looks at the newest View */
  readonly isShared: boolean
}

/** A request that was worked out here. */
export interface Ran {
  /** requests of which the same is said take about as long as each other */
  readonly like: string
  /** what it may take */
  readonly limitMs: number
  readonly tookMs: number
}

/** Threads beside this one. Declared here because methods are worked out through it; where there are threads the root injects some. */
export interface Parallel {
  /** what a request may take beside everybody else before it goes there */
  readonly stretchMs: number
  /** Null: it cannot be done there, or what is shared not soon, so it has to be here. Throws RpcError: the method's own, no room, a thread that broke, the end of all. */
  readonly compute: (task: Task) => Promise<JsonText | null>
}

/** Who knows when requests come several at once that take long, and had better be shared among the threads from their start. */
export interface Sharing {
  /** As far as anybody knows several are here: rarely. */
  readonly isCrowded: boolean
  /** What such a request may take in a thread, to which it should be given at once; null: it had better begin here. */
  readonly limitMs: (like: string) => number | null
  /** Tells of a request that was worked out here: of all while `isWary`, else of those that took SHARED_MS. */
  readonly ran: (request: Ran) => void
  readonly isWary: boolean
}
