// Division of up to eight limbs by up to four: Knuth's algorithm D (TAOCP 2, 4.3.1) with 64-bit digits. Quotient digits are computed with a
// reciprocal of the divisor's top limbs (Möller and Granlund, "Improved division by invariant integers", 2011; "MG" below).
import { ltU64, mulHigh } from './limb'

/** A dividend of up to eight limbs. Four zero limbs precede each dividend, for those that are shifted up with a short divisor. */
export const DIVIDEND: usize = memory.data((4 + 8) * 8, 16) + 4 * 8
/** Output of `divide`, with as many limbs as the dividend. */
export const QUOTIENT: usize = memory.data(8 * 8, 16)
/** Output of `divide`, one word. The two limbs before it receive the shifted-out part of a short divisor's remainder. */
export const REMAINDER: usize = memory.data((2 + 4) * 8, 16) + 2 * 8

/** Divides `count` limbs by a non-zero word that is not greater. */
export function divide(dividend: usize, count: i32, divisor: usize): void {
  const d0 = load<u64>(divisor)
  const d1 = load<u64>(divisor, 8)
  const d2 = load<u64>(divisor, 16)
  const d3 = load<u64>(divisor, 24)
  for (let i = 0; i < count; i++) store<u64>(at(QUOTIENT, i), 0)
  while (load<u64>(at(dividend, count - 1)) === 0) count--
  // A divisor of two or three limbs is shifted up to four limbs, together with the dividend.
  if (d3 !== 0) divideByManyLimbs(dividend, count, 0, d3, d2, d1, d0)
  else if (d2 !== 0) divideByManyLimbs(dividend, count, 1, d2, d1, d0, 0)
  else if (d1 !== 0) divideByManyLimbs(dividend, count, 2, d1, d0, 0, 0)
  else divideByOneLimb(dividend, count, d0)
}

/** Each step divides (remainder, next limb) by means of the reciprocal (MG, algorithm 4). */
function divideByOneLimb(dividend: usize, count: i32, divisor: u64): void {
  const shift = clz(divisor)
  const d = divisor << shift
  const v = lastReciprocal(d)
  let i = count - 1
  let r = bitsShiftedLeft(load<u64>(at(dividend, i)), shift)
  if (load<u64>(at(dividend, i)) < divisor) {
    r = shifted(at(dividend, i), shift)
    i--
  }
  for (; i >= 0; i--) {
    const next = shifted(at(dividend, i), shift)
    const low = v * r + next
    let q = mulHigh(v, r) + r + ltU64(low, next) + 1
    r = next - q * d
    if (r > low) {
      q--
      r += d
    }
    if (r >= d) {
      q++
      r -= d
    }
    store<u64>(at(QUOTIENT, i), q)
  }
  store<u64>(REMAINDER, r >> shift)
  store<u64>(REMAINDER, 0, 8)
  store<u64>(REMAINDER, 0, 16)
  store<u64>(REMAINDER, 0, 24)
}

/**
 * The divisor has four limbs, the top one non-zero, after a shift by `missing` limbs. The remainder is r3 r2 r1 r0; each step appends the
 * next limb and subtracts q times the divisor.
 */
