import { logCountOf } from '../record/index.ts'
import type { ByteFilter } from '../record/index.ts'
import { giveBackChunk, lendChunk } from './chunks.ts'
import { LOG_CHUNK_BYTES, USUAL_CHUNK_BYTES } from './limits.ts'
import type { JsonWriter, TextSink } from './writer.ts'

/** Logs of one block: those that match (null: all) of those at these indices (null: of all). */
export interface LogPart {
  readonly record: Uint8Array
  readonly filter: ByteFilter | null
  /** ascending */
  readonly indices: readonly number[] | null
}

/**
 * The logs as one JSON array, in chunks of about LOG_CHUNK_BYTES that the reader owns; `[]` when there are none. A part is pulled when the chunk
 * has room for it, so one record and one chunk are all that is held, whatever the size of the answer. Readers may take turns.
 */
export function* logText(parts: Iterable<LogPart>, writer: JsonWriter): Generator<Uint8Array, void, undefined> {
  const text = new ArrayText()
  for (const { record, filter, indices } of parts) {
    const end = indices?.length ?? logCountOf(record)
    for (let next = 0; next < end;) {
      next = indices === null ? writer.logs(record, filter, next, end, text) : writer.logsAt(record, indices, filter, next, end, text)
      if (text.room === 0) yield text.take()
    }
  }
  yield text.end()
}

/** A JSON array whose members come with a comma behind each, and that goes in chunks: `[a,b` `,c,d` `]`. */
class ArrayText implements TextSink {
  #bytes: Uint8Array = NOTHING
  /** of the chunk: its first character, then members with their commas */
  #size = 0
  #isFirst = true

  get room(): number {
    return Math.max(0, LOG_CHUNK_BYTES - this.#size)
  }

  append(text: Uint8Array): void {
    if (this.#size === 0) this.#open()
    const size = this.#size + text.length
    if (size > this.#bytes.length) this.#grow(size)
    this.#bytes.set(text, this.#size)
    this.#size = size
  }

  /** What came since the last time, without its last comma: the next chunk begins with that. */
  take(): Uint8Array {
    const chunk = this.#bytes.subarray(0, this.#size - 1)
    this.#bytes = NOTHING
    this.#size = 0
    this.#isFirst = false
    return chunk
  }

  /** The last chunk. */
  end(): Uint8Array {
    if (this.#size === 0) return Uint8Array.from(this.#isFirst ? [BRACKET, BRACKET_END] : [BRACKET_END])
    this.#bytes[this.#size - 1] = BRACKET_END
    const rest = this.#bytes.subarray(0, this.#size)
    if (rest.length > this.#bytes.length / 2) return rest
    const small = Buffer.from(rest) // it may wait long for its reader
    giveBackChunk(rest)
    return small
  }

  #open(): void {
    this.#bytes = lendChunk(USUAL_CHUNK_BYTES)
    this.#bytes[0] = this.#isFirst ? BRACKET : COMMA
    this.#size = 1
  }

  #grow(size: number): void {
    const larger = new Uint8Array(size)
    larger.set(this.#bytes.subarray(0, this.#size))
    giveBackChunk(this.#bytes)
    this.#bytes = larger
  }
}

const NOTHING = new Uint8Array(0)
const COMMA = 0x2c
const BRACKET = 0x5b
const BRACKET_END = 0x5d
