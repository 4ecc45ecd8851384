import type { ByteFilter } from '../record/index.ts'
import {
  FILTER,
  FILTER_ANY,
  FILTER_LIST,
  FILTER_LISTS,
  FILTER_SIZE,
  FILTER_SLOT,
  FILTER_VALUE,
  FL_BITS,
  FL_COUNT,
  FL_TABLE,
  FL_VALUES,
} from '../writer/layout.ts'
import { DIRECT_FILTER_VALUES } from './limits.ts'

const MATCH_NONE: readonly Uint8Array[] = []

/** A filter as laid out in the writer's memory (writer/layout.ts), its hash tables still empty. */
interface FilterImage {
  readonly bytes: Uint8Array
  /** indices of the lists that have a hash table for the writer to fill */
  readonly tables: readonly number[]
}

/** Throws RangeError if the filter exceeds FILTER_SIZE. */
export function filterImage(filter: ByteFilter): FilterImage {
  const lists = listsOf(filter)
  const sizes = lists.map((list) => (list === null ? 0 : list.length * FILTER_VALUE + tableBytes(list.length)))
  const size = sizes.reduce((sum, bytes) => sum + bytes, FILTER_LISTS * FILTER_LIST)
  if (size > FILTER_SIZE) throw new RangeError(`a log filter of ${countOf(lists)} values does not fit: it may take ${FILTER_SIZE} bytes`)
  const bytes = new Uint8Array(size)
  let offset = FILTER_LISTS * FILTER_LIST
  lists.forEach((list, i) => {
    writeList(bytes, i * FILTER_LIST, list, offset)
    offset += sizes[i] ?? 0
  })
  return { bytes, tables: [...lists.keys()].filter((i) => tableBits(lists[i]?.length ?? 0) > 0) }
}

/** Returns the addresses, then the topics by position. A condition on a position that no log has matches nothing. */
function listsOf({ addresses, topics }: ByteFilter): readonly (readonly Uint8Array[] | null)[] {
  const positions = FILTER_LISTS - 1
  const isImpossible = topics.slice(positions).some((list) => list !== null)
  const conditions = Array.from({ length: positions }, (_, i) => topics[i] ?? null)
  return [isImpossible ? MATCH_NONE : addresses, ...conditions]
}

function writeList(bytes: Uint8Array, head: number, list: readonly Uint8Array[] | null, offset: number): void {
  const view = new DataView(bytes.buffer, head, FILTER_LIST)
  view.setInt32(FL_COUNT, list?.length ?? FILTER_ANY, true)
  if (list === null) return
  view.setUint32(FL_VALUES, FILTER + offset, true)
  view.setUint32(FL_TABLE, FILTER + offset + list.length * FILTER_VALUE, true)
  view.setUint32(FL_BITS, tableBits(list.length), true)
  list.forEach((value, i) => bytes.set(value, offset + i * FILTER_VALUE))
}

function tableBytes(count: number): number {
  const bits = tableBits(count)
  return bits === 0 ? 0 : FILTER_SLOT << bits
}

/** At most a quarter of a table is used, so that most lookups of absent values end at the first slot. */
function tableBits(count: number): number {
  return count <= DIRECT_FILTER_VALUES ? 0 : 34 - Math.clz32(count)
}

function countOf(lists: readonly (readonly Uint8Array[] | null)[]): number {
  return lists.reduce((sum, list) => sum + (list?.length ?? 0), 0)
}
