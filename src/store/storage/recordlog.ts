import { MEMORY_RECORD_CHUNKS, READ_AHEAD_BYTES, RECORD_CHUNK_BYTES } from '../limits.ts'
import { SpillFile } from './spillfile.ts'

type File = Pick<SpillFile, 'write' | 'read' | 'close'>

/**
 * A growing list of records, one after the other in chunks of memory. An array of its own costs each record 250 bytes. Chunks beyond the newest
 * MEMORY_RECORD_CHUNKS are moved to a temporary file; without one they stay in memory.
 */
export class RecordLog {
  readonly #chunkBytes: number
  readonly #memoryChunks: number
  readonly #openFile: () => File | null
  /** By record: the offset at which it ends. */
  #ends = new Float64Array(64)
  #count = 0
  /** From `#firstChunk` on. */
  readonly #chunks: Uint8Array[] = []
  /** Number of chunks in the file; those before it are not in memory. */
  #firstChunk = 0
  /** `undefined` until the first use, `null` if no more chunks can be moved. */
  #file: File | null | undefined
  /** Records read ahead from the file, and the offset of the first byte. */
  #ahead: { readonly start: number; readonly bytes: Uint8Array } = { start: 0, bytes: NO_BYTES }
  /** End of the last record that was read from the file. */
  #lastReadEnd = -1

  constructor({
    chunkBytes = RECORD_CHUNK_BYTES,
    memoryChunks = MEMORY_RECORD_CHUNKS,
    openFile = SpillFile.open,
  }: { readonly chunkBytes?: number; readonly memoryChunks?: number; readonly openFile?: () => File | null } = {}) {
    this.#chunkBytes = chunkBytes
    this.#memoryChunks = memoryChunks
    this.#openFile = openFile
  }

  get count(): number {
    return this.#count
  }

  /** Total size of the records. */
  get sizeBytes(): number {
    return this.#startOf(this.#count)
  }

  /** Returns the record at `index`, `null` if there is none. Throws what the file system throws. */
  at(index: number): Uint8Array | null {
    if (!(index >= 0 && index < this.#count)) return null
    const [start, end] = [this.#startOf(index), this.#startOf(index + 1)]
    // An empty record may begin where no chunk is yet.
    if (start === end) return NO_BYTES
    return start >= this.#spilledBytes ? this.#inMemory(start, end) : this.#inFile(start, end)
  }

  /** Appends a copy. */
  push(record: Uint8Array): void {
    let end = this.sizeBytes
    for (let from = 0; from < record.length;) {
      const within = end % this.#chunkBytes
      const size = Math.min(record.length - from, this.#chunkBytes - within)
      if (within === 0) this.#addChunk()
      this.#chunkAt(end).set(record.subarray(from, from + size), within)
      from += size
      end += size
    }
    if (this.#count === this.#ends.length) {
      const more = new Float64Array(this.#ends.length * 2)
      more.set(this.#ends)
      this.#ends = more
    }
    this.#ends[this.#count++] = end
  }

  /** Keeps the first `count` records. Throws what the file system throws, and then changes nothing. */
  truncate(count: number): void {
    if (count >= this.#count) return
    const end = this.#startOf(count)
    // Appending continues in the last chunk, and a record handed out before shares its bytes, so the kept part is copied.
    const first = Math.floor(end / this.#chunkBytes)
    const kept = end % this.#chunkBytes
    const last = kept === 0 ? null : new Uint8Array(this.#chunkBytes)
    last?.set(first < this.#firstChunk ? this.#read(first * this.#chunkBytes, end) : this.#chunkAt(end - 1).subarray(0, kept))
    this.#chunks.length = Math.max(0, first - this.#firstChunk)
    this.#firstChunk = Math.min(this.#firstChunk, first)
    if (last !== null) this.#chunks.push(last)
    this.#count = count
    this.#ahead = { start: 0, bytes: NO_BYTES }
  }

  close(): void {
    this.#file?.close()
    this.#file = null
  }

  get #spilledBytes(): number {
    return this.#firstChunk * this.#chunkBytes
  }

  #startOf(index: number): number {
    return index === 0 ? 0 : this.#ends[index - 1]!
  }

  #chunkAt(offset: number): Uint8Array {
    return this.#chunks[Math.floor(offset / this.#chunkBytes) - this.#firstChunk]!
  }

  #inMemory(start: number, end: number): Uint8Array {
    const from = start % this.#chunkBytes
    if (from + end - start <= this.#chunkBytes) return this.#chunkAt(start).subarray(from, from + end - start)
    const record = new Uint8Array(end - start)
    this.#copy(start, end, record)
    return record
  }

  #copy(start: number, end: number, to: Uint8Array): void {
    for (let at = start; at < end;) {
      const from = at % this.#chunkBytes
      const size = Math.min(end - at, this.#chunkBytes - from)
      to.set(this.#chunkAt(at).subarray(from, from + size), at - start)
      at += size
    }
  }

  /** Reads ahead only after the record before: a few scattered records are read one by one. */
  #inFile(start: number, end: number): Uint8Array {
    const { start: from, bytes } = this.#ahead
    if (start < from || end > from + bytes.length) {
      const isNext = start === this.#lastReadEnd
      const stop = isNext ? Math.max(end, Math.min(start + READ_AHEAD_BYTES, this.#spilledBytes)) : end
      this.#ahead = { start, bytes: this.#read(start, stop) }
    }
    this.#lastReadEnd = end
    return this.#ahead.bytes.subarray(start - this.#ahead.start, end - this.#ahead.start)
  }

  /** Reads from the file, and the bytes beyond it from memory. */
  #read(start: number, end: number): Uint8Array {
    const bytes = new Uint8Array(end - start)
    const spilled = Math.min(end, this.#spilledBytes)
    this.#file!.read(bytes.subarray(0, spilled - start), start)
    this.#copy(spilled, end, bytes.subarray(spilled - start))
    return bytes
  }

  #addChunk(): void {
    this.#chunks.push(new Uint8Array(this.#chunkBytes))
    if (this.#chunks.length > this.#memoryChunks) this.#spill()
  }

  /** A full disk leaves the records in memory. */
  #spill(): void {
    this.#file ??= this.#file === undefined ? this.#openFile() : null
    if (this.#file?.write(this.#chunks[0]!, this.#spilledBytes) !== true) return
    this.#chunks.shift()
    this.#firstChunk++
  }
}

const NO_BYTES = new Uint8Array()