function divideByManyLimbs(dividend: usize, count: i32, missing: i32, top: u64, third: u64, second: u64, first: u64): void {
  const shift = clz(top)
  const d3 = (top << shift) | bitsShiftedLeft(third, shift)
  const d2 = (third << shift) | bitsShiftedLeft(second, shift)
  const d1 = (second << shift) | bitsShiftedLeft(first, shift)
  const d0 = first << shift
  const v = lastReciprocalOfTwo(d3, d2)
  const lowest = dividend - (<usize>missing << 3)
  let i = count + missing - 1
  let r3 = bitsShiftedLeft(load<u64>(at(lowest, i)), shift)
  let r2 = shifted(at(lowest, i), shift)
  let r1 = shifted(at(lowest, i - 1), shift)
  let r0 = shifted(at(lowest, i - 2), shift)
  i -= 3
  if (r3 === 0 && r2 < d3) {
    // The first digit is zero, as always for the product of two numbers below the divisor.
    r3 = r2
    r2 = r1
    r1 = r0
    r0 = shifted(at(lowest, i), shift)
    i--
  }
  for (; i >= 0; i--) {
    const next = shifted(at(lowest, i), shift)
    let q: u64
    if (r3 === d3 && r2 === d2) {
      // The reciprocal cannot produce the digit 2^64 - 1. It is the digit here, because the remainder d + next - (d - r) * 2^64 is not
      // negative.
      q = ~(<u64>0)
      const gap0 = d0 - r0
      const gap1 = d1 - r1 - ltU64(d0, r0)
      r0 = d0 + next
      const carry0 = ltU64(r0, next)
      const sum1 = d1 + carry0
      const carry1 = ltU64(sum1, carry0)
      r1 = sum1 - gap0
      const sum2 = d2 + carry1
      const carry2 = ltU64(sum2, carry1)
      const difference2 = sum2 - gap1
      const borrow1 = ltU64(sum1, gap0)
      r2 = difference2 - borrow1
      r3 = d3 + carry2 - ltU64(sum2, gap1) - ltU64(difference2, borrow1)
    } else {
      // r3 r2 r1 by d3 d2 (MG, algorithm 5): q is the digit or the digit plus one
      const low = v * r3 + r2
      q = mulHigh(v, r3) + r3 + ltU64(low, r2) + 1
      const product = (q - 1) * d2
      const e0 = r1 - product
      const e1 = r2 - (q - 1) * d3 - mulHigh(d2, q - 1) - ltU64(r1, product)
      let t0 = e0 - d2
      let t1 = e1 - d3 - ltU64(e0, d2)
      if (t1 >= low) {
        q--
        t0 += d2
        t1 += d3 + ltU64(t0, d2)
      }
      if (t1 > d3 || (t1 === d3 && t0 >= d2)) {
        q++
        t1 -= d3 + ltU64(t0, d2)
        t0 -= d2
      }
      if ((d1 | d0) === 0) {
        r3 = t1
        r2 = t0
        r1 = r0
        r0 = next
      } else {
        // t1 t0 r0 next - q * (d1 d0)
        const p0 = q * d0
        const p0High = mulHigh(q, d0)
        const p1 = q * d1 + p0High
        const p2 = mulHigh(q, d1) + ltU64(p1, p0High)
        const borrow0 = ltU64(next, p0)
        const f1 = r0 - p1
        const borrow1 = ltU64(r0, p1) | ltU64(f1, borrow0)
        const f2 = t0 - p2
        const borrow2 = ltU64(t0, p2) | ltU64(f2, borrow1)
        r0 = next - p0
        r1 = f1 - borrow0
        r2 = f2 - borrow1
        r3 = t1 - borrow2
        if (t1 < borrow2) {
          q--
          r0 += d0
          const carry0 = ltU64(r0, d0)
          const s1 = r1 + d1
          r1 = s1 + carry0
          const carry1 = ltU64(s1, d1) | ltU64(r1, carry0)
          const s2 = r2 + d2
          r2 = s2 + carry1
          r3 += d3 + (ltU64(s2, d2) | ltU64(r2, carry1))
        }
      }
    }
    store<u64>(at(QUOTIENT, i), q)
  }
  // Shifts the remainder back down, by bits and then by the missing limbs; the bits shifted out are zero.
  const up = REMAINDER - (<usize>missing << 3)
  store<u64>(up, (r0 >> shift) | bitsShiftedRight(r1, shift))
  store<u64>(up, (r1 >> shift) | bitsShiftedRight(r2, shift), 8)
  store<u64>(up, (r2 >> shift) | bitsShiftedRight(r3, shift), 16)
  store<u64>(up, r3 >> shift, 24)
  for (let j = 4 - missing; j < 4; j++) store<u64>(at(REMAINDER, j), 0)
}

// Code tends to repeat a divisor, so the last reciprocal of each kind is kept: computing one takes a third of a division.

let lastDivisor: u64 = 0
let lastValue: u64 = 0

@inline
function lastReciprocal(d: u64): u64 {
  if (d !== lastDivisor) {
    lastDivisor = d
    lastValue = reciprocal(d)
  }
  return lastValue
}

let lastUpper: u64 = 0
let lastLower: u64 = 0
let lastValueOfTwo: u64 = 0

@inline
function lastReciprocalOfTwo(d1: u64, d0: u64): u64 {
  if (d1 !== lastUpper || d0 !== lastLower) {
    lastUpper = d1
    lastLower = d0
    lastValueOfTwo = reciprocalOfTwo(d1, d0)
  }
  return lastValueOfTwo
}

/** floor((2^128 - 1) / d) - 2^64 for d with its top bit set. */
function reciprocal(d: u64): u64 {
  const high = d >> 32
  const low = d & 0xffffffff
  const u = ~d
  let q1 = u / high
  let r = u - q1 * high
  while (q1 > 0xffffffff || q1 * low > ((r << 32) | 0xffffffff)) {
    q1--
    r += high
    if (r > 0xffffffff) break
  }
  const rest = ((u << 32) | 0xffffffff) - q1 * d
  let q0 = rest / high
  r = rest - q0 * high
  while (q0 > 0xffffffff || q0 * low > ((r << 32) | 0xffffffff)) {
    q0--
    r += high
    if (r > 0xffffffff) break
  }
  return (q1 << 32) + q0
}

/** floor((2^192 - 1) / (d1 d0)) - 2^64 for d1 with its top bit set (MG, algorithm 6). */
function reciprocalOfTwo(d1: u64, d0: u64): u64 {
  let v = reciprocal(d1)
  let p = d1 * v + d0
  if (p < d0) {
    v--
    if (p >= d1) {
      v--
      p -= d1
    }
    p -= d1
  }
  const high = mulHigh(v, d0)
  const low = v * d0
  p += high
  if (p < high) {
    v--
    if (p > d1 || (p === d1 && low >= d0)) v--
  }
  return v
}

@inline
function at(limbs: usize, index: i32): usize {
  return limbs + (<usize>index << 3)
}

/** The limb at `place` of a number shifted left by 0 to 63 bits. */
@inline
function shifted(place: usize, shift: u64): u64 {
  return (load<u64>(place) << shift) | bitsShiftedLeft(load<u64>(place - 8), shift)
}

/** Bits that a left shift carries into the limb above. Shifts twice, because WebAssembly takes shift counts modulo 64. */
@inline
function bitsShiftedLeft(limb: u64, shift: u64): u64 {
  return (limb >> 1) >> (63 - shift)
}

/** Bits that a right shift carries into the limb below. */
@inline
function bitsShiftedRight(limb: u64, shift: u64): u64 {
  return (limb << 1) << (63 - shift)
}
