import type { Context, Caller } from './context.ts'
import type { Ground } from './parallel.ts'
import { address, bytes, hash, quantity } from './schema.ts'
import type { JsonSchema, Schema } from './schema.ts'

export type { JsonSchema, Schema } from './schema.ts'

export interface Param<T> {
  readonly name: string
  readonly schema: Schema<T>
  readonly required: boolean
}

/** What the schemas of the params make. */
export type Values<P extends readonly Param<unknown>[]> = { [K in keyof P]: P[K] extends Param<infer T> ? T : never }

/** When a page needs the control credential for a method. */
export type PageControl = 'always' | 'with-arguments'

/** One RPC method: everything about it stands in one row. Dispatch, docs and OpenRPC are made from it. */
export interface MethodRow<P extends readonly Param<unknown>[]> {
  readonly name: string
  /** one sentence */
  readonly doc: string
  readonly params: P
  /** JSON Schema of the result, or a Schema's `json` */
  readonly result: JsonSchema
  readonly example: { readonly params: readonly unknown[]; readonly result: unknown }
  /** codes beyond -32602 that this method answers, with when */
  readonly errors?: Readonly<Record<number, string>>
  /** Infinity: none; absent: METHOD_TIME_MS of limits.ts. Holds for what waits; a synchronous handler cannot be stopped */
  readonly timeLimitMs?: number
  /** from a page (a request with an Origin) it takes the control credential; absent: never */
  readonly control?: PageControl
  /** answers JSON-ready values; may be async; throws RpcError */
  readonly handler: (context: Context, args: Values<P>, caller: Caller) => unknown
  /** of methods that can be worked out in another thread (`computed.ts`): how */
  readonly computed?: (ground: Ground, args: Values<P>) => unknown
}

/** A row with its parameter types forgotten: what the table holds. */
export type Method = Omit<MethodRow<readonly Param<unknown>[]>, 'handler' | 'computed'> & {
  /** what messages call each param: `argument 0 (block)` */
  readonly paths: readonly string[]
  /** the result is hex, in which nothing has to be escaped */
  readonly isHex: boolean
  readonly handler: (context: Context, args: readonly unknown[], caller: Caller) => unknown
  readonly computed?: (ground: Ground, args: readonly unknown[]) => unknown
}

export function required<T>(name: string, schema: Schema<T>): Param<T> {
  return { name, schema, required: true }
}

/** Absent, or null: the value is undefined. */
export function optional<T>(name: string, schema: Schema<T>): Param<T | undefined> {
  return { name, schema, required: false }
}

/** Types the handler's arguments from the row's params. The cast is safe: dispatch parses with these very schemas. */
export function method<const P extends readonly Param<unknown>[]>(row: MethodRow<P>): Method {
  const paths = row.params.map(({ name }, i) => `argument ${i} (${name})`)
  return { ...row, paths, isHex: HEX.has(row.result) } as unknown as Method
}

const HEX: ReadonlySet<JsonSchema> = new Set([address, bytes, hash, quantity].map(({ json }) => json))
