/** geth's default. A client that batches more gains nothing and blocks everybody else meanwhile. */
export const BATCH_ITEMS = 1_000

/** geth's default: what one batch may answer before the rest of it is refused. Single answers have no limit. */
export const BATCH_RESPONSE_BYTES = 25 * 1000 * 1000

/** After so long a batch lets others in before its next item: a quarter of a flashblock. */
export const BATCH_SLICE_MS = 50

/** Characters of an error's message: it may repeat names that came in, and those can be as long as a body. */
export const ERROR_MESSAGE_CHARS = 4_096

/** What a request to somebody else's server may take in all (name, connection, answer), and how long its answer may be, unless the caller says otherwise. */
export const OUTBOUND_MS = 5_000
export const OUTBOUND_REPLY_BYTES = 64 * 1024

/** The same for another node that is read through: geth's eth_getLogs takes its time, and answers so much. */
export const REMOTE_NODE_MS = 30_000
export const REMOTE_NODE_REPLY_BYTES = 32 * 1024 * 1024

/** Connections to one other node at once; further requests wait for one of them. */
export const REMOTE_NODE_CONNECTIONS = 16

/** Bytes that a user operation holds: with what the EntryPoint is told besides, a transaction of 128 KiB, geth's limit. */
export const OPERATION_BYTES = 120_000

/** verificationGasLimit: with less no account can be asked. */
export const LEAST_VERIFICATION_GAS = 10_000n
