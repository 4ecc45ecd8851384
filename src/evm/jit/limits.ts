/**
 * Operations per function. The compile time of V8's optimising compiler grows faster than linearly: 24 KB in one function take a minute, in
 * functions of this size half a second.
 */
export const OPERATIONS_PER_FUNCTION = 256

/** Longer codes are interpreted. EIP-170 allows 24 KB; the tables in memory hold this much. */
export const CODE_BYTES_MAX = 32_768

/** Codes with more functions (at least one per JUMPDEST) are interpreted. Contracts of 24 KB have 500 to 900. */
export const FUNCTIONS_MAX = 2_048

/** Codes with longer straight-line sections are interpreted; compilers do not produce them. */
export const STRAIGHT_OPERATIONS_MAX = 4_096

/** Codes with larger modules are interpreted. Contracts of 24 KB take 0.5 MB. */
export const MODULE_BYTES_MAX = 1_500_000

/** Modules cached for all instances of the runtime; the least recently used is evicted first. */
export const MODULES_MAX = 256

/** Total bytes of the cached modules. */
export const CACHED_MODULE_BYTES_MAX = 32_000_000

/** Codes remembered as not to be compiled. */
export const REFUSED_MAX = 4_096

/** Nesting of compiled frames; deeper frames are interpreted. A frame takes up to 4 KB of the native stack of 1 MB. */
export const COMPILED_DEPTH_MAX = 96

/** Queued compilations. Beyond this a code is queued at a later promotion. */
export const COMPILE_QUEUE_MAX = 64

/** The event loop is busy with a compilation for so long: a fiftieth of a flashblock's interval. With 10 ms, p99 of the gaps between flashblocks rose by 15 ms. */
export const COMPILE_SLICE_MS = 4

/** Operations of a superblock. */
export const SUPERBLOCK_OPERATIONS_MAX = 96

/** Total operations of all superblocks, as a multiple of the code's own. */
export const CODE_GROWTH_MAX = 3
