/** A record is split into parts: the library returns a value above 16 MiB as a view into the memory map, which is invalid once that is remapped. */
export const RECORD_PART_BYTES = 4 * 2 ** 20

/** Accounts and slots per piece of an iteration over the state. */
export const WALK_KEYS = 4096

/** Pruning per commit ends after the block in which either limit is reached: about 10 ms of work. */
export const PRUNED_BLOCKS_PER_COMMIT = 64
export const PRUNED_KEYS_PER_COMMIT = 4096

/** Pages of removed sections deleted per commit, 2 us each. A large section has thousands. */
export const DELETED_PAGES_PER_COMMIT = 1024

/** Size of a piece of a block's list of changed keys: 16 LMDB pages less the 16-byte header of a large value. */
export const CHANGES_PIECE_BYTES = 64 * 1024 - 16

/** Readers of old state kept for reuse, so that caches keyed by reader stay valid. */
export const STATE_READERS = 64

/** Longest key of a record. LMDB allows 1,978 bytes. */
export const RECORD_KEY_BYTES = 1024

/** Time that a starting process waits for another one that is starting in the same directory, and the longest pause between two checks. */
export const LOCK_WAIT_MS = 5_000
export const LOCK_PAUSE_MS = 40

/** Initial address space, which LMDB doubles as needed. Takes no memory. */
export const FIRST_MAP_BYTES = 2 ** 30

/** Named databases in the file: nine are used. */
export const MAX_TABLES = 12

/** Decoded blocks kept, and the total size of their records; a decoded block takes about six times its record. */
export const DECODED_BLOCKS = 64
export const DECODED_BYTES = 4 * 2 ** 20

/** Block hashes and timestamps kept: BLOCKHASH reads 256 blocks, and safe and finalized are behind the head. */
export const KNOWN_BLOCK_IDS = 1_024

/** A block is scanned instead of checked candidate by candidate if at least one in this many of its logs is a candidate. */
export const SCANNED_SHARE = 8

/**
 * Room on the disk that a commit needs beside its own data: it writes new copies of the pages on the paths to what it changes, of LMDB's list
 * of free pages, and of what it prunes.
 */
export const COMMIT_ROOM_BYTES = 2 ** 20
/** Room for each changed account and slot: copies of a page in each of two tables, and the new entries in pages that are half full. */
export const CHANGED_KEY_PAGES_BYTES = 2 * 4096
export const CHANGED_KEY_BYTES = 512

/** The file is kept this much longer than its data, more than nearly every commit adds. A hole, which takes no disk space. */
export const FILE_RESERVE_BYTES = 32 * 2 ** 20

/**
 * A chain in memory keeps its records in chunks of this size; a record that spans two is copied when it is read. Each evm_revert starts a new chunk:
 * with chunks of 1 MiB the captured test run of an app spent a fifth of its time collecting them.
 */
export const RECORD_CHUNK_BYTES = 2 ** 16
/** Chunks in memory, 9,000 empty blocks; older ones are in a temporary file. Reading a record from it takes 5 us, in order 0.7 us (3 KB each). */
export const MEMORY_RECORD_CHUNKS = 128
/** Bytes per read of that file when records are read in order. */
export const READ_AHEAD_BYTES = 128 * 1024

/** Time without a change after which the sections of the index are merged, and the length of a slice of that work. */
export const IDLE_MS = 200
export const IDLE_SLICE_MS = 1
