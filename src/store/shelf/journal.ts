import { closeSync, constants, fstatSync, openSync, readSync, writevSync } from 'node:fs'
import { crc32 } from 'node:zlib'

/**
 * The open block's journal between two commits: two small files that take turns, so that a write cut short by the death of the process
 * leaves the one before. Nothing waits for the disk: the system keeps what was written, and after a power failure the journal of the last
 * commit counts. Every entry names the commit that it follows; those of another commit are nothing.
 */
export class JournalFiles {
  readonly #files: readonly number[]
  #turn = 0
  /** of the newest entry */
  #sequence = 0

  /** Throws what the file system throws. */
  constructor(paths: readonly string[]) {
    this.#files = paths.map((path) => openSync(path, constants.O_RDWR | constants.O_CREAT, 0o664))
  }

  /** The newest whole entry behind this commit; null: there is none. */
  read(commit: number): JournalEntry | null {
    let newest: JournalEntry | null = null
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

  write(promises: Uint8Array | null, commit: number): void {
    const file = this.#files[this.#turn]! // a turn is a place among the files
    const body = promises ?? NOTHING
    const head = Buffer.alloc(HEAD_BYTES)
    head.writeDoubleBE(commit, 4)
    head.writeDoubleBE(this.#sequence + 1, 12)
    head.writeInt32BE(promises === null ? NONE : body.length, 20)
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
    for (const file of this.#files) closeSync(file)
  }

  #after(turn: number): number {
    return (turn + 1) % this.#files.length
  }
}

export interface JournalEntry {
  readonly promises: Uint8Array | null
  readonly commit: number
  readonly sequence: number
}

/** Null: nothing, or only a part of what was written. */
function readEntry(file: number): JournalEntry | null {
  const bytes = Buffer.alloc(fstatSync(file).size)
  readSync(file, bytes, 0, bytes.length, 0)
  if (bytes.length < HEAD_BYTES) return null
  const size = bytes.readInt32BE(20)
  const end = HEAD_BYTES + Math.max(size, 0)
  if (end > bytes.length || crc32(bytes.subarray(4, end)) !== bytes.readUInt32BE(0)) return null
  const promises = size === NONE ? null : new Uint8Array(bytes.subarray(HEAD_BYTES, end))
  return { promises, commit: bytes.readDoubleBE(4), sequence: bytes.readDoubleBE(12) }
}

/** Checksum of the rest, the commit, the entry's number, and the size of the journal behind it. */
const HEAD_BYTES = 4 + 8 + 8 + 4
/** Instead of a size: no block is open. */
const NONE = -1
const NOTHING = new Uint8Array()

/** The disk took only a part, which is what a full one does. */
export class ShortWrite extends Error {
  override readonly name = 'ShortWrite'
  readonly code = 'ENOSPC'
}
