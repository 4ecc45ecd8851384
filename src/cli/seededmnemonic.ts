import { Mnemonic } from '../eth/index.ts'

/**
 * Returns the 12 words that `anvil --mnemonic-seed-unsafe` draws for a seed of 64 bits. The generator is the one of Rust's rand 0.8: the key of ChaCha12
 * are eight outputs of PCG32, and each byte of entropy is the lowest of a 32-bit word.
 */
export function seededMnemonic(seed: bigint): Promise<string> {
  const words = chacha12(pcg32(seed))
  return Mnemonic.ofEntropy(Uint8Array.from(words, (word) => word & 0xff))
}

const MULTIPLIER = 6_364_136_223_846_793_005n
const INCREMENT = 11_634_580_027_462_260_723n

function pcg32(seed: bigint): Uint32Array {
  let state = seed
  return Uint32Array.from({ length: 8 }, () => {
    state = BigInt.asUintN(64, state * MULTIPLIER + INCREMENT)
    const word = Number(BigInt.asUintN(32, ((state >> 18n) ^ state) >> 27n))
    return rotateLeft(word, 32 - Number(state >> 59n))
  })
}

const CONSTANTS = [0x61707865, 0x3320646e, 0x79622d32, 0x6b206574]
/** Indices of the quarter rounds of one double round: columns, then diagonals (RFC 8439, 2.3). */
const QUARTERS = [
  [0, 4, 8, 12],
  [1, 5, 9, 13],
  [2, 6, 10, 14],
  [3, 7, 11, 15],
  [0, 5, 10, 15],
  [1, 6, 11, 12],
  [2, 7, 8, 13],
  [3, 4, 9, 14],
] as const

/** Returns the first block of ChaCha with 12 rounds, counter and nonce 0. */
function chacha12(key: Uint32Array): Uint32Array {
  const start = Uint32Array.of(...CONSTANTS, ...key, 0, 0, 0, 0)
  const state = start.slice()
  for (let round = 0; round < 12; round += 2) for (const [a, b, c, d] of QUARTERS) quarterRound(state, a, b, c, d)
  return state.map((word, i) => word + (start[i] ?? 0))
}

function quarterRound(state: Uint32Array, a: number, b: number, c: number, d: number): void {
  step(a, b, d, 16)
  step(c, d, b, 12)
  step(a, b, d, 8)
  step(c, d, b, 7)

  function step(sum: number, added: number, mixed: number, bits: number): void {
    state[sum] = (state[sum] ?? 0) + (state[added] ?? 0)
    state[mixed] = rotateLeft((state[mixed] ?? 0) ^ (state[sum] ?? 0), bits)
  }
}

function rotateLeft(word: number, bits: number): number {
  return (word << bits) | (word >>> ((32 - bits) & 31))
}
