// 64-bit operations that WebAssembly lacks.

const LOW: u64 = 0xffffffff

/** Upper 64 bits of a * b. */
@inline
export function mulHigh(a: u64, b: u64): u64 {
  const aLow = a & LOW
  const aHigh = a >> 32
  const bLow = b & LOW
  const bHigh = b >> 32
  const cross = aHigh * bLow + ((aLow * bLow) >> 32) // below 2^64: (2^32 - 1)^2 + 2^32 - 1; so is the next
  const other = aLow * bHigh + (cross & LOW)
  return aHigh * bHigh + (cross >> 32) + (other >> 32)
}

/** 1 when a < b: the borrow of a - b, or the carry of s = a + b as `ltU64(s, b)`. */
@inline
export function ltU64(a: u64, b: u64): u64 {
  return <u64>(a < b)
}
