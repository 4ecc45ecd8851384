import { JsonRecords } from '../jsonrpc/index.ts'
import type { Records } from '../jsonrpc/index.ts'
import { EntryJson } from './entry.ts'
import type { Entry } from './entry.ts'
import { REFUSALS, REFUSALS_TOGETHER } from './limits.ts'

const PAGES = 'sponsor/refusals/'

/**
 * The newest refusals, several in a record. They are written when `flush` is called and not before: nothing hangs on them, and whoever has requests
 * refused does not keep the disk busy.
 */
export class Refusals {
  readonly #records: Records
  /** the oldest first */
  #pages: Page[]
  /** keys of pages that were written and are no longer kept */
  readonly #gone: string[] = []

  /** `onError` gets what a record that cannot be read says; it is left out. */
  constructor(records: Records, onError: (error: unknown) => void) {
    this.#records = records
    this.#pages = JsonRecords.entries(records, PAGES).flatMap(([key, value]) => {
      try {
        const entries = (value as readonly unknown[]).map(EntryJson.read) // only `flush` writes it
        return [{ key, entries, isWritten: true, wasWritten: true }]
      } catch (error) {
        onError(new Error(`the record ${key} holds no refusals of the sponsor's ledger and is left out`, { cause: error }))
        return []
      }
    })
  }

  get all(): readonly Entry[] {
    return this.#pages.flatMap(({ entries }) => entries)
  }

  /** of those that are kept; 0: there are none */
  get lastId(): number {
    return this.#pages.at(-1)?.entries.at(-1)?.id ?? 0
  }

  add(entry: Entry): void {
    const last = this.#pages.at(-1)
    if (last === undefined || last.entries.length >= REFUSALS_TOGETHER)
      this.#pages.push({ key: EntryJson.key(PAGES, entry.id), entries: [entry], isWritten: false, wasWritten: false })
    else this.#pages[this.#pages.length - 1] = { ...last, entries: [...last.entries, entry], isWritten: false }
    const [oldest] = this.#pages
    if (this.#pages.length <= REFUSALS / REFUSALS_TOGETHER || oldest === undefined) return
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
  /** after its first entry's id: pages lie in their order */
  readonly key: string
  readonly entries: readonly Entry[]
  /** as it is now */
  readonly isWritten: boolean
  /** at all */
  readonly wasWritten: boolean
}
