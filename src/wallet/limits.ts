/** The limits of the wallet, each with its reason. */

/** Calls of one batch; more are 5740. */
export const BATCH_CALLS = 100

/** Call data of one batch, bytes; more are 5740. */
export const BATCH_DATA_BYTES = 128 * 1024

/** Bytes of one transaction: the limit of the pools of geth, reth and pocketchain. A batch that needs a longer one is 5740. */
export const TRANSACTION_BYTES = 128 * 1024

/** Characters of a batch id that an app chose (EIP-5792: 4,096 bytes as hex). */
export const BATCH_ID_CHARS = 8_194

/** Connected origins, and separately as many origins that only selected a chain. */
export const SITES = 1_000

/** Subscriptions of one provider, for pages that do not end them. */
export const SUBSCRIPTIONS_PER_PROVIDER = 100

/** Items of one JSON-RPC batch: each may wait for the user. */
export const REQUEST_BATCH_ITEMS = 100

/** Bytes of one message to sign, typed data as JSON text: the question contains all of it. */
export const SIGNED_BYTES = 256 * 1024

/** Characters of an origin: a host name has at most 253. */
export const ORIGIN_CHARS = 300

/** Time for the balances in a connect question. */
export const BALANCE_WAIT_MS = 1_000

/**
 * Pending questions of all sites. Each may contain the data of a batch several times: 200 take at most about 80 MB.
 * When the queue is full, a question of a site with fewer displaces the newest question of the site with the most. Sites that flood the queue
 * therefore cannot keep out another site, unless there are 200 of them. Host names below one domain, or of this machine with one port, count as one site.
 */
export const WAITING_QUESTIONS = 200

/**
 * Pending questions of one origin; all programs count as one origin. Sites take turns, so the questions of one
 * origin delay each question of another by one at most.
 */
export const WAITING_QUESTIONS_PER_ORIGIN = 20

/** Answered questions whose outcome is kept for the error of a second answer. */
export const REMEMBERED_ANSWERS = 1_000

/** Calls of `approvals.next()` that wait for a question. */
export const WAITING_PROMPTS = 1_000

/** Answers of one recording. */
export const RECORDED_ANSWERS = 10_000

/** Chains in total; a further one is refused with -32005. */
export const CHAINS = 200

/** Urls of one chain, of each kind. Each rpc url receives one eth_chainId request. */
export const CHAIN_URLS = 10

/** Characters of a url, a chain's name (MetaMask truncates at the same length) and a currency's name and symbol: the question shows them. */
export const URL_CHARS = 2_048
export const CHAIN_NAME_CHARS = 100
export const CURRENCY_NAME_CHARS = 100
export const CURRENCY_SYMBOL_CHARS = 32

/** Time and size limits of the eth_chainId response of a proposed rpc url. */
export const PROBE_MS = 5_000
export const PROBE_BYTES = 16 * 1024

/**
 * Work of one keystore file: scrypt's 128 * n * r bytes and n * r * p steps, pbkdf2's iterations. geth and cast write 256 MiB, 2^21 steps
 * and 262,144 iterations; without a limit a file could take years.
 */
export const SCRYPT_BYTES = 512 * 1024 * 1024
export const SCRYPT_STEPS = 2 ** 23
export const PBKDF2_ITERATIONS = 10_000_000

/** Minimum work: with less, a password can be guessed. */
export const MIN_SCRYPT_N = 1_024
export const MIN_PBKDF2_ITERATIONS = 1_000

/** Bytes of one keystore file, which has about 500, and files of one directory: opening one takes a second. */
export const KEYSTORE_FILE_BYTES = 64 * 1024
export const KEYSTORE_FILES = 100

/** Batches without a final status. Each holds its signed transactions and is tracked on its chain. */
export const OPEN_BATCHES = 1_000

/** Single transactions that are tracked concurrently, for the list of activities; further ones are sent, and listed without their outcome. */
export const FOLLOWED_TRANSACTIONS = 100

