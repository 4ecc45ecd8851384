/** Points or pairs per batch, which bounds memory and time: 3 to 12 ms. */
export const PAIRS_PER_BATCH = 8
export const POINTS_PER_BATCH = 16

/** BLAKE2b rounds between two clock checks: 1.3 ms. */
export const BLAKE2_ROUNDS_PER_CLOCK_CHECK = 100_000

/** Exponent bytes between two clock checks, for moduli up to 64 bytes (3 ms) and for longer ones (5 us per byte and more). */
export const SMALL_EXPONENT_BYTES_PER_CLOCK_CHECK = 1_024
export const LARGE_EXPONENT_BYTES_PER_CLOCK_CHECK = 16
