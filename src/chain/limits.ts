/** Transactions in the pool, executable or queued; above it `txpool is full`. 65,536 signed transfers take about 30 MB. */
export const POOL_TRANSACTIONS = 65_536
/** Pool transactions of one sender: enough for a script that signs thousands in advance, too few for one sender to fill the pool. */
export const POOL_TRANSACTIONS_PER_SENDER = 16_384
/**
 * Bytes of the pool's envelopes; above it `txpool is full`. geth's pool takes 5,120 pending and 1,024 queued slots of 32 KiB (192 MiB), anvil's has no
 * limit. txpool_content writes twice as many characters, and a JavaScript string has at most 2^29.
 */
export const POOL_BYTES = 128 * 2 ** 20
/** Gas of a transaction that this node puts into a block: the engine counts gas in doubles. Chain files may have more; their headers are compared. */
export const TRANSACTION_GAS = 2n ** 53n - 1n
/** Bytes of one transaction; the limit of geth's pool. */
export const TRANSACTION_BYTES = 128 * 1024
/** EIP-7934: RLP of an L1 block since Osaka. The OP Stack has no such limit. */
export const BLOCK_BYTES = 8_388_608
/** Blocks that one `mine` call may seal. */
export const MINE_BLOCKS = 1_000_000
/** Blocks that one `mine` call returns: whole blocks are large. */
export const MINED_BLOCKS = 1_000
/** Time that a change of many blocks may hold the event loop: a twentieth of a flashblock interval. */
export const TIME_SLICE_MS = 10
/** geth's params.MinGasLimit. OP chains need more for their deposits (MIN_OP_GAS_LIMIT). */
export const MIN_GAS_LIMIT = 5_000n
/** geth's params.MaxGasLimit (EIP-1985). */
export const MAX_GAS_LIMIT = 2n ** 63n - 1n
/** Holds of transactions at a time; each flashblock compares the pool's executable transactions with them. */
export const HOLDS = 4_096
/** Records of promises in memory, about 300 bytes each. */
export const LEDGER_RECORDS = 16_384
/** Records of promises in a data directory, about 600 bytes each. */
export const STORED_PROMISES = 1_000_000
/** Records that one query reads: about 20 ms from a data directory. */
export const LEDGER_SCAN = 4_096
/** Snapshots kept; the oldest is dropped beyond it. */
export const SNAPSHOTS = 4_096
/** Blocks that one reorg may replace. */
export const REORG_BLOCKS = 8_192
/** Newest blocks that a rewind event lists as removed; covers every reorg. A reset may remove millions. */
export const REMOVED_BLOCKS = REORG_BLOCKS
/** State versions that a replica holds: a minute and a half of flashblocks. A replica that is further behind is replaced. */
export const SYNC_VERSIONS = 512
/**
 * Accounts and slots sent to a replica in one step: about 20 ms. Above it the replica is replaced by one that loads the state in chunks.
 */
export const SYNC_KEYS = 20_000
/** Values of the fork block that a replica keeps, about 30 MB. */
export const REPLICA_BASE_KEYS = 100_000
/** Accounts and slots in one chunk of an initial state transfer: 2 to 4 ms. */
export const SYNC_CHUNK_KEYS = 2_000
/** Bytes of revert data in a note for the log, which prints less. */
export const NOTE_OUTPUT_BYTES = 4 * 1024
/** Bytes of notes for the log that were not printed yet: thousands of failed transactions. */
export const NOTES_BYTES = 8 * 2 ** 20

/** Keys that one probing run collects: one request of eth_getStorageValues. */
export const PROBE_KEYS = 1_024

/** Milliseconds for which a probing run continues after its first miss: guesses can lead a program into a loop. */
export const PROBE_MS = 20

/**
 * The same for a block of given transactions. With 100 ms and more each recorded OP Sepolia block takes the same number of rounds in every run, 44 at
 * most; with 20 ms it took 44 to 50, the more the busier the machine, and fetching ends after FETCH_ROUNDS.
 */
export const BLOCK_PROBE_MS = 1_000

/** The same for the set-up of a fork, whose calls are known and end. */
export const SETUP_PROBE_MS = 2_000

/** Rounds of fetching for one run. A program that reads one key after the other, each computed from the one before, needs a round for each. */
export const FETCH_ROUNDS = 64

/**
 * Blocks after the next one for which a transaction's state is fetched in advance, if blocks come while it is fetched: five seconds of native blocks. Each
 * takes one execution of the transaction.
 */
export const WARM_BLOCKS = 25

/** Events that wait for one commit elsewhere while many blocks are mined: two for each block. */
export const HELD_EVENTS = 4_000

/** Block time. Below the minimum the chain would only seal. */
export const MIN_BLOCK_TIME_MS = 100
export const MAX_BLOCK_TIME_MS = 86_400_000

/** Time between flashblocks, which is not longer than the block time either. */
export const MIN_FLASHBLOCK_MS = 10
export const MAX_FLASHBLOCK_MS = 60_000

/** Flashblocks that a delay waits or that are missed: an hour. */
export const DELAY_FLASHBLOCKS = 18_000
export const DELAY_MS = 3_600_000

/** Time for which the sequencer may stall, or a seal may be late. */
export const STALL_MS = 3_600_000

/** Multiples of the cadence at which blocks may come. */
export const MIN_SPEED = 0.01
export const MAX_SPEED = 100

/** Chain time that a user may set, in seconds: the year 5138. A later value is probably in milliseconds. */
export const LATEST_SECONDS = 100_000_000_000

/** Number of the first block. Leaves room for as many blocks as a chain can have in practice. */
export const MAX_FIRST_BLOCK = 2 ** 48
