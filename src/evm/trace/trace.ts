import type { Hash } from '../../eth/index.ts'
import type { BlockContext, Executed, Message } from '../message.ts'
import type { StateReader } from '../state.ts'
import type { TraceBudget } from './budget.ts'
import type { Tracer } from './tracer.ts'

/** What a tracer is told about the transaction that it will listen to. */
export interface TraceStart {
  readonly message: Message
  readonly context: BlockContext
  /** the state before the transaction; it must stay as it is until the trace has told its story */
  readonly before: StateReader
  /** the state as it is now, while the transaction runs and after it: the World */
  readonly now: StateReader
  /** null: a call, which is in no block */
  readonly place: TracePlace | null
  readonly budget: TraceBudget
}

export interface TracePlace {
  readonly blockHash: Hash
  readonly blockNumber: number
  readonly transactionHash: Hash
  readonly transactionIndex: number
  /** how many logs the block had before this transaction */
  readonly logIndex: number
}

/** A tracer, and the story it tells when the transaction is over: geth's JSON, as text. */
export interface Trace {
  readonly tracer: Tracer
  /** @throws {TraceTooLarge} */
  readonly json: (executed: Executed) => string
}

/** Makes the trace of one transaction. `context` is the one under which the transaction runs. */
export type TraceMaker = (start: TraceStart) => Trace
