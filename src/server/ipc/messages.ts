/** Splits a byte stream into JSON texts, which follow each other with or without white space (as geth's IPC). */
export class JsonMessages {
  readonly #limitBytes: number
  readonly #onText: (text: Buffer) => void
  /** pieces of the message that is not complete yet */
  #parts: Uint8Array[] = []
  #sizeBytes = 0
  #depth = 0
  #isInString = false
  #isEscaped = false

  /** `onText` receives each complete text. */
  constructor(limitBytes: number, onText: (text: Buffer) => void) {
    this.#limitBytes = limitBytes
    this.#onText = onText
  }

  /** Throws RangeError beyond the limit, SyntaxError for bytes between texts that begin no object and no array; earlier texts have then been delivered. */
  push(chunk: Uint8Array): void {
    let start = 0
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at] ?? 0
      if (this.#depth === 0 && isWhiteSpace(byte)) start = at + 1
      else if (this.#endsAt(byte)) {
        this.#keep(chunk.subarray(start, at + 1))
        start = at + 1
        this.#passOn()
      }
    }
    this.#keep(chunk.subarray(start))
  }

  #keep(part: Uint8Array): void {
    if (part.length === 0) return
    this.#parts.push(part)
    this.#sizeBytes += part.length
    if (this.#sizeBytes > this.#limitBytes) throw new RangeError(`a message has more than ${this.#limitBytes} bytes`)
  }

  #passOn(): void {
    const text = Buffer.concat(this.#parts)
    this.#parts = []
    this.#sizeBytes = 0
    this.#depth = 0
    this.#onText(text)
  }

  /** Reads one byte; true if it ends a text. */
  #endsAt(byte: number): boolean {
    if (this.#isInString) {
      if (this.#isEscaped) this.#isEscaped = false
      else if (byte === BACKSLASH) this.#isEscaped = true
      else if (byte === QUOTE) this.#isInString = false
      return false
    }
    if (byte === OPENING_BRACE || byte === OPENING_BRACKET) this.#depth += 1
    else if (this.#depth === 0) throw new SyntaxError('a message must be a JSON object or array')
    else if (byte === CLOSING_BRACE || byte === CLOSING_BRACKET) return (this.#depth -= 1) === 0
    else if (byte === QUOTE) this.#isInString = true
    return false
  }
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c]
const [OPENING_BRACE, OPENING_BRACKET, CLOSING_BRACE, CLOSING_BRACKET] = [0x7b, 0x5b, 0x7d, 0x5d]

function isWhiteSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}
