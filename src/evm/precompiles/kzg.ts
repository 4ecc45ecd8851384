import { Hex, sha256 } from '../../eth/index.ts'
import { type Curve, SIZE } from './curve.ts'
import { curve } from './mcl.ts'
import { fixedPrice, isZero } from './precompile.ts'
import type { Precompile } from './precompile.ts'

/** 0x0a (EIP-4844). Versioned hash, z, y, commitment, proof: verifies that the committed polynomial has the value y at z. */
export const POINT_EVALUATION: Precompile = fixedPrice(50_000, evaluatePoint)

/** Output for a valid proof: FIELD_ELEMENTS_PER_BLOB and the scalar modulus. */
const PROVEN = Hex.toBytes(
  '0x000000000000000000000000000000000000000000000000000000000000100073eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001',
)
const VERSION = 1

/** geth's messages. */
const REASON = {
  length: 'invalid input length',
  hash: 'mismatched versioned hash',
  encoding: 'error verifying kzg proof: invalid field element',
  point: 'error verifying kzg proof: invalid point',
  proof: "error verifying kzg proof: can't verify opening proof",
} as const
type Reason = (typeof REASON)[keyof typeof REASON]

/** Generator of G1: x, y. */
const G1_GENERATOR =
  '0x17f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb' +
  '08b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af600db18cb2c04b3edd03cc744a2888ae40caa232946c5e7e1'

/**
 * Generator of G2, and its multiple by the secret τ of the ceremony: the second g2_monomial of trusted_setup_4096.json in consensus-specs.
 * Verification needs nothing else of the setup. x then y, real parts first.
 */
const G2_GENERATOR =
  '0x024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd48056c8c121bdb8' +
  '13e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049334cf11213945d57e5ac7d055d042b7e' +
  '0ce5d527727d6e118cc9cdc6da2e351aadfd9baa8cbdd3a76d429a695160d12c923ac9cc3baca289e193548608b82801' +
  '0606c4a02ea734cc32acd2b02bc28b99cb3e287e85a763af267492ab572e99ab3f370d275cec1da1aaa9075ff05f79be'
const G2_TAU =
  '0x185cbfee53492714734429b7b38608e23926c911cceceac9a36851477ba4c60b087041de621000edc98edada20c1def2' +
  '15bfd7dd8cdeb128843bc287230af38926187075cbfbefa81009a2ce615ac53d2914e5870cb452d2afaaab24f3499f72' +
  '014353bdb96b626dd7d5ee8599d1fca2131569490e28de18e82451a496a9c9794ce26d105941f383ee689bfbbb832a99' +
  '1666c54b0a32529503432fcae0181b4bef79de09fc63671fda5ed1ba9bfa07899495346f3d7ac9cd23048ef30d0a154f'

/** Constants in mcl's memory: the precomputed Miller loop lines of the negated generator of G2 and of τ·G2. */
export interface KzgSetup {
  readonly bls: Curve
  readonly generatorLines: number
  readonly tauLines: number
  // Operands of one verification. Those multiplied with each other are adjacent.
  readonly minusY: number
  readonly z: number
  readonly generator: number
  readonly proof: number
  readonly commitment: number
  readonly sum: number
  readonly product: number
}

let setup: KzgSetup | null = null

/** Returns the setup, always the same object. Throws PrecompileNotLoaded as `curve` does. */
export function kzgSetup(): KzgSetup {
  return (setup ??= prepare(curve('bls12381')))
}

function evaluatePoint(input: Uint8Array): Uint8Array | Reason {
  if (input.length !== 192) return REASON.length
  const hash = versionedHash(input.subarray(96, 144))
  if (!hash.every((byte, index) => byte === input[index])) return REASON.hash
  const known = kzgSetup()
  const { bls, minusY, z, commitment, proof } = known
  if (!bls.readScalar(z, input, 32) || !bls.readScalar(minusY, input, 64)) return REASON.encoding
  if (!decompress(bls, commitment, input, 96) || !decompress(bls, proof, input, 144)) return REASON.point
  return holds(known) ? PROVEN : REASON.proof
}

/** kzg_to_versioned_hash (EIP-4844). */
export function versionedHash(commitment: Uint8Array): Uint8Array {
  const hash = sha256(commitment)
  hash[0] = VERSION
  return hash
}

