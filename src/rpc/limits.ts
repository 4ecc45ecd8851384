/** What a public batch may take before its rest is refused; geth's default for one HTTP answer. The owner's tests may take longer. */
export const PUBLIC_BATCH_MS = 30_000

/** Only what waits can be timed out (handlers run synchronously). Longer than the 6 s of eth_sendRawTransactionSync. */
export const METHOD_TIME_MS = 30_000

/** geth's "exceed max addresses or topics per search position". */
export const FILTER_ALTERNATIVES = 1_000

/** LOG4 is the widest. */
export const FILTER_TOPICS = 4

/** Filters of eth_newFilter and its like, counted per tier so that the public one cannot starve the owner's. */
export const FILTERS_PER_TIER = 1_000

/** geth's: a filter that nobody asked for this long is gone. */
export const FILTER_IDLE_MS = 5 * 60_000

/** Changes kept for a filter between two polls (an idle block filter under anvil_mine reaches it first). */
export const FILTER_CHANGES = 100_000

/** Slots of one eth_getProof or eth_getStorageValues: each costs a trie walk (geth allows 1,024). */
export const SLOTS_PER_REQUEST = 1_024

/** Gas of one eth_call, eth_estimateGas or eth_simulateV1 request (geth and reth: RPC gas cap). */
export const CALL_GAS = 50_000_000n

/** What one of them may take (geth: RPC EVM timeout). CALL_GAS ends nearly all of them long before. */
export const CALL_TIME_MS = 5_000

/**
 * What one of them, or a trace, takes of everybody's time before it begins anew in a thread of its own: an eighth of a flashblock, 20 Mgas. The
 * first call of a process takes 15 ms whatever it does.
 */
export const MAIN_THREAD_MS = 25

/**
 * While no thread stands, so many of them: what runs for the first time takes several times as long, and a thread that it would be begun anew in takes
 * 130 ms to start, with everybody who comes meanwhile behind it.
 */
export const FIRST_MAIN_THREAD_TIMES = 4

/** The same while others wait for a thread already: ten times what a small call takes. */
export const BUSY_MAIN_THREAD_MS = 2

/** A request that takes so long is worth a thread when several come at once: to be told and to answer takes two of them 0.1 ms of CPU each. */
export const SHARED_MS = 0.4

/** So much more often than not, requests of its like must have taken so long: the machine is busy now and then. */
export const LONG_AFTER = 4

/** When those that had waited have taken so much longer than those that had not, a thread is started for the next ones: that takes 130 ms and the state once more. */
export const OFFLOAD_START_MS = 250

/** Of what is shared, so many may wait; more are worked out here, as if there were no threads. */
export const SHARED_WAITING = 128

/** Kinds of requests that are known to take long: contracts and their functions. */
export const KNOWN_CALL_KEYS = 256

/** Requests that wait for such a thread: a suite asks for so many at once. Who has waited METHOD_TIME_MS is answered without. */
export const WAITING_TASKS = 256

/** Without work for so long a thread is ended, and its copy of the state with it; the next one takes 130 ms and more to start. */
export const THREAD_IDLE_MS = 5 * 60_000

/** So long after its time is up a thread that does not answer is given up: one that keeps to its deadline needs a few milliseconds. */
export const THREAD_GRACE_MS = 10_000

/** What the traces of one answer may hold: a struct log has some 300 bytes, and the whole of it passes through memory three times. */
export const TRACE_BYTES = 128 * 1024 * 1024

/** What debug_trace* may take unless its `timeout` says otherwise (geth: 5 s for each transaction), and what that may say. */
export const TRACE_TIME_MS = 10_000
export const TRACE_TIME_MOST_MS = 120_000

/** Transactions of one page of Otterscan's methods, which asks for 25; the rest of a block comes with them. */
export const OTTERSCAN_PAGE = 100

/** Transactions, from the oldest on, among which the one is looked for that created a contract itself. A later one is found by the state. */
export const CREATION_CANDIDATES = 64

/** What it may take to run the block again in which another contract created one. */
export const CREATION_TIME_MS = 1_000

/** Tracers that one muxTracer may hold; there are seven. */
export const TRACERS_AT_ONCE = 16

/** Runs in which eth_createAccessList looks for a list that no longer grows; real calls need two or three. */
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
/** Transactions whose tips one of them looks at, 5 us each: it answers for fewer blocks when those hold more. */
export const FEE_HISTORY_TRANSACTIONS = 5_000
export const FEE_HISTORY_PERCENTILES = 100

/** How long eth_sendRawTransactionSync waits: default and most (op-reth). */
export const RECEIPT_WAIT_MS = 6_000

/** Subscriptions of one WebSocket connection (reth). */
export const SUBSCRIPTIONS_PER_CONNECTION = 1_024

/** Transactions that one transactionReceipts subscription watches (geth). */
export const WATCHED_TRANSACTIONS = 200

/** Chain time that a test may set, in seconds: the year 5138. What lies beyond was meant as milliseconds. */
export const LATEST_SECONDS = 100_000_000_000

/** From one block to the next, when a test sets the interval of timestamps: a year. */
export const MOST_SECONDS_APART = 31_536_000

/** Blocks that one mine_detailed call may answer, each with its whole transactions. */
export const DETAILED_BLOCKS = 1_000

/** Accounts that one tenderly_setBalance call may name. */
export const ACCOUNTS_PER_EDIT = 1_000

/** Transactions that one anvil_reorg call may put into its new blocks. */
export const REORG_TRANSACTIONS = 10_000

/** Slots of a token that are tried when looking for the one that holds a balance; balanceOf of real tokens reads fewer than ten. */
export const TOKEN_SLOTS = 256

/** Time between two blocks that a test may set, in milliseconds. Shorter than the least, sealing would never end. */
export const LEAST_INTERVAL_MS = 100
export const MOST_INTERVAL_MS = 86_400_000

/** What one pocketchain_tick may step over, in milliseconds: an hour is 18,000 flashblocks. */
export const TICK_MS = 3_600_000

/** Of it at one go, before others are answered: 50 flashblocks take about 30 ms. */
export const TICK_STEP_MS = 10_000

/** A stream that ends within so much is answered in one piece; of a longer one no more than this and a chunk is held for its reader. */
export const WHOLE_ANSWER_BYTES = 512 * 1024

/** Sealed blocks and receipt lists kept as JSON text, so that what is asked again is not written again: forty blocks of 500 transfers. */
export const BLOCK_TEXT_BYTES = 32 * 1024 * 1024

/** A longer text is only kept when it is asked for a second time: who reads a chain from end to end asks for each block once. */
export const LONG_TEXT_BYTES = 32 * 1024

/** Long texts that were asked for once, by their names (100 bytes each). */
export const ASKED_TEXTS = 1_000

/** Results in bytes up to here are put into the answer as text, in one piece: that is cheaper to send than three. */
export const SMALL_ANSWER_BYTES = 16 * 1024
