/** Splits a byte stream into JSON texts, which follow each other with or without white space (as geth's IPC). */
export class JsonMessages {
  readonly #limitBytes: number
  #rest: Buffer = Buffer.alloc(0)
  /** position up to which `#rest` is read, nesting there, and whether it is inside a string, after a backslash */
  #at = 0
  #depth = 0
  #isInString = false
  #isEscaped = false

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes
  }

  /** Returns the complete texts. Throws RangeError beyond the limit, SyntaxError for bytes between texts that begin no object and no array. */
  push(chunk: Uint8Array): readonly Buffer[] {
    this.#rest = this.#rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([this.#rest, chunk])
    const texts: Buffer[] = []
    for (; this.#at < this.#rest.length; this.#at++) if (this.#endsAt(this.#rest[this.#at] ?? 0)) texts.push(this.#cut())
    if (this.#rest.length > this.#limitBytes) throw new RangeError(`a message has more than ${this.#limitBytes} bytes`)
    return texts
  }

  /** Reads one byte; true if it ends a text. */
  #endsAt(byte: number): boolean {
    if (this.#isInString) {
      if (this.#isEscaped) this.#isEscaped = false
      else if (byte === BACKSLASH) this.#isEscaped = true
      else if (byte === QUOTE) this.#isInString = false
      return false
    }
    if (OPENING.has(byte)) this.#depth += 1
    else if (CLOSING.has(byte)) return (this.#depth -= 1) <= 0
    else if (this.#depth === 0 && !WHITE_SPACE.has(byte)) throw new SyntaxError('a message must be a JSON object or array')
    else if (byte === QUOTE) this.#isInString = true
    return false
  }

  #cut(): Buffer {
    const text = this.#rest.subarray(0, this.#at + 1)
    this.#rest = this.#rest.subarray(this.#at + 1)
    this.#at = -1 // the loop goes on at 0
    this.#depth = 0
    return trimmed(text)
  }
}

function trimmed(text: Buffer): Buffer {
  let start = 0
  while (WHITE_SPACE.has(text[start] ?? 0)) start += 1
  return text.subarray(start)
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c]
const OPENING: ReadonlySet<number> = new Set([0x7b, 0x5b])
const CLOSING: ReadonlySet<number> = new Set([0x7d, 0x5d])
const WHITE_SPACE: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d])
