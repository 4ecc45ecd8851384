/** Everything that could grow without end in this room. Batches, results, filters and subscriptions are limited in rpc/. */

/** TCP connections at once, over all paths (reth: 500). More are closed as they come. */
export const MAX_CONNECTIONS = 500

/** A request body of the dedicated tier (geth: 5 MiB). HTTP 413 beyond. */
export const DEDICATED_BODY_BYTES = 5 * 1024 * 1024

/** A request body of the public tier: a batch of 100 reads, or the largest transaction (128 KiB) several times. */
export const PUBLIC_BODY_BYTES = 1024 * 1024

/** A message on a WebSocket of the dedicated tier (geth: 32 MiB). The connection is closed with 1009 beyond. */
export const DEDICATED_MESSAGE_BYTES = 32 * 1024 * 1024

/** Readers of the flashblock stream have nothing to say. */
export const STREAM_MESSAGE_BYTES = 4 * 1024

/** Requests of one WebSocket that are being worked on; the socket is not read while there are more. */
export const REQUESTS_IN_FLIGHT = 1_000

/** Bytes a WebSocket client may leave unread before the next message; then it is cut off. Twice the largest answer of geth's default limit. */
export const SLOW_CLIENT_BYTES = 50 * 1024 * 1024

/** The same for the public tier and for readers of the stream (100 busy flashblocks). */
export const SLOW_READER_BYTES = 8 * 1024 * 1024

/** Readers of the flashblock stream (the public proxies: 100 per instance). HTTP 429 beyond. */
export const STREAM_SUBSCRIBERS = 100

/** A WebSocket that did not answer the ping before last is dead. */
export const PING_INTERVAL_MS = 30_000

/** Longer than any client keeps an idle connection, so that it is never we who close one under a request. */
export const KEEP_ALIVE_MS = 75_000

/** How much longer we wait than the `Keep-Alive` header says, as node:http does: a request may be on its way. */
export const KEEP_ALIVE_GRACE_MS = 1_000

/** What a TLS client gets from its first byte until both have agreed. */
export const HANDSHAKE_MS = 10_000

/** Names below localhost that have a certificate of their own at a time: each takes 50 KB. */
export const TLS_NAMES = 100

/** From the first byte of a request to its last. */
export const REQUEST_MS = 60_000

/** An answer nobody reads is given up after this long without progress. */
export const STALLED_ANSWER_MS = 60_000

/** A smaller answer is not compressed: to have a thread do it takes 0.3 ms, in which 32 KiB have arrived at 1 Gbit/s as they are. */
export const COMPRESS_BYTES = 32 * 1024

/** Of 700 KB of receipts: 1 makes 1/12 at 1,200 MB/s, 4 the same at 270. */
export const BROTLI_LEVEL = 1

/** 1 makes 1/10 at 440 MB/s, 6 makes 1/11 at 210. */
export const GZIP_LEVEL = 1

/** What a packer makes before it is sent. */
export const PACKED_CHUNK_BYTES = 64 * 1024

/** Pieces of a smaller answer are copied into one: that costs less than to send several. */
export const JOINED_BYTES = 16 * 1024

/** Of an answer in chunks, what is shorter leaves with what follows it: head and envelope with the first chunk, the envelope's end with the last. */
export const HELD_BYTES = 1024

/** What open requests get to finish when the server closes. */
export const CLOSING_MS = 1_000

/** Host and Origin values whose verdict is remembered. */
export const REMEMBERED_VERDICTS = 256

/** A head that the lane reads; clients send 100-400 bytes. Longer ones are node:http's. */
export const LANE_HEAD_BYTES = 4 * 1024

/** Heads whose verdict is remembered: a client sends few, one for each length of its bodies. At most 4 MiB. */
export const REMEMBERED_HEADS = 1_000

/** Flashblocks (or blocks) that may be missing before /readyz says so, and the least time that must have passed. */
export const LATE_TICKS = 10
export const LATE_MS = 2_000

/** A request to the wallet: a batch of 128 KiB of call data as hex, typed data, or several questions at once. Over HTTP and WebSocket. */
export const WALLET_BODY_BYTES = 1024 * 1024

/** A request to the gas sponsor: an operation with 128 KiB of call data as hex, several times. */
export const PAYMASTER_BODY_BYTES = 1024 * 1024

/** Links to the approval page that were not opened yet; the oldest end first. */
export const WALLET_LINKS = 100

/** Browsers that may approve; the oldest end first. */
export const WALLET_SESSIONS = 100

/** Requests of one connection to the wallet that wait, mostly for a person; the socket is not read while there are more. */
export const WALLET_REQUESTS_IN_FLIGHT = 200

/** An origin of a site, characters: a host name has at most 253. */
export const ORIGIN_CHARS = 300
