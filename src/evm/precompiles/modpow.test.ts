import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { modPow } from './modpow.ts'

const RUNS = { seed: 198, numRuns: 300 }

/** Below and above 64 bytes, where the implementation changes; odd, even, and powers of two. */
const MODULUS = fc
  .tuple(fc.uint8Array({ minLength: 1, maxLength: 72 }), fc.nat(80), fc.boolean())
  .map(([bytes, twos, odd]) => ((number(bytes) + 1n) << BigInt(twos)) | (odd ? 1n : 0n))
  .filter((modulus) => modulus > 1n)
const BASE = fc.uint8Array({ maxLength: 80 }).map(number)
const EXPONENT = fc.record({ bytes: fc.uint8Array({ maxLength: 40 }), trailingZeroBytes: fc.nat(6) })

test('powers equal repeated multiplication', () => {
  fc.assert(
    fc.property(BASE, EXPONENT, MODULUS, (base, exponent, modulus) => {
      const whole = number(exponent.bytes) << BigInt(8 * exponent.trailingZeroBytes)
      expect(modPow(base % modulus, exponent, modulus)).toBe(squareAndMultiply(base % modulus, whole, modulus))
    }),
    RUNS,
  )
})

test.each([
  ['a power of two', 2n ** 512n - 1n, 2n ** 511n],
  ['the largest in wasm', 2n ** 512n - 2n, 2n ** 512n - 1n],
  ['the smallest above it', 2n ** 512n - 2n, 2n ** 512n + 1n],
  ['one odd limb under many twos', 12_345n, 0xffff_fffbn << 480n],
  ['a power of two across limbs', 3n ** 90n, 7n << 64n],
  ['the smallest', 1n, 2n],
  ['three', 2n, 3n],
])('%s', (_name, base, modulus) => {
  const bytes = Uint8Array.from({ length: 33 }, (_, index) => 255 - index)
  expect(modPow(base, { bytes, trailingZeroBytes: 1 }, modulus)).toBe(squareAndMultiply(base, number(bytes) << 8n, modulus))
})

test('zero to the power of zero is one', () => {
  expect(modPow(0n, { bytes: new Uint8Array(3), trailingZeroBytes: 9 }, 7n)).toBe(1n)
  expect(modPow(0n, { bytes: Uint8Array.of(1), trailingZeroBytes: 9 }, 7n)).toBe(0n)
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
