import { Address, Hex } from '../eth/index.ts'
import { parseBody } from './envelope.ts'
import { BATCH_ITEMS, KNOWN_TARGETS, PLAIN_CALL_DIGITS } from './limits.ts'
import { readAddress } from './schema.ts'

// What nodes are asked in bulk is eth_call of `{ to, data }` at `latest`, as JSON.stringify and its like write it: without blanks and escapes,
// keys in any order, the id a whole number. Those are read from the bytes of the body: one costs 0.3 us where JSON.parse, its strings and
// their digits took 0.8. Whatever differs in a single byte is JSON.parse's; here nothing is refused.

/** A request for eth_call at `latest` that is sound: of a class, which no JSON can pretend to be. It shows what JSON.parse would make of it. */
export class PlainCall {
  readonly id: number
  readonly to: Address
  readonly data: Uint8Array

  constructor(id: number, to: Address, data: Uint8Array) {
    this.id = id
    this.to = to
    this.data = data
  }

  get jsonrpc(): string {
    return '2.0'
  }

  get method(): string {
    return 'eth_call'
  }
}

/** What JSON.parse makes of the body, but for the requests that are PlainCalls. undefined: another reader's. */
export function readPlainCalls(body: Uint8Array): unknown {
  if (body.length < LEAST_BYTES) return undefined
  const reader = new Reader(body)
  if (body[0] !== BRACKET) return body[0] === BRACE && reader.call() && reader.at === body.length ? reader.message : undefined
  const messages: unknown[] = []
  do {
    const begin = ++reader.at
    if (messages.length === BATCH_ITEMS || !reader.call()) return messages.length === 0 ? undefined : withRest(messages, body, begin)
    messages.push(reader.message)
  } while (body[reader.at] === COMMA)
  return body[reader.at] === BRACKET_END && reader.at + 1 === body.length ? messages : undefined
}

/** Calls before something else. What follows their last comma is as sound as it would be in brackets of its own, unless it is nothing. */
function withRest(messages: readonly unknown[], body: Uint8Array, at: number): unknown {
  const rest = new Uint8Array(body.length - at + 1)
  rest[0] = BRACKET
  rest.set(body.subarray(at), 1)
  const others = parseBody(rest)
  return Array.isArray(others) && others.length > 0 ? messages.concat(others) : undefined
}

