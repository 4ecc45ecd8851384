import type { SectionHeader } from './sectionheader.ts'
import { PAGE_HEAD, listAt, onlyPositionAt, pieceBefore, pieceStart, readPositions, rowOf } from './page.ts'
import type { List, Page } from './page.ts'
import type { Pages } from './pages.ts'
import type { IndexPart, Postings } from './indexpart.ts'
import { PositionList } from './positionlist.ts'

/** An immutable index of a range of blocks. Truncation only hides its last blocks. */
export class Section implements IndexPart {
  readonly id: number
  readonly head: SectionHeader
  readonly firstBlock: number
  readonly firstItem: number
  readonly blocks: number
  readonly items: number
  readonly starts: Uint32Array
  readonly logStarts: Uint32Array
  readonly #pages: Pages

  constructor(id: number, head: SectionHeader, pages: Pages) {
    this.id = id
    this.head = head
    this.firstBlock = head.firstBlock
    this.firstItem = head.firstItem
    this.blocks = head.starts.length
    this.items = head.items
    this.starts = head.starts
    this.logStarts = head.logStarts
    this.#pages = pages
  }

  /** Returns the section limited to its first `blocks` blocks, at least one and fewer than it has. */
  cut(blocks: number): Section {
    const { starts, logStarts } = this.head
    const items = starts[blocks] as number // there are more
    const head = { ...this.head, items, starts: starts.slice(0, blocks), logStarts: logStarts.slice(0, blocks) }
    return new Section(this.id, head, this.#pages)
  }

  /** Returns the section with its level increased by one. */
  raised(): Section {
    return new Section(this.id, { ...this.head, level: this.head.level + 1 }, this.#pages)
  }

  probe(key: number): Postings | null {
    const fence = lastNotAbove(this.head.fences, key)
    if (fence < 0) return null
    const number = this.head.fencePages[fence] as number // one for each fence
    const page = this.#pages.get(this.id, number)
    const row = rowOf(page, key)
    if (row < 0) return null
    return { key, count: onlyPositionAt(page, row) < 0 ? listAt(page, row).count : 1, page: number, row }
  }

  read(postings: Postings, from: number, to: number, out: PositionList): void {
    const page = this.#pages.get(this.id, postings.page)
    const only = onlyPositionAt(page, postings.row)
    if (only >= 0) {
      if (only >= from && only < to) out.push(only)
      return
    }
    const list = listAt(page, postings.row)
    if (list.pages === 0) readPositions(page.bytes, list.at, list.count, from, to, out)
    else {
      for (let piece = firstPiece(page, list, from); piece < list.pages && pieceStart(page, list, piece) < to; piece++) {
        this.#readPiece(list, piece, from, to, out)
      }
    }
  }

  countWithin(postings: Postings, from: number, to: number): number {
    if (from <= 0 && to >= this.items) return Math.min(postings.count, this.items)
    const page = this.#pages.get(this.id, postings.page)
    const positions = new PositionList()
    if (onlyPositionAt(page, postings.row) >= 0 || listAt(page, postings.row).pages < 3) {
      this.read(postings, from, to, positions)
      return positions.size
    }
    const list = listAt(page, postings.row)
    // The first and last pages are read, those between are counted.
    const [first, last] = [firstPiece(page, list, from), firstPiece(page, list, to - 1)]
    this.#readPiece(list, first, from, to, positions)
    if (last === first) return positions.size
    this.#readPiece(list, last, from, to, positions)
    return positions.size + pieceBefore(page, list, last) - pieceBefore(page, list, first + 1)
  }

  #readPiece(list: List, piece: number, from: number, to: number, out: PositionList): void {
    const { bytes, rows } = this.#pages.get(this.id, list.firstPage + piece)
    readPositions(bytes, PAGE_HEAD, rows, from, to, out)
  }
}

/** Returns the page of a long list that contains `position`, if any does. */
function firstPiece(page: Page, list: List, position: number): number {
  let [low, high] = [0, list.pages - 1]
  while (low < high) {
    const middle = (low + high + 1) >>> 1
    if (pieceStart(page, list, middle) <= position) low = middle
    else high = middle - 1
  }
  return low
}

/** Returns -1 if all values are above. */
function lastNotAbove(values: Float64Array, value: number): number {
  let [low, high] = [0, values.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((values[middle] as number) <= value) low = middle + 1 // in range
    else high = middle
  }
  return low - 1
}
