import { DecodeError, Hex } from './hex.ts'
import { keccak256Hex, keccak256HexOfText } from './keccak.ts'

declare const brand: unique symbol

/** 32 bytes as a lower-case 0x string: hashes, topics, storage slots. Compared with `===`, used as a Map key. */
export type Hash = Hex & { readonly [brand]: 'Hash' }

const zero = `0x${'0'.repeat(64)}` as Hash // 32 bytes by construction

export const Hash = { zero, from, fromBigint, toBigint, toBytes, keccak, ofText }

/** Throws DecodeError unless it is 32 bytes. */
function from(value: string | Uint8Array, field = 'hash'): Hash {
  if (typeof value === 'string') return fromText(value, field)
  if (value.length !== 32) throw new DecodeError(field, `must be 32 bytes, not ${value.length}`)
  return Hex.fromBytes(value) as Hash // the length was checked
}

function fromText(text: string, field: string): Hash {
  if (!Hex.isHex(text, 64)) throw new DecodeError(field, `must be 0x and 64 hex digits`)
  return text.toLowerCase() as Hash // the shape was checked
}

/** Big-endian, padded to 32 bytes. Throws RangeError outside 0 … 2^256-1. */
function fromBigint(value: bigint): Hash {
  return Hex.fromBytes32(value) as Hash // always 32 bytes
}

function toBigint(hash: Hash): bigint {
  return BigInt(hash)
}

function toBytes(hash: Hash): Uint8Array {
  return Hex.toBytes(hash)
}

function keccak(bytes: Uint8Array): Hash {
  return keccak256Hex(bytes) as Hash // a digest has 32 bytes
}

/** Returns the keccak-256 hash of the text in UTF-8. */
function ofText(text: string): Hash {
  return keccak256HexOfText(text) as Hash // a digest has 32 bytes
}
