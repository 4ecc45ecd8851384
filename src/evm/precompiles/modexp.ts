import { Hex } from '../../eth/index.ts'
import { modPow } from './modpow.ts'
import { EMPTY } from './precompile.ts'
import type { Precompile } from './precompile.ts'

/** 0x05: EIP-198 since Byzantium, EIP-2565 since Berlin, EIP-7883 with the bounds of EIP-7823 since Osaka. */
export const MODEXP = {
  eip198: { gas: (input) => price(input, complexity198, { iterationsPerByte: 8, divisor: 20, minimum: 0 }), run: modexp },
  eip2565: { gas: (input) => price(input, complexity2565, { iterationsPerByte: 8, divisor: 3, minimum: 200 }), run: modexp },
  eip7883: { gas: (input) => price(input, complexity7883, { iterationsPerByte: 16, divisor: 1, minimum: 500 }), run: modexpBounded },
} as const satisfies Readonly<Record<string, Precompile>>

const LENGTH_MAX_EIP_7823 = 1_024
const HEADER_BYTES = 96

interface Rate {
  /** iterations per exponent byte beyond 32 */
  readonly iterationsPerByte: number
  readonly divisor: number
  readonly minimum: number
}

/** Declared bytes of base, exponent and modulus; Infinity from 2^48. */
interface Lengths {
  readonly base: number
  readonly exponent: number
  readonly modulus: number
}

function price(input: Uint8Array, complexity: (longest: number) => number, { iterationsPerByte, divisor, minimum }: Rate): number {
  const { base, exponent, modulus } = readLengths(input)
  const work = complexity(Math.max(base, modulus))
  // Without base and modulus the minimum applies for any exponent.
  if (work === 0) return minimum
  const iterations = iterationsPerByte * Math.max(exponent - 32, 0) + Math.max(exponentHeadBits(input, base, exponent) - 1, 0)
  const gas = Math.floor((work * Math.max(iterations, 1)) / divisor)
  return gas > Number.MAX_SAFE_INTEGER ? Infinity : Math.max(gas, minimum)
}

function complexity198(longest: number): number {
  if (longest <= 64) return longest ** 2
  if (longest <= 1_024) return Math.floor(longest ** 2 / 4) + 96 * longest - 3_072
  return Math.floor(longest ** 2 / 16) + 480 * longest - 199_680
}

function complexity2565(longest: number): number {
  return Math.ceil(longest / 8) ** 2
}

function complexity7883(longest: number): number {
  return longest <= 32 ? 16 : 2 * complexity2565(longest)
}

/** Bit length of the first 32 exponent bytes; missing input is zero. */
function exponentHeadBits(input: Uint8Array, base: number, exponent: number): number {
  const start = HEADER_BYTES + base
  const size = Math.min(exponent, 32)
  for (let i = 0; i < size && start + i < input.length; i++) {
    const byte = input[start + i] as number // below the length
    if (byte !== 0) return 8 * (size - i) - Math.clz32(byte) + 24
  }
  return 0
}

function modexpBounded(input: Uint8Array, checkDeadline?: () => void): Uint8Array | string {
  const { base, exponent, modulus } = readLengths(input)
  if (Math.max(base, exponent, modulus) <= LENGTH_MAX_EIP_7823) return modexp(input, checkDeadline)
  return 'one or more of base/exponent/modulus length exceeded 1024 bytes'
}

/** base^exponent modulo modulus, in the modulus's length; zero for a zero modulus. */
function modexp(input: Uint8Array, checkDeadline?: () => void): Uint8Array {
  const { base, exponent, modulus } = readLengths(input)
  if (modulus === 0) return EMPTY
  const endOfBase = HEADER_BYTES + base
  const endOfExponent = endOfBase + exponent
  const divisor = numberAt(input, endOfExponent, modulus)
  if (divisor <= 1n) return new Uint8Array(modulus)
  const exponentBytes = input.subarray(endOfBase, endOfExponent)
  const missingBytes = exponent - exponentBytes.length
  const result = modPow(
    numberAt(input, HEADER_BYTES, base) % divisor,
    { bytes: exponentBytes, trailingZeroBytes: missingBytes },
    divisor,
    checkDeadline,
  )
  return bytesOf(result, modulus)
}

function readLengths(input: Uint8Array): Lengths {
  return { base: lengthAt(input, 0), exponent: lengthAt(input, 32), modulus: lengthAt(input, 64) }
}

function lengthAt(input: Uint8Array, offset: number): number {
  let length = 0
  for (let i = offset; i < offset + 32; i++) length = length * 256 + (input[i] ?? 0)
  return length < 2 ** 48 ? length : Infinity
}

/** `length` bytes as a number; missing input is zero. */
function numberAt(input: Uint8Array, offset: number, length: number): bigint {
  const bytes = input.subarray(offset, offset + length)
  if (bytes.length === 0) return 0n
  return BigInt(Hex.fromBytes(bytes)) << BigInt(8 * (length - bytes.length))
}

function bytesOf(value: bigint, length: number): Uint8Array {
  return Hex.toBytes(`0x${value.toString(16).padStart(2 * length, '0')}`)
}
