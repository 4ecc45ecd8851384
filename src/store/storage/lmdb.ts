import type { Hash } from '../../eth/index.ts'
import type { WriteSet } from '../../evm/index.ts'
import { CHANGED_KEY_BYTES, CHANGED_KEY_PAGES_BYTES, RECORD_PART_BYTES } from '../limits.ts'
import { Directory, fileError } from './directory.ts'
import { OpenBlockLog } from './openblocklog.ts'
import { loadLmdb } from './library.ts'
import { DirectoryLock } from './lock.ts'
import { checkBlocks, missingPage } from './memory.ts'
import { LmdbRecords } from './records.ts'
import { StorageError } from './backend.ts'
import type { Records, SectionEntry, StorageBackend, StorageBlock, StorageChange, ChainMetadata } from './backend.ts'
import {
  readOpenBlockRecord,
  putChainMetadata,
  putOpenBlockRecord,
  putSections,
  putMetadata,
  readMetadata,
  readSections,
} from './metadata.ts'
import type { MutableMetadata, Metadata } from './metadata.ts'
import { LmdbState } from './state.ts'
import { Environment, copyOf, numberKey, guardedRead } from './environment.ts'
import type { Tables } from './environment.ts'

/**
 * Opens the storage in a directory, which is created if it is missing. Throws StorageError, whose message contains the remedy; the
 * directory is then unchanged.
 */
export async function openLmdb(path: string): Promise<StorageBackend> {
  await loadLmdb() // before the directory is created
  const directory = new Directory(path)
  directory.prepare()
  directory.allocateLocks()
  const lock = await refusing(directory, () => DirectoryLock.take(directory.lock, directory.path, () => directory.check('lock')))
  try {
    directory.check('data')
    const storage = await refusing(directory, () => LmdbStorage.open(directory, lock))
    if (storage.meta === null) directory.syncNames()
    return storage
  } catch (error) {
    await lock.release()
    throw error
  }
}

async function refusing<T>(directory: Directory, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw fileError(error, directory.path)
  }
}

/** Each commit is one LMDB transaction. */
class LmdbStorage implements StorageBackend {
  readonly isVolatile = false
  readonly state: LmdbState
  readonly records: Records
  readonly #directory: Directory
  readonly #lock: DirectoryLock
  readonly #environment: Environment
  readonly firstBlock = 0
  readonly #openBlockLog: OpenBlockLog
  #metadata: Metadata
  #openBlockRecord: Uint8Array | null

  static async open(directory: Directory, lock: DirectoryLock): Promise<LmdbStorage> {
    const environment = await Environment.open(directory.data)
    try {
      const metadata = readMetadata(environment.tables)
      return new LmdbStorage(directory, lock, environment, metadata)
    } catch (error) {
      await environment.close()
      throw error
    }
  }

