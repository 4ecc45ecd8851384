const FIRST_BYTES = 1 << 16
/** Characters that are kept as a string until they are encoded together. */
const TAIL_CHARS = 1 << 15

/** A growing ASCII text. A million small strings would take ten times their size. */
export class TextBuffer {
  #bytes = new Uint8Array(FIRST_BYTES)
  #length = 0
  #tail = ''

  get length(): number {
    return this.#length + this.#tail.length
  }

  write(text: string): void {
    this.#tail += text
    if (this.#tail.length >= TAIL_CHARS) this.#encodeTail()
  }

  toString(): string {
    return decoder.decode(this.#bytes.subarray(0, this.#length)) + this.#tail
  }

  #encodeTail(): void {
    const end = this.#length + this.#tail.length
    if (end > this.#bytes.length) {
      const bytes = new Uint8Array(Math.max(end, this.#bytes.length * 2))
      bytes.set(this.#bytes.subarray(0, this.#length))
      this.#bytes = bytes
    }
    const { written } = encoder.encodeInto(this.#tail, this.#bytes.subarray(this.#length, end))
    if (written !== this.#tail.length) throw new RangeError('the text is not ASCII')
    this.#length = end
    this.#tail = ''
  }
}

const encoder = new TextEncoder()
const decoder = new TextDecoder()
