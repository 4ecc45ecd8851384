import { ARENA_CHUNK_BYTES, ARENA_KEPT_CHUNKS } from './limits.ts'

/** Memory for records until a commit. It is reused: an import makes megabytes of records per commit, and fresh memory for each cost a tenth of the time. */
export class RecordArena {
  #chunks: Uint8Array<ArrayBuffer>[] = []
  /** the number of full chunks */
  #used = 0
  /** used bytes of the next one */
  #end = 0

  /** Returns a copy, valid until `clear`. */
  add(record: Uint8Array): Uint8Array {
    const size = record.length
    if (size > ARENA_CHUNK_BYTES) return record.slice()
    if (this.#end + size > ARENA_CHUNK_BYTES) {
      this.#used++
      this.#end = 0
    }
    const chunk = (this.#chunks[this.#used] ??= new Uint8Array(ARENA_CHUNK_BYTES))
    chunk.set(record, this.#end)
    this.#end += size
    return chunk.subarray(this.#end - size, this.#end)
  }

  /** Invalidates all records and reuses their memory. */
  clear(): void {
    this.#chunks.length = Math.min(this.#chunks.length, ARENA_KEPT_CHUNKS)
    this.#used = 0
    this.#end = 0
  }
}
