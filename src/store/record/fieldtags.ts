import { WIRE_OBJECTS } from '../../eth/index.ts'
import type { FieldCodec, FieldRow } from '../../eth/index.ts'
import * as layout from '../writer/layout.ts'

/** The meaning of a tag in a record: the key in JSON ('' if hidden) and a kind of writer/layout.ts. */
export interface TagRow {
  readonly key: string
  readonly kind: number
}

const KINDS: Readonly<Record<Exclude<FieldCodec, 'boolean'>, number>> = {
  hash: layout.KIND_HASH,
  hashes: layout.KIND_HASHES,
  address: layout.KIND_ADDRESS,
  quantity: layout.KIND_QUANTITY,
  bytes: layout.KIND_BYTES,
  bloom: layout.KIND_BLOOM,
  flag: layout.KIND_TRUE,
  objects: layout.KIND_OBJECTS,
  hidden: layout.KIND_INTERNAL_BYTES,
  blockHash: layout.KIND_BLOCK_HASH,
  blockNumber: layout.KIND_BLOCK_NUMBER,
  blockTimestamp: layout.KIND_BLOCK_TIMESTAMP,
  blockTimestampMs: layout.KIND_BLOCK_TIMESTAMP_MS,
  transactionHash: layout.KIND_TX_HASH,
  transactionIndex: layout.KIND_TX_INDEX,
  sender: layout.KIND_TX_FROM,
  receiverReference: layout.KIND_TX_TO,
  transactions: layout.KIND_TRANSACTIONS,
  logs: layout.KIND_LOGS,
}

/** Indexed by tag. */
export const TAGS: readonly TagRow[] = tagRows([
  ...WIRE_OBJECTS.header,
  ...WIRE_OBJECTS.block,
  ...WIRE_OBJECTS.transaction,
  ...WIRE_OBJECTS.receipt,
])

/** The keys of a log in the order of its JSON. Stored logs have the fixed layout of LOG_HEADER_BYTES (writer/layout.ts) and no tags. */
export const LOG_KEYS: readonly string[] = WIRE_OBJECTS.log.map(({ key }) => key)

/** Returns the tag of a key. Throws if the object has no such field. */
export function tagOf(object: readonly FieldRow[], key: string): number {
  return object.find((row) => row.key === key)?.tag ?? failing(`no field has the key ${key}`)
}

/** Throws unless every tag from 1 up to the highest is used, each for one key and kind. */
function tagRows(fields: readonly FieldRow[]): readonly TagRow[] {
  const rows: (TagRow | undefined)[] = [{ key: '', kind: layout.END_OF_OBJECT }]
  const add = (tag: number, key: string, kind: number): void => {
    const row = (rows[tag] ??= { key, kind })
    if (row.key !== key || row.kind !== kind) throw new Error(`the fields ${row.key} and ${key} have the same tag, ${tag}`)
  }
  for (const { key, tag, nullTag, codec } of fields.flatMap((field) => [field, ...(field.items ?? [])])) {
    if (codec === 'boolean') throw new Error(`the field ${key} cannot be stored`)
    add(tag, key, KINDS[codec])
    if (nullTag !== 0) add(nullTag, key, layout.KIND_NULL)
  }
  return Array.from(rows, (row, tag) => row ?? failing(`no field has the tag ${tag}`))
}

function failing(message: string): never {
  throw new Error(message)
}
