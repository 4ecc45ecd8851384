import {
  accessSync,
  closeSync,
  constants,
  existsSync,
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
import { StorageError } from './backend.ts'

/** The files of a data directory. */
export class Directory {
  readonly path: string
  /** the LMDB file */
  readonly data: string
  /** an LMDB file used only for its lock */
  readonly lock: string
  readonly openBlockLogs: readonly string[]

  constructor(path: string) {
    this.path = resolve(path)
    this.data = join(this.path, `${NAME}.mdb`)
    this.lock = join(this.path, `${NAME}.lock`)
    this.openBlockLogs = [join(this.path, `${NAME}.open1`), join(this.path, `${NAME}.open2`)]
  }

  /** Creates the directory if it is missing. Throws StorageError unless it is accessible and either empty or a data directory. */
  prepare(): void {
    this.#create()
    const entries = this.#try(() => readdirSync(this.path))
    this.#try(() => accessSync(this.path, constants.R_OK | constants.W_OK | constants.X_OK))
    this.#files().forEach((file) => this.#try(() => checkFile(file)))
    const others = entries.filter((entry) => !entry.startsWith(`${NAME}.`) && entry !== LOST_AND_FOUND)
    if (others.length === 0 || entries.includes(`${NAME}.mdb`)) return
    const list = others.slice(0, LISTED).join(', ') + (others.length > LISTED ? ', …' : '')
    throw new StorageError(
      'foreign',
      `${this.path} holds other files (${list}) and no chain; choose an empty or a new directory with --data, nothing was changed`,
    )
  }

  /**
   * Throws StorageError if the file exists and is not a complete LMDB file. LMDB's library crashes on a file that it cannot open, and the
   * process on a mapped file that is too short.
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
   * Creates LMDB's lock files with all bytes allocated. LMDB maps them for writing, so a hole would kill the process on a full disk. They are
   * created under another name and linked, because another process may open them at the same time.
   */
  allocateLocks(): void {
    for (const file of this.#lockFiles()) {
      if (statSync(file, { throwIfNoEntry: false }) !== undefined) continue
      const draft = `${file}.${process.pid}`
      try {
        this.#try(() => writeFileSync(draft, new Uint8Array(LOCK_FILE_BYTES)))
        linkSync(draft, file)
      } catch (error) {
        // Without hard links, or if another process was first, LMDB uses or creates the file itself.
        if (error instanceof StorageError) throw error
      } finally {
        rmSync(draft, { force: true })
      }
    }
  }

  /** Syncs the directory entries of new files. */
  syncNames(): void {
    if (process.platform === 'win32') return // not supported, and not needed
    for (const path of [this.path, dirname(this.path)]) {
      const directory = this.#try(() => openSync(path, constants.O_RDONLY))
      try {
        this.#try(() => fsyncSync(directory))
      } finally {
        closeSync(directory)
      }
    }
  }

  #create(): void {
    this.#try(() => createDirectories(this.path))
    if (this.#try(() => statSync(this.path)).isDirectory()) return
    throw new StorageError('unreadable', `${this.path} is not a directory; choose another one with --data, nothing was changed`)
  }

  #files(): string[] {
    return [this.data, this.lock, ...this.#lockFiles(), ...this.openBlockLogs]
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

/** Node's recursive mkdir never returns where a file system answers ENOENT to every new name, as /proc does. */
function createDirectories(path: string): void {
  if (existsSync(path)) return
  createDirectories(dirname(path))
  try {
    mkdirSync(path)
  } catch (error) {
    // Another process was first.
    if (!existsSync(path)) throw error
  }
}

/** Throws unless the file is readable and writable, or missing. */
function checkFile(path: string): void {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats === undefined) return
  if (!stats.isFile()) throw new Error(`${path} is not a file`)
  accessSync(path, constants.R_OK | constants.W_OK)
}

const NAME = 'pocketchain'
/** present on a fresh disk */
const LOST_AND_FOUND = 'lost+found'
const LISTED = 3
/** more than LMDB's 126 readers take */
const LOCK_FILE_BYTES = 16 * 1024

/** Converts an error of the file system or LMDB. */
export function fileError(error: unknown, path: string): StorageError {
  if (error instanceof StorageError) return error
  const message = error instanceof Error ? error.message : String(error)
  if (isFull(error)) {
    return new StorageError('full', `no room left for ${path} (${message}); the change was not kept: make room and try again`, error)
  }
  return new StorageError('unreadable', `cannot use ${path}: ${message}; check the permissions or choose another --data directory`, error)
}

/** Disk full, quota exceeded, or file size limit reached. */
function isFull(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false
  return FULL_CODES.has(error.code)
}

/** system codes by name, LMDB's by number */
const FULL_CODES: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG', 28, 122, 27])
