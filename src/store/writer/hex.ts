// Bytes as hex digits, sixteen at a time. The caller ensures capacity for whole vectors: VECTOR_PADDING_BYTES.

const DIGITS: v128 = i8x16(0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66)

/** Writes 16 bytes as 32 digits. */
@inline
export function hex16(at: usize, out: usize): void {
  const bytes = v128.load(at)
  const high = i8x16.swizzle(DIGITS, v128.and(v128.shr<u16>(bytes, 4), i8x16.splat(15)))
  const low = i8x16.swizzle(DIGITS, v128.and(bytes, i8x16.splat(15)))
  v128.store(out, v128.shuffle<u8>(high, low, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23))
  v128.store(out, v128.shuffle<u8>(high, low, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31), 16)
}

@inline
export function hex20(at: usize, out: usize): usize {
  hex16(at, out)
  hex16(at + 16, out + 32)
  return out + 40
}

@inline
export function hex32(at: usize, out: usize): usize {
  hex16(at, out)
  hex16(at + 16, out + 32)
  return out + 64
}

/** Writes any number of bytes. */
export function hexAll(at: usize, size: usize, out: usize): usize {
  for (let done: usize = 0; done < size; done += 16) hex16(at + done, out + 2 * done)
  return out + 2 * size
}

/** Writes an integer without leading zeros. */
@inline
export function hexInteger(value: u64, out: usize): usize {
  const count: u64 = (67 - clz(value | 1)) >> 2
  // The first digit is shifted to the top, so that unused digits come last.
  const bytes = v128.splat<u64>(bswap(value << ((16 - count) << 2)))
  const high = i8x16.swizzle(DIGITS, v128.and(v128.shr<u16>(bytes, 4), i8x16.splat(15)))
  const low = i8x16.swizzle(DIGITS, v128.and(bytes, i8x16.splat(15)))
  v128.store(out, v128.shuffle<u8>(high, low, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23))
  return out + (count as usize)
}
