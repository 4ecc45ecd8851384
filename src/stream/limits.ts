/** Everything that could grow without end in this room. */

/** Compressed frames wait for each other; behind this many, the next ones go out as plain text, which every reader accepts. */
export const COMPRESSION_QUEUE = 8

/** Frames waiting for their turn. Beyond (90 s of a chain at full speed) the subscribers are cut off: a stream with a hole is worse than none. */
export const WAITING_FRAMES = 512

/** A frame that unfolds to more is refused: 200 ms of a 60 M gas chain is below 1 MB of text. */
export const MAX_FRAME_BYTES = 32 * 1024 * 1024
