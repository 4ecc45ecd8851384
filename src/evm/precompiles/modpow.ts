import { LARGE_EXPONENT_BYTES_PER_CLOCK_CHECK, SMALL_EXPONENT_BYTES_PER_CLOCK_CHECK } from './limits.ts'
import { loadNative } from './native.ts'

/** Big-endian bytes, followed by zero bytes that the input omits. */
interface Exponent {
  readonly bytes: Uint8Array
  readonly trailingZeroBytes: number
}

/** Above this bigint is faster than wasm, which lacks 128-bit products. */
const SMALL_BITS = 512
const LIMB_BITS = 32
const NUMBER_BYTES = 64

/**
 * base^exponent modulo `modulus` (above 1; `base` below it). A modular product takes 0.1 us in wasm and 0.3 us as bigint at 256 bits, 0.36
 * and 0.46 us at 512 bits; above that bigint is faster.
 */
export function modPow(base: bigint, { bytes, trailingZeroBytes }: Exponent, modulus: bigint, checkDeadline?: () => void): bigint {
  const start = bytes.findIndex((byte) => byte !== 0)
  if (start < 0) return 1n
  if (base <= 1n) return base
  const exponent = { bytes: bytes.subarray(start), trailingZeroBytes }
  const size = exponent.bytes.length + trailingZeroBytes
  if (size <= 4) return modPowShortExponent(base, exponent, modulus)
  return modulus >> BigInt(SMALL_BITS) === 0n
    ? modPowInWasm(base, exponent, modulus, checkDeadline)
    : modPowInBigint(base, exponent, modulus, checkDeadline)
}

/** Bit by bit: a table of powers does not pay off. */
function modPowShortExponent(base: bigint, { bytes, trailingZeroBytes }: Exponent, modulus: bigint): bigint {
  const exponent = bytes.reduce((value, byte) => value * 256 + byte, 0) * 256 ** trailingZeroBytes
  let result = base
  for (const bit of exponent.toString(2).slice(1)) {
    result = (result * result) % modulus
    if (bit === '1') result = (result * base) % modulus
  }
  return result
}

function modPowInBigint(base: bigint, exponent: Exponent, modulus: bigint, checkDeadline?: () => void): bigint {
  const table = [1n, base]
  for (let i = 2; i < 16; i++) table.push(((table[i - 1] as bigint) * base) % modulus)
  let result = 1n
  const raise = (digit: number): void => {
    for (let i = 0; i < 4; i++) result = (result * result) % modulus
    if (digit !== 0) result = (result * (table[digit] as bigint)) % modulus // 16 entries
  }
  forEachChunk(exponent, LARGE_EXPONENT_BYTES_PER_CLOCK_CHECK, (chunk) => {
    for (const byte of chunk) {
      raise(byte >> 4)
      raise(byte & 15)
    }
    checkDeadline?.()
  })
  return result
}

/** modulus = odd · 2^k: combines the powers modulo both factors (Chinese remainder theorem). */
function modPowInWasm(base: bigint, exponent: Exponent, modulus: bigint, checkDeadline?: () => void): bigint {
  const twos = trailingZeros(modulus)
  const odd = modulus >> twos
  const low = twos === 0n ? 0n : modPowPowerOfTwo(base, exponent, twos, checkDeadline)
  if (odd === 1n) return low
  const high = modPowOdd(base % odd, exponent, odd, checkDeadline)
  if (twos === 0n) return high
  return high + odd * BigInt.asUintN(Number(twos), (low - high) * inverse(odd, twos))
}

function modPowOdd(base: bigint, exponent: Exponent, modulus: bigint, checkDeadline?: () => void): bigint {
  const limbs = limbsOf(modulus)
  const shift = BigInt(LIMB_BITS * limbs)
  return BigInt.asUintN(
    SMALL_BITS,
    run([modulus, (1n << shift) % modulus, (base << shift) % modulus], exponent, limbs, true, checkDeadline),
  )
}

function modPowPowerOfTwo(base: bigint, exponent: Exponent, bits: bigint, checkDeadline?: () => void): bigint {
  const limbs = Math.ceil(Number(bits) / LIMB_BITS)
  const mask = LIMB_BITS * limbs
  return BigInt.asUintN(Number(bits), run([0n, 1n, BigInt.asUintN(mask, base)], exponent, limbs, false, checkDeadline))
}

/** Runs runtime/modexp.ts. */
function run(
  numbers: readonly [modulus: bigint, one: bigint, base: bigint],
  exponent: Exponent,
  limbs: number,
  odd: boolean,
  checkDeadline?: () => void,
): bigint {
  const { wasm, bytes } = loadNative()
  const words = new DataView(bytes.buffer)
  const [modulus, one, base] = numbers
  write(words, wasm.modexpModulus(), modulus)
  write(words, wasm.modexpTable(), one)
  write(words, wasm.modexpTable() + NUMBER_BYTES, base)
  wasm.modexpBegin(limbs, odd ? 1 : 0)
  forEachChunk(exponent, SMALL_EXPONENT_BYTES_PER_CLOCK_CHECK, (chunk) => {
    bytes.set(chunk, wasm.modexpExponent())
    wasm.modexpContinue(chunk.length)
    if (chunk.length === SMALL_EXPONENT_BYTES_PER_CLOCK_CHECK) checkDeadline?.()
  })
  wasm.modexpEnd()
  return read(words, wasm.modexpPower(), limbs)
}

function forEachChunk({ bytes, trailingZeroBytes }: Exponent, size: number, use: (chunk: Uint8Array) => void): void {
  for (let offset = 0; offset < bytes.length; offset += size) use(bytes.subarray(offset, offset + size))
  const nothing = new Uint8Array(size)
  for (let left = trailingZeroBytes; left > 0; left -= size) use(nothing.subarray(0, left))
}

function limbsOf(value: bigint): number {
  return Math.ceil(value.toString(16).length / 8)
}

function trailingZeros(value: bigint): bigint {
  let count = 0n
  for (let rest = value; BigInt.asUintN(LIMB_BITS, rest) === 0n; rest >>= 32n) count += 32n
  const word = Number(BigInt.asUintN(LIMB_BITS, value >> count))
  return count + BigInt(31 - Math.clz32(word & -word))
}

/** 1 / odd modulo 2^bits by Newton's method: each step doubles the correct bits, initially three. */
function inverse(odd: bigint, bits: bigint): bigint {
  const size = Number(bits)
  let result = odd
  for (let right = 3; right < size; right *= 2) result = BigInt.asUintN(size, result * (2n - odd * result))
  return result
}

function write(words: DataView, at: number, value: bigint): void {
  for (let i = 0, rest = value; i < NUMBER_BYTES; i += 8, rest >>= 64n) words.setBigUint64(at + i, rest, true)
}

function read(words: DataView, at: number, limbs: number): bigint {
  let value = 0n
  for (let i = limbs - 1; i >= 0; i--) value = (value << 32n) | BigInt(words.getUint32(at + 4 * i, true))
  return value
}
