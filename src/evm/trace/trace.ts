import type { Hash } from '../../eth/index.ts'
import type { BlockContext, Executed, Message } from '../message.ts'
import type { StateReader } from '../state.ts'
import type { World } from '../world.ts'
import type { TraceBudget } from './budget.ts'
import type { Tracer } from './tracer.ts'

/** Input of a trace. */
export interface TraceContext {
  readonly message: Message
  readonly context: BlockContext
  /** state before the transaction; must not change until `json` has been called */
  readonly stateBefore: StateReader
  /** current state, during the transaction and after it; its base is `stateBefore` or, in a call with overrides, the state without them */
  readonly state: World
  /** null: a call */
  readonly location: TraceLocation | null
  readonly budget: TraceBudget
}

export interface TraceLocation {
  readonly blockHash: Hash
  readonly blockNumber: number
  readonly transactionHash: Hash
  readonly transactionIndex: number
  /** number of logs in the block before this transaction */
  readonly logIndex: number
}

/** A tracer and its result: geth's JSON as text, available after the transaction. */
export interface Trace {
  readonly tracer: Tracer
  /** @throws {TraceTooLarge} */
  readonly json: (executed: Executed) => string
}

/** Creates the trace of one transaction. `context` must be the context of its execution. */
export type TraceFactory = (start: TraceContext) => Trace
