import { Address, Hex } from '../eth/index.ts'
import type { Hash } from '../eth/index.ts'
import * as schema from './schema.ts'
import type { JsonSchema, Schema } from './schema.ts'

// Objects that are parameters as well as results: one table of fields for the parser, the JSON Schema and the JSON. Objects of the hot path
// (header, transaction, receipt, log) have a field function in `eth/` instead, which writes faster and does not parse parameters.

/** One field of a wire object. */
export interface WireField<T> {
  readonly schema: Schema<T>
  readonly toJson: (value: T) => unknown
}

/** A table of fields whose types differ. */
type WireFields = Readonly<Record<string, { readonly schema: Schema<unknown>; readonly toJson: (value: never) => unknown }>>

/** The typed values of a table of fields; `undefined` for absent optional fields. */
export type WireValues<F extends WireFields> = { readonly [K in keyof F]: schema.Infer<F[K]['schema']> }

export interface WireObject<F extends WireFields> {
  readonly schema: Schema<WireValues<F>>
  /** Returns the JSON-ready object; keys in the order of the table. */
  readonly toJson: (values: WireValues<F>) => Readonly<Record<string, unknown>>
}

/** `title` names the object in the JSON Schema. */
export function wireObject<const F extends WireFields>(title: string, fields: F): WireObject<F> {
  const entries = Object.entries(fields) as [keyof F, WireField<unknown>][] // the keys of F, each with the field of its value
  const shape = Object.fromEntries(entries.map(([key, field]) => [key, field.schema]))
  return {
    schema: schema.titled(title, schema.object(shape) as Schema<WireValues<F>>), // `shape` has the schema of each key of F
    toJson: (values) => {
      const json: Record<string, unknown> = {}
      for (const [key, { toJson }] of entries) if (values[key] !== undefined) json[key as string] = toJson(values[key])
      return json
    },
  }
}

// --- fields ---------------------------------------------------------------------------------------------------------

export const ADDRESS: WireField<Address> = { schema: schema.address, toJson: Address.checksum }
export const HASH: WireField<Hash> = { schema: schema.hash, toJson: String }
export const QUANTITY: WireField<bigint> = { schema: schema.quantity, toJson: Hex.fromQuantity }
export const BYTES: WireField<Uint8Array> = { schema: schema.bytes, toJson: Hex.fromBytes }
export const BOOLEAN: WireField<boolean> = { schema: schema.boolean, toJson: (value) => value }
export const STRING: WireField<string> = { schema: schema.string, toJson: (value) => value }

/** A field that JSON may lack. */
export function optionalField<T>({ schema: present, toJson }: WireField<T>): WireField<T | undefined> {
  return { schema: schema.maybe(present), toJson: (value) => (value === undefined ? undefined : toJson(value)) }
}

/** A field whose value is JSON-ready and not parsed. */
export function jsonField(json: JsonSchema): WireField<unknown> {
  return { schema: schema.documented(json), toJson: (value) => value }
}
