import { Hex, nodeModule } from '../../eth/index.ts'
import { type Curve, SIZE } from './curve.ts'
import { curve } from './mcl.ts'
import { EMPTY, word } from './precompile.ts'

/** Addresses of the parts of a well-formed signature in mcl's memory. */
interface Signature {
  readonly digest: number
  readonly r: number
  readonly s: number
  /** a point of the curve */
  readonly key: number
  /** work area */
  readonly scratch: number
}

/** Returns the big-endian x of digest/s · G + r/s · key; null at infinity. */
type Recover = (p256: Curve, signature: Signature) => Uint8Array | null

const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n

/**
 * 0x100 (RIP-7212, EIP-7951): digest, r, s, x, y of 32 bytes each. Returns 1 if the key (x, y) signed the digest, else nothing. Any s is
 * accepted.
 */
export function verifyP256(input: Uint8Array, recover: Recover = recoverFastest()): Uint8Array {
  if (input.length !== 160) return EMPTY
  const p256 = curve('p256')
  const { wasm } = p256
  const digest = p256.reserve(5 * SIZE.scalar + 4 * SIZE.g1)
  const [r, s] = [digest + SIZE.scalar, digest + 2 * SIZE.scalar]
  const key = digest + 3 * SIZE.scalar
  p256.reduceScalar(digest, input, 0)
  if (!p256.readScalar(r, input, 32) || !p256.readScalar(s, input, 64)) return EMPTY
  if (wasm.mclBnFr_isZero(r) === 1 || wasm.mclBnFr_isZero(s) === 1) return EMPTY
  if (!readPoint(p256, key, input, 96) || wasm.mclBnG1_isValid(key) !== 1) return EMPTY
  const x = recover(p256, { digest, r, s, key, scratch: key + SIZE.g1 })
  return x !== null && number(x) % ORDER === number(input.subarray(32, 64)) ? word(1) : EMPTY
}

/** 340 us. */
export const recoverInWasm: Recover = (p256, { digest, r, s, key, scratch }) => {
  const { wasm } = p256
  const [byBase, byKey] = [scratch, scratch + SIZE.scalar]
  const base = byKey + SIZE.scalar
  const [other, sum] = [base + SIZE.g1, base + 2 * SIZE.g1]
  wasm.mclBnFr_inv(s, s)
  wasm.mclBnFr_mul(byBase, digest, s)
  wasm.mclBnFr_mul(byKey, r, s)
  wasm.mclBnG1_getBasePoint(base)
  wasm.mclBnG1_normalize(other, key)
  wasm.mclBnG1_mulVec(sum, base, byBase, 2)
  if (wasm.mclBnG1_isZero(sum) === 1) return null
  wasm.mclBnG1_normalize(sum, sum)
  const x = new Uint8Array(32)
  p256.writeField(x, 0, sum)
  return x
}

/** The point multiplication of node:crypto's ECDH. */
interface Ecdh {
  setPrivateKey(scalar: Uint8Array): void
  getPublicKey(): Uint8Array
  computeSecret(point: Uint8Array): Uint8Array
}

let fastest: Recover | null = null

/** OpenSSL if available: 130 us. */
function recoverFastest(): Recover {
  if (fastest === null) {
    const crypto = nodeModule('crypto')
    fastest = crypto?.getCurves().includes('prime256v1') === true ? recoverWith(crypto.createECDH('prime256v1')) : recoverInWasm
  }
  return fastest
}

/** ECDH returns the whole point for a public key, but only x for other products. Therefore computes r/s · (digest/r · G + key). */
function recoverWith(openssl: Ecdh): Recover {
  return (p256, { digest, r, s, key, scratch }) => {
    const { wasm } = p256
    const point = scratch
    const factor = scratch + SIZE.g1
    wasm.mclBnFr_inv(factor, r)
    wasm.mclBnFr_mul(factor, digest, factor)
    if (wasm.mclBnFr_isZero(factor) === 0) {
      openssl.setPrivateKey(scalar(p256, factor))
      readPoint(p256, point, openssl.getPublicKey(), 1)
      wasm.mclBnG1_add(key, key, point)
      if (wasm.mclBnG1_isZero(key) === 1) return null
      wasm.mclBnG1_normalize(key, key)
    }
    wasm.mclBnFr_inv(factor, s)
    wasm.mclBnFr_mul(factor, r, factor)
    openssl.setPrivateKey(scalar(p256, factor))
    return openssl.computeSecret(uncompressed(p256, key))
  }
}

function readPoint(p256: Curve, out: number, bytes: Uint8Array, offset: number): boolean {
  p256.wasm.mclBnFp_setInt32(out + 2 * SIZE.field, 1)
  return p256.readField(out, bytes, offset) && p256.readField(out + SIZE.field, bytes, offset + 32)
}

function uncompressed(p256: Curve, point: number): Uint8Array {
  const bytes = new Uint8Array(65)
  bytes[0] = 4
  p256.writeField(bytes, 1, point)
  p256.writeField(bytes, 33, point + SIZE.field)
  return bytes
}

function scalar(p256: Curve, at: number): Uint8Array {
  const bytes = new Uint8Array(32)
  p256.writeScalar(bytes, 0, at)
  return bytes
}

function number(bytes: Uint8Array): bigint {
  return BigInt(Hex.fromBytes(bytes))
}
