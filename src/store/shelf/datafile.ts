import { closeSync, constants, fstatSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs'
import { RESERVED_BYTES } from '../limits.ts'
import { ShelfError } from './shelf.ts'

/**
 * LMDB's file, seen from outside. LMDB never writes pages that one transaction both took and gave back: at the end of the file they would
 * leave it shorter than its first pages say, as a cut does too. So the file is always made longer before (a hole, which takes no room),
 * and whichever is too short was cut.
 */
export class DataFile {
  readonly #path: string
  readonly #file: number

  /** It has been checked, and LMDB has it open. Throws what the file system throws. */
  constructor(path: string) {
    this.#path = path
    this.#file = openSync(path, constants.O_RDWR)
  }

  /** Before a write. Where the file may not get longer it stays as it is. */
  reserve(): void {
    const wanted = wantedBytes(this.#path, this.#file)
    if (fstatSync(this.#file).size >= wanted + RESERVED_BYTES / 2) return
    try {
      ftruncateSync(this.#file, wanted + RESERVED_BYTES)
    } catch {
      // The write itself will say whether there is room.
    }
  }

  /** What keeps the file from growing; null: nothing does. */
  growthError(): unknown {
    const { size } = fstatSync(this.#file)
    try {
      const written = writeSync(this.#file, new Uint8Array(PROBE_BYTES), 0, PROBE_BYTES, size)
      return written === PROBE_BYTES ? null : Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
    } catch (error) {
      return error
    } finally {
      ftruncateSync(this.#file, size)
    }
  }

  /** without holes */
  sizeBytes(): number {
    const { size, blocks } = fstatSync(this.#file)
    return process.platform === 'win32' ? size : blocks * BLOCK_BYTES
  }

  close(): void {
    closeSync(this.#file)
  }
}

/** Throws ShelfError (truncated, corrupt) unless it is a file of LMDB that is as long as it should be. */
export function checkDataFile(path: string, file: number): void {
  const { size } = fstatSync(file)
  const wanted = wantedBytes(path, file)
  if (size < wanted) throw truncated(path, size, `${wanted} bytes`)
}

const PROBE_BYTES = 4096
/** of stat, on every system that has it */
const BLOCK_BYTES = 512

// The beginning of both meta pages of LMDB's format 2, on 64-bit machines: 24 bytes of page header, then the fields.
const META_BYTES = 168
const FLAGS_AT = 18
const IS_META = 0x08
const MAGIC_AT = 24
const MAGIC = 0xbeefc0de
const VERSION_AT = 28
const VERSION = 2
const PAGE_BYTES_AT = 48
const LAST_PAGE_AT = 144
const COMMIT_AT = 152

/** All pages up to the last one of the newest commit. */
function wantedBytes(path: string, file: number): number {
  const first = readMeta(path, file, 0)
  const pageBytes = first.readUInt32LE(PAGE_BYTES_AT)
  if (pageBytes < 512 || pageBytes > 65_536 || (pageBytes & (pageBytes - 1)) !== 0) throw corrupt(path, 'its page size is impossible')
  const second = readMeta(path, file, pageBytes)
  const newest = first.readBigUInt64LE(COMMIT_AT) >= second.readBigUInt64LE(COMMIT_AT) ? first : second
  return (Number(newest.readBigUInt64LE(LAST_PAGE_AT)) + 1) * pageBytes
}

function readMeta(path: string, file: number, at: number): Buffer {
  const meta = Buffer.alloc(META_BYTES)
  if (readSync(file, meta, 0, META_BYTES, at) < META_BYTES) throw truncated(path, at, 'two pages at least')
  if (meta.readUInt32LE(MAGIC_AT) !== MAGIC || (meta.readUInt16LE(FLAGS_AT) & IS_META) === 0)
    throw corrupt(path, 'it does not begin as it should')
  if ((meta.readUInt32LE(VERSION_AT) & 0xffff) !== VERSION) throw corrupt(path, 'it has another version of the file format')
  return meta
}

function truncated(path: string, size: number, wanted: string): ShelfError {
  return new ShelfError(
    'truncated',
    `${path} ends after ${size} bytes and should have ${wanted}; restore it from a copy, or start anew with another --data directory`,
  )
}

function corrupt(path: string, why: string): ShelfError {
  return new ShelfError(
    'corrupt',
    `${path} is not a chain of pocketchain: ${why}; restore it from a copy, or choose another --data directory`,
  )
}
