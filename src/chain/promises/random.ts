import { Hash } from '../../eth/index.ts'

/** Returns a generator of numbers from 0 to below 1 (mulberry32); equal seeds give equal sequences. */
export function seededRandom(seed: string): () => number {
  let state = Number(BigInt(Hash.ofText(seed)) & 0xffff_ffffn)
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
