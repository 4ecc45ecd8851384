/** Records are encoded into chunks, which are used again: a block of 500 transactions just fits one. A larger record gets one that is let go. */
export const DRAFT_CHUNK_BYTES = 256 * 1024
/** 16 MiB: a step of an import. */
export const DRAFT_KEPT_CHUNKS = 64
