import { WRITER_MEMORY_BYTES } from './limits.ts'

/** A growing buffer of JSON text. */
export class TextBuffer {
  #bytes = Buffer.allocUnsafeSlow(FIRST_BYTES)
  #size = 0

  get size(): number {
    return this.#size
  }

  /** The text since the last `clear`, valid until the next one. */
  get written(): Uint8Array {
    return new Uint8Array(this.#bytes.buffer, 0, this.#size)
  }

  clear(): void {
    this.#size = 0
    if (this.#bytes.length > WRITER_MEMORY_BYTES) this.#bytes = Buffer.allocUnsafeSlow(FIRST_BYTES)
  }

  /** One ASCII character. */
  char(code: number): void {
    this.#reserve(1)
    this.#bytes[this.#size++] = code
  }

  /** Overwrites a character. */
  charAt(at: number, code: number): void {
    this.#bytes[at] = code
  }

  literal(text: Uint8Array): void {
    this.#reserve(text.length)
    this.#bytes.set(text, this.#size)
    this.#size += text.length
  }

  /** Appends `"0x…"` with two digits per byte. */
  hex(bytes: Uint8Array, from: number, to: number): void {
    this.#reserve(4 + (to - from) * 2)
    this.#open()
    this.#digits(bytes, from, to)
    this.#bytes[this.#size++] = QUOTE
  }

  /** Appends `"0x…"` without leading zeros, `"0x0"` for zero. */
  quantity(bytes: Uint8Array, from: number, to: number): void {
    while (from < to && bytes[from] === 0) from++
    this.#reserve(5 + (to - from) * 2)
    this.#open()
    const first = from < to ? bytes[from++]! : 0
    if (first < 16) this.#bytes[this.#size++] = DIGITS[first]!
    else this.#pair(first)
    this.#digits(bytes, from, to)
    this.#bytes[this.#size++] = QUOTE
  }

  /** Throws RangeError unless `value` is a safe integer. */
  integer(value: number): void {
    if (!Number.isSafeInteger(value)) throw new RangeError(`${value} is no integer`)
    this.#reserve(20)
    this.#size += this.#bytes.write(`"0x${value.toString(16)}"`, this.#size, 'latin1')
  }

  #open(): void {
    const bytes = this.#bytes
    bytes[this.#size++] = QUOTE
    bytes[this.#size++] = 0x30
    bytes[this.#size++] = 0x78
  }

  #digits(bytes: Uint8Array, from: number, to: number): void {
    if (to - from > SHORT_BYTES) this.#longDigits(bytes.subarray(from, to))
    else for (let i = from; i < to; i++) this.#pair(bytes[i]!)
  }

  #longDigits(bytes: Uint8Array): void {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex')
    this.#size += this.#bytes.write(text, this.#size, 'latin1')
  }

  #pair(byte: number): void {
    this.#bytes[this.#size++] = DIGITS[byte >> 4]!
    this.#bytes[this.#size++] = DIGITS[byte & 15]!
  }

  #reserve(more: number): void {
    if (this.#size + more <= this.#bytes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#bytes.length * 2, this.#size + more))
    larger.set(this.#bytes.subarray(0, this.#size))
    this.#bytes = larger
  }
}

const FIRST_BYTES = 64 * 1024
/** Up to this size a loop is faster than Buffer. */
const SHORT_BYTES = 64
const QUOTE = 0x22
const DIGITS = new TextEncoder().encode('0123456789abcdef')
