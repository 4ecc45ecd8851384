import { createHash } from 'node:crypto'
import { ripemd160 as nobleRipemd160 } from '@noble/hashes/legacy.js'
import { keccak_256 } from '@noble/hashes/sha3.js'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { Hex } from './hex.ts'
import { KeccakPad, keccak256, keccak256Hex, keccak256HexOfText, ripemd160, sha256 } from './keccak.ts'

it('agrees with other implementations at every length', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => {
      expect(keccak256(bytes)).toEqual(keccak_256(bytes))
      expect(keccak256Hex(bytes)).toBe(Hex.fromBytes(keccak_256(bytes)))
      expect(sha256(bytes)).toEqual(new Uint8Array(createHash('sha256').update(bytes).digest()))
      expect(ripemd160(bytes)).toEqual(nobleRipemd160(bytes))
    }),
  )
})

it('hashes text in UTF-8', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.string({ unit: 'grapheme' })), (text) => {
      expect(keccak256HexOfText(text)).toBe(Hex.fromBytes(keccak_256(new TextEncoder().encode(text))))
    }),
  )
})

it('hashes inputs for which its memory has to grow, and short ones after that', () => {
  const large = new Uint8Array(3_000_000).fill(9)
  expect(keccak256(large)).toEqual(keccak_256(large))
  expect(keccak256(large.subarray(0, 5))).toEqual(keccak_256(large.subarray(0, 5)))
})

it('gives digests that the next call does not change', () => {
  const first = keccak256(Uint8Array.of(1))
  keccak256(Uint8Array.of(2))
  expect(first).toEqual(keccak_256(Uint8Array.of(1)))
})

it('hashes data written to its memory in place, also after growth', () => {
  const digestOf = (bytes: Uint8Array): Uint8Array => {
    const { start, digest } = KeccakPad
    KeccakPad.reserve(bytes.length).set(bytes, start)
    KeccakPad.hash(start, start + bytes.length)
    return KeccakPad.reserve(0).slice(digest, digest + 32)
  }
  for (const size of [0, 31, 136, 532, 5_000_000, 40]) {
    const bytes = new Uint8Array(size).fill(size)
    expect(digestOf(bytes)).toEqual(keccak_256(bytes))
  }
})
