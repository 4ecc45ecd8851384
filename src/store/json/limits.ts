/** A chunk of a log array is emitted at this size; its last log may exceed it. Large enough to amortise the cost of a chunk, small enough that
 * slow readers of long responses hold little memory each. */
export const LOG_CHUNK_BYTES = 512 * 1024

/** Initial size of a chunk's buffer: room for the log that exceeds LOG_CHUNK_BYTES unless its data is large. */
export const USUAL_CHUNK_BYTES = LOG_CHUNK_BYTES + 8 * 1024

/** Released buffers kept for the next long responses. */
export const POOL_BYTES = 16 * 1024 * 1024

/** Buffer sizes are this times a power of two: eight times this holds a chunk of logs. */
export const MIN_BUFFER_BYTES = 68 * 1024

/** A shorter text is allocated on the heap, where page faults are rare, so that it may be kept without a copy. */
export const POOLED_TEXT_BYTES = 32 * 1024

/** A list of a log filter is compared value by value up to this length, through a hash table beyond it. */
export const DIRECT_FILTER_VALUES = 8

/** The writer's wasm instance is replaced when one response grew its memory beyond this: wasm memory cannot shrink. */
export const WRITER_MEMORY_BYTES = 32 * 1024 * 1024
