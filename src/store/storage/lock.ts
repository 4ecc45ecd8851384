import { realpathSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import type { RootDatabase, Transaction } from 'lmdb'
import { LOCK_PAUSE_MS, LOCK_WAIT_MS } from '../limits.ts'
import { StorageError } from './backend.ts'
import { loadLmdb } from './library.ts'

/**
 * One process per directory, enforced by the operating system's locks that LMDB takes on its lock file: they end with the process, and a
 * reused process id does not revive them. A process enters the reader list of a separate LMDB file, then checks whether it is the only one;
 * of several that start simultaneously at most one is. The winner keeps a read transaction open, which others see in the list.
 */
export class DirectoryLock {
  readonly #file: RootDatabase
  /** open until `release`; the file never changes */
  readonly #reading: Transaction
  /** key in the set of directories that this process holds */
  readonly #place: string

  /**
   * `check` throws StorageError if LMDB cannot open the file. Throws that, StorageError (locked) if another process holds the directory, and
   * what LMDB throws.
   */
  static async take(path: string, directory: string, check: () => void): Promise<DirectoryLock> {
    const lmdb = await loadLmdb()
    const open = () => lmdb.open(path, { noSubdir: true, overlappingSync: false, noSync: true })
    const held = heldDirectories()
    const place = realpathSync(directory)
    // Closing a second handle of the same process would release the first one's lock.
    if (held.has(place)) throw lockedBy(directory, [{ pid: process.pid, isReading: true }])
    held.add(place)
    try {
      return await attempt(open, place, directory, check)
    } catch (error) {
      held.delete(place)
      throw error
    }
  }

  constructor(file: RootDatabase, reading: Transaction, place: string) {
    this.#file = file
    this.#reading = reading
    this.#place = place
    unreleased.add(this)
  }

  async release(): Promise<void> {
    unreleased.delete(this)
    this.#reading.done()
    await this.#file.close()
    heldDirectories().delete(this.#place)
  }
}

/** Keeps locks from garbage collection, which would end their transactions, so that another process could take the directory. */
const unreleased = new Set<DirectoryLock>()

/** If several processes start concurrently, the one with the lowest id stays and the others retry. */
async function attempt(open: () => RootDatabase, place: string, directory: string, check: () => void): Promise<DirectoryLock> {
  const until = Date.now() + LOCK_WAIT_MS
  for (;;) {
    await checkWritten(check, until)
    const file = open()
    let others = readers(file)
    if (others.length === 0) {
      enter(file)
      for (;;) {
        others = withoutOwn(readers(file))
        if (others.length === 0) return new DirectoryLock(file, file.useReadTransaction(), place)
        if (hasHolder(others) || Date.now() > until || others.some(({ pid }) => pid <= process.pid)) break
        await pause()
      }
    }
    await file.close()
    if (hasHolder(others) || Date.now() > until) throw lockedBy(directory, others)
    await pause()
  }
}

/** Retries while another process is writing the file. */
async function checkWritten(check: () => void, until: number): Promise<void> {
  for (;;) {
    try {
      return check()
    } catch (error) {
      if (!(error instanceof StorageError) || error.reason !== 'truncated' || Date.now() > until) throw error
    }
    await pause()
  }
}

function pause(): Promise<void> {
  return wait(Math.random() * LOCK_PAUSE_MS)
}

/** Enters the reader list without an open transaction. */
function enter(file: RootDatabase): void {
  file.doesExist('owner')
  file.resetReadTxn()
}

interface FileReader {
  readonly pid: number
  readonly isReading: boolean
}

/** Parses LMDB's list: a header, then process, thread and transaction per line, '-' without a transaction. Dead processes are not listed. */
function readers(file: RootDatabase): FileReader[] {
  file.readerCheck()
  const found: FileReader[] = []
  for (const line of file.readerList().split('\n')) {
    const match = /^\s*(\d+)\s+[0-9a-f]+\s+(-|\d+)\s*$/.exec(line)
    if (match !== null) found.push({ pid: Number(match[1]), isReading: match[2] !== '-' })
  }
  return found
}

/** Removes one entry of this process. */
function withoutOwn(all: readonly FileReader[]): FileReader[] {
  const own = all.findIndex(({ pid }) => pid === process.pid)
  return all.filter((_, index) => index !== own)
}

function hasHolder(some: readonly FileReader[]): boolean {
  return some.some(({ isReading }) => isReading)
}

function lockedBy(directory: string, by: readonly Pick<FileReader, 'pid' | 'isReading'>[]): StorageError {
  const pid = (by.find(({ isReading }) => isReading) ?? by[0])?.pid
  const owner = pid === process.pid ? `this process (${pid})` : `process ${pid}`
  return new StorageError('locked', `${directory} is in use by ${owner}; stop it or choose another --data directory`)
}

/** Shared by all copies of this module in the process. */
function heldDirectories(): Set<string> {
  const place = globalThis as { [HELD]?: Set<string> }
  return (place[HELD] ??= new Set())
}

const HELD: unique symbol = Symbol.for('pocketchain.directories') as never
