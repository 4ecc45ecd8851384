/** Limits of the server. Batches, results, filters and subscriptions are limited in rpc/. */

/**
 * Concurrent TCP connections, over all paths. Further connections are closed immediately. Higher than reth's 500: `fetch` opens a connection for each
 * concurrent request, and scripts send a thousand at once.
 */
export const MAX_CONNECTIONS = 2_000

/** Concurrent connections to the Unix socket: programs of one user. Further connections are closed immediately. */
export const IPC_CONNECTIONS = 100

/** A request body of the dedicated tier (geth: 5 MiB). HTTP 413 beyond. */
export const DEDICATED_BODY_BYTES = 5 * 1024 * 1024

/** A request body of the public tier: a batch of 100 reads, or the largest transaction (128 KiB) several times. */
export const PUBLIC_BODY_BYTES = 1024 * 1024

/** A message on a WebSocket of the dedicated tier (geth: 32 MiB). The connection is closed with 1009 beyond. */
export const DEDICATED_MESSAGE_BYTES = 32 * 1024 * 1024

/** A message from a subscriber of the flashblock stream; the protocol has none. */
export const STREAM_MESSAGE_BYTES = 4 * 1024

/** Concurrent requests of one WebSocket; the socket is not read while there are more. */
export const REQUESTS_IN_FLIGHT = 1_000

/** From this size on an answer that is being sent does not count as unread: a client that reads as fast as it can takes time for it. */
export const LARGE_ANSWER_BYTES = 2 ** 20

/** Bytes a WebSocket client may leave unread; beyond, its connection is closed. Twice the largest answer of geth's default limit. */
export const SLOW_CLIENT_BYTES = 50 * 1024 * 1024

/** The same for the public tier and for subscribers of the stream (100 busy flashblocks). */
export const SLOW_SUBSCRIBER_BYTES = 8 * 1024 * 1024

/** Subscribers of the flashblock stream (the public proxies: 100 per instance). HTTP 429 beyond. */
export const STREAM_SUBSCRIBERS = 100

/** A WebSocket that sent nothing after the previous ping is closed. */
export const PING_INTERVAL_MS = 30_000

/** Longer than clients keep an idle connection, so that the server never closes one while a request is in transit. */
export const KEEP_ALIVE_MS = 75_000

/** Added to the time in the `Keep-Alive` header, as node:http does: a request may be in transit. */
export const KEEP_ALIVE_GRACE_MS = 1_000

/** Time limit of a TLS handshake, from the first byte. */
export const HANDSHAKE_MS = 10_000

/** Cached certificates of names below localhost, 50 KB each. */
export const TLS_NAMES = 100

/** From the first byte of a request to its last. */
export const REQUEST_MS = 60_000

/** A response of which the client reads nothing for this long is aborted. */
export const STALLED_ANSWER_MS = 60_000

/** Smaller bodies are not compressed: the thread pool takes 0.3 ms, in which 32 KiB are transferred at 1 Gbit/s. */
export const COMPRESS_BYTES = 32 * 1024

/** 700 KB of receipts: level 1 compresses to 1/12 at 1,200 MB/s, level 4 to the same at 270 MB/s. */
export const BROTLI_LEVEL = 1

/** 700 KB of receipts: level 1 compresses to 1/10 at 440 MB/s, level 6 to 1/11 at 210 MB/s. */
export const GZIP_LEVEL = 1

/** Output buffer of a compressor. */
export const COMPRESSED_CHUNK_BYTES = 64 * 1024

/** Pieces of a smaller body are copied into one buffer, which costs less than several writes. */
export const JOINED_BYTES = 16 * 1024

/** A shorter chunk of a streamed body is sent together with the next one: the head and the envelope with the first, the envelope's end with the last. */
export const HELD_BYTES = 1024

/** Time that open requests have to finish when the server closes. */
export const CLOSING_MS = 1_000

/** Cached decisions per Host and Origin value. */
export const CACHED_DECISIONS = 256

/** A request head on the raw HTTP path; clients send 100-400 bytes. Longer ones are handed to node:http. */
export const RAW_HEAD_BYTES = 4 * 1024

/**
 * Time for the rest of a body on the raw HTTP path: a client on this machine needs milliseconds, a blocked process seconds. node:http then
 * waits for it, for REQUEST_MS more.
 */
export const RAW_BODY_MS = 10_000

/** Cached request heads: a client sends one for each length of its bodies. At most 4 MiB. */
export const RAW_CACHED_HEADS = 1_000

/** Flashblocks (or blocks) that may be overdue before /readyz is 503, and the shortest delay for that. */
export const LATE_TICKS = 10
export const LATE_MS = 2_000

/** A request to the wallet: a batch of 128 KiB of call data as hex, typed data, or a batch of requests. Over HTTP and WebSocket. */
export const WALLET_BODY_BYTES = 1024 * 1024

/** A request to the gas sponsor: an operation with 128 KiB of call data as hex, several times. */
export const PAYMASTER_BODY_BYTES = 1024 * 1024

/** One-time links that were not redeemed yet; the oldest is dropped first. */
export const WALLET_LINKS = 100

/** Browser sessions with the control credential; the oldest is dropped first. */
export const WALLET_SESSIONS = 100

/** Concurrent requests of one WebSocket to the wallet, most of which wait for the user; the socket is not read while there are more. */
export const WALLET_REQUESTS_IN_FLIGHT = 200

/** An origin of a site, characters: a host name has at most 253. */
export const ORIGIN_CHARS = 300

/** A reply or notification of the node behind `--explorer-of`: a block of 5,000 transactions has 3 MB, a trace of it more. */
export const EXPLORED_REPLY_BYTES = 32 * 1024 * 1024

/** Traces of large transactions take seconds; most nodes end a request after 30 s or less. */
export const EXPLORED_REQUEST_MS = 30_000

/** Time for the request at the start of `--explorer-of` that checks the node, and for the handshake of each WebSocket to it. */
export const EXPLORED_PROBE_MS = 2_000

/** Kept connections to the node behind `--explorer-of`: a page sends about eight concurrent requests. */
export const EXPLORED_CONNECTIONS = 8

/** Requests in one batch to the node behind `--explorer-of`: the largest of the pages has 150. Many nodes refuse more than 100 to 1,000. */
export const EXPLORED_BATCH_ITEMS = 1_000

/** Concurrent WebSockets of pages of `--explorer-of`; each opens one to the node. */
export const EXPLORED_SOCKETS = 50

/** Concurrent requests of one WebSocket of `--explorer-of`; a page sends three subscriptions. -32005 beyond. */
export const EXPLORED_IN_FLIGHT = 100

/** Keys of `--keys`, and the size of that file: each key has about 200 bytes. */
export const API_KEYS = 10_000
export const API_KEYS_FILE_BYTES = 4 * 1024 * 1024

/** Characters of an API key; longer ones are not hashed. */
export const API_KEY_CHARS = 256

/** Characters of the name of an API key: it is a label of the metrics. */
export const API_KEY_NAME_CHARS = 64

/** Milliseconds between two checks of the file of keys. */
export const API_KEYS_POLL_MS = 1_000

/** Clients without a key whose rate is known at a time; 100 bytes each. */
export const LIMITED_ADDRESSES = 100_000
