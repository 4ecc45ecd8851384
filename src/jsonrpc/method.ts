import type { JsonSchema, Schema } from './schema.ts'

export interface Param<T> {
  readonly name: string
  readonly schema: Schema<T>
  readonly required: boolean
}

/** The values that the schemas of the params return. */
export type Values<P extends readonly Param<unknown>[]> = { [K in keyof P]: P[K] extends Param<infer T> ? T : never }

/** Specifies whether a request of a page (one with an Origin) needs the control credential: for every call, or for calls with an argument. */
export type PageControl = 'always' | 'with-arguments'

/** The part of a row that the reference documentation and OpenRPC are generated from. */
export interface MethodDoc<P extends readonly Param<unknown>[] = readonly Param<unknown>[]> {
  readonly name: string
  /** one sentence */
  readonly doc: string
  readonly params: P
  /** JSON Schema of the result, or a Schema's `json` */
  readonly result: JsonSchema
  readonly example: { readonly params: readonly unknown[]; readonly result: unknown }
  /** codes beyond -32602 that this method answers, with their causes */
  readonly errors?: Readonly<Record<number, string>>
  /** Infinity: none; absent: the router's. Applies to handlers that wait; a synchronous handler cannot be interrupted. */
  readonly timeLimitMs?: number
  /** absent: a page may call it */
  readonly control?: PageControl
  /** The first parameter may be sent without the array around it (EIP-747). */
  readonly isBare?: true
}

/**
 * Returns the result as a JSON-ready value, or a Promise of it; throws RpcError. `isAlone` is true for a request that is the whole body, false for an item
 * of a batch and for a request in process.
 */
export type Handler<Context, Caller, Args> = (context: Context, args: Args, caller: Caller, isAlone: boolean) => unknown

/** One RPC method in one row: dispatch, reference documentation and OpenRPC derive from it. */
export interface Method<Context, Caller> extends MethodDoc {
  readonly handler: Handler<Context, Caller, readonly unknown[]>
}

export function required<T>(name: string, schema: Schema<T>): Param<T> {
  return { name, schema, required: true }
}

/** Absent or null: the value is undefined. */
export function optional<T>(name: string, schema: Schema<T>): Param<T | undefined> {
  return { name, schema, required: false }
}

/** A row whose handler gets arguments typed by the row's params. */
export interface MethodRow<Context, Caller, P extends readonly Param<unknown>[]> extends MethodDoc<P> {
  readonly handler: Handler<Context, Caller, Values<P>>
}

export type DefineMethod<Context, Caller> = <const P extends readonly Param<unknown>[]>(
  row: MethodRow<Context, Caller, P>,
) => Method<Context, Caller>

/** Returns the function that creates rows for one kind of context and caller. */
export function defineMethods<Context, Caller>(): DefineMethod<Context, Caller> {
  return (row) => row as unknown as Method<Context, Caller> // the router parses the arguments with the schemas of the same row
}
