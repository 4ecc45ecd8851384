import type { Block } from '../eth/index.ts'
import { blockJson, isPending, receiptsJson } from './json.ts'
import { BLOCK_TEXT_BYTES } from './limits.ts'

/** A result that is JSON text already. Dispatch puts it into the answer as it is. */
export class JsonText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type Form = 'block' | 'full block' | 'receipts'

/** Blocks and receipt lists as JSON text. A sealed block never changes: its text is written once and kept while there is room. */
export class BlockTexts {
  readonly #limitBytes: number
  /** by form and hash, least recently asked first */
  readonly #texts = new Map<string, JsonText>()
  #sizeBytes = 0

  constructor(limitBytes = BLOCK_TEXT_BYTES) {
    this.#limitBytes = limitBytes
  }

  get sizeBytes(): number {
    return this.#sizeBytes
  }

  block(block: Block, full: boolean): JsonText {
    return this.#text(full ? 'full block' : 'block', block, () => blockJson(block, full))
  }

  receipts(block: Block): JsonText {
    return this.#text('receipts', block, () => receiptsJson(block))
  }

  #text(form: Form, block: Block, write: () => unknown): JsonText {
    if (isPending(block)) return new JsonText(JSON.stringify(write()))
    const key = `${form} ${block.hash}`
    const known = this.#texts.get(key)
    const text = known ?? new JsonText(JSON.stringify(write()))
    if (known === undefined) this.#sizeBytes += text.text.length
    else this.#texts.delete(key)
    this.#texts.set(key, text)
    this.#makeRoom()
    return text
  }

  #makeRoom(): void {
    for (const [key, { text }] of this.#texts) {
      if (this.#sizeBytes <= this.#limitBytes) return
      this.#texts.delete(key)
      this.#sizeBytes -= text.length
    }
  }
}
