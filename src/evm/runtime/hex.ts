// Bytes as hex digits and back, by vectors. A module of eth/, not part of the engine. Both functions work on whole vectors: up to 32 bytes
// after the text are overwritten.

const DIGITS: v128 = i8x16(0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66)

/** Writes `size` bytes at `bytes` as lower-case digits at `text`. */
export function encodeHex(bytes: usize, size: usize, text: usize): void {
  for (let at: usize = 0; at < size; at += 16) {
    const values = v128.load(bytes + at)
    const high = i8x16.swizzle(DIGITS, v128.and(v128.shr<u16>(values, 4), i8x16.splat(15)))
    const low = i8x16.swizzle(DIGITS, v128.and(values, i8x16.splat(15)))
    v128.store(text + 2 * at, v128.shuffle<u8>(high, low, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23))
    v128.store(text + 2 * at, v128.shuffle<u8>(high, low, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31), 16)
  }
}

/** Replaces `digits` digits at `text`, an even number, by their bytes. Returns false if a character is not a digit; both letter cases are. */
export function decodeHex(text: usize, digits: usize): bool {
  v128.store(text + digits, i8x16.splat(0x30))
  v128.store(text + digits, i8x16.splat(0x30), 16)
  let highest = i8x16.splat(0)
  for (let at: usize = 0; at < digits; at += 32) {
    const first = values(v128.load(text + at))
    const second = values(v128.load(text + at, 16))
    highest = v128.max<u8>(highest, v128.max<u8>(first, second))
    v128.store(text + (at >> 1), v128.narrow<u16>(joined(first), joined(second)))
  }
  return v128.all_true<u8>(v128.lt<u8>(highest, i8x16.splat(16)))
}

/** The values of 16 characters; 16 and more for those that are not digits (W. Muła, "SIMD-ized hex decoding"). */
@inline
function values(characters: v128): v128 {
  // 0 to 9 for decimal digits: 0x30 to 0x39 become 0xf6 to 0xff, which the saturating subtraction separates from the characters that wrapped around.
  const decimal = v128.sub<u8>(v128.sub_sat<u8>(v128.add<u8>(characters, i8x16.splat(<i8>0xc6)), i8x16.splat(6)), i8x16.splat(<i8>0xf0))
  const letter = v128.add_sat<u8>(v128.sub<u8>(v128.and(characters, i8x16.splat(<i8>0xdf)), i8x16.splat(0x41)), i8x16.splat(10))
  return v128.min<u8>(decimal, letter)
}

/** The bytes of eight pairs of values, each in 16 bits. */
@inline
function joined(values: v128): v128 {
  return v128.and(v128.or(v128.shl<u16>(values, 4), v128.shr<u16>(values, 8)), i16x8.splat(0xff))
}
