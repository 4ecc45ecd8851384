/** Milliseconds that a sequencer keeps its lease without renewing it: a standby may take over after it. */
export const LEASE_MS = 2_000
/** Milliseconds between renewals: three may fail before the lease ends. */
export const LEASE_RENEWAL_MS = 500
/** Milliseconds for which a thread renews the lease while the main thread is busy; as long as a forwarded request may take. */
export const BUSY_MS = 60_000
/** Milliseconds that a connection to PostgreSQL may take; longer than a lease would hide that it is unreachable. */
export const CONNECT_MS = 2_000
/** Milliseconds that a statement may take: a commit of a full slice of mined blocks takes 200 ms. */
export const STATEMENT_MS = 10_000
/** Seconds without an answer after which PostgreSQL ends the connection of a host that has vanished; by default it keeps it for two hours. */
export const VANISHED_S = 10
/** Connections to PostgreSQL of one process: commits, renewals, and reads of a replica that starts. */
export const DATABASE_CONNECTIONS = 3
/** Milliseconds before a failed commit is tried again. */
export const COMMIT_RETRY_MS = 100
/** Blocks in one query of a process that reads the chain: about 4 MB. */
export const BLOCKS_PER_QUERY = 2_000
/** Milliseconds between messages with the number of the newest frame, so that the loss of the last one is detected. */
export const HEARTBEAT_MS = 500
/** Frames that a replica fetches again in one repair; beyond it reads the blocks from PostgreSQL. */
export const REPAIRED_FRAMES = 500
/** Frames that wait while a replica repairs a gap; beyond it starts again from PostgreSQL. */
export const WAITING_FRAMES = 5_000
/** Milliseconds that a forwarded request may take; the sequencer's own limits are shorter. */
export const FORWARD_MS = 60_000
/** Milliseconds that a replica waits for the flashblock with a transaction that it forwarded. */
export const READ_YOUR_WRITES_MS = 3_000
/** Milliseconds without a frame after which a replica is not ready. */
export const MAX_LAG_MS = 2_000
/** Milliseconds, at least, for which the least delay of a message counts as none: clocks that differ by 100 ppm drift 120 ms apart in twice this time. */
export const LEAST_DELAY_MS = 10 * 60 * 1_000
/** Bytes of one message over NATS, in parts if it is larger than the server accepts: the state of a test chain, or a full block. */
export const BUS_BYTES = 64 * 2 ** 20
/** Bytes of incomplete messages, whose other parts have not arrived: four of the largest. */
export const JOINED_BYTES = 4 * BUS_BYTES
/** Bytes that the server must accept in one message: a full block is 1,000 parts of this size. */
export const MIN_PAYLOAD_BYTES = 4_096
/** Milliseconds between two attempts to connect to NATS again. */
export const RECONNECT_MS = 250
/** Milliseconds between pings to NATS. A server that leaves two of them unanswered is given up: without a reset of the connection nothing else shows it. */
export const PING_MS = 1_000
/** Milliseconds that JetStream keeps frames: a replica that misses more reads the blocks from PostgreSQL. */
export const CAPTURED_MS = 10 * 60 * 1_000
/** Bytes of captured frames. */
export const CAPTURED_BYTES = 2 ** 30
/** Milliseconds that JetStream may take for one frame. */
export const REPAIR_MS = 1_000
/** Milliseconds between two checks of the lease by a process that waits for it. */
export const LEASE_CHECK_MS = 200
/** Milliseconds for which a sequencer promises while PostgreSQL is unreachable: a lease, so that an isolated sequencer stops when another may take over. */
export const OUTAGE_MS = LEASE_MS
/** Milliseconds that a process that ends waits for servers that may have vanished; its lease has ended by then. */
export const CLOSE_MS = LEASE_MS
/** Milliseconds that a request waits for the next sequencer, or for an answer while nothing else comes from the sequencer. */
export const FAILOVER_MS = 6_000
/** Milliseconds to wait for the status of the processes of a fleet. */
export const STATUS_MS = 500
/** Milliseconds until a hand-over is reported as failed: the former sequencer takes the lease again after LEASE_MS. */
export const HAND_OVER_MS = 10_000
/** Milliseconds after which JetStream has a frame that was sent. */
export const CAPTURE_MS = 100
/** Blocks whose state is in memory and can be proven: a process that joins repeats them on its chain, where the others are only stored. */
export const BLOCKS_IN_MEMORY = 64
/** Milliseconds between two attempts to create the stream that captures frames. */
export const CAPTURE_RETRY_MS = 5_000
