import type { IndexLimits } from './limits.ts'
import { PAGE_HEAD, keyAt, listAt, onlyPositionAt, readPositions } from './page.ts'
import type { List, Page } from './page.ts'
import type { Pages } from './pages.ts'
import { PositionList } from './positionlist.ts'
import { Section } from './section.ts'
import { SectionWriter } from './sectionwriter.ts'
import { LoserTree } from './losertree.ts'

/** Merges adjacent sections into one in bounded steps. The result is invisible until it is complete. */
export class Merge {
  readonly id: number
  readonly inputs: readonly Section[]
  readonly #level: number
  readonly #pages: Pages
  readonly #writer: SectionWriter
  readonly #steps: Iterator<void>
  readonly #stepUnits: number
  readonly #unitsPerItem: number
  /** units of work: due so far, and left in this step */
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

  /** Does the work due after `items` more items. @returns the section once it is complete */
  advance(items: number): Section | null {
    return this.#work(items * this.#unitsPerItem)
  }

  /** Does one step. @returns as `advance` */
  step(): Section | null {
    return this.#work(this.#stepUnits)
  }

  #work(units: number): Section | null {
    this.#due += units
    while (this.#due >= this.#stepUnits) {
      this.#left = this.#stepUnits
      if (this.#steps.next().done === true) return this.#section()
      this.#due -= this.#stepUnits - this.#left
    }
    return null
  }

  /** In order of keys; a key's items follow each other in the order of the sections. */
  *#run(): Generator<void> {
    const writer = this.#writer
    const base = this.#first.firstItem
    const cursors = this.inputs.map((section) => new Cursor(section, section.firstItem - base, this.#pages))
    const rows = new LoserTree(cursors.map((cursor) => cursor.next()))
    for (let last = -1; ;) {
      const cursor = cursors[rows.winner] as Cursor // one for each input
      const { key } = cursor
      if (key !== last) {
        writer.end()
        if (key === Infinity) return
        if (this.#left <= 0) yield
        writer.key(key)
        last = key
      }
      const only = cursor.only()
      if (only >= 0) this.#left -= cursor.position(only, writer)
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

/** Iterates over the rows of a section. */
class Cursor {
  readonly #section: Section
  /** added to its positions */
  readonly #base: number
  readonly #pages: Pages
  readonly #positions = new PositionList()
  #page: Page | null = null
  /** key of the current row; Infinity after the last one */
  key = Infinity
  /** the next page of rows */
  #fence = 0
  #row = 0

  constructor(section: Section, base: number, pages: Pages) {
    this.#section = section
    this.#base = base
    this.#pages = pages
  }

  /** @returns the next row's key */
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

  /** Returns the row's only position, -1 if it has several. */
  only(): number {
    return onlyPositionAt(this.#page as Page, this.#row) // after next()
  }

  list(): List {
    return listAt(this.#page as Page, this.#row) // after next()
  }

  /** The write methods return the units of work. */
  position(position: number, writer: SectionWriter): number {
    if (position < this.#section.items) writer.position(this.#base + position)
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
    this.#positions.clear()
    readPositions(bytes, at, count, 0, this.#section.items, this.#positions)
    for (const position of this.#positions.view()) writer.position(this.#base + position)
    return count
  }
}

function total(sections: readonly Section[], of: (section: Section) => number): number {
  return sections.reduce((sum, section) => sum + of(section), 0)
}

/** Positions in the first section stay; those of the others are shifted by the items before them. */
function joined(sections: readonly Section[], of: (section: Section) => Uint32Array): Uint32Array {
  const all = new Uint32Array(total(sections, ({ blocks }) => blocks))
  let [at, base] = [0, 0]
  for (const section of sections) {
    for (const position of of(section)) all[at++] = position + base
    base += section.items
  }
  return all
}
