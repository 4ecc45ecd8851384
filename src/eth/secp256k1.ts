import { Address } from './address.ts'
import { Hash } from './hash.ts'
import { DecodeError, Hex } from './hex.ts'
import { Rlp } from './rlp.ts'
import { loadSecp256k1, type Secp256k1Exports, type Wasm } from './wasm.ts'

/** 32 bytes, or the same as a 0x string. */
export type PrivateKey = Uint8Array | Hex

export interface Signature {
  readonly r: bigint
  readonly s: bigint
  readonly yParity: 0 | 1
}

/** The group order and half of it: EIP-2 rejects a higher s. */
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const HALF_ORDER = ORDER >> 1n

// libsecp256k1: recovery 52 us and signing 36 us, against 1,000 and 365 us in plain JavaScript.
export const Secp256k1 = { ORDER, HALF_ORDER, recover, recoverPublicKey, sign, publicKey, address }

/** Returns the signer of `digest` (32 bytes), `null` for an invalid signature. Accepts a high s, as ECRECOVER does. */
function recover(digest: Uint8Array | Hash, r: bigint, s: bigint, yParity: number): Address | null {
  const key = recoverPublicKey(digest, r, s, yParity)
  return key === null ? null : Address.fromPublicKey(key)
}

/** Returns 65 bytes, uncompressed; `null` for an invalid signature. */
function recoverPublicKey(digest: Uint8Array | Hash, r: bigint, s: bigint, yParity: number): Uint8Array | null {
  if (r <= 0n || r >= ORDER || s <= 0n || s >= ORDER || (yParity !== 0 && yParity !== 1)) return null
  const { exports, heap, bytes } = library()
  const memory = bytes()
  memory[heap] = yParity
  writeBytes32(memory, heap + 1, r)
  writeBytes32(memory, heap + 33, s)
  memory.set(digestBytes(digest), heap + 65)
  if (exports.secp256k1_recover_public_key(heap, heap + 65, 32, heap + 97) !== 1) return null
  return memory.slice(heap + 97, heap + 162)
}

/** Signs deterministically (RFC 6979) with the lower s (EIP-2). Throws DecodeError for an invalid key. */
function sign(digest: Uint8Array | Hash, privateKey: PrivateKey): Signature {
  const { exports, heap, bytes } = library()
  const memory = bytes()
  memory.set(digestBytes(digest), heap)
  memory.set(keyBytes(privateKey), heap + 32)
  const done = exports.secp256k1_sign(heap, 32, heap + 32, 0, 0, 0, heap + 64)
  exports.zero(heap + 32, 32)
  if (done !== 1) throw new DecodeError('private key', 'is zero or not below the order of the curve')
  return {
    yParity: memory[heap + 64] === 0 ? 0 : 1,
    r: Rlp.toBigint(memory.subarray(heap + 65, heap + 97)),
    s: Rlp.toBigint(memory.subarray(heap + 97, heap + 129)),
  }
}

/** Returns 65 bytes, uncompressed. Throws DecodeError for an invalid key. */
function publicKey(privateKey: PrivateKey): Uint8Array {
  const { exports, heap, bytes } = library()
  const memory = bytes()
  memory.set(keyBytes(privateKey), heap)
  const done = exports.secp256k1_get_public_key(heap, heap + 32)
  exports.zero(heap, 32)
  if (done !== 1) throw new DecodeError('private key', 'is zero or not below the order of the curve')
  return memory.slice(heap + 32, heap + 97)
}

/** Returns the address of a private key. Throws DecodeError for an invalid key. */
function address(privateKey: PrivateKey): Address {
  return Address.fromPublicKey(publicKey(privateKey))
}

function digestBytes(digest: Uint8Array | Hash): Uint8Array {
  const bytes = typeof digest === 'string' ? Hash.toBytes(digest) : digest
  if (bytes.length !== 32) throw new DecodeError('digest', `must be 32 bytes, not ${bytes.length}`)
  return bytes
}

function keyBytes(key: PrivateKey): Uint8Array {
  const bytes = typeof key === 'string' ? Hex.toBytes(key, 'private key') : key
  if (bytes.length !== 32) throw new DecodeError('private key', `must be 32 bytes, not ${bytes.length}`)
  return bytes
}

function writeBytes32(memory: Uint8Array, at: number, value: bigint): void {
  let rest = value
  for (let i = at + 28; i >= at; i -= 4, rest >>= 32n) {
    const low = Number(rest & 0xffff_ffffn)
    memory[i] = low >>> 24
    memory[i + 1] = low >>> 16
    memory[i + 2] = low >>> 8
    memory[i + 3] = low
  }
}

let loaded: Wasm<Secp256k1Exports> | null = null

/** Loads the library on first use (4 ms), to keep it out of the start. */
function library(): Wasm<Secp256k1Exports> {
  loaded ??= start()
  return loaded
}

function start(): Wasm<Secp256k1Exports> {
  const wasm = loadSecp256k1()
  if (wasm.exports.secp256k1_init() !== 1) throw new Error('libsecp256k1 did not start')
  wasm.reserve(256)
  // Blinds the multiplications of signing against timing.
  wasm.bytes().set(crypto.getRandomValues(new Uint8Array(32)), wasm.heap)
  if (wasm.exports.secp256k1_randomize(wasm.heap) !== 1) throw new Error('libsecp256k1 took no seed')
  wasm.exports.zero(wasm.heap, 32)
  return wasm
}
