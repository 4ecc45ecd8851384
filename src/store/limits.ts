/** A record is kept in parts: a value of more than 16 MiB would be handed out as a view into the file, which dies with the mapping. */
export const RECORD_PART_BYTES = 4 * 2 ** 20

/** Accounts and slots in one piece of a walk over the whole state. */
export const WALK_KEYS = 4096

/** Pruning in one commit: whole blocks until one of the two is reached, about 10 ms of work. */
export const PRUNED_BLOCKS_PER_COMMIT = 64
export const PRUNED_KEYS_PER_COMMIT = 4096

/** Pages of removed sections that one commit deletes: a large section has thousands, 2 us each. */
export const SWEPT_PAGES_PER_COMMIT = 1024

/** A block's list of changed keys is kept in pieces, which just fit the 16 pages of a large value in LMDB (its header takes 16 bytes). */
export const CHANGES_PIECE_BYTES = 64 * 1024 - 16

/** Readers of old state that are handed out again for the same block, so that what others remember about them stays useful. */
export const STATE_READERS = 64

/** The longest key of a record; LMDB takes 1,978 bytes. */
export const RECORD_KEY_BYTES = 1024

/** A process that finds another one starting in the same directory waits so long for it to win or to go, and looks again so often. */
export const LOCK_WAIT_MS = 5_000
export const LOCK_PAUSE_MS = 40

/** Address space to begin with; LMDB doubles it when the file outgrows it. Takes no memory. */
export const FIRST_MAP_BYTES = 2 ** 30

/** Trees in the file: nine are used. */
export const MAX_TREES = 12

/** Blocks that are kept as decoded values, and what their records may have; a value takes some six times its record. */
export const DECODED_BLOCKS = 64
export const DECODED_BYTES = 4 * 2 ** 20

/** Hashes and timestamps that are kept: BLOCKHASH asks for 256 blocks, safe and finalized lie behind the head. */
export const KNOWN_HEADS = 1_024

/** A block is scanned by the writer rather than candidate by candidate when so much of its logs are candidates: one in eight. */
export const SCANNED_SHARE = 8

/** The file is kept so much longer than its data: more than a commit adds, nearly always. A hole, which takes no room on the disk. */
export const RESERVED_BYTES = 32 * 2 ** 20
