import { logCountOf } from '../record/index.ts'
import type { ByteFilter } from '../record/index.ts'
import { acquireBuffer, releaseBuffer } from './bufferpool.ts'
import { LOG_CHUNK_BYTES, USUAL_CHUNK_BYTES } from './limits.ts'
import type { JsonWriter, TextSink } from './writer.ts'

/** A selection of the logs of one block: those at `indices` (`null`: all) that match `filter` (`null`: all). */
export interface LogSelection {
  readonly record: Uint8Array
  readonly filter: ByteFilter | null
  /** ascending */
  readonly indices: readonly number[] | null
}

/**
 * Yields the logs as one JSON array in chunks of about LOG_CHUNK_BYTES, which belong to the caller; `[]` if there are none. Each is in a buffer of the
 * pool, however short it is: release or detach it soon. Parts are pulled on demand, so memory is bounded by one record and one chunk whatever the size of
 * the result. Several generators may interleave.
 */
export function* logArrayJson(parts: Iterable<LogSelection>, writer: JsonWriter): Generator<Uint8Array, void, undefined> {
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

/** A JSON array in chunks, from members that are each followed by a comma: `[a,b` `,c,d` `]`. */
class ArrayText implements TextSink {
  #bytes: Uint8Array = NO_BYTES
  /** size of the chunk: its first character, then members with their commas */
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

  /** Returns the members since the last call without the last comma, with which the next chunk begins. */
  take(): Uint8Array {
    const chunk = this.#bytes.subarray(0, this.#size - 1)
    this.#bytes = NO_BYTES
    this.#size = 0
    this.#isFirst = false
    return chunk
  }

  /** Returns the last chunk. */
  end(): Uint8Array {
    if (this.#size === 0) return Uint8Array.from(this.#isFirst ? [BRACKET, BRACKET_END] : [BRACKET_END])
    this.#bytes[this.#size - 1] = BRACKET_END
    return this.#bytes.subarray(0, this.#size)
  }

  #open(): void {
    this.#bytes = acquireBuffer(USUAL_CHUNK_BYTES)
    this.#bytes[0] = this.#isFirst ? BRACKET : COMMA
    this.#size = 1
  }

  #grow(size: number): void {
    const larger = new Uint8Array(size)
    larger.set(this.#bytes.subarray(0, this.#size))
    releaseBuffer(this.#bytes)
    this.#bytes = larger
  }
}

const NO_BYTES = new Uint8Array(0)
const COMMA = 0x2c
const BRACKET = 0x5b
const BRACKET_END = 0x5d
