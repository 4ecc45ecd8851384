import * as layout from '../writer/layout.ts'
import type { SectionHeader } from './sectionheader.ts'
import { KIND, POSITION_MASK, highOf, keyOfRow, putRow } from './keys.ts'
import type { IndexPart, Postings } from './indexpart.ts'
import type { PositionList } from './positionlist.ts'
import { RowSorter } from './rowsorter.ts'
import type { SectionWriter } from './sectionwriter.ts'

/** The newest blocks in memory: rows in item order, and a hash table with chains from new to old. */
export class Tail implements IndexPart {
  #firstBlock = 0
  #firstItem = 0
  #blocks = 0
  #items = 0
  #starts = new Uint32Array(64)
  #logStarts = new Uint32Array(64)
  /** by block: rows before it */
  #rowsBefore = new Uint32Array(64)

  /** in the format of keys.ts */
  #rows = new Uint32Array(2 * 1_024)
  #count = 0
  /** by row: the next older one in the same slot, plus 1; 0: none */
  #older = new Uint32Array(1_024)
  /** the newest row of each slot, plus 1 */
  #slots = new Uint32Array(1_024)
  /** rows per slot; a slot rarely has more than one key */
  #chained = new Uint32Array(1_024)
  /** rows in the hash table. Rows are linked on the first lookup, which an import never does. */
  #linked = 0
  readonly #sorter = new RowSorter()

  get firstBlock(): number {
    return this.#firstBlock
  }

  get firstItem(): number {
    return this.#firstItem
  }

  get blocks(): number {
    return this.#blocks
  }

  get items(): number {
    return this.#items
  }

  get starts(): Uint32Array {
    return this.#starts
  }

  get logStarts(): Uint32Array {
    return this.#logStarts
  }

  /** Empties the tail and moves it to a new first block. */
  reset(firstBlock: number, firstItem: number): void {
    this.#firstBlock = firstBlock
    this.#firstItem = firstItem
    this.#blocks = 0
    this.#items = 0
    this.#count = 0
    if (this.#linked > 0) {
      this.#slots.fill(0)
      this.#chained.fill(0)
    }
    this.#linked = 0
  }

  /** Appends the next block's record. */
  append(record: DataView): void {
    const transactions = record.getUint32(layout.RECORD_TX_COUNT_OFFSET, true)
    const logs = record.getUint32(layout.RECORD_LOG_COUNT_OFFSET, true)
    const start = this.#items
    const logStart = start + 1 + transactions
    this.#addBlock(start, logStart)
    this.#add(start, KIND.block, record, layout.RECORD_HASH_OFFSET, 32)
    for (let i = 0; i < transactions; i++)
      this.#addTransaction(record, layout.RECORD_HEADER_BYTES + layout.TX_ENTRY_BYTES * i, start + 1 + i)
    const table = layout.RECORD_HEADER_BYTES + layout.TX_ENTRY_BYTES * transactions
    for (let i = 0; i < logs; i++) this.#addLog(record, record.getUint32(table + 4 * i, true), logStart + i)
    this.#items = logStart + logs
  }