/** e(C - y·G1 + z·proof, G2) = e(proof, τ·G2): the second argument of each pairing is constant. */
function holds(known: KzgSetup): boolean {
  const { bls, tauLines, minusY, generator, proof, commitment, sum } = known
  const { wasm } = bls
  wasm.mclBnFr_neg(minusY, minusY)
  wasm.mclBnG1_mulVec(sum, generator, minusY, 2)
  wasm.mclBnG1_add(sum, sum, commitment)
  return areEqual(known, sum, proof, tauLines)
}

/** e(left, G2) = e(right, Q) for points of G1, given the lines of Q. Normalises the points. */
export function areEqual({ bls: { wasm }, generatorLines, product }: KzgSetup, left: number, right: number, lines: number): boolean {
  const [leftIsOne, rightIsOne] = [wasm.mclBnG1_isZero(left), wasm.mclBnG1_isZero(right)]
  if (leftIsOne === 1 || rightIsOne === 1) return leftIsOne === rightIsOne
  wasm.mclBnG1_normalize(left, left)
  wasm.mclBnG1_normalize(right, right)
  // One final exponentiation for both: e(left, -G2) · e(right, Q) = 1.
  wasm.mclBn_precomputedMillerLoop2(product, left, generatorLines, right, lines)
  wasm.mclBn_finalExp(product, product)
  return wasm.mclBnGT_isOne(product) === 1
}

/** Compressed point of G1 in 48 bytes: x with three flag bits: compressed, infinity, larger y (consensus-specs, zkcrypto). */
export function decompress(bls: Curve, out: number, input: Uint8Array, offset: number): boolean {
  const { wasm } = bls
  const x = input.slice(offset, offset + 48)
  const flags = x[0] as number // of 48 bytes
  x[0] = flags & 0x1f
  wasm.mclBnG1_clear(out)
  if ((flags & 0x80) === 0) return false
  if ((flags & 0x40) !== 0) return (flags & 0x20) === 0 && isZero(x, 0, 48)
  const [y, z] = [out + SIZE.field, out + 2 * SIZE.field]
  if (!bls.readField(out, x, 0)) return false
  // y² = x³ + 4; z is used as temporary.
  wasm.mclBnFp_setInt32(y, 4)
  wasm.mclBnFp_sqr(z, out)
  wasm.mclBnFp_mul(z, z, out)
  wasm.mclBnFp_add(z, z, y)
  if (wasm.mclBnFp_squareRoot(y, z) !== 0) return false
  if (wasm.mclBnFp_isNegative(y) !== ((flags & 0x20) === 0 ? 0 : 1)) wasm.mclBnFp_neg(y, y)
  wasm.mclBnFp_setInt32(z, 1)
  return wasm.mclBnG1_isValidOrder(out) === 1
}

function prepare(bls: Curve): KzgSetup {
  const { wasm } = bls
  const generatorLines = linesOf(bls, G2_GENERATOR, true)
  const tauLines = linesOf(bls, G2_TAU)
  const minusY = wasm.malloc(2 * SIZE.scalar)
  const generator = wasm.malloc(4 * SIZE.g1)
  readPoint(bls, generator, 2, G1_GENERATOR)
  const [proof, commitment, sum] = [1, 2, 3].map((index) => generator + index * SIZE.g1) as [number, number, number]
  const product = wasm.malloc(SIZE.gt)
  return { bls, generatorLines, tauLines, minusY, z: minusY + SIZE.scalar, generator, proof, commitment, sum, product }
}

/** Returns the precomputed Miller loop lines of a point of G2, which are never freed. Uses `reserve`. */
export function linesOf(bls: Curve, coordinates: string, isNegated = false): number {
  const { wasm } = bls
  const lines = wasm.malloc(8 * wasm.mclBn_getUint64NumToPrecompute())
  const point = bls.reserve(SIZE.g2)
  wasm.mclBnG2_clear(point)
  readPoint(bls, point, 4, coordinates)
  if (isNegated) wasm.mclBnG2_neg(point, point)
  wasm.mclBn_precomputeG2(lines, point)
  return lines
}

/** Writes the coordinates of a point, with z = 1. */
function readPoint(bls: Curve, out: number, fields: 2 | 4, coordinates: string): void {
  const bytes = Hex.toBytes(coordinates)
  for (let i = 0; i < fields; i++) bls.readField(out + i * SIZE.field, bytes, 48 * i)
  bls.wasm.mclBnFp_setInt32(out + fields * SIZE.field, 1)
}
