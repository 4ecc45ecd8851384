import { DRAFT_CHUNK_BYTES, DRAFT_KEPT_CHUNKS } from './limits.ts'

/**
 * Records that wait, one behind the other in memory that is used again: an import makes megabytes of them with every step, and memory of
 * their own cost a tenth of it.
 */
export class Draft {
  #chunks: Uint8Array<ArrayBuffer>[] = []
  /** how many of them are full */
  #used = 0
  /** bytes of the next one that are */
  #end = 0

  /** A copy, which stays as it is until `clear`. */
  keep(record: Uint8Array): Uint8Array {
    const size = record.length
    if (size > DRAFT_CHUNK_BYTES) return record.slice()
    if (this.#end + size > DRAFT_CHUNK_BYTES) {
      this.#used++
      this.#end = 0
    }
    const chunk = (this.#chunks[this.#used] ??= new Uint8Array(DRAFT_CHUNK_BYTES))
    chunk.set(record, this.#end)
    this.#end += size
    return chunk.subarray(this.#end - size, this.#end)
  }

  /** Nobody needs the records any more: their memory is for the next ones. */
  clear(): void {
    this.#chunks.length = Math.min(this.#chunks.length, DRAFT_KEPT_CHUNKS)
    this.#used = 0
    this.#end = 0
  }
}
