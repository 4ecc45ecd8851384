import { keccak256, ripemd160, Secp256k1, sha256, Hex } from '../../eth/index.ts'
import { fixedPrice, isZero, EMPTY, padded, pricePerWord } from './precompile.ts'
import type { Precompile } from './precompile.ts'

/** The precompiles of Frontier (Yellow Paper, appendix E). */
export const ECRECOVER: Precompile = fixedPrice(3_000, recoverSigner)
export const SHA256: Precompile = pricePerWord(60, 12, sha256)
export const RIPEMD160: Precompile = pricePerWord(600, 120, (input) => rightAligned(ripemd160(input)))
export const IDENTITY: Precompile = pricePerWord(15, 3, (input) => input.slice())

/** Digest, v, r, s to the signer's address; empty if no key could have signed. Any s is accepted: EIP-2 applies to transactions only. */
function recoverSigner(short: Uint8Array): Uint8Array {
  const input = padded(short, 0, 128)
  const v = input[63] as number // of 128 bytes
  if (!isZero(input, 32, 63) || (v !== 27 && v !== 28)) return EMPTY
  const [r, s] = [number(input, 64), number(input, 96)]
  const key = Secp256k1.recoverPublicKey(input.subarray(0, 32), r, s, v - 27)
  return key === null ? EMPTY : rightAligned(keccak256(key.subarray(1)).subarray(12))
}

function rightAligned(bytes: Uint8Array): Uint8Array {
  const out = new Uint8Array(32)
  out.set(bytes, 32 - bytes.length)
  return out
}

function number(input: Uint8Array, offset: number): bigint {
  return BigInt(Hex.fromBytes(input.subarray(offset, offset + 32)))
}
