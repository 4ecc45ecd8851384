import type { Hash } from '../eth/index.ts'
import { detachBuffer } from '../store/index.ts'
import { REQUESTED_TEXTS, BLOCK_TEXT_BYTES, LONG_TEXT_BYTES } from './limits.ts'

/** A result in JSON, which dispatch inserts into the response. */
export class JsonText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** A result that is JSON already, in UTF-8. It is sent without copying or encoding. */
export class JsonBytes {
  readonly bytes: Uint8Array

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }
}

/** A result too large for memory: JSON in chunks, each produced on demand and owned by the reader. */
export class JsonStream implements Iterable<Uint8Array> {
  #chunks: Iterator<Uint8Array> | null

  constructor(chunks: Iterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.iterator]()
  }

  /** Returns `null` at the end. Throws the error of making the chunk, which ends the stream. */
  next(): Uint8Array | null {
    const chunks = this.#chunks
    this.#chunks = null
    for (let item = chunks?.next(); item !== undefined && item.done !== true; item = chunks?.next()) {
      if (item.value.length === 0) continue
      this.#chunks = chunks
      return item.value
    }
    return null
  }

  /** Ends the stream early. */
  end(): void {
    const chunks = this.#chunks
    this.#chunks = null
    chunks?.return?.()
  }

  /** Returns all remaining chunks, or ends the stream and returns `null` if they exceed the limit. */
  collect(limitBytes = Infinity): readonly Uint8Array[] | null {
    const chunks: Uint8Array[] = []
    let sizeBytes = 0
    for (const chunk of this) {
      sizeBytes += chunk.length
      if (sizeBytes > limitBytes) return null
      chunks.push(chunk)
    }
    return chunks
  }

  [Symbol.iterator](): Iterator<Uint8Array> {
    const end = () => {
      this.end()
      return END
    }
    return {
      next: () => {
        const value = this.next()
        return value === null ? END : { done: false, value }
      },
      return: end,
    }
  }
}

const END: IteratorResult<Uint8Array> = { done: true, value: undefined }

// --- blocks ---------------------------------------------------------------------------------------------------------

export type BlockForm = 'block' | 'full block' | 'receipts'

/**
 * Sealed blocks and receipt lists as JSON. They are immutable and cached from the first request on, a long one from the second on: its
 * first text is in a pooled buffer, which is sent and released, because fresh memory takes as long as writing the text.
 */
export class BlockTexts {
  readonly #limitBytes: number
  /** by form and hash, least recently requested first */
  readonly #texts = new Map<string, JsonBytes>()
  /** long ones that were written once and not kept, oldest first */
  readonly #requested = new Set<string>()
  #sizeBytes = 0

  constructor(limitBytes = BLOCK_TEXT_BYTES) {
    this.#limitBytes = limitBytes
  }

  get sizeBytes(): number {
    return this.#sizeBytes
  }

  /** Returns the cached text, or that of `write`, which must not use it afterwards. */
  get(form: BlockForm, hash: Hash, write: () => Uint8Array): JsonBytes {
    const key = `${form} ${hash}`
    const known = this.#texts.get(key)
    if (known !== undefined) {
      this.#texts.delete(key)
      this.#texts.set(key, known)
      return known
    }
    const text = write()
    if (text.length >= LONG_TEXT_BYTES && this.#isFirst(key)) return new JsonBytes(text)
    const kept = new JsonBytes(detachBuffer(text))
    this.#texts.set(key, kept)
    this.#sizeBytes += kept.bytes.length
    this.#makeRoom()
    return kept
  }

  #isFirst(key: string): boolean {
    if (this.#requested.delete(key)) return false
    this.#requested.add(key)
    const [oldest] = this.#requested
    if (this.#requested.size > REQUESTED_TEXTS && oldest !== undefined) this.#requested.delete(oldest)
    return true
  }

  #makeRoom(): void {
    for (const [key, { bytes }] of this.#texts) {
      if (this.#sizeBytes <= this.#limitBytes) return
      this.#texts.delete(key)
      this.#sizeBytes -= bytes.length
    }
  }
}