/**
 * Entries of the list of activities, newest first, and the bytes of the calls or the typed data of one as JSON: longer calls are kept without
 * arguments and data, the last ones not at all. Changes and allowances are kept, at most PREVIEW_LINES of each.
 */
export const ACTIVITIES = 1_000
export const ACTIVITY_BYTES = 16 * 1024

/** Entries of one page of `pocketchain_walletActivity`. */
export const ACTIVITY_PAGE = 100

/** Allowances of one account that are read: one of each token in turn, tokens that the account called first. The others are listed as they were given. */
export const READ_ALLOWANCES = 100

/** Tokens of one account that are listed; watched ones come first. */
export const HELD_TOKENS = 100

/** Accounts of one chain for which the block of the last search for received tokens is remembered, with HELD_TOKENS addresses each. */
export const SEARCHED_ACCOUNTS = 100

/** Characters of a signed message that its activity keeps. */
export const ACTIVITY_TEXT_CHARS = 500

/** Retention of a batch's status after submission (EIP-5792: at least 24 h). */
export const BATCH_KEPT_MS = 24 * 3_600_000

/** Settled batches kept beyond BATCH_KEPT_MS, newest first. */
export const OLD_BATCHES = 1_000

/** Settled batches kept within BATCH_KEPT_MS: a load test submits more, of some kilobytes each. */
export const SETTLED_BATCHES = 10_000

/** Settled single transactions that are kept: only activities refer to them, and up to FOLLOWED_TRANSACTIONS older ones may settle later than a newer one. */
export const SETTLED_TRANSACTIONS = ACTIVITIES + FOLLOWED_TRANSACTIONS

/** Replacements of one question whose content has changed. */
export const REPEATED_QUESTIONS = 10

/** Attempts to sign a transaction again because its nonce was used meanwhile. */
export const NONCE_TRIES = 3

/** Wait for the inclusion of an account's upgrade before what depends on it is sent, two blocks of Base; and the polling interval. */
export const UPGRADE_WAIT_MS = 4_000
export const UPGRADE_POLL_MS = 100

/** Long poll of wallet_getCallsStatus for a pending batch. Clients poll every 4 s. */
export const STATUS_WAIT_MS = 1_500

/** Concurrent long polls; further requests are answered immediately. */
export const STATUS_WAITERS = 1_000

/** Polling interval for a chain without subscriptions, and besides subscriptions, in case a notification is lost. */
export const POLL_MS = 500
export const SLOW_POLL_MS = 2_000

/** A transaction that an external node does not return for this time counts as lost. Several nodes behind one url may differ for a while. */
export const UNKNOWN_MS = 6_000

/** Timeout of wallet_getCapabilities for one chain. */
export const CAPABILITIES_WAIT_MS = 2_000

/** Chain ids in one wallet_getCapabilities request. */
export const CAPABILITY_CHAINS = 100

/** Capabilities of one batch or call, supported or not. */
export const REQUESTED_CAPABILITIES = 100

/** Newest batches listed by `pocketchain_walletState`. */
export const STATE_BATCHES = 50

/** Accounts in one approval. */
export const CHOSEN_ACCOUNTS = 1_000

/** Timeout of a preview; the question is then created without one. */
export const PREVIEW_MS = 5_000

/** Logs of one simulation; with more the preview is unavailable, since the rest would be unchecked. */
export const PREVIEW_LOGS = 10_000

/** Tokens and allowances that a preview reads from the chain. */
export const PREVIEW_TOKENS = 16
export const PREVIEW_GRANTS = 16

/** Lines of a preview, of each kind, outflows and remaining allowances first; further lines are only counted. Of allowances that its calls request themselves it has all. */
export const PREVIEW_LINES = 50

/** Gas of one read of a token contract: 40,000 are usual behind a proxy. It also ends a read that never returns. */
export const READ_GAS = 150_000n

/** Bytes decoded of the return data of such a read. */
export const READ_BYTES = 1_024

