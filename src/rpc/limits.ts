/** Time of a batch on the public tier before its rest is refused; geth's default for one HTTP response. */
export const PUBLIC_BATCH_MS = 30_000

/** For handlers that wait: synchronous ones cannot be interrupted. Longer than the 6 s of eth_sendRawTransactionSync. */
export const METHOD_TIME_MS = 30_000

/** Rounds of fetching on a fork after which a request stays on one View. */
export const ROUNDS_ON_NEWEST = 4

/** A request on a fork that is executed once more with guesses, to find what it has to fetch. */
export const PROBED_REQUEST_MS = 100

/** geth's "exceed max addresses or topics per search position". */
export const FILTER_ALTERNATIVES = 1_000

/** LOG4 is the widest. */
export const FILTER_TOPICS = 4

/** Installed filters, per tier, so that the public tier cannot exhaust those of the dedicated tier. */
export const FILTERS_PER_TIER = 1_000

/** geth's: a filter that is not polled for this time is removed. */
export const FILTER_IDLE_MS = 5 * 60_000

/** Changes kept for a filter between two polls (an idle block filter under anvil_mine reaches it first). */
export const FILTER_CHANGES = 100_000

/** The same for a filter that returns whole transactions, which one response contains. */
export const FULL_FILTER_CHANGES = 10_000

/** Bytes of their envelopes: one response has twice as many characters. */
export const FULL_FILTER_BYTES = 128 * 2 ** 20

/** Changes kept for all filters of a tier: a log takes 105 bytes, so 53 MB. Beyond it the filter that was not polled for the longest time is dropped. */
export const FILTER_CHANGES_PER_TIER = 500_000

/** Slots of one eth_getProof or eth_getStorageValues: each costs a trie walk (geth allows 1,024). */
export const SLOTS_PER_REQUEST = 1_024

/** Gas of one eth_call, eth_estimateGas or eth_simulateV1 request (geth and reth: RPC gas cap). Calls and estimates have that of a block if it is more. */
export const CALL_GAS = 50_000_000n
/** However much gas a block has: 20,000 blocks of the default size. CALL_TIME_MS ends such a call long before. */
export const MOST_CALL_GAS = 10n ** 12n

/** Time of one of them (geth: RPC EVM timeout). The gas ends nearly all of them long before. */
export const CALL_TIME_MS = 5_000

/**
 * Time of one of them, or of a trace, on the main thread before it starts again in a worker thread: an eighth of a flashblock, 20 Mgas. The
 * first call of a process takes 15 ms.
 */
export const MAIN_THREAD_MS = 25

/** Factor by which MAIN_THREAD_MS is longer until a thread has started: first runs are several times slower, and a thread takes 130 ms to start. */
export const FIRST_MAIN_THREAD_TIMES = 4

/** The same while other requests wait for a thread: ten times the duration of a small call. */
export const BUSY_MAIN_THREAD_MS = 2

/** Shorter requests are not offloaded: the messages take 0.1 ms of CPU in both threads. */
export const OFFLOAD_MIN_MS = 0.4

/** A call key is offloaded after this surplus of long requests over short ones, because a busy machine delays single requests. */
export const LONG_AFTER = 4

/** Time of long requests that had waited, minus that of others, after which a thread is started: it takes 130 ms and a copy of the state. */
export const OFFLOAD_START_MS = 250

/** Offloaded requests that may wait; more of them run on the main thread. */
export const OFFLOADED_WAITING = 128

/** Requests that are offloaded although no other request arrives while one is executed: the next request of a fast client may seem to have waited. */
export const UNCONFIRMED_OFFLOADS = 4

/** Requests that then start on the main thread before one is offloaded again, so that a burst is still detected within 30 ms. */
export const OFFLOADS_SKIPPED = 32

/** Call keys whose durations are recorded. */
export const KNOWN_CALL_KEYS = 256

/** Requests that wait for a thread: test suites send so many concurrently. METHOD_TIME_MS limits the wait. */
export const WAITING_TASKS = 256

/** A thread that is idle for this time is ended, which frees its copy of the state; the next one takes at least 130 ms to start. */
export const THREAD_IDLE_MS = 5 * 60_000

/** A thread that misses its deadline by this time is terminated; a working one needs a few milliseconds. */
export const THREAD_GRACE_MS = 10_000

/** Bytes of the traces, or the outputs of eth_callMany, of one response: a struct log has some 300 bytes, and three copies of the whole are in memory. */
export const TRACE_BYTES = 128 * 1024 * 1024

/** Default and longest `timeout` of debug_trace* (geth: 5 s for each transaction). */
export const TRACE_TIME_MS = 10_000
export const TRACE_TIME_MOST_MS = 120_000

/** Transactions of one page of Otterscan's methods, which requests 25; the rest of a block is added. */
export const OTTERSCAN_PAGE = 100

/** Time of one search for the transactions of an address, plus that of its last block; both are below METHOD_TIME_MS. */
export const SEARCH_TIME_MS = 10_000

/** Memory of the index of inner calls, some 5 million addresses of transactions. Above it the index is emptied and filled again. */
export const INNER_CALL_BYTES = 64 * 1024 * 1024

/** Cached answers to whether a code has an opcode that calls, 200 bytes each. */
export const SCANNED_CODES = 16_384

/** The oldest transactions of a contract that are searched for its creation; later ones are found by the states. */
export const CREATION_CANDIDATES = 64

