import { defineMethods } from '../jsonrpc/index.ts'
import type * as Rows from '../jsonrpc/index.ts'
import type { Caller, Context } from './context.ts'
import type { ComputeDeps } from './execution/workerport.ts'

export { optional, required } from '../jsonrpc/index.ts'
export type { JsonSchema, Param, Schema, Values } from '../jsonrpc/index.ts'

/** A row of the node's own methods. */
export interface Method extends Rows.Method<Context, Caller> {
  /** for methods that a worker thread can execute (`computed.ts`) */
  readonly computed?: (deps: ComputeDeps, args: readonly unknown[]) => unknown
}

/** A row before the types of its params are erased. */
export type MethodRow<P extends readonly Rows.Param<unknown>[]> = Rows.MethodRow<Context, Caller, P>

export const method = defineMethods<Context, Caller>()
