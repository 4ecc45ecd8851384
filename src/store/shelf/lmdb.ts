import type { Hash } from '../../eth/index.ts'
import { RECORD_PART_BYTES } from '../limits.ts'
import { Directory, fileError } from './directory.ts'
import { JournalFiles } from './journal.ts'
import { DirectoryLock } from './lock.ts'
import { checkBlocks, noSuchPage } from './memory.ts'
import { LmdbRecords } from './records.ts'
import { ShelfError } from './shelf.ts'
import type { Records, SectionEntry, Shelf, ShelfBlock, ShelfChange, ShelfMeta } from './shelf.ts'
import { promisesOf, putMeta, putPromises, putSections, putStanding, readStanding, sectionsOf } from './standing.ts'
import type { MutableStanding, Standing } from './standing.ts'
import { LmdbState } from './state.ts'
import { Environment, copyOf, numberKey, reading } from './trees.ts'
import type { Trees } from './trees.ts'

/**
 * A shelf in a directory, which is made if it is not there. Throws ShelfError for every reason there is; the message says what to do, and
 * nothing in the directory was changed.
 */
export async function openLmdb(path: string): Promise<Shelf> {
  const directory = new Directory(path)
  directory.prepare()
  directory.reserveLocks()
  const lock = await refusing(directory, () => DirectoryLock.take(directory.lock, directory.path, () => directory.check('lock')))
  try {
    directory.check('data')
    const shelf = await refusing(directory, () => LmdbShelf.open(directory, lock))
    if (shelf.meta === null) directory.settle()
    return shelf
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

/** The shelf in a file of LMDB: a commit is one transaction, on the disk when it returns. */
class LmdbShelf implements Shelf {
  readonly isVolatile = false
  readonly state: LmdbState
  readonly records: Records
  readonly #directory: Directory
  readonly #lock: DirectoryLock
  readonly #environment: Environment
  readonly #journal: JournalFiles
  #standing: Standing
  #promises: Uint8Array | null

  static async open(directory: Directory, lock: DirectoryLock): Promise<LmdbShelf> {
    const environment = await Environment.open(directory.data)
    try {
      const standing = readStanding(environment.trees)
      return new LmdbShelf(directory, lock, environment, standing)
    } catch (error) {
      await environment.close()
      throw error
    }
  }

  constructor(directory: Directory, lock: DirectoryLock, environment: Environment, standing: Standing) {
    this.#directory = directory
    this.#lock = lock
    this.#environment = environment
    this.#standing = standing
    this.#journal = new JournalFiles(directory.journals)
    const open = this.#journal.read(standing.journal)
    this.#promises = open === null ? promisesOf(environment.trees) : open.promises
    this.state = new LmdbState(environment, () => this.#standing)
    this.records = new LmdbRecords(environment)
  }

  get meta(): ShelfMeta | null {
    return this.#standing.meta
  }

  get height(): number {
    return this.#standing.height
  }

  get stateRoot(): Hash | null {
    return this.#standing.stateRoot
  }

  get promises(): Uint8Array | null {
    return this.#promises
  }

  block(number: number): Uint8Array | null {
    const { blocks } = this.#environment.trees
    const first = number > this.height ? null : reading(() => copyOf(blocks.getBinary(numberKey(number, 0))))
    if (first === null || first.length < RECORD_PART_BYTES) return first
    const parts = reading(() => [...blocks.getRange({ start: numberKey(number), end: numberKey(number + 1) })].map(({ value }) => value))
    return copyOf(Buffer.concat(parts))
  }

  sections(): readonly SectionEntry[] {
    return sectionsOf(this.#environment.trees)
  }

  page(section: number, page: number): Uint8Array {
    const bytes = reading(() => copyOf(this.#environment.trees.pages.getBinary(numberKey(section, page))))
    if (bytes === null) throw noSuchPage(section, page)
    return bytes
  }

  commit(change: ShelfChange): void {
    checkBlocks(change, this.height)
    this.#standing = this.#environment.write(() => this.#put(change))
    if (change.truncateTo !== undefined) this.state.cut(change.truncateTo)
    if (change.promises !== undefined) this.#promises = change.promises
  }

  journal(promises: Uint8Array | null): void {
    try {
      this.#journal.write(promises, this.#standing.journal)
    } catch (error) {
      throw fileError(error, this.#directory.path)
    }
    this.#promises = promises
  }

  sizeBytes(): number {
    return this.#environment.sizeBytes() + this.#journal.sizeBytes()
  }

  async close(): Promise<void> {
    this.#journal.close()
    await this.#environment.close()
    await this.#lock.release()
  }

  /** Inside the transaction; answers how things stand after it. */
  #put(change: ShelfChange): Standing {
    const standing = { ...this.#standing }
    if (change.meta !== undefined) putMeta(this.#trees, (standing.meta = change.meta))
    if (change.truncateTo !== undefined) this.#truncate(change.truncateTo, standing)
    for (const block of change.blocks ?? []) this.#putBlock(block, standing)
    if (change.edits !== undefined) this.state.write(change.edits, standing.height)
    if (change.stateRoot !== undefined) standing.stateRoot = change.stateRoot
    if (change.sections !== undefined) putSections(this.#trees, change.sections, standing)
    if (change.promises !== undefined) putPromises(this.#trees, change.promises, standing)
    standing.wantedFloor = Math.min(Math.max(standing.wantedFloor, change.floor ?? 0), Math.max(standing.height, 0))
    standing.floor = this.state.prune(standing.floor, standing.wantedFloor)
    putStanding(this.#trees, standing)
    return standing
  }

  get #trees(): Trees {
    return this.#environment.trees
  }

  #truncate(number: number, standing: MutableStanding): void {
    this.state.truncate(number)
    const { blocks } = this.#trees
    for (const key of [...blocks.getKeys({ start: numberKey(number + 1) })]) blocks.removeSync(key)
    standing.height = number
    if (number < 0) standing.floor = standing.wantedFloor = 0
  }

  #putBlock({ number, record, writes }: ShelfBlock, standing: MutableStanding): void {
    for (let at = 0, part = 0; part === 0 || at < record.length; at += RECORD_PART_BYTES, part++) {
      const bytes = record.subarray(at, at + RECORD_PART_BYTES)
      // They come in order, and pages are left full then. The library's types do not say that it answers whether it did.
      const isKept: unknown = this.#trees.blocks.putSync(numberKey(number, part), bytes, APPEND)
      if (isKept !== true) throw misplaced(number)
    }
    this.state.write(writes, number)
    standing.height = number
  }
}

const APPEND = { append: true }

function misplaced(number: number): ShelfError {
  return new ShelfError('corrupt', `there is something behind block ${number} already; restore the data directory from a copy`)
}
