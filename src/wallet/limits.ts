/** The limits of the wallet, each with its reason. */

/** Calls of one batch; more are 5740. */
export const BATCH_CALLS = 100

/** Call data of one batch, bytes; more are 5740. */
export const BATCH_DATA_BYTES = 128 * 1024

/** Bytes of one transaction: geth's, reth's and our own pool take no longer one, so that a batch which needs one is 5740. */
export const TRANSACTION_BYTES = 128 * 1024

/** Characters of a batch id that an app chose (EIP-5792: 4,096 bytes as hex). */
export const BATCH_ID_CHARS = 8_194

/** Origins that are connected; and as many that are not, but have chosen a chain, are remembered. */
export const SITES = 1_000

/** Subscriptions of one provider, for pages that do not end them. */
export const SUBSCRIPTIONS_PER_PROVIDER = 100

/** Items of one JSON-RPC batch: each may wait for a person. */
export const REQUEST_BATCH_ITEMS = 100

/** Bytes of one message that is signed, typed data as JSON text: the question carries all of it. */
export const SIGNED_BYTES = 256 * 1024

/** Characters of an origin: a host name has at most 253. */
export const ORIGIN_CHARS = 300

/** Time for the balances in a connect question. */
export const BALANCE_WAIT_MS = 1_000

/**
 * Questions that wait for an answer, of all sites. Each may hold a batch with all its data several times over: 200 are some 80 MB at worst.
 * When the queue is full, a question of a site with fewer displaces the newest question of the site with the most. Sites that flood the queue
 * therefore cannot keep out another site, unless there are 200 of them. Names below one domain, or of this computer with one port, share.
 */
export const WAITING_QUESTIONS = 200

/**
 * Questions of one origin that wait for a person or a script; all programs count as one origin. Sites take turns, so the questions of one
 * origin delay each question of another by one at most.
 */
export const WAITING_QUESTIONS_PER_ORIGIN = 20

/** Answered questions whose outcome is kept for the error of a second answer. */
export const REMEMBERED_ANSWERS = 1_000

/** Calls of `approvals.next()` that wait for a question. */
export const WAITING_PROMPTS = 1_000

/** Answers of one recording. */
export const RECORDED_ANSWERS = 10_000

/** Chains in all; a further one is refused with -32005. Each was approved by a person. */
export const CHAINS = 200

/** Urls of one chain, of each kind. Each rpc url is asked for its chain id once. */
export const CHAIN_URLS = 10

/** Characters of a url, a chain's name (MetaMask cuts at it) and a currency's name and symbol: they stand in the question. */
export const URL_CHARS = 2_048
export const CHAIN_NAME_CHARS = 100
export const CURRENCY_NAME_CHARS = 100
export const CURRENCY_SYMBOL_CHARS = 32

/** What an rpc that is to be added may take to say its chain id, and how long that answer may be. */
export const PROBE_MS = 5_000
export const PROBE_BYTES = 16 * 1024

/**
 * Work of one keystore file: scrypt's 128 * n * r bytes and n * r * p steps, pbkdf2's iterations. geth and cast write 256 MiB, 2^21 steps
 * and 262,144 iterations; without a limit a file could take years.
 */
export const SCRYPT_BYTES = 512 * 1024 * 1024
export const SCRYPT_STEPS = 2 ** 23
export const PBKDF2_ITERATIONS = 10_000_000

/** Less work does not protect a password. */
export const LEAST_SCRYPT_N = 1_024
export const LEAST_PBKDF2_ITERATIONS = 1_000

/** Bytes of one keystore file, which has about 500, and files of one directory: opening one takes a second. */
export const KEYSTORE_FILE_BYTES = 64 * 1024
export const KEYSTORE_FILES = 100

/** Batches whose fate is not settled. Each holds its signed transactions and is looked for on its chain. */
export const OPEN_BATCHES = 1_000

/** So long a batch is answered for after it was sent (EIP-5792: at least 24 h), ms. */
export const BATCH_KEPT_MS = 24 * 3_600_000

/** Settled batches that are kept beyond that time, the newest. */
export const OLD_BATCHES = 1_000

/** How often a question is put anew because what it asks about has changed. */
export const REPEATED_QUESTIONS = 10

/** How often a transaction is signed anew because its nonce was taken meanwhile. */
export const NONCE_TRIES = 3

/** So long what comes after an account's upgrade waits for that to be included, ms: two blocks of Base. And how often it looks. */
export const UPGRADE_WAIT_MS = 4_000
export const UPGRADE_LOOK_MS = 100

/** So long wallet_getCallsStatus waits for a pending batch, ms. Clients ask every 4 s by themselves. */
export const STATUS_WAIT_MS = 1_500

/** Requests that wait like that; more are answered at once. */
export const STATUS_WAITERS = 1_000

/** Between two looks at a chain that tells nothing by itself, and at one that does, in case it forgets to, ms. */
export const POLL_MS = 500
export const SLOW_POLL_MS = 2_000

/** So long a transaction may be unknown to a node of somebody else before it counts as lost, ms: behind one url there may be many. */
export const UNKNOWN_MS = 6_000

/** So long wallet_getCapabilities waits for one chain, ms. */
export const CAPABILITIES_WAIT_MS = 2_000

