import { openPage, pageOf } from './page.ts'
import type { Page } from './page.ts'

/** Where the pages that were handed out by `changes` are read again. The bytes stay as they are for ever; throws or has them. */
export interface PageSource {
  page(section: number, page: number): Uint8Array
}

export interface NewPage {
  readonly section: number
  readonly page: number
  readonly bytes: Uint8Array
}

/** Pages of sections: what is not saved yet, a bounded number of read ones, and the source below. */
export class Pages {
  readonly #source: PageSource
  readonly #limit: number
  readonly #unsaved = new Map<number, NewPage>()
  // Two halves: what the older one has and nobody asks for is gone when the newer one is full.
  #newer = new Map<number, Page>()
  #older = new Map<number, Page>()

  /** @param limit pages kept as they were read */
  constructor(source: PageSource, limit: number) {
    this.#source = source
    this.#limit = limit
  }

  /** Throws CorruptSection. */
  get(section: number, page: number): Page {
    const name = nameOf(section, page)
    const known = this.#newer.get(name)
    if (known !== undefined) return known
    const found = this.#older.get(name) ?? this.load(section, page)
    if (this.#newer.size >= this.#limit / 2) {
      this.#older = this.#newer
      this.#newer = new Map()
    }
    this.#newer.set(name, found)
    return found
  }

  /** For those who read every page once: it is not kept. Throws CorruptSection. */
  load(section: number, page: number): Page {
    const unsaved = this.#unsaved.get(nameOf(section, page))
    return unsaved === undefined ? openPage(this.#source.page(section, page), section, page) : pageOf(unsaved.bytes)
  }

  add(page: NewPage): void {
    this.#unsaved.set(nameOf(page.section, page.page), page)
  }

  /** Nobody reads these sections any more. */
  forget(sections: ReadonlySet<number>): void {
    for (const pages of [this.#newer, this.#older, this.#unsaved]) {
      for (const name of pages.keys()) if (sections.has(sectionOf(name))) pages.delete(name)
    }
  }

  unsaved(): readonly NewPage[] {
    return [...this.#unsaved.values()]
  }

  /** The source has all that `unsaved` said. */
  saved(): void {
    this.#unsaved.clear()
  }
}

const SECTION_PAGES = 2 ** 24

function nameOf(section: number, page: number): number {
  return section * SECTION_PAGES + page
}

function sectionOf(name: number): number {
  return Math.floor(name / SECTION_PAGES)
}
