import type { Hash } from '../../eth/index.ts'
import { STORED_PROMISES } from '../limits.ts'
import { PromiseRecord } from './promiserecord.ts'

/** Durable bytes under text keys; the ledger's begin with `promises/`. */
export interface LedgerStorage {
  get(key: string): Uint8Array | null
  /** Durable when it returns. Null removes the record. */
  put(key: string, value: Uint8Array | null): void
  /** Writes all puts of `work`, or none. */
  transaction?<T>(work: () => T): T
}

const NEXT = 'promises/next'

/** The settled records of a ledger in durable storage: the newest STORED_PROMISES of them. */
export class LedgerRecords {
  readonly #storage: LedgerStorage

  constructor(storage: LedgerStorage) {
    this.#storage = storage
  }

  /** The first unused id. */
  get nextId(): number {
    const bytes = this.#storage.get(NEXT)
    return bytes === null ? 0 : Number(new TextDecoder().decode(bytes))
  }

  get(id: number): PromiseRecord | null {
    const bytes = this.#storage.get(recordKey(id))
    return bytes === null ? null : PromiseRecord.decode(bytes)
  }

  /** Returns the newest record of a transaction. */
  find(hash: Hash): PromiseRecord | null {
    const bytes = this.#storage.get(hashKey(hash))
    return bytes === null ? null : this.get(Number(new TextDecoder().decode(bytes)))
  }

  /** Writes all, or none. Throws store errors. */
  write(records: readonly PromiseRecord[], nextId: number): void {
    const write = () => {
      for (const record of records) {
        this.#storage.put(recordKey(record.id), PromiseRecord.encode(record))
        this.#storage.put(hashKey(record.hash), TEXT.encode(String(record.id)))
        this.#forget(record.id - STORED_PROMISES)
      }
      this.#storage.put(NEXT, TEXT.encode(String(nextId)))
    }
    if (this.#storage.transaction === undefined) write()
    else this.#storage.transaction(write)
  }

  #forget(id: number): void {
    const old = id < 0 ? null : this.get(id)
    if (old === null) return
    this.#storage.put(recordKey(id), null)
    if (this.find(old.hash) === null) this.#storage.put(hashKey(old.hash), null)
  }
}

function recordKey(id: number): string {
  return `promises/id/${String(id).padStart(12, '0')}`
}

function hashKey(hash: Hash): string {
  return `promises/hash/${hash}`
}

const TEXT = new TextEncoder()
