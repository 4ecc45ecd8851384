/** A larger message of an endpoint ends its connection: a pending block of 60 Mgas with full transactions is below 16 MB of text. */
export const MESSAGE_BYTES = 32 * 1024 * 1024

/** An endpoint that has not completed the WebSocket handshake by then counts as unreachable. */
export const HANDSHAKE_MS = 5_000

/** Time to identify the protocol of an endpoint: two blocks of 2 s, in which a flashblock stream sends at least two messages. */
export const PROBE_MS = 4_500

/** Answers to requests over a WebSocket. */
export const REQUEST_MS = 10_000

/** The first pause before a lost connection is opened again; it doubles up to RECONNECT_MAX_MS. */
export const RECONNECT_MS = 250
export const RECONNECT_MAX_MS = 10_000

/** A connection that has not answered a ping for this time is lost: a stalled network does not close it. */
export const PING_MS = 5_000

/** Polling interval of heads if nothing else announces blocks: the shortest block time of OP chains. */
export const HEAD_POLL_MS = 200

/** The same with a feed of promises, which also shows sealed blocks. */
export const SLOW_HEAD_POLL_MS = 1_000

/** The longest pause between two requests for the head after failures. */
export const HEAD_POLL_MAX_MS = 10_000

/**
 * A promise that is missing from a new payload and reappears within this time was not retracted: a sequencer that rebuilds a block publishes its transactions
 * in the flashblock after index 0. A quarter of the flashblock interval of 200 ms.
 */
export const REPROMISE_MS = 50

/** A block that is sealed within this time after its first flashblock promised nothing: both were announced together. */
export const ANNOUNCED_WITH_SEAL_MS = 50

/** Messages of two connections about one moment arrive within this time. */
export const SETTLE_DELAY_MS = 150

/** Requests for the receipts of one block, and the pause after a failed one: load-balanced nodes are seconds behind each other. */
export const RECEIPT_ATTEMPTS = 12
export const RECEIPT_RETRY_MS = 300

/** Blocks whose receipts are requested at the same time. */
export const RECEIPT_REQUESTS = 4

/** Blocks that wait for these requests: two minutes of blocks of 1 s. Above it the oldest block is given up. */
export const RECEIPT_QUEUE = 120

/** Receipts that are requested one by one, at the same time. */
export const SINGLE_RECEIPTS = 16

/** Blocks that are kept to notice that they are replaced. Reorganisations of OP chains are shorter by far. */
export const KEPT_BLOCKS = 128

/** Promises of one block. A block of 60 Mgas has 2,857 transactions of 21,000 gas. */
export const PROMISES_OF_BLOCK = 20_000

/** First sights in the pool's feed that wait for a promise. */
export const SEEN_TRANSACTIONS = 100_000

/** Receipts that arrived before the promise on another connection. */
export const EARLY_RECEIPTS = 10_000

/** Durations of one kind that percentiles are computed of; beyond it a uniform sample of all. */
export const SAMPLES = 100_000

/** Broken promises that the report lists; all of them are counted. */
export const LISTED_PROMISES = 500

/** Kinds of irregularities that the report lists, and examples of each. */
export const PROBLEM_KINDS = 32
export const PROBLEM_EXAMPLE_CHARS = 300

/** The same in the report as text; the page and `--json` have more. */
export const TEXT_PROMISES = 20

/** Gaps that the report lists; all of them are counted and summed up. */
export const LISTED_GAPS = 100

/** Reorganisations that the report lists. */
export const LISTED_REORGS = 100

/** Wait at the end for the blocks of open promises: several blocks of any OP chain. */
export const END_WAIT_MS = 15_000

/** Transactions whose presence in the pool is checked at the end. */
export const POOL_CHECKS = 5_000

/** Characters of the client's version in the report. */
export const CLIENT_CHARS = 200

/** `--minutes`: a week, below the 24 days of a timer. */
export const MAX_MINUTES = 10_080

/** Characters of an error of the node. */
export const ERROR_CHARS = 500