/** Characters of a token's symbol or name, of a revert reason, of one argument, and of one line about a call. */
export const SYMBOL_CHARS = 24
export const REASON_CHARS = 300
export const ARGUMENT_CHARS = 1_000
export const SUMMARY_CHARS = 200

/** Arguments of a call that are shown; the known functions have at most 12. */
export const SHOWN_ARGUMENTS = 16

/** Bytes of call data that are decoded; longer data is shown as hex. Dynamic items with a shared offset would expand it to megabytes. */
export const DECODED_BYTES = 16 * 1024

/** Tokens that the description of a batch reads from the chain, and the timeout. */
export const DESCRIBED_TOKENS = 32
export const DESCRIBE_MS = 2_000

/** Timeout of the chain queries for warnings, and the number of recipients queried. */
export const WARNING_MS = 2_000
export const WARNED_RECIPIENTS = 50

/** A fee that an app chooses has a warning from this multiple of the chain's gas price on, if it can cost this much, wei: local chains have tiny prices. */
export const HIGH_FEE_FACTOR = 10n
export const HIGH_FEE_WEI = 10n ** 16n

/** Newest known recipients of one account. New and look-alike recipients cause a warning. */
export const KNOWN_RECIPIENTS = 500

/** Warnings of one question; the most severe are kept. */
export const WARNINGS = 50

/** Warnings about one sign-in message, and characters of the message quoted in one warning. */
export const SIGN_IN_WARNINGS = 20
export const SIGN_IN_CHARS = 100

/** Characters of a message inside typed data (ERC-7739) that its warning quotes. */
export const NESTED_MESSAGE_CHARS = 300

/** Accounts of an access list, and storage keys of one account. */
export const ACCESS_LIST_ITEMS = 1_000

/** Bytes, as JSON, of the context that an app passes to a sponsor. */
export const SPONSOR_CONTEXT_BYTES = 16 * 1024

/** Timeout of a request to a sponsor, from name resolution to the last byte, both paths included: the user waits for it. And the size limit. */
export const SPONSOR_MS = 5_000
export const SPONSOR_REPLY_BYTES = 64 * 1024

/** Concurrent connections to one sponsor, more than are needed: a request queued behind a slow sponsor would appear unreachable. */
export const SPONSOR_CONNECTIONS = 64

/** Most recently used sponsor urls whose path is cached. */
export const SPONSOR_URLS = 200

/** Characters of a sponsor's name, of its icon (a data: uri), and of its refusal message. */
export const SPONSOR_NAME_CHARS = 60
export const SPONSOR_ICON_CHARS = 32 * 1024
export const SPONSOR_REFUSAL_CHARS = 300

/** Bytes, as JSON, of a refusal's `data` that is forwarded; longer data is omitted. */
export const SPONSOR_REFUSAL_BYTES = 2 * 1024

/** Time for which a sponsor's quote is reused: services sign for a minute or more. And the minimum remaining validity. */
export const QUOTE_FRESH_MS = 30_000
export const GRANT_SECONDS_LEFT = 10n

/** Time for which a site's later questions wait for a batch whose sponsor has not responded: less than for a preview. */
export const SPONSOR_HOLD_MS = 3_000

/** Maximum of each of a paymaster's two gas limits: a token swap in postOp needs half of it, and ERC-7562 allows no more for validation. */
export const PAYMASTER_GAS = 1_000_000n

/** Gas of the calls of a sponsored batch: with the overhead and a 63rd more (EIP-150) it fits the 16 million of a bundle. */
export const SPONSORED_CALL_GAS = 12_000_000n

/** Part of OPERATION_BYTES reserved for the paymaster data: existing services need up to 300 bytes. Longer data fails if the calls leave no space. */
export const SPONSOR_DATA_BYTES = 512

/** Tokens whose allowance for the sponsor is read. */
export const SPONSOR_TOKENS = 32

/** Nesting of a question: typed data may nest 64 deep, and questions are serialized and rendered recursively. */
export const QUESTION_DEPTH = 200
