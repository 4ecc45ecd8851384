import type { Head } from './head.ts'
import { PAGE_HEAD, listAt, onlyPlaceAt, pieceBefore, pieceStart, readPlaces, rowOf } from './page.ts'
import type { List, Page } from './page.ts'
import type { Pages } from './pages.ts'
import type { Part, Postings } from './part.ts'
import { Places } from './places.ts'

/** Keys and items of a stretch of blocks, sorted once and never changed: what is cut off is only not answered any more. */
export class Section implements Part {
  readonly id: number
  readonly head: Head
  readonly firstBlock: number
  readonly firstItem: number
  readonly blocks: number
  readonly items: number
  readonly starts: Uint32Array
  readonly logStarts: Uint32Array
  readonly #pages: Pages

  constructor(id: number, head: Head, pages: Pages) {
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

  /** The same with its first blocks only; at least one, and fewer than it has. */
  cut(blocks: number): Section {
    const { starts, logStarts } = this.head
    const items = starts[blocks] as number // there are more
    const head = { ...this.head, items, starts: starts.slice(0, blocks), logStarts: logStarts.slice(0, blocks) }
    return new Section(this.id, head, this.#pages)
  }

  /** The same, counted as one of the next level. */
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
    return { key, count: onlyPlaceAt(page, row) < 0 ? listAt(page, row).count : 1, page: number, row }
  }

  read(postings: Postings, from: number, to: number, out: Places): void {
    const page = this.#pages.get(this.id, postings.page)
    const only = onlyPlaceAt(page, postings.row)
    if (only >= 0) {
      if (only >= from && only < to) out.push(only)
      return
    }
    const list = listAt(page, postings.row)
    if (list.pages === 0) readPlaces(page.bytes, list.at, list.count, from, to, out)
    else {
      for (let piece = firstPiece(page, list, from); piece < list.pages && pieceStart(page, list, piece) < to; piece++) {
        this.#readPiece(list, piece, from, to, out)
      }
    }
  }

  countWithin(postings: Postings, from: number, to: number): number {
    if (from <= 0 && to >= this.items) return Math.min(postings.count, this.items)
    const page = this.#pages.get(this.id, postings.page)
    const places = new Places()
    if (onlyPlaceAt(page, postings.row) >= 0 || listAt(page, postings.row).pages < 3) {
      this.read(postings, from, to, places)
      return places.size
    }
    const list = listAt(page, postings.row)
    // The pages at both ends are read, those between are counted.
    const [first, last] = [firstPiece(page, list, from), firstPiece(page, list, to - 1)]
    this.#readPiece(list, first, from, to, places)
    if (last === first) return places.size
    this.#readPiece(list, last, from, to, places)
    return places.size + pieceBefore(page, list, last) - pieceBefore(page, list, first + 1)
  }

  #readPiece(list: List, piece: number, from: number, to: number, out: Places): void {
    const { bytes, rows } = this.#pages.get(this.id, list.firstPage + piece)
    readPlaces(bytes, PAGE_HEAD, rows, from, to, out)
  }
}

/** The page of a long list in which `place` stands if the list has it. */
function firstPiece(page: Page, list: List, place: number): number {
  let [low, high] = [0, list.pages - 1]
  while (low < high) {
    const middle = (low + high + 1) >>> 1
    if (pieceStart(page, list, middle) <= place) low = middle
    else high = middle - 1
  }
  return low
}

/** -1 when all are above. */
function lastNotAbove(values: Float64Array, value: number): number {
  let [low, high] = [0, values.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((values[middle] as number) <= value) low = middle + 1 // in range
    else high = middle
  }
  return low - 1
}
