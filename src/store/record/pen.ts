import { crc32 } from 'node:zlib'
import type { Address, Hash } from '../../eth/index.ts'
import {
  BLOOM_BYTES,
  END,
  LOG_HEAD,
  L_ADDRESS,
  L_DATA_SIZE,
  L_TOPICS,
  L_TRANSACTION,
  R_CHECKSUM,
  R_SIZE,
  SHEET_BLOOM,
  SHEET_LETTERS,
  SHEET_PLACES,
  SHEET_RECORD,
  SHEET_TEXTS,
} from '../writer/layout.ts'
import { PEN_BYTES } from './limits.ts'
import { newSheet } from './sheet.ts'
import type { Sheet } from './sheet.ts'

/**
 * Writes a record, front to back: fields of objects as writer/layout.ts lays out their kinds. Always in the same memory, a sheet, which does
 * with vectors what took a fifth of the time here; records wait elsewhere (Draft).
 */
export class Pen {
  readonly #make: () => Sheet
  /** null until something is to be written, so that the start of the node does not wait for it */
  #sheet: Sheet | null = null
  #bytes = EMPTY
  #view = new DataView(EMPTY.buffer)
  #places = new Uint32Array(EMPTY.buffer)
  #letters = Buffer.from(EMPTY.buffer)
  /** where the next byte goes */
  #end = SHEET_RECORD
  /** addresses and hashes that are not written yet, one behind the other, and how many they are */
  #texts = ''
  #count = 0

  constructor(make = newSheet) {
    this.#make = make
  }

  /** of the record, so far */
  get size(): number {
    return this.#end - SHEET_RECORD
  }

  /** A record, which begins with `size` zero bytes, for the head and the tables. */
  begin(size: number): void {
    if (this.#sheet === null || this.#bytes.length > PEN_BYTES) this.#renew()
    this.#end = SHEET_RECORD
    this.#count = 0
    this.#texts = ''
    this.#reserve(size)
    this.#bytes.fill(0, this.#end, this.#end + size)
    this.#end += size
  }

  /** The record, with size and checksum in its head. It stays as it is until the next one begins. */
  finish(): Uint8Array {
    this.#putTexts()
    this.u32At(R_SIZE, this.size)
    this.u32At(R_CHECKSUM, crc32(this.#bytes.subarray(SHEET_RECORD + R_SIZE, this.#end)))
    return this.#bytes.subarray(SHEET_RECORD, this.#end)
  }

  // --- structure: at a place that stands already, or behind what stands --------------------------------------------------------------------

  u32At(at: number, value: number): void {
    this.#view.setUint32(SHEET_RECORD + at, value, true)
  }

  u64At(at: number, value: number): void {
    this.u32At(at, value) // modulo 2^32
    this.u32At(at + 4, value / 2 ** 32)
  }

  /** 20 bytes. They are there when the record is finished. */
  addressAt(at: number, address: Address): void {
    this.#text(SHEET_RECORD + at, 20, address)
  }

  /** 32 bytes, likewise. */
  hashAt(at: number, hash: Hash): void {
    this.#text(SHEET_RECORD + at, 32, hash)
  }

  u8(value: number): void {
    this.#reserve(1)
    this.#bytes[this.#end++] = value
  }

  u32(value: number): void {
    this.#reserve(4)
    this.#view.setUint32(this.#end, value, true)
    this.#end += 4
  }

  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length)
    this.#bytes.set(bytes, this.#end)
    this.#end += bytes.length
  }

  /** As LOG_HEAD of the layout says. */
  log(transactionIndex: number, address: Address, topics: readonly Hash[], data: Uint8Array): void {
    this.#reserve(LOG_HEAD + 32 * topics.length)
    const start = this.#end
    this.#view.setUint32(start + L_TRANSACTION, transactionIndex, true)
    this.#view.setUint32(start + L_DATA_SIZE, data.length, true)
    this.#view.setUint32(start + L_TOPICS, topics.length, true)
    this.#text(start + L_ADDRESS, 20, address)
    let end = start + LOG_HEAD
    for (let i = 0; i < topics.length; i++, end += 32) this.#text(end, 32, topics[i]!)
    this.#end = end
    this.raw(data)
  }

  // --- fields ----------------------------------------------------------------------------------------------------------------------------

  /** A field without a payload: it refers to something, or is null or true. */
  mark(tag: number): void {
    this.u8(tag)
  }

  end(): void {
    this.mark(END)
  }

  address(tag: number, value: Address): void {
    this.mark(tag)
    this.rawAddress(value)
  }

  /** Without a tag. */
  rawAddress(value: Address): void {
    this.#reserve(20)
    this.#text(this.#end, 20, value)
    this.#end += 20
  }

  hash(tag: number, value: Hash): void {
    this.mark(tag)
    this.#hash(value)
  }

  /** Throws RangeError below zero and from 2^256 on. Most bigints fit 64 bits, which takes 14 ns; asking `Number` took 22. */
  quantity(tag: number, value: bigint | number): void {
    this.#reserve(2 + 32)
    this.#bytes[this.#end] = tag
    if (typeof value === 'number') return this.#number(value)
    words[0] = value
    if (words[0] === value) this.#small(halves[0]!, halves[1]!)
    else this.#large(value)
  }

  bytes(tag: number, value: Uint8Array): void {
    this.mark(tag)
    this.u32(value.length)
    this.raw(value)
  }

  /** Throws RangeError for what is not 256 bytes. */
  bloom(tag: number, value: Uint8Array): void {
    if (value.length !== BLOOM_BYTES) throw new RangeError(`a bloom of ${value.length} bytes`)
    this.#reserve(2 + BLOOM_BYTES)
    this.#bytes[this.#end] = tag
    this.#bytes.set(value, SHEET_BLOOM)
    this.#end = this.#sheet!.putBloom(this.#end + 1) // the sheet is there since the record began
  }

  hashes(tag: number, values: readonly Hash[]): void {
    this.mark(tag)
    this.u32(values.length)
    for (const value of values) this.#hash(value)
  }

  /** `write` writes an object's fields and its end. */
  objects<T>(tag: number, values: readonly T[], write: (value: T) => void): void {
    this.mark(tag)
    this.u32(values.length)
    for (const value of values) write(value)
  }

  #hash(value: Hash): void {
    this.#reserve(32)
    this.#text(this.#end, 32, value)
    this.#end += 32
  }

