// 256-bit arithmetic. A word is 32 bytes in memory: four u64 limbs, least significant first. Arguments are pointers. `out` may equal any
// input: all inputs are read before the first write.
import { DIVIDEND, divide, QUOTIENT, REMAINDER } from './division'
import { ltU64, mulHigh } from './limb'

// --- copies --------------------------------------------------------------------------------------------------------

@inline
export function copy(out: usize, a: usize): void {
  set(out, load<u64>(a), load<u64>(a, 8), load<u64>(a, 16), load<u64>(a, 24))
}

@inline
export function clear(out: usize): void {
  set(out, 0, 0, 0, 0)
}

// memory.copy and memory.fill are calls out of the module of 6 ns each; balanceOf made a dozen of them. Small copies use vectors instead.

/** Copies the 20 bytes of an address. */
@inline
export function copyAddress(out: usize, address: usize): void {
  const low = load<u64>(address)
  const middle = load<u64>(address, 8)
  const high = load<u32>(address, 16)
  store<u64>(out, low)
  store<u64>(out, middle, 8)
  store<u32>(out, high, 16)
}

/** Copies `size` bytes, usually one word. */
export function copyBytes(out: usize, from: usize, size: usize): void {
  if (size != 32) {
    if (size != 0) memory.copy(out, from, size)
    return
  }
  const low = v128.load(from)
  const high = v128.load(from, 16)
  v128.store(out, low)
  v128.store(out, high, 16)
}

/** `size`: a multiple of 32, usually a few words. */
export function clearWords(out: usize, size: usize): void {
  if (size > 512) return memory.fill(out, 0, size)
  for (const end = out + size; out < end; out += 32) {
    v128.store(out, i64x2.splat(0))
    v128.store(out, i64x2.splat(0), 16)
  }
}

@inline
export function set(out: usize, limb0: u64, limb1: u64, limb2: u64, limb3: u64): void {
  store<u64>(out, limb0)
  store<u64>(out, limb1, 8)
  store<u64>(out, limb2, 16)
  store<u64>(out, limb3, 24)
}

/** Writes a number below 2^64 as a word. */
@inline
export function setU64(out: usize, value: u64): void {
  set(out, value, 0, 0, 0)
}

/** Converts 32 big-endian bytes to a word. */
@inline
export function fromBytes(out: usize, bytes: usize): void {
  const high = v128.load(bytes)
  const low = v128.load(bytes, 16)
  v128.store(out, reversed(low))
  v128.store(out, reversed(high), 16)
}

/** Converts a word to 32 big-endian bytes. */
@inline
export function toBytes(bytes: usize, word: usize): void {
  // Loads limb by limb: a 16-byte load directly after two 8-byte stores fails store forwarding.
  const low = v128.load64_lane(word + 8, v128.load64_zero(word), 1)
  const high = v128.load64_lane(word + 24, v128.load64_zero(word + 16), 1)
  v128.store(bytes, reversed(high))
  v128.store(bytes, reversed(low), 16)
}

