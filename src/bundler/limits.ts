/** Operations that wait or are under way, in all: each is looked at again for every bundle that it may be in. */
export const POOL_OPERATIONS = 4_096

/** How far a nonce may lie ahead of the account's, under one key: what comes later waits for what comes before. */
export const NONCES_AHEAD = 10n

/** Operations of one sender, whatever their keys. */
export const OPERATIONS_PER_SENDER = 32

/** Operations that an entity (paymaster, factory) may have waiting while its reputation is throttled (ERC-7562, THROTTLED_ENTITY_MEMPOOL_COUNT). */
export const THROTTLED_OPERATIONS = 4

/** Operations of one bundle. */
export const BUNDLE_OPERATIONS = 50

/** Gas of one bundle: what a transaction may have since Osaka is 16,777,216 (EIP-7825). */
export const BUNDLE_GAS = 16_000_000n

/** Limits with which an estimate begins, as other bundlers do. */
export const ESTIMATE_VERIFICATION_GAS = 10_000_000n
export const ESTIMATE_PAYMASTER_GAS = 5_000_000n
export const ESTIMATE_CALL_GAS = 10_000_000n
export const ESTIMATE_POST_OP_GAS = 2_000_000n

/** Runs in which one gas limit is searched; each halves what is left. */
export const ESTIMATE_RUNS = 24

/** Bytes of the call data of one handleOps: geth's limit of a transaction is 128 KiB. */
export const BUNDLE_BYTES = 120_000

/** An operation that has not this much left of its time is refused: it would run out on the way. */
export const LEAST_SECONDS_LEFT = 5n

/** A price must rise by so many percent to take the place of another one with the same nonce: both of its fees. */
export const REPLACEMENT_PERCENT = 10n

/** How long what comes in is gathered before a bundle is built without waiting for the next flashblock. */
export const GATHER_MS = 20

/** How often to look when the node tells no news. */
export const POLL_MS = 1_000

/** A node that tells its news is still looked at: what is lost or stuck on a chain that stands still is told by nobody. */
export const SLOW_POLL_MS = 15_000

/** So long an operation waits for one that would come before it and is not there. */
export const GAP_MS = 30_000

/** A bundle that the node does not know any more after so long is lost. */
export const LOST_MS = 1_000

/** A bundle that is not included after so long is offered again with a higher price. */
export const STUCK_MS = 15_000

/** How often an operation may be in a bundle that failed as a whole before it is dropped. */
export const ATTEMPTS = 3

/** What became of operations, kept to be asked for; what was included is found in the chain's logs after that. */
export const OUTCOMES = 10_000

/** Entities whose reputation is remembered. */
export const REPUTATIONS = 10_000

/** Reputations fade by a 24th each hour (ERC-7562). */
export const REPUTATION_FADE_MS = 3_600_000

/** From here on an entity may do what ERC-7562 allows to those with a stake: 0.1 ether for a day. */
export const LEAST_STAKE = 10n ** 17n
export const LEAST_UNSTAKE_SECONDS = 86_400n
