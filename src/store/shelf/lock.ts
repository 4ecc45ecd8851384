import { realpathSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import type { RootDatabase, Transaction } from 'lmdb'
import { LOCK_PAUSE_MS, LOCK_WAIT_MS } from '../limits.ts'
import { ShelfError } from './shelf.ts'

/**
 * One process per directory, by the locks of the operating system that LMDB takes on its own lock file: they end with the process however
 * it ends, and a reused process id does not revive them. A file of its own is used for nothing else. A process first enters itself among
 * the file's readers and then looks whether it is alone; of two that start at once at most one finds that it is. Who has won starts to read
 * and goes on reading, which others can see in the list.
 */
export class DirectoryLock {
  readonly #file: RootDatabase
  /** Read for ever; the file never changes. */
  readonly #reading: Transaction
  /** among those of this process */
  readonly #place: string

  /**
   * `check` throws ShelfError when the file is none that LMDB can open. Throws that, ShelfError (locked) when another process has the
   * directory or is about to, and what LMDB throws.
   */
  static async take(path: string, directory: string, check: () => void): Promise<DirectoryLock> {
    const lmdb = await import('lmdb')
    const open = () => lmdb.open(path, { noSubdir: true, overlappingSync: false, noSync: true })
    const held = heldHere()
    const place = realpathSync(directory)
    // A second handle of the same process would end the lock of the first when it is closed.
    if (held.has(place)) throw inUse(directory, [{ pid: process.pid, isReading: true }])
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
  }

  async release(): Promise<void> {
    this.#reading.done()
    await this.#file.close()
    heldHere().delete(this.#place)
  }
}

/** Of those that start at once the lowest process id stays and the others come again: somebody wins. */
async function attempt(open: () => RootDatabase, place: string, directory: string, check: () => void): Promise<DirectoryLock> {
  const until = Date.now() + LOCK_WAIT_MS
  for (;;) {
    await checkWritten(check, until)
    const file = open()
    let others = readers(file)
    if (others.length === 0) {
      enter(file)
      for (;;) {
        others = othersOf(readers(file))
        if (others.length === 0) return new DirectoryLock(file, file.useReadTransaction(), place)
        if (hasOwner(others) || Date.now() > until || others.some(({ pid }) => pid <= process.pid)) break
        await pause()
      }
    }
    await file.close()
    if (hasOwner(others) || Date.now() > until) throw inUse(directory, others)
    await pause()
  }
}

/** Another process may just be writing the file. */
async function checkWritten(check: () => void, until: number): Promise<void> {
  for (;;) {
    try {
      return check()
    } catch (error) {
      if (!(error instanceof ShelfError) || error.reason !== 'truncated' || Date.now() > until) throw error
    }
    await pause()
  }
}

function pause(): Promise<void> {
  return wait(Math.random() * LOCK_PAUSE_MS)
}

/** Among the readers, but not reading. */
function enter(file: RootDatabase): void {
  file.doesExist('owner')
  file.resetReadTxn()
}

interface FileReader {
  readonly pid: number
  readonly isReading: boolean
}

/** LMDB's list: a line of titles, then a process, a thread and a transaction each, '-' when it is not reading. The dead are not in it. */
function readers(file: RootDatabase): FileReader[] {
  file.readerCheck()
  const found: FileReader[] = []
  for (const line of file.readerList().split('\n')) {
    const match = /^\s*(\d+)\s+[0-9a-f]+\s+(-|\d+)\s*$/.exec(line)
    if (match !== null) found.push({ pid: Number(match[1]), isReading: match[2] !== '-' })
  }
  return found
}

/** Without the one entry that is this process's own. */
function othersOf(all: readonly FileReader[]): FileReader[] {
  const own = all.findIndex(({ pid }) => pid === process.pid)
  return all.filter((_, index) => index !== own)
}

function hasOwner(some: readonly FileReader[]): boolean {
  return some.some(({ isReading }) => isReading)
}

function inUse(directory: string, by: readonly Pick<FileReader, 'pid' | 'isReading'>[]): ShelfError {
  const pid = (by.find(({ isReading }) => isReading) ?? by[0])?.pid
  const owner = pid === process.pid ? `this process (${pid})` : `process ${pid}`
  return new ShelfError('locked', `${directory} is in use by ${owner}; stop it or choose another --data directory`)
}

/** Of the whole process, whichever copy of this module asks. */
function heldHere(): Set<string> {
  const place = globalThis as { [HELD]?: Set<string> }
  return (place[HELD] ??= new Set())
}

const HELD: unique symbol = Symbol.for('pocketchain.directories') as never
