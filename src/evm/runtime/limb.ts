// What WebAssembly has no instruction for: the upper half of a product of two u64.

const LOW: u64 = 0xffffffff

/** The upper 64 bits of a * b. The lower ones are `a * b` itself. */
@inline
export function mulHigh(a: u64, b: u64): u64 {
  const aLow = a & LOW
  const aHigh = a >> 32
  const bLow = b & LOW
  const bHigh = b >> 32
  const cross = aHigh * bLow + ((aLow * bLow) >> 32) // below 2^64, like the next: (2^32 - 1)^2 + 2^32 - 1
  const other = aLow * bHigh + (cross & LOW)
  return aHigh * bHigh + (cross >> 32) + (other >> 32)
}

/** 1 when a < b, as a borrow or a carry (the carry of s = a + b is `below(s, b)`). */
@inline
export function below(a: u64, b: u64): u64 {
  return <u64>(a < b)
}
