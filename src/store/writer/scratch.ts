// SIMD conversions for the record writer: hex to bytes, and blooms to bit positions.

import { BLOOM_BYTES, BLOOM_MAX_SPARSE_BITS, BLOOM_DENSE, SCRATCH_BLOOM, SCRATCH_HEX, SCRATCH_TARGETS } from './layout'

/** Converts the first `count` texts at SCRATCH_HEX to bytes at their targets. Returns the length that the texts must have had. */
export function decodeHex(count: i32): i32 {
  let from = SCRATCH_HEX
  for (let place = SCRATCH_TARGETS, end = place + 8 * <usize>count; place < end; place += 8) {
    const to = <usize>load<u32>(place)
    const size = <usize>load<u32>(place, 4)
    put16(from + 2, to)
    // the last 16 bytes, which overlap the first 16 of an address
    put16(from + 2 * size - 30, to + size - 16)
    from += 2 + 2 * size
  }
  return <i32>(from - SCRATCH_HEX)
}

/** Encodes the bloom at SCRATCH_BLOOM (BLOOM in layout.ts). Returns the end. */
export function encodeBloom(to: usize): usize {
  const first = to + 1
  const last = first + 2 * BLOOM_MAX_SPARSE_BITS
  let end = first
  for (let at: usize = 0; at < <usize>BLOOM_BYTES; at += 64) {
    for (let filled = filledOf(SCRATCH_BLOOM + at); filled != 0; filled &= filled - 1) {
      const place = at + <usize>ctz(filled)
      for (let bits = <u32>load<u8>(SCRATCH_BLOOM + place) << 24; bits != 0; end += 2) {
        if (end == last) return putWhole(to)
        const bit = clz(bits)
        bits ^= 0x8000_0000 >>> bit
        store<u16>(end, <u16>(8 * place + bit))
      }
    }
  }
  store<u8>(to, end == first ? 0 : BLOOM_DENSE + <i32>((end - first) >> 1))
  return end
}

function putWhole(to: usize): usize {
  store<u8>(to, BLOOM_DENSE)
  memory.copy(to + 1, SCRATCH_BLOOM, BLOOM_BYTES)
  return to + 1 + BLOOM_BYTES
}

/** A bit for each of 64 bytes that is not zero. */
@inline
function filledOf(at: usize): u64 {
  return filled16(at) | (filled16(at + 16) << 16) | (filled16(at + 32) << 32) | (filled16(at + 48) << 48)
}

@inline
function filled16(at: usize): u64 {
  return <u64>(<u32>i8x16.bitmask(i8x16.ne(v128.load(at), i8x16.splat(0))))
}

/** Decodes 32 hex digits. */
@inline
function put16(from: usize, to: usize): void {
  v128.store(to, i8x16.narrow_i16x8_u(bytesOf(v128.load(from)), bytesOf(v128.load(from, 16))))
}

/** Decodes 16 hex digits to eight bytes, each in a u16. A letter is 9 more than its low four bits. */
@inline
function bytesOf(letters: v128): v128 {
  const more = v128.and(i8x16.gt_s(letters, i8x16.splat(0x39)), i8x16.splat(9))
  const digits = i8x16.add(v128.and(letters, i8x16.splat(15)), more)
  return v128.and(v128.or(i16x8.shl(digits, 4), i16x8.shr_u(digits, 8)), i16x8.splat(0xff))
}
