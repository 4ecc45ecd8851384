import type { Hash } from '../eth/index.ts'
import { detachBuffer } from '../store/index.ts'
import { ASKED_TEXTS, BLOCK_TEXT_BYTES, LONG_TEXT_BYTES } from './limits.ts'

/** A result in JSON, which dispatch inserts into the response. */
export class JsonText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** How a text may be compressed: the names of HTTP. */
export type Coding = 'br' | 'gzip'

/** A text compressed but not ended, so that more may follow it. */
export interface Packed {
  readonly bytes: Uint8Array
  /** of what was compressed */
  readonly crc32: number
  readonly unpackedBytes: number
}

/** A result in JSON and UTF-8, sent without a copy. */
export class JsonBytes {
  readonly bytes: Uint8Array
  /** Its compressed forms, made once; null: it is sent once and then forgotten, so nothing is kept beside it. */
  readonly packs: Packs | null

  constructor(bytes: Uint8Array, packs: Packs | null = null) {
    this.bytes = bytes
    this.packs = packs
  }
}

/** What a kept text is when it is compressed. */
export class Packs {
  readonly #made = new Map<Coding, Promise<Packed>>()
  readonly #onMade: (packed: Packed) => void

  constructor(onMade: (packed: Packed) => void) {
    this.#onMade = onMade
  }

  /** Made when it is first asked for; all who ask meanwhile wait for the same. */
  get(coding: Coding, make: () => Promise<Packed>): Promise<Packed> {
    let packed = this.#made.get(coding)
    if (packed === undefined) {
      packed = make()
      this.#made.set(coding, packed)
      // Whoever asked hears of a failure; the next one tries again.
      packed.then(this.#onMade, () => this.#made.delete(coding))
    }
    return packed
  }
}

/** A result too large for memory: JSON in chunks, each made on demand and owned by the reader. */
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

interface KeptText {
  readonly json: JsonBytes
  /** with the compressed forms */
  sizeBytes: number
}

/**
 * Sealed blocks and receipt lists as JSON. They are immutable and cached from the first request on, a long one from the second on: its
 * first text is in a
 * pooled buffer, which is sent and released, because fresh memory takes as long as writing the text.
 */
export class BlockTexts {
  readonly #limitBytes: number
  /** by form and hash, least recently used first */
  readonly #texts = new Map<string, KeptText>()
  /** long texts that were written once and not kept, the oldest first */
  readonly #asked = new Set<string>()
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
      return known.json
    }
    const text = write()
    if (text.length >= LONG_TEXT_BYTES && this.#isFirst(key)) return new JsonBytes(text)
    const bytes = detachBuffer(text)
    const packs = new Packs((packed) => this.#grow(key, packs, packed.bytes.length))
    const kept: KeptText = { json: new JsonBytes(bytes, packs), sizeBytes: bytes.length }
    this.#texts.set(key, kept)
    this.#sizeBytes += bytes.length
    this.#makeRoom()
    return kept.json
  }

  #isFirst(key: string): boolean {
    if (this.#asked.delete(key)) return false
    this.#asked.add(key)
    const [oldest] = this.#asked
    if (this.#asked.size > ASKED_TEXTS && oldest !== undefined) this.#asked.delete(oldest)
    return true
  }

  #grow(key: string, packs: Packs, sizeBytes: number): void {
    const kept = this.#texts.get(key)
    if (kept?.json.packs !== packs) return
    kept.sizeBytes += sizeBytes
    this.#sizeBytes += sizeBytes
    this.#makeRoom()
  }

  #makeRoom(): void {
    for (const [key, { sizeBytes }] of this.#texts) {
      if (this.#sizeBytes <= this.#limitBytes) return
      this.#texts.delete(key)
      this.#sizeBytes -= sizeBytes
    }
  }
}
