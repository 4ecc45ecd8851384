import { MANY, POSITION_MASK, keyOfRow } from './keys.ts'
import type { PositionList } from './positionlist.ts'

/**
 * A page of a section. u32s and rows are little-endian.
 * ```
 * u32 checksum of the rest | u32 rows | the rows (keys.ts), 8 bytes each, ascending | lists
 * u32 checksum of the rest | u32 items | a piece of a long list
 * ```
 * A list is `varint count`, then its first position and the differences as varints. A long list has consecutive pages of its own, and
 * `varint count, varint first page, varint pages, then per page u32 its first position, u32 positions before it` in its place.
 */
export interface Page {
  readonly bytes: Uint8Array
  readonly words: Uint32Array
  readonly rows: number
}

export const PAGE_HEAD = 8
/** Flag in a row's list offset, which counts from the end of the rows: the list is long. */
export const LONG = 0x80_0000
/** per page of a long list */
export const PIECE_BYTES = 8

/** Throws CorruptSection. `bytes` are not modified. */
export function openPage(bytes: Uint8Array, section: number, page: number): Page {
  if (bytes.length < PAGE_HEAD || bytes.length % 4 !== 0) throw new CorruptSection(section, `page ${page} has ${bytes.length} bytes`)
  const opened = pageOf(bytes.byteOffset % 4 === 0 ? bytes : bytes.slice())
  if (opened.words[0] !== checksum(opened.words, 1, section, page))
    throw new CorruptSection(section, `the checksum of page ${page} is wrong`)
  return opened
}

/** Opens a page in memory without verifying it. */
export function pageOf(bytes: Uint8Array): Page {
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4)
  return { bytes, words, rows: words[1] as number } // a header has two
}

/** Detects any change of one word, and a page read from another place: it covers section and page number. */
export function checksum(words: Uint32Array, start: number, section: number, page: number): number {
  let [a, b, c, d] = [section ^ 0x165667b1, page ^ 0x27d4eb2f, words.length, 0x2545f491]
  let i = start
  for (; i + 4 <= words.length; i += 4) {
    a = Math.imul(((a << 13) | (a >>> 19)) ^ (words[i] as number), 0x85ebca6b) // in range
    b = Math.imul(((b << 13) | (b >>> 19)) ^ (words[i + 1] as number), 0xc2b2ae35)
    c = Math.imul(((c << 13) | (c >>> 19)) ^ (words[i + 2] as number), 0x9e3779b1)
    d = Math.imul(((d << 13) | (d >>> 19)) ^ (words[i + 3] as number), 0x85ebca77)
  }
  for (; i < words.length; i++) a = Math.imul(((a << 13) | (a >>> 19)) ^ (words[i] as number), 0x85ebca6b)
  let sum = a
  for (const lane of [b, c, d]) sum = Math.imul(((sum << 13) | (sum >>> 19)) ^ lane, 0x9e3779b1)
  return (sum ^ (sum >>> 16)) >>> 0
}

/** Returns the row of `key`, -1 if there is none. */
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
  return keyOfRow(words[2 + 2 * row] as number, words[3 + 2 * row] as number) // in range
}

/** Returns the only position of a row, -1 if it has several. */
export function onlyPositionAt({ words }: Page, row: number): number {
  const low = words[2 + 2 * row] as number // in range
  return (low & MANY) === 0 ? low & POSITION_MASK : -1
}

/** The list of a row with several positions. */
export interface List {
  readonly count: number
  /** offset of the positions, or of a long list's table of pages */
  readonly at: number
  /** number of pages of a long list, else 0 */
  readonly pages: number
  readonly firstPage: number
}

export function listAt({ bytes, words, rows }: Page, row: number): List {
  const low = words[2 + 2 * row] as number // in range
  let at = PAGE_HEAD + 8 * rows + (low & (LONG - 1))
  const count = varintAt(bytes, at)
  at += varintBytes(count)
  if ((low & LONG) === 0) return { count, at, pages: 0, firstPage: 0 }
  const firstPage = varintAt(bytes, at)
  at += varintBytes(firstPage)
  const pages = varintAt(bytes, at)
  return { count, at: at + varintBytes(pages), pages, firstPage }
}

/** The first position in a page of a long list. */
export function pieceStart({ bytes }: Page, { at }: List, piece: number): number {
  return u32At(bytes, at + PIECE_BYTES * piece)
}

/** The number of positions before a page of a long list. */
export function pieceBefore({ bytes }: Page, { at }: List, piece: number): number {
  return u32At(bytes, at + PIECE_BYTES * piece + 4)
}

/** Reads the positions from `from` to before `to` of the `count` at `at`. */
export function readPositions(bytes: Uint8Array, at: number, count: number, from: number, to: number, out: PositionList): void {
  let position = 0
  for (let i = 0; i < count; i++) {
    let byte = bytes[at++] as number // lists end within their page, whose checksum matched
    let difference = byte & 127
    for (let shift = 7; byte > 127; shift += 7) {
      byte = bytes[at++] as number
      difference |= (byte & 127) << shift
    }
    position += difference
    if (position >= to) return
    if (position >= from) out.push(position)
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

/** The size of `value` as a varint. */
function varintBytes(value: number): number {
  let size = 1
  while ((value >>>= 7) > 0) size++
  return size
}

function u32At(bytes: Uint8Array, at: number): number {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length).getUint32(at, true)
}

/** A section of the index is damaged. It can be rebuilt from the records. */
export class CorruptSection extends Error {
  override readonly name = 'CorruptSection'
  readonly section: number

  constructor(section: number, what: string) {
    super(`section ${section} of the log index is damaged: ${what}`)
    this.section = section
  }
}
