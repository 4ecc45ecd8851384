import { MANY, PLACE_MASK, keyOfRow } from './keys.ts'
import type { Places } from './places.ts'

/**
 * A page of a section. u32s and rows are little-endian.
 * ```
 * u32 checksum of what follows | u32 rows | the rows (keys.ts), 8 bytes each, rising | lists
 * u32 checksum of what follows | u32 items | a piece of a long list
 * ```
 * A list is `varint count`, then its first place and the differences to the next as varints. A long one has pages of its own, one behind the
 * other, and stands as `varint count, varint first page, varint pages, then per page u32 its first place, u32 how many are before it`.
 */
export interface Page {
  readonly bytes: Uint8Array
  readonly words: Uint32Array
  readonly rows: number
}

export const PAGE_HEAD = 8
/** Set in where a row's list begins, counted from the end of the rows: it is a long one. */
export const LONG = 0x80_0000
/** Of a long list, per page. */
export const PIECE_BYTES = 8

/** Throws CorruptSection. `bytes` stay as they are. */
export function openPage(bytes: Uint8Array, section: number, page: number): Page {
  if (bytes.length < PAGE_HEAD || bytes.length % 4 !== 0) throw new CorruptSection(section, `page ${page} has ${bytes.length} bytes`)
  const opened = pageOf(bytes.byteOffset % 4 === 0 ? bytes : bytes.slice())
  if (opened.words[0] !== checksum(opened.words, 1, section, page))
    throw new CorruptSection(section, `the checksum of page ${page} is wrong`)
  return opened
}

/** Of bytes that were just made: they are not checked. */
export function pageOf(bytes: Uint8Array): Page {
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4)
  return { bytes, words, rows: words[1] as number } // a head has two
}

/** Every change of one word changes it, and so does another place: section and page count too. */
export function checksum(words: Uint32Array, start: number, section: number, page: number): number {
  let [a, b, c, d] = [section ^ 0x165667b1, page ^ 0x27d4eb2f, words.length, 0x2545f491]
  let i = start
  for (; i + 4 <= words.length; i += 4) {
    a = Math.imul(((a << 13) | (a >>> 19)) ^ (words[i] as number), 0x85ebca6b) // all in range
    b = Math.imul(((b << 13) | (b >>> 19)) ^ (words[i + 1] as number), 0xc2b2ae35)
    c = Math.imul(((c << 13) | (c >>> 19)) ^ (words[i + 2] as number), 0x9e3779b1)
    d = Math.imul(((d << 13) | (d >>> 19)) ^ (words[i + 3] as number), 0x85ebca77)
  }
  for (; i < words.length; i++) a = Math.imul(((a << 13) | (a >>> 19)) ^ (words[i] as number), 0x85ebca6b)
  let sum = a
  for (const lane of [b, c, d]) sum = Math.imul(((sum << 13) | (sum >>> 19)) ^ lane, 0x9e3779b1)
  return (sum ^ (sum >>> 16)) >>> 0
}

/** The row of `key`, or -1. */
export function rowOf(page: Page, key: number): number {
  let [low, high] = [0, page.rows - 1]
  while (low <= high) {
    const middle = (low + high) >>> 1
    const found = keyAt(page, middle)
    if (found === key) return middle
    if (found < key) low = middle + 1
    else high = middle - 1
  }
  return -1
}

export function keyAt({ words }: Page, row: number): number {
  return keyOfRow(words[2 + 2 * row] as number, words[3 + 2 * row] as number) // rows are in range
}

/** The place of a row's only item; -1: it has many. */
export function onlyPlaceAt({ words }: Page, row: number): number {
  const low = words[2 + 2 * row] as number // rows are in range
  return (low & MANY) === 0 ? low & PLACE_MASK : -1
}

/** Where the items of a row stand that has many. */
export interface List {
  readonly count: number
  /** where in the page's bytes the places begin, or a long list's table of pages */
  readonly at: number
  /** of a long list; else 0 */
  readonly pages: number
  readonly firstPage: number
}

export function listAt({ bytes, words, rows }: Page, row: number): List {
  const low = words[2 + 2 * row] as number // rows are in range
  let at = PAGE_HEAD + 8 * rows + (low & (LONG - 1))
  const count = varintAt(bytes, at)
  at += varintBytes(count)
  if ((low & LONG) === 0) return { count, at, pages: 0, firstPage: 0 }
  const firstPage = varintAt(bytes, at)
  at += varintBytes(firstPage)
  const pages = varintAt(bytes, at)
  return { count, at: at + varintBytes(pages), pages, firstPage }
}

/** First place in page `piece` of a long list. */
export function pieceStart({ bytes }: Page, { at }: List, piece: number): number {
  return u32At(bytes, at + PIECE_BYTES * piece)
}

/** How many places the pages before `piece` have. */
export function pieceBefore({ bytes }: Page, { at }: List, piece: number): number {
  return u32At(bytes, at + PIECE_BYTES * piece + 4)
}

/** Of `count` places at `at`, those from `from` to before `to`. */
export function readPlaces(bytes: Uint8Array, at: number, count: number, from: number, to: number, out: Places): void {
  let place = 0
  for (let i = 0; i < count; i++) {
    let byte = bytes[at++] as number // lists end within their page: its checksum was right
    let difference = byte & 127
    for (let shift = 7; byte > 127; shift += 7) {
      byte = bytes[at++] as number
      difference |= (byte & 127) << shift
    }
    place += difference
    if (place >= to) return
    if (place >= from) out.push(place)
  }
}

function varintAt(bytes: Uint8Array, at: number): number {
  let value = 0
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[at++] as number // as above
    value |= (byte & 127) << shift
    if (byte < 128) return value
  }
}

/** How many it takes. */
function varintBytes(value: number): number {
  let size = 1
  while ((value >>>= 7) > 0) size++
  return size
}

function u32At(bytes: Uint8Array, at: number): number {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length).getUint32(at, true)
}

/** A section of the log index is not as it was written. The records are the truth: an index can be made anew from them. */
export class CorruptSection extends Error {
  override readonly name = 'CorruptSection'
  readonly section: number

  constructor(section: number, what: string) {
    super(`section ${section} of the log index is damaged: ${what}`)
    this.section = section
  }
}
