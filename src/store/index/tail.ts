import * as layout from '../writer/layout.ts'
import type { Head } from './head.ts'
import { KIND, PLACE_MASK, highOf, keyOfRow, putRow } from './keys.ts'
import type { Part, Postings } from './part.ts'
import type { Places } from './places.ts'
import { RowSorter } from './rowsorter.ts'
import type { SectionWriter } from './sectionwriter.ts'

/** The newest blocks: their keys in the order of their items, and a hash table whose chains run from new to old. */
export class Tail implements Part {
  #firstBlock = 0
  #firstItem = 0
  #blocks = 0
  #items = 0
  #starts = new Uint32Array(64)
  #logStarts = new Uint32Array(64)
  /** by block: how many rows were there before it */
  #rowsBefore = new Uint32Array(64)

  /** as in keys.ts, each with a place */
  #rows = new Uint32Array(2 * 1_024)
  #count = 0
  /** by row: the next older one in the same slot, counted from 1; 0: none */
  #older = new Uint32Array(1_024)
  /** the newest row of each slot, counted from 1 */
  #slots = new Uint32Array(1_024)
  /** how many rows each slot's chain has: seldom those of more than one key */
  #chained = new Uint32Array(1_024)
  /** how many rows are in the table: the others follow when somebody looks, which during an import nobody does */
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

  /** Empty again, for what follows. */
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

  /** The record of the next block. */
  append(record: DataView): void {
    const transactions = record.getUint32(layout.R_TRANSACTIONS, true)
    const logs = record.getUint32(layout.R_LOGS, true)
    const start = this.#items
    const logStart = start + 1 + transactions
    this.#addBlock(start, logStart)
    this.#add(start, KIND.block, record, layout.R_HASH, 32)
    for (let i = 0; i < transactions; i++) this.#addTransaction(record, layout.RECORD_HEAD + layout.TX_ROW * i, start + 1 + i)
    const table = layout.RECORD_HEAD + layout.TX_ROW * transactions
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

  /** The count is that of the key's slot: to walk along the chain of one that every log has took as long as the rest of a search. */
  probe(key: number): Postings | null {
    if (this.#newest(key) < 0) return null
    return { key, count: this.#chained[this.#slotOfKey(key)] as number, page: 0, row: 0 } // in range
  }

  read({ key }: Pick<Postings, 'key'>, from: number, to: number, out: Places): void {
    const start = out.size
    let last = -1
    for (let row = this.#newest(key); row >= 0; row = this.#next(row, key)) {
      const place = this.#place(row)
      if (place >= from && place < to && place !== last) out.push(place)
      last = place // two values of one log may have one key
    }
    out.reverse(start)
  }

  countWithin({ key }: Pick<Postings, 'key'>, from: number, to: number): number {
    let count = 0
    for (let row = this.#newest(key); row >= 0; row = this.#next(row, key)) {
      const place = this.#place(row)
      if (place >= from && place < to) count++
    }
    return count
  }

  /** Makes it the pages and the head of a section. */
  freeze(section: number, writer: SectionWriter): Head {
    const rows = this.#sorter.sort(this.#rows, this.#count)
    writer.begin(section)
    let [lastKey, lastPlace] = [-1, -1]
    for (let i = 0; i < rows.length; i += 2) {
      const low = rows[i] as number // in range
      const key = keyOfRow(low, rows[i + 1] as number)
      const place = low & PLACE_MASK
      if (key !== lastKey) {
        writer.end()
        writer.key(key)
      } else if (place === lastPlace) continue // as in read
      writer.place(place)
      lastKey = key
      lastPlace = place
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

  #addTransaction(record: DataView, row: number, place: number): void {
    const receiver = record.getUint32(row + layout.T_RECEIVER, true)
    this.#add(place, KIND.transaction, record, row + layout.T_HASH, 32)
    this.#add(place, KIND.sender, record, row + layout.T_FROM, 20)
    if (receiver !== 0) this.#add(place, KIND.receiver, record, receiver, 20)
  }

  #addLog(record: DataView, at: number, place: number): void {
    const topics = record.getUint32(at + layout.L_TOPICS, true)
    this.#add(place, KIND.address, record, at + layout.L_ADDRESS, 20)
    for (let i = 0; i < topics; i++) this.#add(place, KIND.topic + i, record, at + layout.LOG_HEAD + 32 * i, 32)
  }

  #add(place: number, kind: number, record: DataView, at: number, size: number): void {
    if (this.#count === this.#older.length) this.#grow()
    putRow(this.#rows, 2 * this.#count++, place, kind, record, at, size)
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

  /** The upper word of a key is as good as any hash of it. */
  #slotOf(row: number): number {
    return (this.#rows[2 * row + 1] as number) & (this.#slots.length - 1) // rows are in range
  }

  #slotOfKey(key: number): number {
    return highOf(key) & (this.#slots.length - 1)
  }

  /** The newest row of the key, or -1. */
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

  #place(row: number): number {
    return (this.#rows[2 * row] as number) & PLACE_MASK
  }
}

function doubled(values: Uint32Array): Uint32Array<ArrayBuffer> {
  const more = new Uint32Array(values.length * 2)
  more.set(values)
  return more
}
