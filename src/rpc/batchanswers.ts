import { Hex } from '../eth/index.ts'
import type { Body } from './body.ts'
import { INK_BYTES } from './limits.ts'

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
  #ink: Buffer | null = null
  #inked = 0
  #id = 0

  add(answer: Single): void {
    this.#dry()
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
    if (most > INK_BYTES) return Hex.fromRange(bytes, at, size)
    if (this.#inked + most > INK_BYTES) this.#dry()
    const ink = (this.#ink ??= takeInk())
    if (this.#inked > 0) ink[this.#inked++] = COMMA
    const begin = this.#inked
    let end = write(HEAD, ink, begin)
    const id = String(this.#id)
    for (let i = 0; i < id.length; i++) ink[end++] = id.charCodeAt(i)
    end = Hex.writeDigits(ink, write(RESULT, ink, end), bytes, at, size)
    this.#inked = write(TAIL, ink, end)
    this.sizeBytes += this.#inked - begin
    return WRITTEN
  }

  /** All of it, text where every answer is, else pieces; null: there are none. Nothing may be added any more. */
  body(): Body | null {
    this.#dry()
    if (this.#ink !== null) spare = this.#ink
    const answers = this.#answers
    if (answers.length === 0) return null
    return answers.every((answer) => typeof answer === 'string') ? `[${answers.join(',')}]` : piecesOf(answers)
  }

  #dry(): void {
    if (this.#ink !== null && this.#inked > 0) this.#answers.push(this.#ink.toString('latin1', 0, this.#inked))
    this.#inked = 0
  }
}

function takeInk(): Buffer {
  const ink = spare ?? Buffer.allocUnsafeSlow(INK_BYTES)
  spare = null
  return ink
}

/** Answers where it ends. */
function write(text: Uint8Array, ink: Uint8Array, at: number): number {
  for (let i = 0; i < text.length; i++) ink[at + i] = text[i] as number // below its length
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
