/** Frames waiting for compression; beyond it frames are sent as plain text, which every reader accepts. */
export const MAX_COMPRESSION_BACKLOG = 8

/**
 * Frames waiting to be sent: 90 s of a chain at full speed. Beyond it subscribers are disconnected, because a stream with a gap is worse
 * than none.
 */
export const MAX_QUEUED_FRAMES = 512

/** Flashblocks that are kept for subscribers that reconnect: 100 s of a chain at full speed. */
export const RECENT_FLASHBLOCKS = 512
/** Bytes of transactions in them: their text must fit what a subscriber may leave unread. */
export const RECENT_BYTES = 2 * 1024 * 1024

/** Larger decompressed frames are refused: 200 ms of a 60 Mgas chain is below 1 MB of text. */
export const MAX_FRAME_BYTES = 32 * 1024 * 1024
