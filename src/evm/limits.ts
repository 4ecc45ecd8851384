/**
 * Interpreters kept for reuse per rule set. One is busy for the length of one message, so this is how many eth_call
 * may be in flight without building a new one (about 2 ms and 0.3 MB each).
 */
export const IDLE_INTERPRETERS_MAX = 8

/** EIP-4788 and EIP-2935 system calls run with this much gas. */
export const SYSTEM_CALL_GAS = 30_000_000n

/** Analysed contracts kept per interpreter; about 25 bytes of memory per byte of code, so 40 MB of the largest ones. */
export const JUMP_TABLES_MAX = 64

/** A call that is paced runs this long before others get their turn: a twentieth of a flashblock's time. */
export const SLICE_MS = 10

/** Opcodes between two looks at the clock, which cost about 40 ns each; 64 of the slowest take 5 ms. */
export const LOOK_AT_CLOCK_STEPS = 64

/** Rounds of BLAKE2b between two looks at the clock: 6 ms. */
export const BLAKE2_ROUNDS_PER_SLICE = 20_000
