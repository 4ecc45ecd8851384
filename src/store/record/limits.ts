/** Records are kept in chunks, which are used again: a block of 500 plain transfers has 150 KiB, of ERC-20 transfers 390. A larger record gets memory of its own. */
export const DRAFT_CHUNK_BYTES = 256 * 1024
/** 16 MiB: a step of an import. */
export const DRAFT_KEPT_CHUNKS = 64
/** The memory that records are made in grows for a large one, and beyond this it is given back before the next. */
export const PEN_BYTES = 8 * 1024 * 1024
