import { address, boolean, bytes, hash, quantity, string } from './schema.ts'
import type { JsonSchema } from './schema.ts'

// JSON Schemas of results. Required keys are always present; a fork, a type or a cadence adds the others.

export const QUANTITY: JsonSchema = quantity.json
export const BYTES: JsonSchema = bytes.json
export const HASH: JsonSchema = hash.json
export const ADDRESS: JsonSchema = address.json
export const BOOLEAN: JsonSchema = boolean.json
export const STRING: JsonSchema = string.json
export const INTEGER: JsonSchema = { type: 'integer' }
export const NULL: JsonSchema = { type: 'null' }

export function listOf(item: JsonSchema): JsonSchema {
  return { type: 'array', items: item }
}

export function orNull(schema: JsonSchema): JsonSchema {
  return { oneOf: [schema, NULL] }
}

/** `required` keys first, then those that may be absent. */
export function record(
  title: string,
  required: Readonly<Record<string, JsonSchema>>,
  more: Readonly<Record<string, JsonSchema>> = {},
): JsonSchema {
  return { title, type: 'object', required: Object.keys(required), properties: { ...required, ...more } }
}

/** A schema that the OpenRPC document defines once under `components`. */
export function component(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` }
}
