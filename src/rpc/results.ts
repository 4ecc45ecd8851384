import { WIRE_OBJECTS } from '../eth/index.ts'
import type { FieldCodec, FieldRow } from '../eth/index.ts'
import { ADDRESS, BOOLEAN, BYTES, HASH, QUANTITY, listOf, orNull, record } from '../jsonrpc/jsonschema.ts'
import type { JsonSchema } from './method.ts'

// JSON Schemas of the objects in results. Required fields are always present; the others depend on the fork, the transaction type or the cadence.

const SCHEMAS: Readonly<Record<Exclude<FieldCodec, 'hashes' | 'objects' | 'hidden' | 'logs' | 'transactions'>, JsonSchema>> = {
  hash: HASH,
  address: ADDRESS,
  quantity: QUANTITY,
  bytes: BYTES,
  bloom: BYTES,
  boolean: BOOLEAN,
  flag: BOOLEAN,
  blockHash: HASH,
  blockNumber: QUANTITY,
  blockTimestamp: QUANTITY,
  blockTimestampMs: QUANTITY,
  transactionHash: HASH,
  transactionIndex: QUANTITY,
  sender: ADDRESS,
  receiverReference: ADDRESS,
}

export const LOG = objectSchema('log', WIRE_OBJECTS.log)
export const RECEIPT = objectSchema('receipt', WIRE_OBJECTS.receipt)
export const TRANSACTION = objectSchema('transaction', WIRE_OBJECTS.transaction)
export const HEADER = objectSchema('header', WIRE_OBJECTS.header)
export const BLOCK = objectSchema('block', [...WIRE_OBJECTS.header, ...WIRE_OBJECTS.block])

function objectSchema(title: string, fields: readonly FieldRow[]): JsonSchema {
  const properties = (isOptional: boolean) =>
    Object.fromEntries(
      fields.filter((field) => field.codec !== 'hidden' && field.isOptional === isOptional).map((field) => [field.key, fieldSchema(field)]),
    )
  return record(title, properties(false), properties(true))
}

function fieldSchema(field: FieldRow): JsonSchema {
  const schema = valueSchema(field)
  return field.isNullable ? orNull(schema) : schema
}

function valueSchema({ codec, title = '', items = [], max: most }: FieldRow): JsonSchema {
  if (codec === 'hashes') return most === undefined ? listOf(HASH) : { ...listOf(HASH), maxItems: most }
  if (codec === 'logs') return listOf(LOG)
  if (codec === 'transactions') return listOf({ oneOf: [HASH, TRANSACTION] })
  if (codec === 'objects' || codec === 'hidden') return listOf(objectSchema(title, items))
  return SCHEMAS[codec]
}
