/** geth's default. A larger batch gains nothing and delays other clients. */
export const BATCH_ITEMS = 1_000

/** geth's default for the response to one batch, whose rest is then refused. Single responses have no limit. */
export const BATCH_RESPONSE_BYTES = 25 * 1000 * 1000

/** A batch yields to the event loop after this time: a quarter of a flashblock. */
export const BATCH_SLICE_MS = 50

/** Characters of an error's message, which may repeat names of the request that are as long as a body. */
export const ERROR_MESSAGE_CHARS = 4_096

/** Defaults for a request to another server: its time from name resolution to the last byte, and the size of its reply. */
export const OUTBOUND_MS = 5_000
export const OUTBOUND_REPLY_BYTES = 64 * 1024

/** The same for another node: geth's eth_getLogs is slow and large. */
export const REMOTE_NODE_MS = 30_000
export const REMOTE_NODE_REPLY_BYTES = 32 * 1024 * 1024

/** Concurrent connections to one other node; further requests wait for one of them. */
export const REMOTE_NODE_CONNECTIONS = 16

/** Bytes of a user operation: with the other arguments of handleOps, a transaction of 128 KiB, geth's limit. */
export const OPERATION_BYTES = 120_000

/** verificationGasLimit: with less, no account can validate. */
export const MIN_VERIFICATION_GAS = 10_000n
