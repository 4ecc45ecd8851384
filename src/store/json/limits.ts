/** A chunk of a list of logs is handed out when it has this many bytes; the log that fills it may make it longer. Large enough that a chunk costs
 * little, small enough that slow readers of long answers hold little each. */
export const LOG_CHUNK_BYTES = 512 * 1024

/** A usual log does not go beyond. */
export const USUAL_CHUNK_BYTES = LOG_CHUNK_BYTES + 8 * 1024

/** Memory that was given back and waits for the next long answers. */
export const IDLE_BYTES = 16 * 1024 * 1024

/** Chunks have this size or the double of another: a chunk of logs, with the log that makes it longer, fits into eight times this. */
export const SMALLEST_CHUNK_BYTES = 68 * 1024

/** A shorter text gets memory of its own, so that it may be kept: it comes from the heap, where there are few page faults. */
export const LENT_TEXT_BYTES = 32 * 1024

/** Up to so many values each of the lists of a log filter is compared one by one, beyond through a table of hashes. */
export const DIRECT_FILTER_VALUES = 8

/** A writer's memory that had to grow beyond this for one answer is given back after it. */
export const WRITER_MEMORY_BYTES = 32 * 1024 * 1024
