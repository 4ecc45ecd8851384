import { Hash } from '../../eth/index.ts'
import { STORED_PROMISES } from '../limits.ts'
import type { PromiseRecord } from './promiserecord.ts'

/** Durable bytes under text keys; the ledger's begin with `promises/`. */
export interface LedgerStorage {
  get(key: string): Uint8Array | null
  /** Durable when it returns. Null removes the record. */
  put(key: string, value: Uint8Array | null): void
  /** Writes all puts of `work`, or none. */
  transaction?<T>(work: () => T): T
}

const NEXT = 'promises/next'

/**
 * The settled records of a ledger in durable storage: the newest STORED_PROMISES of them. Each value has a checksum; a damaged one is reported
 * and reads as absent.
 */
export class LedgerRecords {
  readonly #storage: LedgerStorage
  readonly #onDamage: (error: Error) => void

  constructor(storage: LedgerStorage, onDamage: (error: Error) => void) {
    this.#storage = storage
    this.#onDamage = onDamage
  }

  /** The first unused id; 0 if it is damaged, so that the ledger begins again. */
  get nextId(): number {
    return (this.#read(NEXT) as number | null) ?? 0 // written by `write`
  }

  get(id: number): PromiseRecord | null {
    return this.#read(recordKey(id)) as PromiseRecord | null // written by `write`
  }

  /** Returns the newest record of a transaction. */
  find(hash: Hash): PromiseRecord | null {
    const id = this.#read(hashKey(hash)) as number | null // written by `write`
    return id === null ? null : this.get(id)
  }

  /** Writes all, or none. Throws store errors. */
  write(records: readonly PromiseRecord[], nextId: number): void {
    const write = () => {
      for (const record of records) {
        this.#put(recordKey(record.id), record)
        this.#put(hashKey(record.hash), record.id)
        this.#forget(record.id - STORED_PROMISES)
      }
      this.#put(NEXT, nextId)
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

  #read(key: string): unknown {
    const bytes = this.#storage.get(key)
    if (bytes === null) return null
    const text = bytes.subarray(CHECKSUM_BYTES)
    if (checksum(text).every((byte, i) => byte === bytes[i])) return JSON.parse(new TextDecoder().decode(text))
    this.#onDamage(new Error(`the ledger of promises is damaged at ${key}; the record is left out`))
    return null
  }

  #put(key: string, value: PromiseRecord | number): void {
    const text = new TextEncoder().encode(JSON.stringify(value))
    const bytes = new Uint8Array(CHECKSUM_BYTES + text.length)
    bytes.set(checksum(text))
    bytes.set(text, CHECKSUM_BYTES)
    this.#storage.put(key, bytes)
  }
}

const CHECKSUM_BYTES = 4

function checksum(text: Uint8Array): Uint8Array {
  return Hash.toBytes(Hash.keccak(text)).subarray(0, CHECKSUM_BYTES)
}

function recordKey(id: number): string {
  return `promises/id/${String(id).padStart(12, '0')}`
}

function hashKey(hash: Hash): string {
  return `promises/hash/${hash}`
}
