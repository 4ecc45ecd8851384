/** Policies of one sponsor: each is evaluated for every request. */
export const POLICIES = 100

/** Items of one list of a policy (senders, contracts, selectors, keys), which is written by hand. */
export const POLICY_ITEMS = 1_000

/** Characters of a policy's name: it is part of every ledger entry. */
export const POLICY_NAME_CHARS = 64

/** Characters of an API key; longer ones are not hashed. */
export const API_KEY_CHARS = 256

/** Decoded calls of one operation: a bundle has at most 120,000 bytes, a call at least 128. */
export const INNER_CALLS = 1_024

/** Calls in a ledger entry; it also has their number. */
export const ENTRY_CALLS = 16

/** Hashes of one entry: wallets request new signatures when fees change; the hashes only distinguish policies that signed for the same nonce. */
export const SIGNED_HASHES = 8

/** Open reservations. A signature is valid for minutes, and any client may request one per nonce: about 10 MB at most. */
export const OPEN_ENTRIES = 10_000

/** Closed entries that are kept whole: a day with one operation every 17 s. Older ones are rolled up into the sums that budgets need. */
export const CLOSED_ENTRIES = 5_000

/** Closed entries that are rolled up in one transaction, which writes the sums once for all of them. */
export const ROLL_UP_BATCH = 64

/** Kept refusals, and refusals per record: any client can cause refusals, so they must not cost a write each. */
export const REFUSALS = 1_000
export const REFUSALS_PER_RECORD = 50

/** Characters and policy reasons of a kept refusal: about 5 MB in total. */
export const REFUSAL_CHARS = 300
export const REFUSAL_REASONS = 10

/** Days with sums in the roll-ups: daily budgets need the current day, and the chain's clock may be set back. */
export const ROLL_UP_DAYS = 8

/** Entries of one page of the ledger. */
export const PAGE_ENTRIES = 200

/** Processed blocks in the cursor, at growing distances: the common ancestor after a reorg is one of them. */
export const TRAIL = 64

/** Blocks that are processed if no common ancestor exists: two days of 2 s blocks; signatures are valid for one day at most. */
export const LOOK_BACK_BLOCKS = 100_000

/** Block range of one eth_getLogs: the limit of public nodes. */
export const LOG_BLOCKS = 1_000

/** Logs in one response: more than these blocks can contain. */
export const LOGS_READ = 1_000_000

/** Senders in the filter of one eth_getLogs: geth's limit. */
export const LOG_SENDERS = 1_000

/** The cursor is written after a change, or after this many blocks: later blocks are processed again at a start. */
export const CURSOR_BLOCKS = 64

/** Attempts per run on a chain with a reorg in progress; the next event or interval then tries again. */
export const SCAN_ATTEMPTS = 5

/** Polling interval for a node without subscriptions. */
export const POLL_MS = 1_000

/** Polling interval besides subscriptions: a connection may be lost, and some nodes do not notify of reorgs. */
export const SLOW_POLL_MS = 15_000

/** Requests in one body. */
export const BATCH_ITEMS = 100

/** Base gas of a paymaster's validation: it uses 8,100 (0.6) or 11,000 (0.7, 0.8), plus an amount by length. */
export const MIN_PAYMASTER_GAS = 30_000n

/** Default and greatest validity of a signature, in seconds of the chain's clock. */
export const VALID_FOR_SECONDS = 300
export const MAX_VALID_SECONDS = 86_400

/** Characters of the sponsor's name, and of its icon as a data: URI. */
export const SPONSOR_NAME_CHARS = 64
export const SPONSOR_ICON_CHARS = 65_536

/** Default delay of the fault `slow`, longer than wallets wait, and the greatest: an hour. */
export const FAULT_DELAY_MS = 10_000
export const MAX_FAULT_DELAY_MS = 3_600_000

/** A deposit below this one is reported: 1 ether. */
export const LOW_DEPOSIT = 10n ** 18n

/** Initial deposit of a deployed paymaster: 10 ether. */
export const FIRST_DEPOSIT = 10n ** 19n

/** Greatest wait of a request for the deployment of a paymaster, and its polling interval. */
export const DEPLOYMENT_TIMEOUT_MS = 20_000
export const DEPLOYMENT_POLL_MS = 50

/** Gas for postOp, which the built-in paymasters lack: some bundlers treat 0 as missing. */
export const POST_OP_GAS = 1n
