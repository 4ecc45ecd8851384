import { MANY, highOf, lowOf } from './keys.ts'
import { LONG, PAGE_HEAD, PIECE_BYTES, checksum } from './page.ts'
import type { NewPage } from './pages.ts'

interface WriterLimits {
  readonly pageBytes: number
  readonly inlineBytes: number
}

export interface WrittenSections {
  readonly fences: Float64Array
  readonly fencePages: Uint32Array
  readonly units: number
}

/** Writes the pages of sections. Per section: `begin`; per key, ascending: `key`, `position` for each ascending position, `end`; then `finish`. */
export class SectionWriter {
  readonly #limits: WriterLimits
  readonly #emit: (page: NewPage) => void
  #section = 0
  #fences: number[] = []
  #fencePages: number[] = []
  #pages = 0
  #units = 0

  // the current page
  #rows = new Uint32Array(1_024)
  #rowCount = 0
  #lists = new Uint8Array(1_024)
  #listsSize = 0

  // the current key
  #key = 0
  #count = 0
  #first = 0
  #last = 0
  /** its positions as varints, if it has several; of a long list, those without a page yet */
  readonly #run: Uint8Array
  #runSize = 0
  #runFirst = 0
  /** positions on pages of the long list */
  #paged = 0
  /** per such page: first position, positions before it */
  #pieces: number[] = []

  constructor(limits: WriterLimits, emit: (page: NewPage) => void) {
    this.#limits = limits
    this.#emit = emit
    this.#run = new Uint8Array(limits.pageBytes)
  }

  begin(section: number): void {
    this.#section = section
    this.#fences = []
    this.#fencePages = []
    this.#pages = 0
    this.#units = 0
    this.#rowCount = 0
    this.#listsSize = 0
    this.#count = 0
  }

  key(key: number): void {
    this.#key = key
    this.#count = 0
  }

  position(position: number): void {
    if (this.#count === 0) this.#first = position
    else {
      if (this.#count === 1) this.#beginList()
      else if (this.#runSize > this.#limits.pageBytes - PAGE_HEAD - VARINT_BYTES) this.#turnPage(position)
      this.#runSize = putVarint(this.#run, this.#runSize, position - this.#last)
    }
    this.#last = position
    this.#count++
  }

  /** A key without positions is not written. */
  end(): void {
    if (this.#count === 0) return
    this.#units += this.#count + 1
    if (this.#count === 1) this.#addRow(this.#first, 0)
    else if (this.#paged > 0 || this.#runSize > this.#limits.inlineBytes) this.#addLongRow()
    else {
      const at = this.#addRow(MANY, VARINT_BYTES + this.#runSize)
      const begin = putVarint(this.#lists, at, this.#count)
      for (let i = 0; i < this.#runSize; i++) this.#lists[begin + i] = this.#run[i] as number // most are a few bytes
      this.#listsSize = begin + this.#runSize
    }
  }

  finish(): WrittenSections {
    if (this.#rowCount > 0) this.#finishPage()
    return { fences: Float64Array.from(this.#fences), fencePages: Uint32Array.from(this.#fencePages), units: this.#units }
  }

  #beginList(): void {
    this.#runFirst = this.#first
    this.#runSize = putVarint(this.#run, 0, this.#first)
    this.#paged = 0
    if (this.#pieces.length > 0) this.#pieces = []
  }

  /** Writes the run to a page and starts a new one at `position`. */
  #turnPage(position: number): void {
    this.#addPiece()
    this.#runFirst = position
    this.#runSize = 0
    this.#last = 0
  }

  #addPiece(): void {
    this.#pieces.push(this.#runFirst, this.#paged)
    const { bytes, words } = blank(PAGE_HEAD + this.#runSize)
    words[1] = this.#count - this.#paged
    bytes.set(this.#run.subarray(0, this.#runSize), PAGE_HEAD)
    this.#addPage(bytes, words)
    this.#paged = this.#count
  }

  #addLongRow(): void {
    this.#addPiece()
    const pages = this.#pieces.length / 2
    const firstPage = this.#pages - pages
    let at = this.#addRow(MANY | LONG, 3 * VARINT_BYTES + PIECE_BYTES * pages)
    for (const value of [this.#count, firstPage, pages]) at = putVarint(this.#lists, at, value)
    for (const value of this.#pieces) for (let shift = 0; shift < 32; shift += 8) this.#lists[at++] = value >>> shift
    this.#listsSize = at
  }

  /** @returns the offset in the page's lists at which `room` bytes are free */
  #addRow(low: number, room: number): number {
    const size = PAGE_HEAD + 8 * (this.#rowCount + 1) + this.#listsSize + room
    if (size > this.#limits.pageBytes && this.#rowCount > 0) this.#finishPage()
    if (this.#rowCount === 0) this.#fences.push(this.#key)
    if (2 * this.#rowCount === this.#rows.length) this.#rows = grown(this.#rows, new Uint32Array(this.#rows.length * 2))
    if (this.#listsSize + room > this.#lists.length) this.#lists = grown(this.#lists, new Uint8Array((this.#listsSize + room) * 2))
    const row = 2 * this.#rowCount++
    this.#rows[row] = lowOf(this.#key) | low | ((low & MANY) === 0 ? 0 : this.#listsSize)
    this.#rows[row + 1] = highOf(this.#key)
    return this.#listsSize
  }

  #finishPage(): void {
    const rowBytes = 8 * this.#rowCount
    const { bytes, words } = blank(PAGE_HEAD + rowBytes + this.#listsSize)
    words[1] = this.#rowCount
    words.set(this.#rows.subarray(0, 2 * this.#rowCount), 2)
    bytes.set(this.#lists.subarray(0, this.#listsSize), PAGE_HEAD + rowBytes)
    this.#fencePages.push(this.#pages)
    this.#addPage(bytes, words)
    this.#rowCount = 0
    this.#listsSize = 0
  }

  #addPage(bytes: Uint8Array, words: Uint32Array): void {
    const page = this.#pages++
    words[0] = checksum(words, 1, this.#section, page)
    this.#emit({ section: this.#section, page, bytes })
  }
}

/** longest varint written here */
const VARINT_BYTES = 5

/** @returns the end */
function putVarint(bytes: Uint8Array, at: number, value: number): number {
  while (value > 127) {
    bytes[at++] = (value & 127) | 128
    value >>>= 7
  }
  bytes[at++] = value
  return at
}

/** Sized in whole words. */
function blank(size: number): { readonly bytes: Uint8Array; readonly words: Uint32Array } {
  const words = new Uint32Array((size + 3) >>> 2)
  return { bytes: new Uint8Array(words.buffer), words }
}

function grown<T extends Uint8Array | Uint32Array>(from: T, to: T): T {
  to.set(from)
  return to
}
