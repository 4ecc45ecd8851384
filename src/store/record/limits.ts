/** Size of the arena's chunks: a block of 500 plain transfers takes 150 KiB, of ERC-20 transfers 390 KiB. A larger record gets its own buffer. */
export const ARENA_CHUNK_BYTES = 256 * 1024
/** 16 MiB: the records of one commit of an import. */
export const ARENA_KEPT_CHUNKS = 64
/** Scratch memory that a large record grew beyond this is replaced before the next record. */
export const SCRATCH_KEPT_BYTES = 8 * 1024 * 1024
