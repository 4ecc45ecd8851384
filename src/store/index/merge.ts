import type { IndexLimits } from './limits.ts'
import { PAGE_HEAD, keyAt, listAt, onlyPlaceAt, readPlaces } from './page.ts'
import type { List, Page } from './page.ts'
import type { Pages } from './pages.ts'
import { Places } from './places.ts'
import { Section } from './section.ts'
import { SectionWriter } from './sectionwriter.ts'
import { Tournament } from './tournament.ts'

/** Neighbouring sections on their way to be one, a step at a time. What it makes is read by nobody until it is done. */
export class Merge {
  readonly id: number
  readonly inputs: readonly Section[]
  readonly #level: number
  readonly #pages: Pages
  readonly #writer: SectionWriter
  readonly #steps: Iterator<void>
  readonly #stepUnits: number
  readonly #unitsPerItem: number
  /** units of work: what is due by now, and what this step may still do */
  #due = 0
  #left = 0

  /** @param inputs two or more */
  constructor(id: number, inputs: readonly Section[], level: number, pages: Pages, limits: IndexLimits) {
    this.id = id
    this.inputs = inputs
    this.#level = level
    this.#pages = pages
    this.#stepUnits = limits.stepUnits
    this.#writer = new SectionWriter(limits, (page) => pages.add(page))
    this.#writer.begin(id)
    this.#unitsPerItem = (limits.mergePace * total(inputs, ({ head }) => head.units)) / total(inputs, ({ items }) => items)
    this.#steps = this.#run()
  }

  /** So many items were appended: does its share. @returns the section, when it is done */
  advance(items: number): Section | null {
    this.#due += items * this.#unitsPerItem
    while (this.#due > this.#stepUnits) {
      this.#left = this.#stepUnits
      if (this.#steps.next().done === true) return this.#section()
      this.#due -= this.#stepUnits - this.#left
    }
    return null
  }

  /** Key by key; the items of a key follow each other as the sections do. */
  *#run(): Generator<void> {
    const writer = this.#writer
    const base = this.#first.firstItem
    const cursors = this.inputs.map((section) => new Cursor(section, section.firstItem - base, this.#pages))
    const rows = new Tournament(cursors.map((cursor) => cursor.next()))
    for (let last = -1; ;) {
      const cursor = cursors[rows.winner] as Cursor // one for each row of keys
      const { key } = cursor
      if (key !== last) {
        writer.end()
        if (key === Infinity) return
        if (this.#left <= 0) yield
        writer.key(key)
        last = key
      }
      const only = cursor.only()
      if (only >= 0) this.#left -= cursor.place(only, writer)
      else {
        const list = cursor.list()
        if (list.pages === 0) this.#left -= cursor.copy(list, writer)
        for (let piece = 0; piece < list.pages; piece++) {
          this.#left -= cursor.copyPiece(list, piece, writer)
          if (this.#left <= 0) yield
        }
      }
      rows.replace(cursor.next())
    }
  }

  #section(): Section {
    const { firstBlock, firstItem } = this.#first
    const head = {
      level: this.#level,
      firstBlock,
      firstItem,
      items: total(this.inputs, ({ items }) => items),
      starts: joined(this.inputs, ({ starts }) => starts),
      logStarts: joined(this.inputs, ({ logStarts }) => logStarts),
      ...this.#writer.finish(),
    }
    return new Section(this.id, head, this.#pages)
  }

  get #first(): Section {
    return this.inputs[0] as Section // there are two or more
  }
}

/** Goes through the rows of a section. */
class Cursor {
  readonly #section: Section
  /** what is added to its places */
  readonly #base: number
  readonly #pages: Pages
  readonly #places = new Places()
  #page: Page | null = null
  /** of its row; Infinity behind the last */
  key = Infinity
  /** its next page of rows */
  #fence = 0
  #row = 0

  constructor(section: Section, base: number, pages: Pages) {
    this.#section = section
    this.#base = base
    this.#pages = pages
  }

  /** @returns the key of the next row */
  next(): number {
    this.#row++
    if (this.#page === null || this.#row === this.#page.rows) {
      const { id, head } = this.#section
      const page = head.fencePages[this.#fence++]
      if (page === undefined) return (this.key = Infinity)
      this.#page = this.#pages.load(id, page)
      this.#row = 0
    }
    return (this.key = keyAt(this.#page, this.#row))
  }

  /** The place of the row's only item, or -1. */
  only(): number {
    return onlyPlaceAt(this.#page as Page, this.#row) // next() was before
  }

  list(): List {
    return listAt(this.#page as Page, this.#row) // next() was before
  }

  /** As all that write, it returns the units of work. */
  place(place: number, writer: SectionWriter): number {
    if (place < this.#section.items) writer.place(this.#base + place)
    return 2
  }

  copy({ at, count }: List, writer: SectionWriter): number {
    return this.#copyPlaces((this.#page as Page).bytes, at, count, writer) + 1
  }

  copyPiece(list: List, piece: number, writer: SectionWriter): number {
    const { bytes, rows } = this.#pages.load(this.#section.id, list.firstPage + piece)
    return this.#copyPlaces(bytes, PAGE_HEAD, rows, writer)
  }

  #copyPlaces(bytes: Uint8Array, at: number, count: number, writer: SectionWriter): number {
    this.#places.clear()
    readPlaces(bytes, at, count, 0, this.#section.items, this.#places)
    for (const place of this.#places.view()) writer.place(this.#base + place)
    return count
  }
}

function total(sections: readonly Section[], of: (section: Section) => number): number {
  return sections.reduce((sum, section) => sum + of(section), 0)
}

/** Places in the first section stay; those in the others begin where the one before ended. */
function joined(sections: readonly Section[], of: (section: Section) => Uint32Array): Uint32Array {
  const all = new Uint32Array(total(sections, ({ blocks }) => blocks))
  let [at, base] = [0, 0]
  for (const section of sections) {
    for (const place of of(section)) all[at++] = place + base
    base += section.items
  }
  return all
}
