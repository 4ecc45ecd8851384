/// <reference path="../runtime.d.ts" />
// Memory map. Regions have fixed addresses, so pointers stay valid while their table does. Untouched pages reserve address space only.

const MB: usize = 1 << 20

// --- parameter block: written by the host before a message runs ----------------------------------------------------

export const PARAMS: usize = MB
export const ORIGIN: usize = PARAMS // 20 bytes, big-endian like every address
export const TARGET: usize = PARAMS + 32 // 20 bytes
export const VALUE: usize = PARAMS + 64 // words are four little-endian limbs
export const GAS_PRICE: usize = PARAMS + 96
export const COINBASE: usize = PARAMS + 128 // 20 bytes
export const NUMBER: usize = PARAMS + 160
export const TIMESTAMP: usize = PARAMS + 192
export const RANDOM: usize = PARAMS + 224 // PREVRANDAO; DIFFICULTY before Paris
export const GAS_LIMIT: usize = PARAMS + 256
export const BASE_FEE: usize = PARAMS + 288
export const BLOB_BASE_FEE: usize = PARAMS + 320
export const CHAIN_ID: usize = PARAMS + 352
/** Temporary values of the runtime. */
export const SCRATCH: usize = PARAMS + 384 // 128 bytes
/** Temporary values of the host, which reads state while the runtime waits for it. */
export const HOST_SCRATCH: usize = PARAMS + 640 // 128 bytes
export const BLOB_COUNT: usize = PARAMS + 512 // u32
/** Rules block, copied from gasschedule.ts when the rules change. */
export const RULES: usize = PARAMS + 1024
export const OPCODES: usize = RULES // 256 x { u16 gas, u16 minimum stack bytes, u32 maximum stack bytes above the minimum }
export const FORK: usize = RULES + 2048 // u32, index in L1_FORKS
export const COST_COLD_ACCOUNT: usize = RULES + 2052 // u32 each
export const COST_COLD_SLOT: usize = RULES + 2056
export const COST_WARM: usize = RULES + 2060
export const COST_EXP_BYTE: usize = RULES + 2064
export const COST_SSTORE_RESET: usize = RULES + 2068
export const COST_SSTORE_NOOP: usize = RULES + 2072
export const REFUND_CLEAR: usize = RULES + 2076
export const REFUND_SELFDESTRUCT: usize = RULES + 2080
export const CODE_SIZE_MAX: usize = RULES + 2084 // u32; 2^32 - 1: no limit
export const INIT_CODE_SIZE_MAX: usize = RULES + 2088
export const PRECOMPILES: usize = RULES + 2112 // 257 flags: which addresses up to 0x100 are precompiles
export const MOVED_COUNT: usize = PARAMS + 4096 // u32
export const MOVED: usize = PARAMS + 4104 // { 20 bytes, u32 precompile; 0: masked }, up to BLOB_HASHES
export const MOVED_SIZE: usize = 24
export const BLOB_HASHES: usize = PARAMS + 16384 // words; at most 10,000

/**
 * Tier 1 tables: per compiled code, the number of jump destinations before every 64th byte, and the serial number of the last message that
 * ran it.
 */
export const TIER1_RANKS: usize = PARAMS + 512 * 1024
export const TIER1_RANKS_SIZE: usize = 1024
export const TIER1_SLOTS: u32 = 256
export const TIER1_LAST_RUN: usize = TIER1_RANKS + 256 * 1024 // u32 each

// --- regions -------------------------------------------------------------------------------------------------------

/** one record per depth */
export const FRAMES: usize = 2 * MB
export const FRAME_SIZE: usize = 256
/** direct-mapped cache of 64-byte hashes, 96 bytes per entry: up to 768 KB */
export const KECCAK_CACHE: usize = 3 * MB
export const KECCAK_CACHE_BITS: u64 = 13
/** stacks of all frames, contiguous */
export const STACK: usize = 4 * MB
export const DIRTY_ACCOUNTS: usize = 40 * MB
export const DIRTY_SLOTS: usize = 42 * MB
/** accounts touched in this transaction, possibly repeated */
export const TOUCHED: usize = 50 * MB
export const TOUCHED_END: usize = 64 * MB
export const ACCOUNTS: usize = 64 * MB
export const ACCOUNTS_MAX: u32 = 229376
/** up to 2^19 buckets of 8 bytes */
export const ACCOUNT_INDEX: usize = 92 * MB
export const SLOTS: usize = 96 * MB
export const SLOTS_MAX: u32 = 1835008
/** up to 2^22 buckets */
export const SLOT_INDEX: usize = 320 * MB
export const JOURNAL: usize = 352 * MB
export const JOURNAL_END: usize = 480 * MB
export const CODES: usize = 480 * MB
export const CODES_END: usize = 800 * MB
export const CODE_INDEX: usize = 800 * MB
export const CODE_INDEX_BITS: u32 = 15
export const LOGS: usize = 804 * MB
export const LOGS_END: usize = 868 * MB
export const RETURN: usize = 868 * MB
export const RETURN_END: usize = 900 * MB
/** input of the outermost frame */
export const INPUT: usize = 900 * MB
export const INPUT_END: usize = 932 * MB
/** init codes of running creations, contiguous */
export const INIT: usize = 932 * MB
export const INIT_END: usize = 996 * MB
/** memories of all frames, contiguous; the only region that grows */
export const MEMORY: usize = 996 * MB

