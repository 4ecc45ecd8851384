import { Bloom } from '../../eth/index.ts'
import { BLOOM_BYTES, BLOOM_DENSE } from '../writer/layout.ts'

// The payload of kind BLOOM (writer/layout.ts). Most receipts' blooms are sparse: stored whole they were a quarter of a block's record.

/** Returns the size of the payload at `at`. */
export function bloomSize(record: Uint8Array, at: number): number {
  const head = record[at]!
  return 1 + (head === BLOOM_DENSE ? BLOOM_BYTES : 2 * bitCount(head))
}

/** Returns the 256 bytes: a view into the record if they are stored whole, else a new array. */
export function bloomAt(record: Uint8Array, at: number): Uint8Array {
  const head = record[at]!
  if (head === 0) return Bloom.empty
  if (head === BLOOM_DENSE) return new Uint8Array(record.buffer, record.byteOffset + at + 1, BLOOM_BYTES)
  const bloom = new Uint8Array(BLOOM_BYTES)
  for (let place = at + 1, end = place + 2 * bitCount(head); place < end; place += 2) {
    const bit = record[place]! | (record[place + 1]! << 8)
    bloom[bit >> 3]! |= 0x80 >> (bit & 7)
  }
  return bloom
}

function bitCount(head: number): number {
  return head === 0 ? 0 : head - BLOOM_DENSE
}