  constructor(directory: Directory, lock: DirectoryLock, environment: Environment, metadata: Metadata) {
    this.#directory = directory
    this.#lock = lock
    this.#environment = environment
    this.#metadata = metadata
    this.#openBlockLog = new OpenBlockLog(directory.openBlockLogs)
    const open = this.#openBlockLog.read(metadata.openBlockCommit)
    this.#openBlockRecord = open === null ? readOpenBlockRecord(environment.tables) : open.openBlockRecord
    this.state = new LmdbState(environment, () => this.#metadata)
    this.records = new LmdbRecords(environment)
  }

  get meta(): ChainMetadata | null {
    return this.#metadata.meta
  }

  get height(): number {
    return this.#metadata.height
  }

  get stateRoot(): Hash | null {
    return this.#metadata.stateRoot
  }

  get openBlockRecord(): Uint8Array | null {
    return this.#openBlockRecord
  }

  block(number: number): Uint8Array | null {
    const { blocks } = this.#environment.tables
    const first = number > this.height ? null : guardedRead(() => copyOf(blocks.getBinary(numberKey(number, 0))))
    if (first === null || first.length < RECORD_PART_BYTES) return first
    const parts = guardedRead(() =>
      [...blocks.getRange({ start: numberKey(number), end: numberKey(number + 1) })].map(({ value }) => value),
    )
    return copyOf(Buffer.concat(parts))
  }

  sections(): readonly SectionEntry[] {
    return readSections(this.#environment.tables)
  }

  page(section: number, page: number): Uint8Array {
    const bytes = guardedRead(() => copyOf(this.#environment.tables.pages.getBinary(numberKey(section, page))))
    if (bytes === null) throw missingPage(section, page)
    return bytes
  }

  commit(change: StorageChange): void {
    checkBlocks(change, this.height)
    this.#metadata = this.#environment.write(() => this.#put(change), roomBytes(change, this.#environment.sizeBytes()))
    if (change.truncateTo !== undefined) this.state.cut(change.truncateTo)
    if (change.openBlockRecord !== undefined) this.#openBlockRecord = change.openBlockRecord
  }

  writeOpenBlockRecord(openBlockRecord: Uint8Array | null): void {
    try {
      this.#openBlockLog.write(openBlockRecord, this.#metadata.openBlockCommit)
    } catch (error) {
      throw fileError(error, this.#directory.path)
    }
    this.#openBlockRecord = openBlockRecord
  }

  sizeBytes(): number {
    return this.#environment.sizeBytes() + this.#openBlockLog.sizeBytes()
  }

  async close(): Promise<void> {
    this.#openBlockLog.close()
    await this.#environment.close()
    await this.#lock.release()
  }

  /** Runs inside the transaction. Returns the metadata after it. */
  #put(change: StorageChange): Metadata {
    const metadata = { ...this.#metadata }
    if (change.meta !== undefined) putChainMetadata(this.#tables, (metadata.meta = change.meta))
    if (change.truncateTo !== undefined) this.#truncate(change.truncateTo, metadata)
    for (const block of change.blocks ?? []) this.#putBlock(block, metadata)
    if (change.edits !== undefined) this.state.write(change.edits, metadata.height)
    if (change.stateRoot !== undefined) metadata.stateRoot = change.stateRoot
    if (change.sections !== undefined) putSections(this.#tables, change.sections, metadata)
    if (change.openBlockRecord !== undefined) putOpenBlockRecord(this.#tables, change.openBlockRecord, metadata)
    metadata.targetFloor = Math.min(Math.max(metadata.targetFloor, change.floor ?? 0), Math.max(metadata.height, 0))
    metadata.floor = this.state.prune(metadata.floor, metadata.targetFloor)
    putMetadata(this.#tables, metadata)
    return metadata
  }

  get #tables(): Tables {
    return this.#environment.tables
  }

  #truncate(number: number, metadata: MutableMetadata): void {
    this.state.truncate(number)
    const { blocks } = this.#tables
    for (const key of [...blocks.getKeys({ start: numberKey(number + 1) })]) blocks.removeSync(key)
    metadata.height = number
    if (number < 0) metadata.floor = metadata.targetFloor = 0
  }

  #putBlock({ number, record, writes }: StorageBlock, metadata: MutableMetadata): void {
    for (let at = 0, part = 0; part === 0 || at < record.length; at += RECORD_PART_BYTES, part++) {
      const bytes = record.subarray(at, at + RECORD_PART_BYTES)
      // Appending in key order fills LMDB's pages completely. The library's types omit the boolean result.
      const isKept: unknown = this.#tables.blocks.putSync(numberKey(number, part), bytes, APPEND)
      if (isKept !== true) throw misplaced(number)
    }
    this.state.write(writes, number)
    metadata.height = number
  }
}

/** What the change takes at most on a disk where the file has `fileBytes`. LMDB's pages are at least half full. */
function roomBytes({ blocks = [], edits, sections, openBlockRecord }: StorageChange, fileBytes: number): number {
  const writes = [...blocks.map((block) => block.writes), ...(edits === undefined ? [] : [edits])]
  const values = [
    ...blocks.map(({ record }) => record),
    ...(sections?.pages ?? []).map(({ bytes }) => bytes),
    ...(sections?.heads ?? []).map(({ head }) => head),
    ...writes.flatMap(({ codes }) => [...codes.values()]),
  ]
  const dataBytes = values.reduce((sum, { length }) => sum + length, openBlockRecord?.length ?? 0)
  const keys = writes.reduce((sum, set) => sum + keyCount(set), 0)
  return 2 * dataBytes + keys * CHANGED_KEY_BYTES + Math.min(keys * CHANGED_KEY_PAGES_BYTES, fileBytes)
}

function keyCount({ accounts, storage }: WriteSet): number {
  return [...storage.values()].reduce((sum, slots) => sum + slots.size, accounts.size)
}

const APPEND = { append: true }

function misplaced(number: number): StorageError {
  return new StorageError('corrupt', `there is something behind block ${number} already; restore the data directory from a copy`)
}
