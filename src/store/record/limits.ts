/** Blocks are encoded into one buffer that grows; a larger one is let go after its block. */
export const DRAFT_KEPT_BYTES = 4 * 1024 * 1024
