// Cache of keccak256 over 64 bytes, the slots of mappings. In three blocks of OP Sepolia 85 % of KECCAK256 hash 64 bytes, and 4,542 of
// 5,348 repeat an earlier input (52, 60 and 90 % per block). A hit takes 15 ns instead of 370. A hash does not depend on state, so entries
// are never invalidated. The size is for requests that read many mappings and are repeated: with 1,000 inputs 88 % do not share a bucket of
// 8,192, and 38 % of 1,024.

import { keccak256 } from './keccak'
import { KECCAK_CACHE, KECCAK_CACHE_BITS } from './layout'

/** { 64 bytes, their hash }. Direct-mapped: a new pair replaces the old one. A hash that starts with eight zero bytes is never a hit. */
const SIZE: usize = 96

/** Address of the 32-byte hash of the 64 bytes at `at`, valid until the next call. */
export function cachedKeccak64(at: usize): usize {
  const a = v128.load(at)
  const b = v128.load(at, 16)
  const c = v128.load(at, 32)
  const d = v128.load(at, 48)
  const entry = KECCAK_CACHE + <usize>bucketOf(at) * SIZE
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

/** Addresses, numbers and hashes differ in the low bytes of their words. */
@inline
function bucketOf(at: usize): u32 {
  let mix = (load<u64>(at, 24) ^ load<u64>(at, 16) * 0x9e3779b97f4a7c15) * 0xc2b2ae3d27d4eb4f
  mix = (mix ^ mix >> 32 ^ load<u64>(at, 56) ^ load<u64>(at, 48)) * 0xff51afd7ed558ccd
  return <u32>(mix >> (64 - KECCAK_CACHE_BITS))
}
