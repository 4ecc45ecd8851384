// Slots of mappings: keccak256 of 64 bytes, a key and a place. A token reads a balance's slot and then writes it, and one call after another
// asks for the same few. In three blocks of OP Sepolia 85 of 100 KECCAK256 are such, and 4,542 of 5,348 had been asked for before (52, 60 and
// 90 of 100, block by block). Knowing one takes 15 ns instead of 370. A hash is the same under any state, so nothing makes these stale.

import { keccak256 } from './keccak'
import { HASHED, HASHED_BITS } from './layout'

/** { 64 bytes, their hash }: a place has one, and whatever comes by takes it over. A hash that begins with eight zero bytes is never known. */
const SIZE: usize = 96

/** Where the hash of 64 bytes stands, 32 bytes, until the next is asked for. */
export function hashOfPair(at: usize): usize {
  const a = v128.load(at)
  const b = v128.load(at, 16)
  const c = v128.load(at, 32)
  const d = v128.load(at, 48)
  const entry = HASHED + <usize>placeOf(at) * SIZE
  const differs = v128.or(
    v128.or(v128.xor(a, v128.load(entry)), v128.xor(b, v128.load(entry, 16))),
    v128.or(v128.xor(c, v128.load(entry, 32)), v128.xor(d, v128.load(entry, 48))),
  )
  if (!v128.any_true(differs) && load<u64>(entry, 64) != 0) return entry + 64
  v128.store(entry, a)
  v128.store(entry, b, 16)
  v128.store(entry, c, 32)
  v128.store(entry, d, 48)
  keccak256(at, 64, entry + 64)
  return entry + 64
}

/** Addresses, numbers and hashes are told apart by the ends of their words. */
@inline
function placeOf(at: usize): u32 {
  let mix = (load<u64>(at, 24) ^ load<u64>(at, 16) * 0x9e3779b97f4a7c15) * 0xc2b2ae3d27d4eb4f
  mix = (mix ^ mix >> 32 ^ load<u64>(at, 56) ^ load<u64>(at, 48)) * 0xff51afd7ed558ccd
  return <u32>(mix >> (64 - HASHED_BITS))
}