  /** Keeps the first `blocks` blocks. */
  truncate(blocks: number): void {
    if (blocks >= this.#blocks) return
    const kept = this.#rowsBefore[blocks] as number // in range
    for (let row = this.#linked - 1; row >= kept; row--) {
      const slot = this.#slotOf(row)
      this.#slots[slot] = this.#older[row] as number // in range
      this.#chained[slot]!--
    }
    this.#linked = Math.min(this.#linked, kept)
    this.#count = kept
    this.#items = this.#starts[blocks] as number // in range
    this.#blocks = blocks
  }

  /** The count includes other keys in the same slot: counting a key that every log has took as long as the rest of a search. */
  probe(key: number): Postings | null {
    if (this.#newest(key) < 0) return null
    return { key, count: this.#chained[this.#slotOfKey(key)] as number, page: 0, row: 0 } // in range
  }

  read({ key }: Pick<Postings, 'key'>, from: number, to: number, out: PositionList): void {
    const start = out.size
    let last = -1
    for (let row = this.#newest(key); row >= 0; row = this.#next(row, key)) {
      const position = this.#position(row)
      if (position >= from && position < to && position !== last) out.push(position)
      last = position // two values of one log may have the same key
    }
    out.reverse(start)
  }

  countWithin({ key }: Pick<Postings, 'key'>, from: number, to: number): number {
    let count = 0
    for (let row = this.#newest(key); row >= 0; row = this.#next(row, key)) {
      const position = this.#position(row)
      if (position >= from && position < to) count++
    }
    return count
  }

  /** Writes the tail as a section. Returns its header. */
  freeze(section: number, writer: SectionWriter): SectionHeader {
    const rows = this.#sorter.sort(this.#rows, this.#count)
    writer.begin(section)
    let [lastKey, lastPosition] = [-1, -1]
    for (let i = 0; i < rows.length; i += 2) {
      const low = rows[i] as number // in range
      const key = keyOfRow(low, rows[i + 1] as number)
      const position = low & POSITION_MASK
      if (key !== lastKey) {
        writer.end()
        writer.key(key)
      } else if (position === lastPosition) continue // as in `read`
      writer.position(position)
      lastKey = key
      lastPosition = position
    }
    writer.end()
    return {
      level: 0,
      firstBlock: this.#firstBlock,
      firstItem: this.#firstItem,
      items: this.#items,
      starts: this.#starts.slice(0, this.#blocks),
      logStarts: this.#logStarts.slice(0, this.#blocks),
      ...writer.finish(),
    }
  }

  #addBlock(start: number, logStart: number): void {
    if (this.#blocks === this.#starts.length) {
      this.#starts = doubled(this.#starts)
      this.#logStarts = doubled(this.#logStarts)
      this.#rowsBefore = doubled(this.#rowsBefore)
    }
    this.#starts[this.#blocks] = start
    this.#logStarts[this.#blocks] = logStart
    this.#rowsBefore[this.#blocks++] = this.#count
  }

  #addTransaction(record: DataView, row: number, position: number): void {
    const receiver = record.getUint32(row + layout.TX_ENTRY_TO_POINTER_OFFSET, true)
    this.#add(position, KIND.transaction, record, row + layout.TX_ENTRY_HASH_OFFSET, 32)
    this.#add(position, KIND.sender, record, row + layout.TX_ENTRY_FROM_OFFSET, 20)
    if (receiver !== 0) this.#add(position, KIND.receiver, record, receiver, 20)
  }

  #addLog(record: DataView, at: number, position: number): void {
    const topics = record.getUint32(at + layout.LOG_TOPIC_COUNT_OFFSET, true)
    this.#add(position, KIND.address, record, at + layout.LOG_ADDRESS_OFFSET, 20)
    for (let i = 0; i < topics; i++) this.#add(position, KIND.topic + i, record, at + layout.LOG_HEADER_BYTES + 32 * i, 32)
  }

  #add(position: number, kind: number, record: DataView, at: number, size: number): void {
    if (this.#count === this.#older.length) this.#grow()
    putRow(this.#rows, 2 * this.#count++, position, kind, record, at, size)
  }

  #link(): void {
    for (; this.#linked < this.#count; this.#linked++) {
      const slot = this.#slotOf(this.#linked)
      this.#older[this.#linked] = this.#slots[slot] as number // in range
      this.#slots[slot] = this.#linked + 1
      this.#chained[slot]!++
    }
  }

  #grow(): void {
    this.#rows = doubled(this.#rows)
    this.#older = doubled(this.#older)
    this.#slots = new Uint32Array(this.#older.length)
    this.#chained = new Uint32Array(this.#older.length)
    this.#linked = 0
  }

  /** The upper word of a key is a good hash. */
  #slotOf(row: number): number {
    return (this.#rows[2 * row + 1] as number) & (this.#slots.length - 1) // in range
  }

  #slotOfKey(key: number): number {
    return highOf(key) & (this.#slots.length - 1)
  }

  /** Returns the newest row of the key, -1 if there is none. */
  #newest(key: number): number {
    if (this.#linked < this.#count) this.#link()
    return this.#find((this.#slots[this.#slotOfKey(key)] as number) - 1, key) // in range
  }

  #next(row: number, key: number): number {
    return this.#find((this.#older[row] as number) - 1, key)
  }

  #find(row: number, key: number): number {
    while (row >= 0 && keyOfRow(this.#rows[2 * row] as number, this.#rows[2 * row + 1] as number) !== key) {
      row = (this.#older[row] as number) - 1
    }
    return row
  }

  #position(row: number): number {
    return (this.#rows[2 * row] as number) & POSITION_MASK
  }
}

function doubled(values: Uint32Array): Uint32Array<ArrayBuffer> {
  const more = new Uint32Array(values.length * 2)
  more.set(values)
  return more
}