/** Chain ids that one wallet_getCapabilities may name. */
export const CAPABILITY_CHAINS = 100

/** Capabilities of one batch or call, known or not. */
export const REQUESTED_CAPABILITIES = 100

/** Batches that `pocketchain_walletState` lists, the newest. */
export const STATE_BATCHES = 50

/** Accounts that an approval may name. */
export const CHOSEN_ACCOUNTS = 1_000

/** What a preview may take in all, ms: after it the question is asked without one. */
export const PREVIEW_MS = 5_000

/** Log entries of one simulation that are looked at; more make the preview unavailable, since the rest would be unchecked. */
export const PREVIEW_LOGS = 10_000

/** Tokens and permissions that a preview asks the chain about. */
export const PREVIEW_TOKENS = 16
export const PREVIEW_GRANTS = 16

/** Lines of a preview, of each kind, what leaves the account first; the rest is counted. */
export const PREVIEW_LINES = 50

/** Gas of one question to a token: behind proxies 40,000 are usual. It also ends a token that never answers. */
export const READ_GAS = 150_000n

/** Bytes of an answer of a contract that are looked at. */
export const READ_BYTES = 1_024

/** Characters of a token's symbol or name, of a revert reason, of one argument, and of one line about a call. */
export const SYMBOL_CHARS = 24
export const REASON_CHARS = 300
export const ARGUMENT_CHARS = 1_000
export const SUMMARY_CHARS = 200

/** Arguments of a call that are shown; the functions we know have at most 12. */
export const SHOWN_ARGUMENTS = 16

/** Bytes of call data that are decoded; longer ones are shown as they are. Lists that all point at one place make megabytes of it. */
export const DECODED_BYTES = 16 * 1024

/** Tokens that the description of a batch asks the chain about, and how long that may take, ms. */
export const DESCRIBED_TOKENS = 32
export const DESCRIBE_MS = 2_000

/** So long warnings wait for what the chain says about recipients, ms, and about so many of them. */
export const WARNING_MS = 2_000
export const WARNED_RECIPIENTS = 50

/** Known recipients of one account, the newest: new and look-alike recipients are warned about. */
export const KNOWN_RECIPIENTS = 500

/** Warnings of one question; the gravest stay. */
export const WARNINGS = 50

/** Warnings about one message that signs somebody in, and characters of it in one of them. */
export const SIGN_IN_WARNINGS = 20
export const SIGN_IN_CHARS = 100

/** Characters of a message inside typed data (ERC-7739) that its warning repeats. */
export const NESTED_MESSAGE_CHARS = 300

/** Accounts of an access list, and storage keys of one of them. */
export const ACCESS_LIST_ITEMS = 1_000

/** What an app may have the wallet tell a sponsor, bytes as JSON. */
export const SPONSOR_CONTEXT_BYTES = 16 * 1024

/** One question to a sponsor, from the first look at its name to the last byte of its answer, also where two paths are tried: a person waits for it. */
export const SPONSOR_MS = 5_000
export const SPONSOR_REPLY_BYTES = 64 * 1024

/** Connections to one sponsor at once: what waits for one behind a slow sponsor looks like one that cannot be reached, so that there are more than are asked for. */
export const SPONSOR_CONNECTIONS = 64

/** Urls of sponsors whose path is remembered, the ones that were used last. */
export const SPONSOR_URLS = 200

/** Characters of a sponsor's name, of its icon (a data: uri), and of what it refuses with. */
export const SPONSOR_NAME_CHARS = 60
export const SPONSOR_ICON_CHARS = 32 * 1024
export const SPONSOR_REFUSAL_CHARS = 300

/** Bytes of a refusal's `data` that are handed on, as JSON; more are left out. */
export const SPONSOR_REFUSAL_BYTES = 2 * 1024

/** So long a quote of a sponsor is used without asking again, ms: services sign for a minute or more. And what must be left of it then, seconds. */
export const QUOTE_FRESH_MS = 30_000
export const GRANT_SECONDS_LEFT = 10n

/** So long a site's other questions wait for a batch whose sponsor is still being asked, ms: no longer than for a preview. */
export const SPONSOR_LINE_MS = 3_000

/** Gas of a paymaster, each of its two limits: those that swap tokens afterwards need half of it, and ERC-7562 lets a validation have no more than that. */
export const PAYMASTER_GAS = 1_000_000n

/** Gas of the calls of a sponsored batch: with all the rest, and a 63rd more, it fits the 16 million that bundlers put into a transaction. */
export const SPONSORED_CALL_GAS = 12_000_000n

/** Bytes of the call data of a bundle with nothing else in it: bundlers keep below the 128 KiB that pools take. */
export const OPERATION_BYTES = 120_000

/** What of it is left to a sponsor: the services there are sign within 300 bytes. One that wants more fails where the calls leave it no room. */
export const SPONSOR_DATA_BYTES = 512

/** Tokens of which the allowance of a sponsor is looked at. */
export const SPONSOR_TOKENS = 32

/** Nesting of a question: typed data may nest 64 deep, and its questions are written and drawn by functions that call themselves. */
export const QUESTION_DEPTH = 200
