import { closeSync, constants, fstatSync, ftruncateSync, openSync, readSync, statfsSync, writeSync } from 'node:fs'
import { FILE_RESERVE_BYTES } from '../limits.ts'
import { StorageError } from './backend.ts'

/**
 * LMDB's file. LMDB does not write pages that one transaction both allocated and freed; at the end of the file they would leave it shorter than its meta pages
 * state, like a truncated file. So the file is extended beforehand (by a hole, which takes no disk space), and a short file was truncated.
 */
export class DataFile {
  readonly #path: string
  /** descriptor; `null` once closed, because the system gives its number to another file */
  #open: number | null

  /** LMDB has opened the file, which was checked. Throws what the file system throws. */
  constructor(path: string) {
    this.#path = path
    this.#open = openSync(path, constants.O_RDWR)
  }

  /** Extends the file before a write, if it can grow. */
  reserve(): void {
    const wanted = expectedBytes(this.#path, this.#file)
    if (fstatSync(this.#file).size >= wanted + FILE_RESERVE_BYTES / 2) return
    try {
      ftruncateSync(this.#file, wanted + FILE_RESERVE_BYTES)
    } catch {
      // The write reports a full disk.
    }
  }

  /** Throws an error with the code ENOSPC if the disk has fewer bytes free; 3 to 8 us. Does not see quotas and limits of the file's size. */
  checkRoom(neededBytes: number): void {
    const freeBytes = diskFreeBytes(this.#path)
    if (freeBytes < neededBytes) throw noSpace(`${freeBytes} bytes are free and the change can take ${neededBytes}`)
  }

  /** Returns the error that keeps the file from growing by so much, `null` if it can grow. */
  growthError(bytes = PROBE_BYTES): unknown {
    const { size } = fstatSync(this.#file)
    try {
      const written = writeSync(this.#file, new Uint8Array(bytes), 0, bytes, size)
      return written === bytes ? null : noSpace('no space left on device')
    } catch (error) {
      return error
    } finally {
      ftruncateSync(this.#file, size)
    }
  }

  /** Without holes. */
  sizeBytes(): number {
    const { size, blocks } = fstatSync(this.#file)
    return process.platform === 'win32' ? size : blocks * BLOCK_BYTES
  }

  close(): void {
    closeSync(this.#file)
    this.#open = null
  }

  get #file(): number {
    if (this.#open === null) throw new Error(`${this.#path} is closed`)
    return this.#open
  }
}

/** Throws StorageError (truncated, corrupt) unless it is an LMDB file of full length. */
export function checkDataFile(path: string, file: number): void {
  const { size } = fstatSync(file)
  const wanted = expectedBytes(path, file)
  if (size < wanted) throw truncated(path, size, `${wanted} bytes`)
}

/** Infinity if the file system does not report it. Space reserved for the administrator does not count. */
function diskFreeBytes(path: string): number {
  try {
    const { blocks, bavail, bsize } = statfsSync(path)
    return blocks === 0 ? Infinity : bavail * bsize
  } catch {
    return Infinity
  }
}

function noSpace(message: string): Error {
  return Object.assign(new Error(message), { code: 'ENOSPC' })
}

const PROBE_BYTES = 4096
/** the unit of stat.blocks */
const BLOCK_BYTES = 512

// Offsets in the two meta pages of LMDB's format 2 on 64-bit machines: 24 bytes of page header, then the fields.
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

/** The size of all pages up to the last one of the newest commit. */
function expectedBytes(path: string, file: number): number {
  const first = readMetaPage(path, file, 0)
  const pageBytes = first.readUInt32LE(PAGE_BYTES_AT)
  if (pageBytes < 512 || pageBytes > 65_536 || (pageBytes & (pageBytes - 1)) !== 0) throw corrupt(path, 'its page size is impossible')
  const second = readMetaPage(path, file, pageBytes)
  const newest = first.readBigUInt64LE(COMMIT_AT) >= second.readBigUInt64LE(COMMIT_AT) ? first : second
  return (Number(newest.readBigUInt64LE(LAST_PAGE_AT)) + 1) * pageBytes
}

function readMetaPage(path: string, file: number, at: number): Buffer {
  const meta = Buffer.alloc(META_BYTES)
  if (readSync(file, meta, 0, META_BYTES, at) < META_BYTES) throw truncated(path, at, 'two pages at least')
  if (meta.readUInt32LE(MAGIC_AT) !== MAGIC || (meta.readUInt16LE(FLAGS_AT) & IS_META) === 0)
    throw corrupt(path, 'it does not begin as it should')
  if ((meta.readUInt32LE(VERSION_AT) & 0xffff) !== VERSION) throw corrupt(path, 'it has another version of the file format')
  return meta
}

function truncated(path: string, size: number, wanted: string): StorageError {
  return new StorageError(
    'truncated',
    `${path} ends after ${size} bytes and should have ${wanted}; restore it from a copy, or use another --data directory`,
  )
}

function corrupt(path: string, why: string): StorageError {
  return new StorageError(
    'corrupt',
    `${path} is not a chain of pocketchain: ${why}; restore it from a copy, or choose another --data directory`,
  )
}
