/** EIP-4788 and EIP-2935 system calls run with this much gas. */
export const SYSTEM_CALL_GAS = 30_000_000n

/** Instances of each of the two builds that rest: one for each of the newest states that are asked for, and a spare one. Each has
 * reserved 1 GB of addresses and uses what it touched, about 2 MB. */
export const IDLE_INSTANCES_MAX = 4

/** So many rest before one of them is moved to another state: else calls on `latest` and `pending` would push one to and fro. */
export const INSTANCES_BEFORE_MOVING = 2

/** An instance whose frames' memories have grown beyond this does not rest, for wasm memory never shrinks. Calls that are no attack take less. */
export const GROWN_BYTES_MAX = 64 * 2 ** 20

/** Above so many changed keys it is cheaper to read everything anew. */
export const FOLLOWED_KEYS_MAX = 20_000

/** What a run gets to burn between two looks at the clock, in jumps and eighths of the bytes between them: 1 to 5 ms, 30 of the dearest. */
export const FUEL_PER_LOOK = 100_000

/** Steps that a tracer hears of between two looks at the clock: about a millisecond, more when it copies memory. */
export const STEPS_PER_LOOK = 1_024

/** Accounts that an instance finds by their address without asking the runtime: one message asks for its sender and its target again and again. */
export const KNOWN_ACCOUNTS_MAX = 256

/** And slots of one account: many times what a transaction of an OP chain asks of L1Block. */
export const KNOWN_SLOTS_MAX = 64
