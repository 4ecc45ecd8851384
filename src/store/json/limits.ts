/** A chunk of a list of logs is handed out when it has this many bytes; the log that fills it may make it longer. Large enough that a chunk costs
 * little, small enough that slow readers of long answers hold little each. */
export const LOG_CHUNK_BYTES = 512 * 1024

/** Chunks that were given back and wait for the next long answer, 0.5 MiB each. */
export const IDLE_CHUNKS = 16

/** Up to so many values each of the lists of a log filter is compared one by one, beyond through a table of hashes. */
export const DIRECT_FILTER_VALUES = 8

/** A writer's memory that had to grow beyond this for one answer is given back after it. */
export const WRITER_MEMORY_BYTES = 32 * 1024 * 1024