/** Time limit for executing a block again to find the creation of a contract by another contract. */
export const CREATION_TIME_MS = 1_000

/** Tracers of one muxTracer; there are seven. */
export const TRACERS_AT_ONCE = 16

/** Levels of muxTracers inside one another, which have no use: each tracer is available at the first. */
export const TRACER_DEPTH = 4

/** Runs of eth_createAccessList until the list no longer grows; real calls need two or three. */
export const ACCESS_LIST_RUNS = 16

/** Items of one access list, keys of one item, blobs: 10,000 keys cost 19 Mgas, more than a Base transaction may have. */
export const REQUEST_LIST_ITEMS = 10_000

/** EIP-7702 authorizations of one request: at 25,000 gas each, more than CALL_GAS pays for cannot run. Reading one takes 80 us. */
export const AUTHORIZATIONS = 2_000

/** Accounts that one request may override, and slots of one account. */
export const OVERRIDDEN_ACCOUNTS = 10_000
export const OVERRIDDEN_SLOTS = 100_000

/** Withdrawals of one simulated block; a block on L1 has 16. */
export const SIMULATED_WITHDRAWALS = 1_024

/**
 * Blocks of one eth_simulateV1, times what is overridden in all of them (accounts, slots, withdrawals): each block's roots
 * walk everything written so far, at 10 us apiece.
 */
export const SIMULATED_ROOT_ENTRIES = 250_000

/** Blocks that one eth_simulateV1 may span, and calls in it (geth). */
export const SIMULATED_BLOCKS = 256
export const SIMULATED_CALLS_PER_BLOCK = 5_000
export const SIMULATED_CALLS = 10_000

/** Blocks and percentiles of one eth_feeHistory (geth). */
export const FEE_HISTORY_BLOCKS = 1_024
/** Transactions whose tips one of them reads, 5 us each: it returns fewer blocks if they have more. */
export const FEE_HISTORY_TRANSACTIONS = 5_000
export const FEE_HISTORY_PERCENTILES = 100

/** Timeout of eth_sendRawTransactionSync, default and maximum (op-reth). */
export const RECEIPT_WAIT_MS = 6_000

/** Subscriptions of one WebSocket connection (reth). */
export const SUBSCRIPTIONS_PER_CONNECTION = 1_024

/**
 * Events that a pendingLogs or newFlashblockTransactions subscription can continue from: three minutes of a chain at full speed, half an hour of an idle one.
 */
export const RECENT_EVENTS = 1_024

/** Memory of them: 10 s of 500 transactions per second with a log each. An older position costs the client one eth_getLogs. */
export const RECENT_EVENT_BYTES = 16 * 1024 * 1024

/** Transactions that one transactionReceipts subscription watches (geth). */
export const WATCHED_TRANSACTIONS = 200

/** From one block to the next, when a test sets the interval of timestamps: a year. */
export const MAX_SECONDS_APART = 31_536_000

/** Blocks of one mine_detailed call, each with full transactions. */
export const DETAILED_BLOCKS = 1_000

/** Accounts of one tenderly_setBalance call. */
export const ACCOUNTS_PER_EDIT = 1_000

/** Transactions of one anvil_reorg call. */
export const REORG_TRANSACTIONS = 10_000

/** Slots of a token that are tried as the slot of a balance; balanceOf of real tokens reads fewer than ten. */
export const TOKEN_SLOTS = 256

/** Transactions of one pocketchain_reorder call: more than a block of 60 million gas holds. */
export const REORDER_TRANSACTIONS = 4_096

/** Records of one page of pocketchain_promises. */
export const PROMISES_OF_PAGE = 1_000

/** Time of one pocketchain_tick: an hour is 18,000 flashblocks. */
export const TICK_MS = 3_600_000

/** Part of it before the event loop runs: 50 flashblocks take about 30 ms. */
export const TICK_STEP_MS = 10_000

/** A shorter stream is sent as one piece; of a longer one, at most this and a chunk are held for its reader. */
export const WHOLE_RESULT_BYTES = 512 * 1024

/** JSON of sealed blocks and receipt lists in the cache: forty blocks of 500 transfers. */
export const BLOCK_TEXT_BYTES = 32 * 1024 * 1024

/** A longer text is cached at its second request: an indexer requests each block once. */
export const LONG_TEXT_BYTES = 32 * 1024

/** Keys of long texts that were requested once (100 bytes each). */
export const REQUESTED_TEXTS = 1_000

/** Shorter results in bytes are copied into the response, because one piece is cheaper to send than three. */
export const SMALL_RESULT_BYTES = 16 * 1024

/** Blocks of one trace_filter, each executed again; calls of one trace_callMany; addresses of one list of a filter. */
export const TRACED_BLOCKS = 1_000
export const TRACED_CALLS = 100
export const TRACED_ADDRESSES = 1_000

/** Accounts, and slots of one account, on which a conditional transaction depends. */
export const CONDITION_ITEMS = 1_000

/** Slots of one debug_storageRangeAt. */
export const STORAGE_RANGE_SLOTS = 10_000

/** Signatures that wait for their recovery while more arrive; beyond it the next one waits until one is recovered. A power of two. */
export const RECOVERIES = 1_024

/** Signatures that arrived together with others before a thread shares their recovery: its start takes as long as some 100 of them. */
export const RECOVERIES_BEFORE_THREAD = 64

/** Time of recoveries in one turn of the event loop; then timers run. */
export const RECOVERY_SLICE_MS = 4
