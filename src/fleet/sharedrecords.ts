import type { Records } from '../store/index.ts'

/** A record that was written; null: it was removed. */
export type RecordChange = readonly [key: string, value: Uint8Array | null]

/** The records that the processes of a fleet share: those of wallet, sponsor and bundler, and of the policies. Others belong to one process. */
const SHARED = ['wallet/', 'sponsor/', 'bundler/', 'policies/']

/** Records that report what was written of those that a fleet shares. */
export class SharedRecords implements Records {
  readonly #records: Records
  #onChange: ((change: RecordChange) => void) | null = null

  constructor(records: Records) {
    this.#records = records
  }

  /** Reports the changes from now on; null ends that. */
  record(onChange: ((change: RecordChange) => void) | null): void {
    this.#onChange = onChange
  }

  /** Replaces all shared records. */
  replace(entries: Iterable<readonly [string, Uint8Array]>): void {
    this.#records.transaction(() => {
      for (const prefix of SHARED) for (const [key] of [...this.#records.entries(prefix)]) this.#records.put(key, null)
      for (const [key, value] of entries) this.#records.put(key, value)
    })
  }

  get(key: string): Uint8Array | null {
    return this.#records.get(key)
  }

  put(key: string, value: Uint8Array | null): void {
    this.#records.put(key, value)
    if (SHARED.some((prefix) => key.startsWith(prefix))) this.#onChange?.([key, value])
  }

  entries(prefix: string): Iterable<[string, Uint8Array]> {
    return this.#records.entries(prefix)
  }

  transaction<T>(work: () => T): T {
    return this.#records.transaction(work)
  }
}
