const FIRST_BYTES = 1 << 16

/** A growing ASCII text. A million small strings would take ten times their size. */
export class TextBuffer {
  #bytes = Buffer.allocUnsafeSlow(FIRST_BYTES)
  #length = 0

  get length(): number {
    return this.#length
  }

  write(text: string): void {
    const end = this.#length + text.length
    if (end > this.#bytes.length) this.#grow(end)
    this.#bytes.write(text, this.#length, 'latin1')
    this.#length = end
  }

  toString(): string {
    return this.#bytes.toString('latin1', 0, this.#length)
  }

  #grow(needed: number): void {
    const bytes = Buffer.allocUnsafeSlow(Math.max(needed, this.#bytes.length * 2))
    this.#bytes.copy(bytes, 0, 0, this.#length)
    this.#bytes = bytes
  }
}