// Thresholds at which an idle instance is cleared: at most 4/7 of the capacity for accounts, slots and codes and 1/5 of the code bytes, so
// that the next message fits and idle instances stay small. Checkpoint ids have 32 bits; a message uses a few thousand.
export const ACCOUNTS_SOFT_MAX: u32 = 131072
export const SLOTS_SOFT_MAX: u32 = 524288
export const CODES_SOFT_MAX: u32 = 16384
export const CODE_BYTES_SOFT_MAX: usize = 64 * MB
export const CHECKPOINTS_SOFT_MAX: u32 = 0xe0000000

/** Bytes of one frame's memory. 2^25 would cost 2.1 Ggas, more than any block has. */
export const MEMORY_MAX: u64 = 1 << 25

// --- account entry -------------------------------------------------------------------------------------------------

export const ACCOUNT_SIZE: usize = 128
export const A_FLAGS: usize = 4
export const A_ADDRESS: usize = 8 // 20 bytes
export const A_CHANGED: usize = 28 // u32, the newest dirty slot (linked through S_NEXT); 0: none
export const A_NONCE: usize = 32 // u64; the journal saves from here to the end
export const A_CODE: usize = 40 // u32, pointer to a code record; 0: not resolved yet
export const A_CHECKPOINT: usize = 44 // u32, the checkpoint in which it was journaled
export const A_BALANCE: usize = 48
export const A_CODE_HASH: usize = 80 // 32 bytes
export const A_WARM: usize = 112 // transaction epochs
export const A_CREATED: usize = 116
export const A_DESTROYED: usize = 120
export const A_TOUCHED: usize = 124

export const EXISTS: u32 = 1
export const LOADED: u32 = 2
export const DIRTY: u32 = 4

// --- slot entry; transient slots share the table -------------------------------------------------------------------

export const SLOT_SIZE: usize = 128
export const S_OWNER: usize = 4 // u32, account entry; bit 0 set: transient
export const S_WARM: usize = 8 // epoch; for a transient slot, the epoch of its value
export const S_CHECKPOINT: usize = 12
export const S_FLAGS: usize = 16
export const S_EPOCH: usize = 20 // epoch of S_ORIGINAL
export const S_NEXT: usize = 24 // u32, the next dirty slot of the account; 0: none
export const S_KEY: usize = 32
export const S_VALUE: usize = 64
export const S_ORIGINAL: usize = 96

// --- code record ---------------------------------------------------------------------------------------------------

export const C_SIZE: usize = 0 // u32
export const C_JUMPS: usize = 4 // u32, pointer to a bitmap of the JUMPDESTs, one bit per byte
export const C_COMPILED: usize = 8 // u32, table index of its compiled function + 1; 0: none; 2^32 - 1: refused
export const C_GAS: usize = 12 // i32, gas used by this code, in units of 256
export const C_BYTES: usize = 16 // followed by CODE_PADDING zero bytes: a truncated PUSH reads zeros, and STOP follows
export const CODE_PADDING: usize = 48

// --- frame status --------------------------------------------------------------------------------------------------

export const RUNNING: i32 = 0
export const SUCCESS: i32 = 1
export const REVERT: i32 = 2
export const OUT_OF_GAS: i32 = 3
export const INVALID_OPCODE: i32 = 4
export const STACK_UNDERFLOW: i32 = 5
export const STACK_OVERFLOW: i32 = 6
export const INVALID_JUMP: i32 = 7
export const WRITE_PROTECTION: i32 = 8
export const RETURN_OUT_OF_BOUNDS: i32 = 9
export const INIT_CODE_TOO_LARGE: i32 = 10
export const CODE_TOO_LARGE: i32 = 11
export const INVALID_CODE: i32 = 12
export const CODE_STORE_OUT_OF_GAS: i32 = 13
export const COLLISION: i32 = 14
export const PRECOMPILE_FAILED: i32 = 15
export const DEPTH_EXCEEDED: i32 = 16
export const INSUFFICIENT_BALANCE: i32 = 17
export const NONCE_OVERFLOW: i32 = 18
/** EIP-2200: SSTORE with 2,300 gas or less */
export const REENTRANCY_SENTRY: i32 = 19
/** before Homestead: the creation succeeds without code; only passed to hooks */
export const CODE_NOT_STORED: i32 = 20
/** The message is aborted and the host reverts it. */
export const OUT_OF_TIME: i32 = 32
export const OUT_OF_MEMORY: i32 = 33
/** Bits of a status in the result of `executeCall`; the output size is above them. */
export const STATUS_BITS: u32 = 6

// --- forks, index in L1_FORKS --------------------------------------------------------------------------------------

export const HOMESTEAD: u32 = 1
export const TANGERINE: u32 = 2
export const SPURIOUS: u32 = 3
export const BYZANTIUM: u32 = 4
export const CONSTANTINOPLE: u32 = 5
export const PETERSBURG: u32 = 6
export const ISTANBUL: u32 = 7
export const BERLIN: u32 = 8
export const LONDON: u32 = 9
export const SHANGHAI: u32 = 11
export const CANCUN: u32 = 12
export const PRAGUE: u32 = 13
export const OSAKA: u32 = 14
