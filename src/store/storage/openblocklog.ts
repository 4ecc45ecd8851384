import { closeSync, constants, fstatSync, openSync, readSync, writevSync } from 'node:fs'
import { crc32 } from 'node:zlib'

/**
 * The record of the open block between two commits: two small files written in turn, so that an interrupted write leaves the previous
 * entry. Writes are not synced: after a power failure the record of the last commit is used. Every entry names the commit that it follows;
 * entries of another commit are stale.
 */
export class OpenBlockLog {
  /** descriptors; empty once closed, because the system gives their numbers to other files */
  readonly #files: number[]
  #turn = 0
  /** sequence number of the newest entry */
  #sequence = 0

  /** Throws what the file system throws. */
  constructor(paths: readonly string[]) {
    this.#files = paths.map((path) => openSync(path, constants.O_RDWR | constants.O_CREAT, 0o664))
  }

  /** Returns the newest complete entry of this commit, `null` if there is none. */
  read(commit: number): OpenBlockLogEntry | null {
    let newest: OpenBlockLogEntry | null = null
    for (const [turn, file] of this.#files.entries()) {
      const entry = readEntry(file)
      if (entry === null) continue
      this.#sequence = Math.max(this.#sequence, entry.sequence)
      if (entry.commit !== commit || entry.sequence < (newest?.sequence ?? 0)) continue
      newest = entry
      this.#turn = this.#after(turn)
    }
    return newest
  }

  write(openBlockRecord: Uint8Array | null, commit: number): void {
    const file = this.#files[this.#turn]
    if (file === undefined) throw new Error('the log of the open block is closed')
    const body = openBlockRecord ?? NO_BYTES
    const head = Buffer.alloc(HEAD_BYTES)
    head.writeDoubleBE(commit, 4)
    head.writeDoubleBE(this.#sequence + 1, 12)
    head.writeInt32BE(openBlockRecord === null ? NONE : body.length, 20)
    head.writeUInt32BE(crc32(body, crc32(head.subarray(4))), 0)
    const written = writevSync(file, [head, body], 0)
    if (written !== HEAD_BYTES + body.length) throw new ShortWrite()
    this.#sequence++
    this.#turn = this.#after(this.#turn)
  }

  sizeBytes(): number {
    return this.#files.reduce((sum, file) => sum + fstatSync(file).size, 0)
  }

  close(): void {
    for (const file of this.#files.splice(0)) closeSync(file)
  }

  #after(turn: number): number {
    return (turn + 1) % this.#files.length
  }
}

interface OpenBlockLogEntry {
  readonly openBlockRecord: Uint8Array | null
  readonly commit: number
  readonly sequence: number
}

/** Returns `null` for an empty or incomplete file. */
function readEntry(file: number): OpenBlockLogEntry | null {
  const bytes = Buffer.alloc(fstatSync(file).size)
  readSync(file, bytes, 0, bytes.length, 0)
  if (bytes.length < HEAD_BYTES) return null
  const size = bytes.readInt32BE(20)
  const end = HEAD_BYTES + Math.max(size, 0)
  if (end > bytes.length || crc32(bytes.subarray(4, end)) !== bytes.readUInt32BE(0)) return null
  const openBlockRecord = size === NONE ? null : new Uint8Array(bytes.subarray(HEAD_BYTES, end))
  return { openBlockRecord, commit: bytes.readDoubleBE(4), sequence: bytes.readDoubleBE(12) }
}

/** checksum of the rest, commit, sequence number, size of the body */
const HEAD_BYTES = 4 + 8 + 8 + 4
/** the size if no block is open */
const NONE = -1
const NO_BYTES = new Uint8Array()

/** The disk accepted only a part, as a full one does. */
class ShortWrite extends Error {
  override readonly name = 'ShortWrite'
  readonly code = 'ENOSPC'
}
