/** Policies of one sponsor: each is looked at for every request. */
export const POLICIES = 100

/** Entries of one list of a policy (senders, contracts, selectors, keys): what a person keeps in a file. */
export const POLICY_ITEMS = 1_000

/** Characters of a policy's name: it is part of every ledger entry. */
export const POLICY_NAME_CHARS = 64

/** Characters of an API key: more is no key, and would only be hashed for nothing. */
export const API_KEY_CHARS = 256

/** Inner calls that are read from one operation's call data: a bundle holds 120,000 bytes, and a call takes 128 at least. */
export const INNER_CALLS = 1_024

/** Inner calls that an entry shows: the first ones, and how many there were. */
export const ENTRY_CALLS = 16

/** Hashes of one entry: a wallet asks again when fees move; only policies that have signed for the same nonce are told apart by them. */
export const SIGNED_HASHES = 8

/** Reservations that are open at once. A signature holds for minutes and anybody may ask for one with another nonce: some 10 MB at most. */
export const OPEN_ENTRIES = 10_000

/** Closed entries that are kept whole, the newest ones: a day of one operation in 17 seconds. Of older ones the sums stay that budgets need. */
export const CLOSED_ENTRIES = 5_000

/** So many closed entries beyond those are folded into the sums together, in one transaction: the sums are written once for all of them. */
export const FOLDED_TOGETHER = 64

/** Refusals that are kept, in records of so many each: anybody can have requests refused, so that they must not cost a write each. */
export const REFUSALS = 1_000
export const REFUSALS_TOGETHER = 50

/** Characters of the text of a refusal that is kept, and reasons of policies: some 5 MB in all at most. */
export const REFUSAL_CHARS = 300
export const REFUSAL_REASONS = 10

/** Days whose sums are kept when their entries are folded: the chain's clock may be put back, but budgets are of today. */
export const DAYS = 8

/** Entries of one page of the ledger. */
export const PAGE_ENTRIES = 200

/** Sealed blocks that are remembered by number and hash, ever further apart: where a chain went back to is found among them. */
export const TRAIL = 64

/** A chain that has none of them is looked at anew, so many blocks at most: two days of blocks of 2 s, and no signature holds longer than one. */
export const LOOK_BACK_BLOCKS = 100_000

/** Blocks of one eth_getLogs: what public nodes grant. */
export const LOG_BLOCKS = 1_000

/** Logs of one answer that are read: more than as many blocks hold. */
export const LOGS_READ = 1_000_000

/** Senders in the filter of one eth_getLogs: what geth takes. */
export const LOG_SENDERS = 1_000

/** The place in the chain is written when something happened there, or after so many blocks: what lies behind it is looked at again at a start. */
export const CURSOR_BLOCKS = 64

/** Looks in a row at a chain that goes back while it is looked at; then the next news or interval has its turn. */
export const LOOKS_TOGETHER = 5

/** How often to look when the node tells no news. */
export const POLL_MS = 1_000

/** A node that tells its news is still looked at: a connection may be gone, and nobody tells that a chain went back. */
export const SLOW_POLL_MS = 15_000

/** Operations that are asked for in one body. */
export const BATCH_ITEMS = 100

/** Gas for a paymaster's validation, beside what the length of an operation adds: it takes 8,100 (0.6) or 11,000 (0.7, 0.8). */
export const LEAST_PAYMASTER_GAS = 30_000n

/** How long a signed promise to pay holds unless said otherwise, and at most: seconds of the chain's clock. */
export const VALID_FOR_SECONDS = 300
export const MOST_VALID_SECONDS = 86_400

/** Characters of what wallets show of a sponsor: its name, and its icon as a data: URI. */
export const SPONSOR_NAME_CHARS = 64
export const SPONSOR_ICON_CHARS = 65_536

/** What the fault `slow` waits unless told: longer than wallets do. And at most: an hour. */
export const FAULT_DELAY_MS = 10_000
export const MOST_FAULT_DELAY_MS = 3_600_000

/** A deposit below this one is reported: 1 ether. */
export const LOW_DEPOSIT = 10n ** 18n

/** What a paymaster gets when a sponsor sets itself up: 10 ether. */
export const FIRST_DEPOSIT = 10n ** 19n

/** How long a request waits for the sponsor's own paymaster to be deployed, and how often it looks. */
export const SET_UP_MS = 20_000
export const SET_UP_POLL_MS = 50

/** Gas for postOp, which our paymasters have not: not 0, which some bundlers take for missing. */
export const POST_OP_GAS = 1n
