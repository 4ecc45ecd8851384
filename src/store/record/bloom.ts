import { Bloom } from '../../eth/index.ts'
import { BLOOM_BYTES, BLOOM_MAX_BITS, BLOOM_WHOLE } from '../writer/layout.ts'

// The payload of a field of kind BLOOM (writer/layout.ts). A receipt's bloom is mostly zeros: whole, they were a quarter of a block's record.

/** Writes it to `to`, from `at` on, where there is room for it whole. Answers its size. Throws RangeError for what is not 256 bytes. */
export function putBloom(bloom: Uint8Array, to: Uint8Array, at: number): number {
  if (bloom.length !== BLOOM_BYTES) throw new RangeError(`a bloom of ${bloom.length} bytes`)
  bytes.set(bloom)
  const first = at + 1
  const last = first + 2 * BLOOM_MAX_BITS
  let end = first
  for (let i = 0, count = findFilled(); i < count; i++) {
    const place = filledWords[i]!
    for (let word = view.getInt32(4 * place); word !== 0; end += 2) {
      if (end === last) return putWhole(bloom, to, at)
      const bit = Math.clz32(word)
      word ^= 0x80_00_00_00 >>> bit
      to[end] = 32 * place + bit // modulo 256
      to[end + 1] = place >> 3
    }
  }
  to[at] = end === first ? 0 : BLOOM_WHOLE + (end - first) / 2
  return end - at
}

/** How many words have a bit; `filledWords` says which. That is chance, and a branch on it took 0.16 us of 0.38 a bloom. */
function findFilled(): number {
  let count = 0
  for (let i = 0; i < WORDS; i++) {
    const word = words[i]!
    filledWords[count] = i
    count += (word | -word) >>> 31
  }
  return count
}

function putWhole(bloom: Uint8Array, to: Uint8Array, at: number): number {
  to[at] = BLOOM_WHOLE
  to.set(bloom, at + 1)
  return 1 + BLOOM_BYTES
}

/** Bytes of the payload that begins at `at`. */
export function bloomSize(record: Uint8Array, at: number): number {
  const head = record[at]!
  return 1 + (head === BLOOM_WHOLE ? BLOOM_BYTES : 2 * bitCount(head))
}

/** The 256 bytes: in the record where they stand whole, else made anew. */
export function bloomAt(record: Uint8Array, at: number): Uint8Array {
  const head = record[at]!
  if (head === 0) return Bloom.empty
  if (head === BLOOM_WHOLE) return new Uint8Array(record.buffer, record.byteOffset + at + 1, BLOOM_BYTES)
  const bloom = new Uint8Array(BLOOM_BYTES)
  for (let place = at + 1, end = place + 2 * bitCount(head); place < end; place += 2) {
    const bit = record[place]! | (record[place + 1]! << 8)
    bloom[bit >> 3]! |= 0x80 >> (bit & 7)
  }
  return bloom
}

function bitCount(head: number): number {
  return head === 0 ? 0 : head - BLOOM_WHOLE
}

/** Where a bloom lies while its bits are looked for. */
const bytes = new Uint8Array(BLOOM_BYTES)
const view = new DataView(bytes.buffer)
const words = new Int32Array(bytes.buffer)
const WORDS = BLOOM_BYTES / 4
const filledWords = new Uint8Array(WORDS)
