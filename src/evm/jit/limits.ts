/** Operations of one function. The engine's optimising compiler takes time that grows faster than a function does: 24 KB in one take
 * a minute, in parts of this size half a second. */
export const OPERATIONS_PER_FUNCTION = 256

/** Longer codes are interpreted: what deploys within the rules is shorter, and the tables in memory hold this much. */
export const CODE_BYTES_MAX = 32_768

/** Codes with more functions (one for each JUMPDEST, at least) are interpreted. Real ones of 24 KB have 500 to 900. */
export const FUNCTIONS_MAX = 2_048

/** A straight line without a JUMPDEST that is longer marks a code that nobody wrote by hand: it is interpreted. */
export const STRAIGHT_OPERATIONS_MAX = 4_096

/** Codes whose functions come to more are interpreted. Real ones of 24 KB come to 0.5 MB. */
export const MODULE_BYTES_MAX = 1_500_000

/** Modules that are kept for all instances of the runtime, the least recently used leaves first. */
export const MODULES_MAX = 256

/** Bytes of those modules together. */
export const ALL_MODULE_BYTES_MAX = 32_000_000

/** Codes of which is remembered that they are not to be compiled. */
export const REFUSED_MAX = 4_096

/** Compiled frames within one another; deeper ones are interpreted. Each may take some 4 KB of the native stack, of which there is 1 MB. */
export const COMPILED_DEPTH_MAX = 96

/** Codes that wait to be compiled; those that come when there are so many ask again later. */
export const ORDERS_MAX = 64

/** Operations of one function that is made of several parts. */
export const CHAIN_OPERATIONS_MAX = 96

/** So many times the code's own operations all functions have together. */
export const CHAINED_OPERATIONS_FACTOR = 3
