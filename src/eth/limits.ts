/**
 * Nesting of RLP lists. A block's deepest is 6 (block, transactions, transaction, access list, item, storage keys); more is an attack on
 * the call stack.
 */
export const RLP_DEPTH = 16

/** Bytes of the RLP writer's buffer kept between calls. A block fits; a larger buffer is released. */
export const RLP_SCRATCH_BYTES = 1 << 20

/** Cached bloom bits of distinct addresses and topics, about 100 bytes each. */
export const BLOOM_CACHE = 8192

/** Nesting of structs and arrays in EIP-712 data. Real messages stay below 10. */
export const TYPED_DATA_DEPTH = 64

/**
 * Characters of the types that one EIP-712 hash encodes: each struct's encoding repeats those of all structs that it uses, so that the time would grow with the square of
 * their number. A Seaport order takes fewer than 1,000; this many take 50 ms.
 */
export const TYPED_DATA_TYPE_CHARS = 1 << 19

/** Highest account index in a derivation path: from 2^31 on an index is hardened. */
export const HD_INDEX = 2 ** 31 - 1

/** Values of one decoded list of ABI parameters. Several offsets may name one value, so that call data of 100 kB could describe gigabytes. */
export const ABI_DECODED_BYTES = 4 * 1024 * 1024
