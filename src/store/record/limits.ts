/** Records are encoded into chunks, which are used again: a block of 500 plain transfers has 150 KiB, of ERC-20 transfers 390. A larger record gets one that is let go. */
export const DRAFT_CHUNK_BYTES = 256 * 1024
/** 16 MiB: a step of an import. */
export const DRAFT_KEPT_CHUNKS = 64
