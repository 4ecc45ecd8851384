import { OPERATION_BYTES } from '../jsonrpc/index.ts'

/** Operations in the pool: each is checked again for every bundle. */
export const POOL_OPERATIONS = 4_096

/** The greatest distance of a nonce from the account's under one key: an operation waits for its predecessors. */
export const NONCES_AHEAD = 10n

/** Operations of one sender, over all nonce keys. */
export const OPERATIONS_PER_SENDER = 32

/** Operations of one sender without a stake (ERC-7562, SAME_SENDER_MEMPOOL_COUNT); a warning under relaxed rules. */
export const UNSTAKED_SENDER_OPERATIONS = 4

/** Pooled operations of a throttled entity (paymaster, factory) (ERC-7562, THROTTLED_ENTITY_MEMPOOL_COUNT). */
export const THROTTLED_OPERATIONS = 4

/** Operations of a throttled entity in one bundle (ERC-7562, THROTTLED_ENTITY_BUNDLE_COUNT). */
export const THROTTLED_BUNDLE_OPERATIONS = 4

/** Blocks for which an operation of a throttled entity waits (ERC-7562, THROTTLED_ENTITY_LIVE_BLOCKS). */
export const THROTTLED_BLOCKS = 10n

/** Operations of one bundle. */
export const BUNDLE_OPERATIONS = 50

/** Gas of one bundle, or less on a chain that accepts less: EIP-7825 limits a transaction to 16,777,216 since Osaka. */
export const BUNDLE_GAS = 16_000_000n

/** A cap of a transaction below BUNDLE_GAS is found to within this gas. */
export const GAS_CAP_PRECISION = 10_000n

/** A chain with an even lower cap could include no bundle: a node that refuses an estimate of as much gas has another reason. */
export const LEAST_GAS_CAP = 100_000n

/** Initial gas limits of an estimate, similar to those of other bundlers. */
export const ESTIMATE_VERIFICATION_GAS = 10_000_000n
export const ESTIMATE_PAYMASTER_GAS = 5_000_000n
export const ESTIMATE_CALL_GAS = 10_000_000n
export const ESTIMATE_POST_OP_GAS = 2_000_000n

/** Simulations per gas limit of an estimate; each narrows the interval. */
export const MAX_ESTIMATE_RUNS = 24

/** Bytes of the call data of one handleOps. */
export const BUNDLE_BYTES = OPERATION_BYTES

/** Operations that expire sooner are refused: they would expire before inclusion. */
export const MIN_SECONDS_LEFT = 5n

/** A replacement with the same nonce must raise both fees by this percentage. */
export const REPLACEMENT_PERCENT = 10n

/** Delay between the first new operation and the bundle, which gathers operations without waiting for the next flashblock. */
export const BUNDLE_DELAY_MS = 20

/** Polling interval for a node without subscriptions. */
export const POLL_MS = 1_000

/** Polling interval besides subscriptions: a chain without new blocks sends no events about lost or stuck bundles. */
export const SLOW_POLL_MS = 15_000

/** An operation whose predecessor is missing is dropped after this time. */
export const NONCE_GAP_MS = 30_000

/** pimlico_sendUserOperationNow waits this long for a block: 10 blocks of the default cadence, and less than the time limit of a request. */
export const SEND_NOW_MS = 20_000

/** A bundle counts as lost if the node has no transaction of its hash after this time. */
export const LOST_MS = 1_000

/** A bundle in a block that has this many blocks on it is final. Operations in newer blocks are sent again if a reorg removes them. */
export const FINALITY_BLOCKS = 12n

/** Refused operations whose reason outlives the process, with up to 240 KB each. */
export const STORED_REFUSALS = 256

/** The selection of operations yields to the event loop after this time. */
export const SLICE_MS = 20

/** A bundle that no block has after this time is replaced with higher fees, if a block had room for it. */
export const STUCK_MS = 15_000

/** Missing nonces that are filled together: each takes a transaction. */
export const MAX_FILLED_NONCES = 64

/** Estimates that wait for their turn of the event loop. */
export const WAITING_ESTIMATES = 1_000

/** An operation is dropped after this many failed bundles. */
export const MAX_BUNDLE_FAILURES = 3

/** Operations of one page of pocketchain_userOperationPool: each may need a request for its account's nonce. */
export const LISTED_OPERATIONS = 100

/** Outcomes kept in memory; older included operations are found in the chain's logs. */
export const OUTCOMES = 10_000

/** Bytes of the call data, factory and paymaster data and signatures of these operations, of which 10,000 could have 1.2 GB. Reasons are not counted. */
export const OUTCOME_BYTES = 64 * 1024 * 1024

/** Operations whose warnings are kept: each warning has a text and data. */
export const WARNED_OPERATIONS = 1_000

/** Entities with a recorded reputation. */
export const REPUTATIONS = 10_000

/** Reputations decay by a 24th each hour (ERC-7562). */
export const REPUTATION_FADE_MS = 3_600_000

/** Accounts of one override set. */
export const OVERRIDDEN_ACCOUNTS = 1_000

/** Accounts, and tokens, whose balances one request compares. */
export const TRACKED_ADDRESSES = 100

/** Entries of one debug_bundler request. */
export const DEV_ENTRIES = 1_000

/** Entries of each list in the trace of a validation, which the node's gas limit bounds. */
export const TRACE_ENTRIES = 100_000

/** The stake with which an entity counts as staked (ERC-7562): 0.1 ether for a day. */
export const MIN_STAKE = 10n ** 17n
export const MIN_UNSTAKE_SECONDS = 86_400n

/** Codes of accounts, factories and paymasters whose hashes are kept: at most 48 KB of text each. */
export const KNOWN_CODES = 64
