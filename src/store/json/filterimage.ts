import type { ByteFilter } from '../record/index.ts'
import {
  FILTER_REGION,
  CONDITION_ANY,
  CONDITION_BYTES,
  CONDITION_COUNT,
  FILTER_REGION_BYTES,
  CONDITION_SLOT_BYTES,
  CONDITION_VALUE_BYTES,
  CONDITION_TABLE_BITS_OFFSET,
  CONDITION_VALUE_COUNT_OFFSET,
  CONDITION_TABLE_OFFSET,
  CONDITION_VALUES_OFFSET,
} from '../writer/layout.ts'
import { DIRECT_FILTER_VALUES } from './limits.ts'

const MATCH_NONE: readonly Uint8Array[] = []

/** A filter as laid out in the writer's memory (writer/layout.ts), its hash tables still empty. */
interface FilterImage {
  readonly bytes: Uint8Array
  /** indices of the lists that have a hash table for the writer to fill */
  readonly tables: readonly number[]
}

/** Throws RangeError if the filter exceeds FILTER_REGION_BYTES. */
export function filterImage(filter: ByteFilter): FilterImage {
  const lists = listsOf(filter)
  const sizes = lists.map((list) => (list === null ? 0 : list.length * CONDITION_VALUE_BYTES + tableBytes(list.length)))
  const size = sizes.reduce((sum, bytes) => sum + bytes, CONDITION_COUNT * CONDITION_BYTES)
  if (size > FILTER_REGION_BYTES)
    throw new RangeError(`a log filter of ${countOf(lists)} values does not fit: it may take ${FILTER_REGION_BYTES} bytes`)
  const bytes = new Uint8Array(size)
  let offset = CONDITION_COUNT * CONDITION_BYTES
  lists.forEach((list, i) => {
    writeList(bytes, i * CONDITION_BYTES, list, offset)
    offset += sizes[i] ?? 0
  })
  return { bytes, tables: [...lists.keys()].filter((i) => tableBits(lists[i]?.length ?? 0) > 0) }
}

/** Returns the addresses, then the topics by position. A condition on a position that no log has matches nothing. */
function listsOf({ addresses, topics }: ByteFilter): readonly (readonly Uint8Array[] | null)[] {
  const positions = CONDITION_COUNT - 1
  const isImpossible = topics.slice(positions).some((list) => list !== null)
  const conditions = Array.from({ length: positions }, (_, i) => topics[i] ?? null)
  return [isImpossible ? MATCH_NONE : addresses, ...conditions]
}

function writeList(bytes: Uint8Array, head: number, list: readonly Uint8Array[] | null, offset: number): void {
  const view = new DataView(bytes.buffer, head, CONDITION_BYTES)
  view.setInt32(CONDITION_VALUE_COUNT_OFFSET, list?.length ?? CONDITION_ANY, true)
  if (list === null) return
  view.setUint32(CONDITION_VALUES_OFFSET, FILTER_REGION + offset, true)
  view.setUint32(CONDITION_TABLE_OFFSET, FILTER_REGION + offset + list.length * CONDITION_VALUE_BYTES, true)
  view.setUint32(CONDITION_TABLE_BITS_OFFSET, tableBits(list.length), true)
  list.forEach((value, i) => bytes.set(value, offset + i * CONDITION_VALUE_BYTES))
}

function tableBytes(count: number): number {
  const bits = tableBits(count)
  return bits === 0 ? 0 : CONDITION_SLOT_BYTES << bits
}

/** At most a quarter of a table is used, so that most lookups of absent values end at the first slot. */
function tableBits(count: number): number {
  return count <= DIRECT_FILTER_VALUES ? 0 : 34 - Math.clz32(count)
}

function countOf(lists: readonly (readonly Uint8Array[] | null)[]): number {
  return lists.reduce((sum, list) => sum + (list?.length ?? 0), 0)
}
