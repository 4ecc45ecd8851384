import type { Database, open, RootDatabase } from 'lmdb'
import { COMMIT_ROOM_BYTES, FIRST_MAP_BYTES, MAX_TABLES } from '../limits.ts'
import { DataFile } from './datafile.ts'
import { fileError } from './directory.ts'
import { StorageError } from './backend.ts'
import { loadLmdb } from './library.ts'

/** A named LMDB database, ordered by the bytes of its keys. */
export type Table = Database<Uint8Array, Uint8Array>

/** The databases in the file. Numbers in keys are 4 bytes, big-endian. */
export interface Tables {
  /** a few texts: chain metadata, storage metadata, the record of the open block */
  readonly about: Table
  /** text → value */
  readonly records: Table
  /** block | part → bytes of its record */
  readonly blocks: Table
  /** id → header */
  readonly sections: Table
  /** section | page → bytes */
  readonly pages: Table
  /** state key → cell: the current value */
  readonly head: Table
  /** state key | block → the cell written in that block, replaced later */
  readonly past: Table
  /** block | piece → the keys that the block changed */
  readonly changes: Table
  /** hash → code */
  readonly codes: Table
}

const NAMES = ['about', 'records', 'blocks', 'sections', 'pages', 'head', 'past', 'changes', 'codes'] as const satisfies (keyof Tables)[]

/**
 * The LMDB environment. The library is loaded on first use, never for a chain in memory. After a failed write the environment is reopened:
 * after some failures LMDB refuses every write until then.
 */
export class Environment {
  readonly #open: typeof open
  readonly #path: string
  #root: RootDatabase<Uint8Array, Uint8Array>
  #tables: Tables
  #isWriting = false
  /** what the next write needs at least because one failed for lack of room; 0 otherwise */
  #neededBytes = 0
  readonly #file: DataFile

  /** Throws what LMDB throws. */
  static async open(path: string): Promise<Environment> {
    const lmdb = await loadLmdb()
    return new Environment(lmdb.open, path)
  }

  constructor(load: typeof open, path: string) {
    this.#open = load
    this.#path = path
    this.#root = this.#openRoot()
    this.#tables = this.#openTables()
    this.#file = new DataFile(path)
  }

  get tables(): Tables {
    return this.#tables
  }

  /** True while a write transaction is open. */
  get isWriting(): boolean {
    return this.#isWriting
  }

  /**
   * Runs one write transaction, durable when this returns. If `work` throws, nothing is written, and its error is thrown; LMDB's own errors
   * become StorageError. `work` may run twice: a commit fails rarely, as LMDB writes its list of free pages (lmdb 3.5.6: "reserved freelist had a data
   * entry with zero-size"), and succeeds after it has read the list again. `sizeBytes`: what the change takes at most, beyond COMMIT_ROOM_BYTES.
   */
  write<T>(work: () => T, sizeBytes = 0): T {
    const neededBytes = Math.max(COMMIT_ROOM_BYTES + sizeBytes, this.#neededBytes)
    this.#checkRoom(neededBytes)
    this.#file.reserve()
    this.#isWriting = true
    try {
      const result = this.#attempt(work, (error) => {
        if (error.code !== BAD_TRANSACTION) throw this.#refusal(error)
        return this.#attempt(work, (again) => {
          throw this.#refusal(again)
        })
      })
      this.#neededBytes = 0
      return result
    } catch (error) {
      if (error instanceof StorageError && error.reason === 'full') this.#neededBytes = 2 * neededBytes
      throw error
    } finally {
      this.#isWriting = false
    }
  }

  sizeBytes(): number {
    return this.#file.sizeBytes()
  }

  async close(): Promise<void> {
    this.#file.close()
    await this.#root.close()
  }

  /**
   * Throws StorageError (full) without a transaction: LMDB corrupts the process's memory when it finds the disk full as it writes pages of a
   * large transaction. After a failure the file must also grow, because a quota or a limit of its size can be the cause.
   */
  #checkRoom(neededBytes: number): void {
    try {
      this.#file.checkRoom(neededBytes)
    } catch (error) {
      throw fileError(error, this.#path)
    }
    const error = this.#neededBytes === 0 ? null : this.#file.growthError(neededBytes)
    if (error !== null) throw fileError(error, this.#path)
  }

  /** After LMDB's own errors nothing is written, and the environment is open again. */
  #attempt<T>(work: () => T, onError: (error: LmdbError) => T): T {
    try {
      return this.#root.transactionSync(work)
    } catch (error) {
      if (!isLmdbError(error)) throw error
      this.#reopen()
      return onError(error)
    }
  }

  /** LMDB reports a short write as EIO; whether the file can grow distinguishes a full disk from a broken one. */
  #refusal(error: LmdbError): StorageError {
    return fileError(error.code === EIO ? (this.#file.growthError() ?? error) : error, this.#path)
  }

  #reopen(): void {
    void this.#root.close() // Closes synchronously: no asynchronous write was started.
    this.#root = this.#openRoot()
    this.#tables = this.#openTables()
  }

  #openRoot(): RootDatabase<Uint8Array, Uint8Array> {
    return this.#open<Uint8Array, Uint8Array>(this.#path, {
      ...BYTES,
      noSubdir: true,
      maxDbs: MAX_TABLES,
      mapSize: FIRST_MAP_BYTES,
      // durable when the commit returns
      overlappingSync: false,
    })
  }

  /** Throws StorageError instead of creating a database that should exist. */
  #openTables(): Tables {
    const known = new Set([...this.#root.getKeys()].map((name) => Buffer.from(name).toString().replace('\0', '')))
    const isWhole = NAMES.every((name) => known.has(name))
    if (!isWhole && [...known].some((name) => !this.#isEmpty(name))) throw missingTable(this.#path)
    const tables = NAMES.map((name) => [name, this.#root.openDB({ name, ...BYTES })])
    return Object.fromEntries(tables) as Tables // one for each name
  }

  #isEmpty(name: string): boolean {
    const table = this.#root.openDB({ name, ...BYTES })
    return table.getKeysCount({ limit: 1 }) === 0
  }
}

const BYTES = { encoding: 'binary', keyEncoding: 'binary', cache: false } as const

const EIO = 5
const BAD_TRANSACTION = -30_782

/** An error of the library, with LMDB's or the system's code. */
type LmdbError = Error & { readonly code: number }

function isLmdbError(error: unknown): error is LmdbError {
  return error instanceof Error && 'code' in error && typeof error.code === 'number' && !(error instanceof StorageError)
}

/** Runs a read. Throws StorageError (corrupt) for any error of the library. */
export function guardedRead<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof StorageError) throw error
    const why = error instanceof Error ? error.message : String(error)
    throw new StorageError(
      'corrupt',
      `the data directory cannot be read (${why}); restore it from a copy, or use another --data directory`,
      error,
    )
  }
}

/** Copies a value: the library reuses its read buffer. Returns a Uint8Array, not a Buffer. */
export function copyOf(bytes: Uint8Array | undefined): Uint8Array | null {
  return bytes === undefined ? null : new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length)
}

/** A key of one or two numbers. */
export function numberKey(first: number, second?: number): Buffer {
  const key = Buffer.allocUnsafe(second === undefined ? 4 : 8)
  key.writeUInt32BE(first, 0)
  if (second !== undefined) key.writeUInt32BE(second, 4)
  return key
}

function missingTable(path: string): StorageError {
  return new StorageError('corrupt', `${path} has lost one of its parts; restore it from a copy, or choose another --data directory`)
}
