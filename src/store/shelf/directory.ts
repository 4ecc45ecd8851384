import {
  accessSync,
  closeSync,
  constants,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  statSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { checkDataFile } from './datafile.ts'
import { ShelfError } from './shelf.ts'

/** A data directory and what is in it. */
export class Directory {
  readonly path: string
  /** everything but the journal */
  readonly data: string
  /** Nothing but its lock matters. */
  readonly lock: string
  readonly journals: readonly string[]

  constructor(path: string) {
    this.path = resolve(path)
    this.data = join(this.path, `${NAME}.mdb`)
    this.lock = join(this.path, `${NAME}.lock`)
    this.journals = [join(this.path, `${NAME}.open1`), join(this.path, `${NAME}.open2`)]
  }

  /** Makes it if it is not there. Throws ShelfError unless it is empty or ours, and readable. */
  prepare(): void {
    this.#try(() => mkdirSync(this.path, { recursive: true }))
    const entries = this.#try(() => readdirSync(this.path))
    this.#try(() => accessSync(this.path, constants.R_OK | constants.W_OK | constants.X_OK))
    this.#files().forEach((file) => this.#try(() => checkFile(file)))
    const others = entries.filter((entry) => !entry.startsWith(`${NAME}.`) && entry !== LOST_AND_FOUND)
    if (others.length === 0 || entries.includes(`${NAME}.mdb`)) return
    const list = others.slice(0, LISTED).join(', ') + (others.length > LISTED ? ', …' : '')
    throw new ShelfError(
      'foreign',
      `${this.path} holds other files (${list}) and no chain; choose an empty or a new directory with --data, nothing was changed`,
    )
  }

  /**
   * Throws ShelfError when one of the files is there and cannot be a whole one of ours. LMDB's library dies of a file that it cannot open,
   * and the process of one that it maps and that is too short.
   */
  check(file: 'data' | 'lock'): void {
    const path = this[file]
    const size = this.#try(() => statSync(path, { throwIfNoEntry: false })?.size ?? 0)
    if (size === 0) return
    const handle = this.#try(() => openSync(path, constants.O_RDWR))
    try {
      checkDataFile(path, handle)
    } finally {
      closeSync(handle)
    }
  }

  /**
   * LMDB maps its lock files to write to them: on a full disk a hole in one would kill the process. They are made with all their bytes
   * first, under another name, because another process may be about to use them.
   */
  reserveLocks(): void {
    for (const file of this.#lockFiles()) {
      if (statSync(file, { throwIfNoEntry: false }) !== undefined) continue
      const draft = `${file}.${process.pid}`
      try {
        this.#try(() => writeFileSync(draft, new Uint8Array(LOCK_FILE_BYTES)))
        linkSync(draft, file)
      } catch (error) {
        // There are file systems without links, and another process may have been first: LMDB makes the file itself, or finds it.
        if (error instanceof ShelfError) throw error
      } finally {
        rmSync(draft, { force: true })
      }
    }
  }

  /** Makes the names of new files as durable as what is in them. */
  settle(): void {
    if (process.platform === 'win32') return // has no such call, and keeps names by itself
    for (const path of [this.path, dirname(this.path)]) {
      const directory = this.#try(() => openSync(path, constants.O_RDONLY))
      try {
        this.#try(() => fsyncSync(directory))
      } finally {
        closeSync(directory)
      }
    }
  }

  #files(): string[] {
    return [this.data, this.lock, ...this.#lockFiles(), ...this.journals]
  }

  #lockFiles(): string[] {
    return [`${this.lock}-lock`, `${this.data}-lock`]
  }

  #try<T>(work: () => T): T {
    try {
      return work()
    } catch (error) {
      throw fileError(error, this.path)
    }
  }
}

/** Throws what the file system throws, or an Error, unless it is a file that may be read and written, or not there. */
function checkFile(path: string): void {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats === undefined) return
  if (!stats.isFile()) throw new Error(`${path} is not a file`)
  accessSync(path, constants.R_OK | constants.W_OK)
}

const NAME = 'pocketchain'
/** A fresh disk is not empty. */
const LOST_AND_FOUND = 'lost+found'
const LISTED = 3
/** More than LMDB's 126 readers need. */
const LOCK_FILE_BYTES = 16 * 1024

/** What the file system or LMDB said, as a refusal. */
export function fileError(error: unknown, path: string): ShelfError {
  if (error instanceof ShelfError) return error
  const message = error instanceof Error ? error.message : String(error)
  if (isFull(error)) {
    return new ShelfError('full', `no room left for ${path} (${message}); the change was not kept: make room and try again`, error)
  }
  return new ShelfError('unreadable', `cannot use ${path}: ${message}; check the permissions or choose another --data directory`, error)
}

/** No room on the disk, no quota left, or a file at the largest size that is allowed. */
function isFull(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false
  return FULL_CODES.has(error.code)
}

/** From the system by name, from LMDB by number. */
const FULL_CODES: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG', 28, 122, 27])
