import { JsonRecords } from '../jsonrpc/index.ts'
import type { Records } from '../jsonrpc/index.ts'
import { EntryJson } from './entry.ts'
import type { Entry } from './entry.ts'
import { REFUSALS, REFUSALS_PER_RECORD } from './limits.ts'

const PAGES = 'sponsor/refusals/'

/**
 * The newest refusals, several per record. They are written by `flush` only: no budget depends on them, and refused requests cause no disk
 * writes.
 */
export class Refusals {
  readonly #records: Records
  /** the oldest first */
  #pages: Page[]
  /** keys of stored pages that are no longer kept */
  readonly #gone: string[] = []

  /** `onError` receives errors of records that cannot be decoded; they are skipped. */
  constructor(records: Records, onError: (error: unknown) => void) {
    this.#records = records
    this.#pages = JsonRecords.entries(records, PAGES).flatMap(([key, value]) => {
      try {
        const entries = (value as readonly unknown[]).map(EntryJson.read) // only `flush` writes it
        return [{ key, entries, isWritten: true, wasWritten: true }]
      } catch (error) {
        onError(new Error(`the record ${key} does not contain refusals of the sponsor's ledger and is ignored`, { cause: error }))
        return []
      }
    })
  }

  get all(): readonly Entry[] {
    return this.#pages.flatMap(({ entries }) => entries)
  }

  /** the newest id; 0 without refusals */
  get lastId(): number {
    return this.#pages.at(-1)?.entries.at(-1)?.id ?? 0
  }

  add(entry: Entry): void {
    const last = this.#pages.at(-1)
    if (last === undefined || last.entries.length >= REFUSALS_PER_RECORD)
      this.#pages.push({ key: EntryJson.key(PAGES, entry.id), entries: [entry], isWritten: false, wasWritten: false })
    else this.#pages[this.#pages.length - 1] = { ...last, entries: [...last.entries, entry], isWritten: false }
    const [oldest] = this.#pages
    if (this.#pages.length <= REFUSALS / REFUSALS_PER_RECORD || oldest === undefined) return
    this.#pages = this.#pages.slice(1)
    if (oldest.wasWritten) this.#gone.push(oldest.key)
  }

  flush(): void {
    for (const key of this.#gone.splice(0)) JsonRecords.put(this.#records, key, null)
    for (const [i, page] of this.#pages.entries()) {
      if (page.isWritten) continue
      JsonRecords.put(this.#records, page.key, page.entries.map(EntryJson.write))
      this.#pages[i] = { ...page, isWritten: true, wasWritten: true }
    }
  }
}

interface Page {
  /** contains the id of the first entry, so that pages sort by id */
  readonly key: string
  readonly entries: readonly Entry[]
  /** the stored page is up to date */
  readonly isWritten: boolean
  /** the page is stored */
  readonly wasWritten: boolean
}
