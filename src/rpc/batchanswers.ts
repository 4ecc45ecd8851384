import { Hex } from '../eth/index.ts'
import type { Body } from './body.ts'
import { BATCH_BUFFER_BYTES } from './limits.ts'

/** An answer of a batch that stands by itself. */
type Single = string | readonly Uint8Array[]

/** What `spell` answers when all is done. */
export const WRITTEN = Symbol('written')

/**
 * The answers of a batch, while they are gathered. What plain calls return is written down as it comes, in bytes that become one text in the end:
 * 0.13 us for a word with its envelope, where a text for each and the joining of them took 0.3.
 */
export class BatchAnswers {
  /** bytes, as far as they are counted against limits: characters of a text, most of which are ASCII */
  sizeBytes = 0
  readonly #answers: Single[] = []
  #buffer: Buffer | null = null
  #used = 0
  #id = 0

  add(answer: Single): void {
    this.#flush()
    this.#answers.push(answer)
    this.sizeBytes += typeof answer === 'string' ? answer.length : answer.reduce((sum, piece) => sum + piece.length, 0)
  }

  /** Whose answer `spell` will write. */
  begin(id: number): void {
    this.#id = id
  }

  /** Writes an answer whose result is hex, once and at once. What is too long is answered as text, for somebody else to add. */
  readonly spell = (bytes: Uint8Array, at: number, size: number): Hex | typeof WRITTEN => {
    const most = MOST_AROUND + 2 * size
    if (most > BATCH_BUFFER_BYTES) return Hex.fromRange(bytes, at, size)
    if (this.#used + most > BATCH_BUFFER_BYTES) this.#flush()
    const buffer = (this.#buffer ??= takeBuffer())
    if (this.#used > 0) buffer[this.#used++] = COMMA
    const begin = this.#used
    let end = write(HEAD, buffer, begin)
    const id = String(this.#id)
    for (let i = 0; i < id.length; i++) buffer[end++] = id.charCodeAt(i)
    end = Hex.writeDigits(buffer, write(RESULT, buffer, end), bytes, at, size)
    this.#used = write(TAIL, buffer, end)
    this.sizeBytes += this.#used - begin
    return WRITTEN
  }

  /** All of it, text where every answer is, else pieces; null: there are none. Nothing may be added any more. */
  body(): Body | null {
    this.#flush()
    if (this.#buffer !== null) spare = this.#buffer
    this.#buffer = null
    const answers = this.#answers
    if (answers.length === 0) return null
    return answers.every((answer) => typeof answer === 'string') ? `[${answers.join(',')}]` : piecesOf(answers)
  }

  #flush(): void {
    if (this.#buffer !== null && this.#used > 0) this.#answers.push(this.#buffer.toString('latin1', 0, this.#used))
    this.#used = 0
  }
}

function takeBuffer(): Buffer {
  const buffer = spare ?? Buffer.allocUnsafeSlow(BATCH_BUFFER_BYTES)
  spare = null
  return buffer
}

/** Answers where it ends. */
function write(text: Uint8Array, buffer: Uint8Array, at: number): number {
  for (let i = 0; i < text.length; i++) buffer[at + i] = text[i] as number // below its length
  return at + text.length
}

function piecesOf(answers: readonly Single[]): readonly Uint8Array[] {
  const pieces: Uint8Array[] = []
  let text = '['
  answers.forEach((answer, i) => {
    if (i > 0) text += ','
    if (typeof answer === 'string') {
      text += answer
    } else {
      pieces.push(Buffer.from(text), ...answer)
      text = ''
    }
  })
  pieces.push(Buffer.from(`${text}]`))
  return pieces
}

/** Of the batch before: memory that is new takes longer to get than to fill. */
let spare: Buffer | null = null
const ascii = (text: string): Uint8Array => new TextEncoder().encode(text) // a page, which has no Buffer, loads this file too
const HEAD = ascii('{"jsonrpc":"2.0","id":')
const RESULT = ascii(',"result":"0x')
const TAIL = ascii('"}')
const COMMA = 0x2c
/** of an answer, around its digits: a number has at most 16 */
const MOST_AROUND = HEAD.length + RESULT.length + TAIL.length + 17
