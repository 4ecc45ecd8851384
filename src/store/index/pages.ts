import { openPage, pageOf } from './page.ts'
import type { Page } from './page.ts'

/** Reads pages that `changes` returned before. The bytes are immutable. Throws if the page is missing. */
export interface PageSource {
  page(section: number, page: number): Uint8Array
}

export interface NewPage {
  readonly section: number
  readonly page: number
  readonly bytes: Uint8Array
}

/** Pages of sections: unsaved ones, a bounded cache of verified ones, and the source. */
export class Pages {
  readonly #source: PageSource
  readonly #limit: number
  readonly #unsaved = new Map<number, NewPage>()
  // Two generations: when the newer one is full, the older one is dropped.
  #newer = new Map<number, Page>()
  #older = new Map<number, Page>()

  /** @param limit pages in the cache */
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

  /** Reads a page without caching it, for sequential readers. Throws CorruptSection. */
  load(section: number, page: number): Page {
    const unsaved = this.#unsaved.get(nameOf(section, page))
    return unsaved === undefined ? openPage(this.#source.page(section, page), section, page) : pageOf(unsaved.bytes)
  }

  add(page: NewPage): void {
    this.#unsaved.set(nameOf(page.section, page.page), page)
  }

  /** Drops all pages of removed sections. */
  forget(sections: ReadonlySet<number>): void {
    for (const pages of [this.#newer, this.#older, this.#unsaved]) {
      for (const name of pages.keys()) if (sections.has(sectionOf(name))) pages.delete(name)
    }
  }

  get unsavedCount(): number {
    return this.#unsaved.size
  }

  unsaved(): readonly NewPage[] {
    return [...this.#unsaved.values()]
  }

  /** Called when the source has the pages of `unsaved`. */
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
