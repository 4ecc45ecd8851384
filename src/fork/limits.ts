/** Time of one HTTP request, its retries, and the pause before them; anvil's defaults. */
export const UPSTREAM_MS = 45_000
export const UPSTREAM_RETRIES = 5
export const BACKOFF_MS = 1_000
/** The longest pause between two attempts; also the most that a Retry-After header is followed. One beyond UPSTREAM_MS ends the attempts. */
export const BACKOFF_CEILING_MS = 16_000
/** Bytes of one answer: eth_getLogs over many blocks, and traces. */
export const UPSTREAM_REPLY_BYTES = 256 * 1024 * 1024
/** Calls of one batch at first; halved when upstream refuses the size. Most providers take 100 to 1,000. */
export const UPSTREAM_BATCH = 100
/** Concurrent HTTP requests of one round: batches, or single calls when batches are refused. */
export const UPSTREAM_CONCURRENCY = 8
/** Connections to one endpoint. */
export const UPSTREAM_CONNECTIONS = 16
/** Compute units that a fixed rate charges per call, as anvil. */
export const COMPUTE_UNITS_PER_CALL = 20
/** Slots of one eth_getStorageValues call; the limit of geth, reth and erigon. */
export const SLOTS_PER_CALL = 1_024
/** Keys that one access list may add to a round: more than a block's gas can read cold, so a longer list is a fault of upstream. */
export const ACCESS_LIST_KEYS = 16_384
/** Concurrent rounds. Keys that are requested while they run wait for the next one and share it: 64 cold transactions need a few requests instead of 64. */
export const ROUNDS_IN_FLIGHT = 4
/** Repetitions of a round until it has detected the methods and forms that upstream supports: each repetition switches off at least one. */
export const ROUND_REPETITIONS = 8

/** Slots in memory, about 250 bytes each. Above it the least recently used are dropped and fetched again when they are read. */
export const SLOTS_IN_MEMORY = 2_000_000
/** Accounts in memory without their code, about 300 bytes each. */
export const ACCOUNTS_IN_MEMORY = 500_000
/** Bytes of contract code in memory. */
export const CODE_BYTES_IN_MEMORY = 512 * 1024 * 1024

/** Bytes of all cache files; above it the files of the blocks that were unused for longest are deleted. */
export const FORK_CACHE_BYTES = 512 * 1024 * 1024
/** Appended bytes after which the size of the folder is checked again. */
export const FORK_CACHE_CHECK_BYTES = 32 * 1024 * 1024

/** Distance of the default fork block below the head, in blocks: the nodes behind a load balancer lag. A block takes 2 s on OP chains, 12 s on L1. */
export const OP_HEAD_DISTANCE = 2
export const HEAD_DISTANCE = 5