  #text(at: number, size: number, text: string): void {
    if (this.#count === SHEET_TEXTS) this.#putTexts()
    const place = 2 * this.#count++
    this.#places[place] = at
    this.#places[place + 1] = size
    this.#texts += text
  }

  #number(value: number): void {
    if (!(value >= 0 && Number.isSafeInteger(value))) throw new RangeError(`${value} is not a quantity`)
    this.#small(value >>> 0, (value / 2 ** 32) >>> 0)
  }

  /** Length and big-endian bytes behind the tag at `#end`. */
  #small(low: number, high: number): void {
    const bytes = this.#bytes
    const length = high > 0 ? 8 - (Math.clz32(high) >> 3) : 4 - (Math.clz32(low) >> 3)
    let at = this.#end + 1
    bytes[at] = length
    this.#end = at + 1 + length
    for (let shift = 8 * length - 40; shift >= 0; shift -= 8) bytes[++at] = high >>> shift
    for (let shift = 8 * Math.min(length, 4) - 8; shift >= 0; shift -= 8) bytes[++at] = low >>> shift
  }

  /** All 32 bytes are written, then the leading zeros are moved out of the way. */
  #large(value: bigint): void {
    if (value < 0n) throw new RangeError(`${value} is not a quantity`)
    if (value > MAX_WORD) throw new RangeError(`${value} does not fit 32 bytes`)
    words[0] = value // each of these takes the low 64 bits
    words[1] = value >> 64n
    words[2] = value >> 128n
    words[3] = value >> 192n
    const first = this.#end + 2
    for (let i = 0; i < 8; i++) this.#view.setUint32(first + 28 - 4 * i, halves[i]!)
    let zeros = 0
    while (this.#bytes[first + zeros] === 0) zeros++
    if (zeros > 0) this.#bytes.copyWithin(first, first + zeros, first + 32)
    this.#bytes[first - 1] = 32 - zeros
    this.#end = first + 32 - zeros
  }

  /** Many at once, for a call of `write` takes as long as some of them. Throws RangeError when their lengths do not add up: one was no address or hash. */
  #putTexts(): void {
    this.#letters.write(this.#texts, 'latin1')
    const letters = this.#sheet!.putTexts(this.#count) // there since the record began
    if (letters !== this.#texts.length) throw new RangeError('an address does not have 20 bytes, or a hash 32')
    this.#texts = ''
    this.#count = 0
  }

  #reserve(more: number): void {
    if (this.#end + more > this.#bytes.length) this.#grow(more)
  }

  /** By half of what there is at least, so that a long record is not moved over and over. */
  #grow(more: number): void {
    const { length } = this.#bytes
    const sheet = this.#sheet! // there since the record began
    sheet.memory.grow(Math.ceil(Math.max(this.#end + more - length, length / 2) / PAGE_BYTES))
    this.#hold(sheet)
  }

  #renew(): void {
    this.#sheet = this.#make()
    this.#hold(this.#sheet)
  }

  #hold({ memory: { buffer } }: Sheet): void {
    this.#bytes = new Uint8Array(buffer)
    this.#view = new DataView(buffer)
    this.#places = new Uint32Array(buffer, SHEET_PLACES, 2 * SHEET_TEXTS)
    this.#letters = Buffer.from(buffer, SHEET_LETTERS, SHEET_TEXTS * 66)
  }
}

const EMPTY = new Uint8Array(0)
const MAX_WORD = (1n << 256n) - 1n
const PAGE_BYTES = 2 ** 16

/** of a quantity, the lowest first */
const words = new BigUint64Array(4)
const halves = new Uint32Array(words.buffer)