/** A place in a body. What reads from there answers whether it was all as it should be, and stands behind it then. */
class Reader {
  at = 0
  message: PlainCall | null = null
  readonly #bytes: Uint8Array
  #id = 0
  #to: Address = Address.zero
  #data: Uint8Array = NO_BYTES
  /** of the data before */
  #digits = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  /** A request: each of its four keys once. */
  call(): boolean {
    if (this.#bytes[this.at] !== BRACE) return false
    let seen = 0
    do {
      this.at++
      const field = this.#field()
      if ((seen & field) !== 0 || field === 0) return false
      seen |= field
    } while (this.#bytes[this.at] === COMMA)
    if (seen !== EVERY_FIELD || this.#bytes[this.at++] !== BRACE_END) return false
    this.message = new PlainCall(this.#id, this.#to, this.#data)
    return true
  }

  /** A key, told by its first letter, with its value. A bit of EVERY_FIELD for each; 0: another. */
  #field(): number {
    const key = this.#bytes[this.at + 1]
    if (key === J) return this.#skip(VERSION) ? 1 : 0
    if (key === M) return this.#skip(METHOD) ? 2 : 0
    if (key === I) return this.#skip(ID) && (this.#id = this.#number()) >= 0 ? 4 : 0
    return this.#skip(PARAMS) && this.#callObject() && this.#skip(LATEST) ? 8 : 0
  }

  /** The call object: both keys once. */
  #callObject(): boolean {
    const isTargetFirst = this.#bytes[this.at + 1] === T
    if (!(isTargetFirst ? this.#target() : this.#input())) return false
    if (this.#bytes[this.at++] !== COMMA) return false
    return (isTargetFirst ? this.#input() : this.#target()) && this.#bytes[this.at++] === BRACE_END
  }

  #target(): boolean {
    if (!this.#skip(TARGET)) return false
    const from = this.at
    this.at += ADDRESS_DIGITS
    const to = this.#bytes[this.at++] === QUOTE ? targetAt(this.#bytes, from) : null
    if (to !== null) this.#to = to
    return to !== null
  }

  /** Bytes in hex. One call has as many as the one before, so their end is guessed; a digit is no quote. */
  #input(): boolean {
    if (!this.#skip(DATA)) return false
    const bytes = this.#bytes
    const from = this.at
    if (bytes[from + this.#digits] !== QUOTE) this.#digits = bytes.indexOf(QUOTE, from) - from
    if (this.#digits < 0 || this.#digits > PLAIN_CALL_DIGITS) return false
    this.at = from + this.#digits + 1
    const data = Hex.readDigits(bytes, from, this.#digits)
    if (data !== null) this.#data = data
    return data !== null
  }

  /** A whole number that is written in one way only; -1: another. */
  #number(): number {
    const bytes = this.#bytes
    const from = this.at
    let value = 0
    let digit = (bytes[this.at] ?? 0) - ZERO
    for (; digit >= 0 && digit <= 9; digit = (bytes[++this.at] ?? 0) - ZERO) value = value * 10 + digit
    const count = this.at - from
    return count === 0 || count > 15 || (count > 1 && bytes[from] === ZERO) ? -1 : value
  }

  #skip(text: Uint8Array): boolean {
    const bytes = this.#bytes
    const { at } = this
    for (let i = 0; i < text.length; i++) if (bytes[at + i] !== text[i]) return false
    this.at = at + text.length
    return true
  }
}

/** Addresses by their digits as they stood in a body: a batch asks the same few contracts. A place has one. */
const targets: { readonly digits: Uint8Array; readonly address: Address }[] = []

function targetAt(bytes: Uint8Array, from: number): Address | null {
  const ending = (bytes[from + 38] as number) * 7 + (bytes[from + 39] as number) // a quote stands behind them
  const place = ending % KNOWN_TARGETS
  const known = targets[place]
  if (known !== undefined && holds(bytes, from, known.digits)) return known.address
  const digits = new Uint8Array(bytes.subarray(from, from + ADDRESS_DIGITS)) // Buffer.slice is a view: it would keep the whole body, and change with it
  const address = readAddress(`0x${LATIN1.decode(digits)}`)
  if (address !== null) targets[place] = { digits, address }
  return address
}

function holds(bytes: Uint8Array, from: number, digits: Uint8Array): boolean {
  for (let i = 0; i < digits.length; i++) if (bytes[from + i] !== digits[i]) return false
  return true
}

const NO_BYTES = new Uint8Array()
const ADDRESS_DIGITS = 40
/** Of one call without data. Small questions (eth_chainId, eth_getBalance) are told by their size alone, which spares them 0.13 us of 0.8. */
const LEAST_BYTES = 128
const LATIN1 = new TextDecoder('latin1')
const ascii = (text: string): Uint8Array => new TextEncoder().encode(text)
const VERSION = ascii('"jsonrpc":"2.0"')
const ID = ascii('"id":')
const METHOD = ascii('"method":"eth_call"')
const PARAMS = ascii('"params":[{')
const TARGET = ascii('"to":"0x')
const DATA = ascii('"data":"0x')
const LATEST = ascii(',"latest"]')
/** version, method, id, parameters */
const EVERY_FIELD = 1 | 2 | 4 | 8
const J = 0x6a
const I = 0x69
const M = 0x6d
const T = 0x74
const ZERO = 0x30
const QUOTE = 0x22
const COMMA = 0x2c
const BRACKET = 0x5b
const BRACKET_END = 0x5d
const BRACE = 0x7b
const BRACE_END = 0x7d
