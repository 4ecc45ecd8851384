/** Gas of EIP-4788 and EIP-2935 system calls. */
export const SYSTEM_CALL_GAS = 30_000_000n

/**
 * Idle instances per build: one for each of the newest states in use and a spare one. Each reserves 1 GB of address space and uses what it
 * touched, about 2 MB.
 */
export const IDLE_INSTANCES_MAX = 4

/** Idle instances before one is moved to another state; fewer would make calls on `latest` and `pending` invalidate each other's. */
export const IDLE_BEFORE_REUSE = 2

/** An instance whose memory grew beyond this is discarded, because wasm memory never shrinks. Ordinary calls stay far below. */
export const IDLE_GROWTH_BYTES_MAX = 64 * 2 ** 20

/** Above this many changed keys it is cheaper to clear the tables. */
export const INVALIDATED_KEYS_MAX = 20_000

/** Fuel between two readings of the clock. A jump burns 1, plus 1 per 8 bytes of code: 1 to 5 ms, 30 ms for the slowest opcodes. */
export const FUEL_PER_CLOCK_CHECK = 100_000

/** Traced steps between two readings of the clock: about 1 ms, more if the tracer copies memory. */
export const STEPS_PER_CLOCK_CHECK = 1_024

/** Accounts that an instance finds by address without calling the runtime. */
export const ACCOUNT_CACHE_MAX = 256

/** Slots of one account, many times the number of L1Block slots that a transaction of an OP chain reads. */
export const SLOT_CACHE_MAX = 64

/** Console calls that one execution collects; a loop can make 300,000 of them with 30 Mgas. */
export const CONSOLE_CALLS_MAX = 1_000

/** Bytes of call data that one execution collects of its console calls: memory that is paid for once can be passed to each of them. */
export const CONSOLE_BYTES_MAX = 256 * 1024
