import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { power } from './power.ts'

const RUNS = { seed: 198, numRuns: 300 }

/** Below and above 64 bytes, where another arithmetic takes over; odd, even, and powers of two. */
const MODULUS = fc
  .tuple(fc.uint8Array({ minLength: 1, maxLength: 72 }), fc.nat(80), fc.boolean())
  .map(([bytes, twos, odd]) => ((number(bytes) + 1n) << BigInt(twos)) | (odd ? 1n : 0n))
  .filter((modulus) => modulus > 1n)
const BASE = fc.uint8Array({ maxLength: 80 }).map(number)
const EXPONENT = fc.record({ bytes: fc.uint8Array({ maxLength: 40 }), zeros: fc.nat(6) })

test('powers are what multiplying one after the other gives', () => {
  fc.assert(
    fc.property(BASE, EXPONENT, MODULUS, (base, exponent, modulus) => {
      const whole = number(exponent.bytes) << BigInt(8 * exponent.zeros)
      expect(power(base % modulus, exponent, modulus)).toBe(squareAndMultiply(base % modulus, whole, modulus))
    }),
    RUNS,
  )
})

test.each([
  ['a power of two', 2n ** 512n - 1n, 2n ** 511n],
  ['the largest in wasm', 2n ** 512n - 2n, 2n ** 512n - 1n],
  ['the first beyond', 2n ** 512n - 2n, 2n ** 512n + 1n],
  ['one odd limb under many twos', 12_345n, 0xffff_fffbn << 480n],
  ['twos that fill limbs', 3n ** 90n, 7n << 64n],
  ['the smallest', 1n, 2n],
  ['three', 2n, 3n],
])('%s', (_name, base, modulus) => {
  const bytes = Uint8Array.from({ length: 33 }, (_, index) => 255 - index)
  expect(power(base, { bytes, zeros: 1 }, modulus)).toBe(squareAndMultiply(base, number(bytes) << 8n, modulus))
})

test('nothing to the power of nothing is one', () => {
  expect(power(0n, { bytes: new Uint8Array(3), zeros: 9 }, 7n)).toBe(1n)
  expect(power(0n, { bytes: Uint8Array.of(1), zeros: 9 }, 7n)).toBe(0n)
})

function squareAndMultiply(base: bigint, exponent: bigint, modulus: bigint): bigint {
  let result = 1n
  for (const bit of exponent.toString(2)) {
    result = (result * result) % modulus
    if (bit === '1') result = (result * base) % modulus
  }
  return result
}

function number(bytes: Uint8Array): bigint {
  return bytes.reduce((value, byte) => (value << 8n) | BigInt(byte), 0n)
}
