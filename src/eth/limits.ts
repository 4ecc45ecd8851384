/** Nesting of RLP lists. A block's deepest is 6 (block, transactions, transaction, access list, item, storage keys); more is an attack on the call stack. */
export const RLP_DEPTH = 16

/** Bytes the RLP writer keeps between calls. A block fits; what a larger one needed is given back. */
export const RLP_SCRATCH_BYTES = 1 << 20

/** Distinct addresses and topics whose three bloom bits are remembered; about 100 bytes each. */
export const BLOOM_CACHE = 8192

/** Nesting of structs and arrays in EIP-712 data. Real messages stay below 10. */
export const TYPED_DATA_DEPTH = 64

/** Account index in a derivation path: anything from 2^31 on would be a hardened one. */
export const HD_INDEX = 2 ** 31 - 1
