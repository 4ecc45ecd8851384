import { Hex } from '../../eth/index.ts'
import { type Curve, SIZE } from './curve.ts'
import { curve } from './mcl.ts'
import { fixedPrice, isZero, padded, word } from './precompile.ts'
import type { Precompile } from './precompile.ts'

/** 0x06, 0x07 and 0x08 (EIP-196, EIP-197) with the prices of Byzantium and of Istanbul (EIP-1108). */
export const BN254 = {
  byzantium: { add: fixedPrice(500, add), multiply: fixedPrice(40_000, multiply), pair: pairing(100_000, 80_000) },
  istanbul: { add: fixedPrice(150, add), multiply: fixedPrice(6_000, multiply), pair: pairing(45_000, 34_000) },
} as const

const G1_BYTES = 64
const G2_BYTES = 128
const PAIR_BYTES = G1_BYTES + G2_BYTES

/** The curve parameter x in binary. */
const X_BITS = 4965661367192848881n.toString(2)
/** ξ^((p-1)/3) and ξ^((p-1)/2) for ξ = 9 + i, real parts first. */
const TWIST = Hex.toBytes(
  '0x2fb347984f7911f74c0bec3cf559b143b78cc310c2c3330c99e39557176f553d' +
    '16c9e55061ebae204ba4cc8bd75a079432ae2a1d0b7c9dce1665d51c640fcba2' +
    '063cf305489af5dcdc5ec698b6e2f9b9dbaae0eda9c95998dc54014671a0135a' +
    '07c03cbcac41049a0704b5a7ec796f2b21807dc98fa25bd282d37f632623b0e3',
)
/** Messages of gnark-crypto, which geth returns unchanged. */
const REASON = {
  encoding: 'invalid fp.Element encoding',
  curve: 'point is not on curve',
  subgroup: 'point is not in correct subgroup',
  size: 'bad elliptic curve pairing size',
} as const
type Reason = (typeof REASON)[keyof typeof REASON]

function add(short: Uint8Array): Uint8Array | Reason {
  const input = padded(short, 0, 2 * G1_BYTES)
  const bn254 = curve('bn254')
  const left = bn254.reserve(2 * SIZE.g1)
  const right = left + SIZE.g1
  const wrong = readG1(bn254, left, input, 0) ?? readG1(bn254, right, input, G1_BYTES)
  if (wrong !== null) return wrong
  bn254.wasm.mclBnG1_add(left, left, right)
  return writeG1(bn254, left)
}

function multiply(short: Uint8Array): Uint8Array | Reason {
  const input = padded(short, 0, G1_BYTES + 32)
  const bn254 = curve('bn254')
  const point = bn254.reserve(SIZE.g1 + SIZE.scalar)
  const scalar = point + SIZE.g1
  const wrong = readG1(bn254, point, input, 0)
  if (wrong !== null) return wrong
  // The scalar is reduced by the order of the curve, which all points have.
  bn254.reduceScalar(scalar, input, G1_BYTES)
  bn254.wasm.mclBnG1_mul(point, point, scalar)
  return writeG1(bn254, point)
}

function pairing(base: number, pair: number): Precompile {
  return { gas: ({ length }) => base + pair * Math.floor(length / PAIR_BYTES), run: isProductOne }
}

/** Returns 1 if the product of the pairings is one; the empty product is. */
function isProductOne(input: Uint8Array, checkDeadline?: () => void): Uint8Array | Reason {
  if (input.length % PAIR_BYTES !== 0) return REASON.size
  const bn254 = curve('bn254')
  const read = (pair: number, p: number, q: number): Reason | null =>
    readG1(bn254, p, input, pair * PAIR_BYTES) ?? readG2(bn254, q, input, pair * PAIR_BYTES + G1_BYTES)
  const result = bn254.isProductOne(input.length / PAIR_BYTES, read, checkDeadline)
  return typeof result === 'boolean' ? word(result ? 1 : 0) : result
}

function readG1(bn254: Curve, out: number, input: Uint8Array, offset: number): Reason | null {
  const { wasm } = bn254
  if (isZero(input, offset, offset + G1_BYTES)) {
    wasm.mclBnG1_clear(out)
    return null
  }
  if (!readFields(bn254, [out, out + SIZE.field], input, offset)) return REASON.encoding
  wasm.mclBnFp_setInt32(out + 2 * SIZE.field, 1)
  return wasm.mclBnG1_isValid(out) === 1 ? null : REASON.curve
}

/** The input has imaginary parts first, mcl's memory real parts first. */
function readG2(bn254: Curve, out: number, input: Uint8Array, offset: number): Reason | null {
  const { wasm } = bn254
  wasm.mclBnG2_clear(out)
  if (isZero(input, offset, offset + G2_BYTES)) return null
  const places = [1, 0, 3, 2].map((index) => out + index * SIZE.field)
  if (!readFields(bn254, places, input, offset)) return REASON.encoding
  wasm.mclBnFp_setInt32(out + 4 * SIZE.field, 1)
  if (wasm.mclBnG2_isValid(out) !== 1) return REASON.curve
  return isInSubgroup(bn254, out) ? null : REASON.subgroup
}

/**
 * Checks [x+1]Q + ψ([x]Q) + ψ²([x]Q) = ψ³([2x]Q), which holds exactly in the subgroup (eprint 2022/348, section 5.1; x: curve parameter, ψ:
 * untwist-Frobenius-twist). Takes 63 doublings; multiplication by the order takes 254.
 */
function isInSubgroup(bn254: Curve, point: number): boolean {
  const { wasm } = bn254
  const multiple = bn254.scratch(2 * SIZE.g2 + 4 * SIZE.field)
  const sum = multiple + SIZE.g2
  const twist = sum + SIZE.g2
  readFields(
    bn254,
    [0, 1, 2, 3].map((index) => twist + index * SIZE.field),
    TWIST,
    0,
  )
  wasm.mclBnG2_clear(multiple)
  for (const bit of X_BITS) {
    wasm.mclBnG2_dbl(multiple, multiple)
    if (bit === '1') wasm.mclBnG2_add(multiple, multiple, point)
  }
  wasm.mclBnG2_add(sum, multiple, point)
  frobenius(wasm, multiple, twist)
  wasm.mclBnG2_add(sum, sum, multiple)
  frobenius(wasm, multiple, twist)
  wasm.mclBnG2_add(sum, sum, multiple)
  frobenius(wasm, multiple, twist)
  wasm.mclBnG2_dbl(multiple, multiple)
  return wasm.mclBnG2_isEqual(sum, multiple) === 1
}

/** Conjugates the three coordinates and multiplies by the twist constants. */
function frobenius(wasm: Curve['wasm'], point: number, twist: number): void {
  const y = 2 * SIZE.field
  for (const imaginary of [1, 3, 5]) wasm.mclBnFp_neg(point + imaginary * SIZE.field, point + imaginary * SIZE.field)
  wasm.mclBnFp2_mul(point, point, twist)
  wasm.mclBnFp2_mul(point + y, point + y, twist + y)
}

function readFields(bn254: Curve, places: readonly number[], input: Uint8Array, offset: number): boolean {
  return places.every((place, index) => bn254.readField(place, input, offset + 32 * index))
}

function writeG1(bn254: Curve, point: number): Uint8Array {
  const output = new Uint8Array(G1_BYTES)
  if (bn254.wasm.mclBnG1_isZero(point) === 1) return output
  bn254.wasm.mclBnG1_normalize(point, point)
  bn254.writeField(output, 0, point)
  bn254.writeField(output, 32, point + SIZE.field)
  return output
}