@inline
function reversed(bytes: v128): v128 {
  return v128.shuffle<u8>(bytes, bytes, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
}

// --- predicates and lengths ----------------------------------------------------------------------------------------

@inline
export function isZero(a: usize): bool {
  return (load<u64>(a) | load<u64>(a, 8) | load<u64>(a, 16) | load<u64>(a, 24)) === 0
}

@inline
export function fitsU64(a: usize): bool {
  return (load<u64>(a, 8) | load<u64>(a, 16) | load<u64>(a, 24)) === 0
}

@inline
export function fitsU32(a: usize): bool {
  return ((load<u64>(a) >> 32) | load<u64>(a, 8) | load<u64>(a, 16) | load<u64>(a, 24)) === 0
}

@inline
export function isNegative(a: usize): bool {
  return load<i64>(a, 24) < 0
}

@inline
export function eq(a: usize, b: usize): bool {
  const low = (load<u64>(a) ^ load<u64>(b)) | (load<u64>(a, 8) ^ load<u64>(b, 8))
  const high = (load<u64>(a, 16) ^ load<u64>(b, 16)) | (load<u64>(a, 24) ^ load<u64>(b, 24))
  return (low | high) === 0
}

@inline
export function lt(a: usize, b: usize): bool {
  const a3 = load<u64>(a, 24)
  const b3 = load<u64>(b, 24)
  if (a3 !== b3) return a3 < b3
  const a2 = load<u64>(a, 16)
  const b2 = load<u64>(b, 16)
  if (a2 !== b2) return a2 < b2
  const a1 = load<u64>(a, 8)
  const b1 = load<u64>(b, 8)
  if (a1 !== b1) return a1 < b1
  return load<u64>(a) < load<u64>(b)
}

@inline
export function gt(a: usize, b: usize): bool {
  return lt(b, a)
}

@inline
export function slt(a: usize, b: usize): bool {
  const signs = load<i64>(a, 24) ^ load<i64>(b, 24)
  return signs < 0 ? load<i64>(a, 24) < 0 : lt(a, b)
}

@inline
export function sgt(a: usize, b: usize): bool {
  return slt(b, a)
}

/** Number of significant bits; 0 for zero. */
export function bitLength(a: usize): i32 {
  if (load<u64>(a, 24) !== 0) return 256 - <i32>clz(load<u64>(a, 24))
  if (load<u64>(a, 16) !== 0) return 192 - <i32>clz(load<u64>(a, 16))
  if (load<u64>(a, 8) !== 0) return 128 - <i32>clz(load<u64>(a, 8))
  return 64 - <i32>clz(load<u64>(a))
}

/** Number of significant bytes; 0 for zero. */
@inline
export function byteLength(a: usize): i32 {
  return (bitLength(a) + 7) >> 3
}

@inline
function isPowerOfTwo(a: usize): bool {
  return popcnt(load<u64>(a)) + popcnt(load<u64>(a, 8)) + popcnt(load<u64>(a, 16)) + popcnt(load<u64>(a, 24)) === 1
}

// --- bits ----------------------------------------------------------------------------------------------------------

@inline
export function and(out: usize, a: usize, b: usize): void {
  store<u64>(out, load<u64>(a) & load<u64>(b))
  store<u64>(out, load<u64>(a, 8) & load<u64>(b, 8), 8)
  store<u64>(out, load<u64>(a, 16) & load<u64>(b, 16), 16)
  store<u64>(out, load<u64>(a, 24) & load<u64>(b, 24), 24)
}

@inline
export function or(out: usize, a: usize, b: usize): void {
  store<u64>(out, load<u64>(a) | load<u64>(b))
  store<u64>(out, load<u64>(a, 8) | load<u64>(b, 8), 8)
  store<u64>(out, load<u64>(a, 16) | load<u64>(b, 16), 16)
  store<u64>(out, load<u64>(a, 24) | load<u64>(b, 24), 24)
}

@inline
export function xor(out: usize, a: usize, b: usize): void {
  store<u64>(out, load<u64>(a) ^ load<u64>(b))
  store<u64>(out, load<u64>(a, 8) ^ load<u64>(b, 8), 8)
  store<u64>(out, load<u64>(a, 16) ^ load<u64>(b, 16), 16)
  store<u64>(out, load<u64>(a, 24) ^ load<u64>(b, 24), 24)
}

@inline
export function not(out: usize, a: usize): void {
  set(out, ~load<u64>(a), ~load<u64>(a, 8), ~load<u64>(a, 16), ~load<u64>(a, 24))
}

/** Leading zero bits; 256 for zero. */
@inline
function clz256(out: usize, a: usize): void {
  setU64(out, <u64>(256 - bitLength(a)))
}
export { clz256 as clz } // in this file `clz` is the instruction

/** Byte `i`, counted from the most significant; zero from 32 on. */
@inline
export function byteAt(out: usize, i: usize, x: usize): void {
  setU64(out, fitsU64(i) && load<u64>(i) < 32 ? <u64>load<u8>(x + 31 - <usize>load<u64>(i)) : 0)
}

/** Extends the sign of byte `k`, counted from the least significant. */
export function signextend(out: usize, k: usize, x: usize): void {
  if (!fitsU64(k) || load<u64>(k) >= 31) {
    copy(out, x)
    return
  }
  const byte = <usize>load<u64>(k)
  const top = byte >> 3
  const unused = <u64>(56 - ((byte & 7) << 3))
  const limb = (load<i64>(x + (top << 3)) << unused) >> unused
  const above = <u64>(limb >> 63)
  const limb0 = load<u64>(x)
  const limb1 = load<u64>(x, 8)
  const limb2 = load<u64>(x, 16)
  store<u64>(out, top === 0 ? <u64>limb : limb0)
  store<u64>(out, top === 1 ? <u64>limb : top < 1 ? above : limb1, 8)
  store<u64>(out, top === 2 ? <u64>limb : top < 2 ? above : limb2, 16)
  store<u64>(out, top === 3 ? <u64>limb : above, 24)
}

// Branches on the number of whole limbs: code tends to repeat a shift count, so the branch is predictable.

export function shl(out: usize, shift: usize, x: usize): void {
  if (!isBelow256(shift)) {
    clear(out)
    return
  }
  const count = load<u64>(shift)
  const bits = count & 63
  const back = 63 - bits
  const x0 = load<u64>(x)
  if (count > 191) {
    set(out, 0, 0, 0, x0 << bits)
    return
  }
  const x1 = load<u64>(x, 8)
  const next = (x1 << bits) | ((x0 >> 1) >> back)
  if (count > 127) {
    set(out, 0, 0, x0 << bits, next)
    return
  }
  const x2 = load<u64>(x, 16)
  const third = (x2 << bits) | ((x1 >> 1) >> back)
  if (count > 63) set(out, 0, x0 << bits, next, third)
  else set(out, x0 << bits, next, third, (load<u64>(x, 24) << bits) | ((x2 >> 1) >> back))
}

export function shr(out: usize, shift: usize, x: usize): void {
  if (isBelow256(shift)) shiftRight(out, load<u64>(shift), x, 0)
  else clear(out)
}

export function sar(out: usize, shift: usize, x: usize): void {
  const sign = <u64>(load<i64>(x, 24) >> 63)
  if (isBelow256(shift)) shiftRight(out, load<u64>(shift), x, sign)
  else set(out, sign, sign, sign, sign)
}

/** `sign`: the bits shifted in, all ones or all zeros. */
@inline
function shiftRight(out: usize, count: u64, x: usize, sign: u64): void {
  const bits = count & 63
  const back = 63 - bits
  const x3 = load<u64>(x, 24)
  const top = (x3 >> bits) | ((sign << 1) << back)
  if (count > 191) {
    set(out, top, sign, sign, sign)
    return
  }
  const x2 = load<u64>(x, 16)
  const next = (x2 >> bits) | ((x3 << 1) << back)
  if (count > 127) {
    set(out, next, top, sign, sign)
    return
  }
  const x1 = load<u64>(x, 8)
  const third = (x1 >> bits) | ((x2 << 1) << back)
  if (count > 63) set(out, third, next, top, sign)
  else set(out, (load<u64>(x) >> bits) | ((x1 << 1) << back), third, next, top)
}

@inline
function isBelow256(a: usize): bool {
  return ((load<u64>(a) >> 8) | load<u64>(a, 8) | load<u64>(a, 16) | load<u64>(a, 24)) === 0
}

// --- addition ------------------------------------------------------------------------------------------------------

@inline
export function add(out: usize, a: usize, b: usize): void {
  const a0 = load<u64>(a)
  const a1 = load<u64>(a, 8)
  const a2 = load<u64>(a, 16)
  const sum0 = a0 + load<u64>(b)
  const carry0 = ltU64(sum0, a0)
  const sum1 = a1 + load<u64>(b, 8)
  const limb1 = sum1 + carry0
  const carry1 = ltU64(sum1, a1) | ltU64(limb1, carry0)
  const sum2 = a2 + load<u64>(b, 16)
  const limb2 = sum2 + carry1
  const carry2 = ltU64(sum2, a2) | ltU64(limb2, carry1)
  set(out, sum0, limb1, limb2, load<u64>(a, 24) + load<u64>(b, 24) + carry2)
}

@inline
export function sub(out: usize, a: usize, b: usize): void {
  const a0 = load<u64>(a)
  const a1 = load<u64>(a, 8)
  const a2 = load<u64>(a, 16)
  const b0 = load<u64>(b)
  const b1 = load<u64>(b, 8)
  const b2 = load<u64>(b, 16)
  const borrow0 = ltU64(a0, b0)
  const difference1 = a1 - b1
  const borrow1 = ltU64(a1, b1) | ltU64(difference1, borrow0)
  const difference2 = a2 - b2
  const borrow2 = ltU64(a2, b2) | ltU64(difference2, borrow1)
  set(out, a0 - b0, difference1 - borrow0, difference2 - borrow1, load<u64>(a, 24) - load<u64>(b, 24) - borrow2)
}

/** Two's complement negation. */
function negate(out: usize, a: usize): void {
  const limb0 = -load<u64>(a)
  let carry = <u64>(limb0 === 0)
  const limb1 = ~load<u64>(a, 8) + carry
  carry &= <u64>(limb1 === 0)
  const limb2 = ~load<u64>(a, 16) + carry
  carry &= <u64>(limb2 === 0)
  set(out, limb0, limb1, limb2, ~load<u64>(a, 24) + carry)
}

// --- multiplication ------------------------------------------------------------------------------------------------

export function mul(out: usize, a: usize, b: usize): void {
  const a0 = load<u64>(a)
  const a1 = load<u64>(a, 8)
  const a2 = load<u64>(a, 16)
  const a3 = load<u64>(a, 24)
  const b0 = load<u64>(b)
  const b1 = load<u64>(b, 8)
  const b2 = load<u64>(b, 16)
  const b3 = load<u64>(b, 24)
  const high00 = mulHigh(a0, b0)
  if ((a1 | a2 | a3 | b1 | b2 | b3) === 0) {
    set(out, a0 * b0, high00, 0, 0)
    return
  }
  // column by column
  const low01 = a0 * b1
  const low10 = a1 * b0
  const sum1 = high00 + low01
  const limb1 = sum1 + low10
  const carry1 = ltU64(sum1, low01) + ltU64(limb1, low10)
  const high01 = mulHigh(a0, b1)
  const high10 = mulHigh(a1, b0)
  const low11 = a1 * b1
  const high11 = mulHigh(a1, b1)
  let limb2 = high01 + carry1 // cannot carry: high01 is 2^64 - 2 only when low01 is 1, and then carry1 is at most 1
  limb2 += high10
  let carry2: u64 = ltU64(limb2, high10)
  limb2 += low11
  carry2 += ltU64(limb2, low11)
  if ((a2 | a3 | b2 | b3) === 0) {
    set(out, a0 * b0, limb1, limb2, high11 + carry2)
    return
  }
  const low02 = a0 * b2
  const low20 = a2 * b0
  limb2 += low02
  carry2 += ltU64(limb2, low02)
  limb2 += low20
  carry2 += ltU64(limb2, low20)
  const high02 = mulHigh(a0, b2)
  const high20 = mulHigh(a2, b0)
  const limb3 = a0 * b3 + a1 * b2 + a2 * b1 + a3 * b0 + high11 + high02 + high20 + carry2
  set(out, a0 * b0, limb1, limb2, limb3)
}

/** The eight limbs of a product; `out` must not be a factor. */
function mulFull(out: usize, a: usize, b: usize): void {
  const b0 = load<u64>(b)
  const b1 = load<u64>(b, 8)
  const b2 = load<u64>(b, 16)
  const b3 = load<u64>(b, 24)
  clear(out)
  row(out, load<u64>(a), b0, b1, b2, b3)
  row(out + 8, load<u64>(a, 8), b0, b1, b2, b3)
  row(out + 16, load<u64>(a, 16), b0, b1, b2, b3)
  row(out + 24, load<u64>(a, 24), b0, b1, b2, b3)
}

/** Adds limb * word to the four limbs at `out` and writes the carry to the fifth. */
@inline
function row(out: usize, a: u64, b0: u64, b1: u64, b2: u64, b3: u64): void {
  const aLow = a & LOW
  const aHigh = a >> 32
  let carry = multiplyAdd(out, aLow, aHigh, b0, 0)
  carry = multiplyAdd(out + 8, aLow, aHigh, b1, carry)
  carry = multiplyAdd(out + 16, aLow, aHigh, b2, carry)
  store<u64>(out, multiplyAdd(out + 24, aLow, aHigh, b3, carry), 32)
}

/** Adds a * b + carry to the limb at `place` and returns the upper limb. Works in steps of 32 bits, none of which overflows. */
@inline
function multiplyAdd(place: usize, aLow: u64, aHigh: u64, b: u64, carry: u64): u64 {
  const before = load<u64>(place)
  const bLow = b & LOW
  const bHigh = b >> 32
  const t0 = aLow * bLow + (carry & LOW) + (before & LOW)
  const t1 = aHigh * bLow + (carry >> 32) + (t0 >> 32)
  const t2 = aLow * bHigh + (before >> 32) + (t1 & LOW)
  store<u64>(place, (t2 << 32) | (t0 & LOW))
  return aHigh * bHigh + (t1 >> 32) + (t2 >> 32)
}

const LOW: u64 = 0xffffffff

/** base^exponent by squaring, from the exponent's top bit. */
export function exp(out: usize, base: usize, exponent: usize): void {
  if (isZero(exponent)) {
    setU64(out, 1)
    return
  }
  if (isPowerOfTwo(base)) {
    powerOfTwo(out, <u64>(bitLength(base) - 1), exponent)
    return
  }
  copy(BASE, base)
  copy(EXPONENT, exponent)
  copy(POWER, base)
  for (let bit = bitLength(EXPONENT) - 2; bit >= 0; bit--) {
    mul(POWER, POWER, POWER)
    if ((load<u64>(EXPONENT + (<usize>(bit >> 6) << 3)) >> <u64>(bit & 63)) & 1) mul(POWER, POWER, BASE)
  }
  copy(out, POWER)
}

/** (2^log)^exponent */
function powerOfTwo(out: usize, log: u64, exponent: usize): void {
  const overflows = log !== 0 && (!fitsU32(exponent) || log * load<u64>(exponent) > 255)
  const bit = overflows ? 0 : log * load<u64>(exponent)
  clear(out)
  if (!overflows) store<u64>(out + (<usize>(bit >> 6) << 3), <u64>1 << (bit & 63))
}

const BASE: usize = memory.data(32, 16)
const EXPONENT: usize = memory.data(32, 16)
const POWER: usize = memory.data(32, 16)

// --- quotients -----------------------------------------------------------------------------------------------------

/** Zero when b is zero. */
export function div(out: usize, a: usize, b: usize): void {
  if (fitsU64(b)) {
    const divisor = load<u64>(b)
    if (divisor === 0) clear(out)
    else if (fitsU64(a)) setU64(out, load<u64>(a) / divisor)
    else quotient(out, a, b)
  } else if (lt(a, b)) clear(out)
  else quotient(out, a, b)
}

/** Zero when b is zero. */
export function mod(out: usize, a: usize, b: usize): void {
  if (fitsU64(b)) {
    const divisor = load<u64>(b)
    if (divisor === 0) clear(out)
    else if (fitsU64(a)) setU64(out, load<u64>(a) % divisor)
    else remainder(out, a, b)
  } else if (lt(a, b)) copy(out, a)
  else remainder(out, a, b)
}

/** a / b for a not less than b, b not zero. */
function quotient(out: usize, a: usize, b: usize): void {
  if (isPowerOfTwo(b)) {
    shiftRight(out, <u64>(bitLength(b) - 1), a, 0)
    return
  }
  copy(DIVIDEND, a)
  divide(DIVIDEND, 4, b)
  copy(out, QUOTIENT)
}

function remainder(out: usize, a: usize, b: usize): void {
  copy(DIVIDEND, a)
  divide(DIVIDEND, 4, b)
  copy(out, REMAINDER)
}

/** Truncates toward zero. Zero when b is zero; -2^255 / -1 is -2^255. */
export function sdiv(out: usize, a: usize, b: usize): void {
  const negative = isNegative(a) !== isNegative(b)
  absolute(LEFT, a)
  absolute(RIGHT, b)
  div(out, LEFT, RIGHT)
  if (negative) negate(out, out)
}

/** Has the sign of a. Zero when b is zero. */
export function smod(out: usize, a: usize, b: usize): void {
  const negative = isNegative(a)
  absolute(LEFT, a)
  absolute(RIGHT, b)
  mod(out, LEFT, RIGHT)
  if (negative) negate(out, out)
}

@inline
function absolute(out: usize, a: usize): void {
  if (isNegative(a)) negate(out, a)
  else copy(out, a)
}

const LEFT: usize = memory.data(32, 16)
const RIGHT: usize = memory.data(32, 16)

// --- modulo m ------------------------------------------------------------------------------------------------------

/** (a + b) mod m with a sum of 257 bits; zero when m is zero. */
export function addmod(out: usize, a: usize, b: usize, m: usize): void {
  const top = load<u64>(m, 24)
  if (top !== 0 && load<u64>(a, 24) <= top && load<u64>(b, 24) <= top) {
    // Both are below 2 m: a number whose top limb equals that of m exceeds m by less than 2^192.
    reduceOnce(LEFT, a, m)
    reduceOnce(RIGHT, b, m)
    add(SUM, LEFT, RIGHT)
    if (lt(SUM, LEFT) || !lt(SUM, m)) sub(out, SUM, m)
    else copy(out, SUM)
    return
  }
  if (isZero(m)) {
    clear(out)
    return
  }
  add(SUM, a, b)
  if (lt(SUM, a)) {
    copy(DIVIDEND, SUM)
    store<u64>(DIVIDEND, 1, 32)
    divide(DIVIDEND, 5, m)
    copy(out, REMAINDER)
  } else mod(out, SUM, m)
}

@inline
function reduceOnce(out: usize, a: usize, m: usize): void {
  if (lt(a, m)) copy(out, a)
  else sub(out, a, m)
}

/** (a * b) mod m with a product of 512 bits; zero when m is zero. */
export function mulmod(out: usize, a: usize, b: usize, m: usize): void {
  if (isAllOnes(m)) {
    // 2^256 is 1 modulo 2^256 - 1, so the halves of the product and the carry are added.
    const product = fullProduct(a, b)
    add(SUM, product, product + 32)
    if (lt(SUM, product)) increment(SUM)
    if (isAllOnes(SUM)) clear(out)
    else copy(out, SUM)
    return
  }
  if (isZero(m)) {
    clear(out)
    return
  }
  if (isPowerOfTwo(m)) {
    mul(PRODUCT, a, b)
    setU64(SUM, 1)
    sub(SUM, m, SUM)
    and(out, PRODUCT, SUM)
    return
  }
  if ((load<u64>(a, 16) | load<u64>(a, 24) | load<u64>(b, 16) | load<u64>(b, 24)) === 0) {
    mul(PRODUCT, a, b)
    mod(out, PRODUCT, m)
    return
  }
  const product = fullProduct(a, b)
  if (isZero(product + 32)) mod(out, product, m)
  else {
    divide(product, 8, m)
    copy(out, REMAINDER)
  }
}

/**
 * The eight limbs of a product, a dividend for `divide`. The last one is kept: every mulDiv with 512 bits reduces one product modulo 2^256 - 1 and
 * then modulo the denominator.
 */
function fullProduct(a: usize, b: usize): usize {
  if (eq(a, FACTORS) && eq(b, FACTORS + 32)) return FULL_PRODUCT
  mulFull(FULL_PRODUCT, a, b)
  copy(FACTORS, a)
  copy(FACTORS + 32, b)
  return FULL_PRODUCT
}

@inline
function isAllOnes(a: usize): bool {
  return (load<u64>(a) & load<u64>(a, 8) & load<u64>(a, 16) & load<u64>(a, 24)) === ~(<u64>0)
}

@inline
function increment(a: usize): void {
  setU64(ONE, 1)
  add(a, a, ONE)
}

const ONE: usize = memory.data(32, 16)
const SUM: usize = memory.data(32, 16)
const PRODUCT: usize = memory.data(32, 16)
/** initially zeros, as is their product */
const FACTORS: usize = memory.data(64, 16)
const FULL_PRODUCT: usize = memory.data((4 + 8) * 8, 16) + 4 * 8
