/** Points or pairs that are read, checked and computed with in one go, which bounds the memory and the time: 3 to 12 ms. */
export const PAIRS_PER_BATCH = 8
export const POINTS_PER_BATCH = 16

/** Rounds of BLAKE2b between two looks at the clock: 1.3 ms. */
export const BLAKE2_ROUNDS_PER_LOOK = 100_000

/** Bytes of an exponent between two looks at the clock, for numbers of up to 64 bytes (3 ms) and for longer ones (5 us and up each). */
export const SMALL_EXPONENT_BYTES_PER_LOOK = 1_024
export const LARGE_EXPONENT_BYTES_PER_LOOK = 16
