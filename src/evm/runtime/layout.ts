/// <reference path="../runtime.d.ts" />
// Where everything lives in linear memory. Regions have fixed places, so a pointer stays good for as long as its table is;
// pages that nobody touched cost address space and nothing else.

const MB: usize = 1 << 20

// --- parameter block: written by the host before a message runs ---------------------------------------------------------

export const PARAMS: usize = MB
export const ORIGIN: usize = PARAMS // 20 bytes, big-endian like every address
export const TARGET: usize = PARAMS + 32 // 20 bytes
export const VALUE: usize = PARAMS + 64 // words are four little-endian limbs
export const GAS_PRICE: usize = PARAMS + 96
export const COINBASE: usize = PARAMS + 128 // 20 bytes
export const NUMBER: usize = PARAMS + 160
export const TIMESTAMP: usize = PARAMS + 192
export const RANDOM: usize = PARAMS + 224 // PREVRANDAO, before Paris DIFFICULTY
export const GAS_LIMIT: usize = PARAMS + 256
export const BASE_FEE: usize = PARAMS + 288
export const BLOB_BASE_FEE: usize = PARAMS + 320
export const CHAIN_ID: usize = PARAMS + 352
/** an address and what is being put together */
export const SCRATCH: usize = PARAMS + 384 // 128 bytes
/** the same for the host, which may look at the state while the runtime waits for it */
export const HOST: usize = PARAMS + 640 // 128 bytes
export const BLOB_COUNT: usize = PARAMS + 512 // u32
/** the rules' own block, copied from TypeScript (costs.ts) when they change */
export const RULES: usize = PARAMS + 1024
export const OPCODES: usize = RULES // 256 x { u16 gas, u16 least stack bytes, u32 room }
export const FORK: usize = RULES + 2048 // u32, rank in L1_FORKS
export const COST_COLD_ACCOUNT: usize = RULES + 2052 // u32 each
export const COST_COLD_SLOT: usize = RULES + 2056
export const COST_WARM: usize = RULES + 2060
export const COST_EXP_BYTE: usize = RULES + 2064
export const COST_SSTORE_RESET: usize = RULES + 2068
export const COST_SSTORE_NOTHING: usize = RULES + 2072
export const REFUND_CLEAR: usize = RULES + 2076
export const REFUND_DESTROY: usize = RULES + 2080
export const CODE_SIZE_MAX: usize = RULES + 2084 // u32, 2^32 - 1: no limit
export const INIT_CODE_SIZE_MAX: usize = RULES + 2088
export const PRECOMPILES: usize = RULES + 2112 // 257 flags: which low addresses run native code
export const MOVED_COUNT: usize = PARAMS + 4096 // u32
export const MOVED: usize = PARAMS + 4104 // { 20 bytes, u32 precompile; 0 = masked }, up to BLOB_HASHES
export const MOVED_SIZE: usize = 24
export const BLOB_HASHES: usize = PARAMS + 16384 // words; 10,000 of them fit

/** Tier 1's tables: for each compiled form how many jump destinations lie before every 64th byte, and in which message it ran last */
export const HOT_RANKS: usize = PARAMS + 512 * 1024
export const HOT_RANKS_SIZE: usize = 1024
export const HOT_PLACES: u32 = 256
export const HOT_MARKS: usize = HOT_RANKS + 256 * 1024 // u32 each

// --- regions -------------------------------------------------------------------------------------------------------------

/** one record per depth, see calls.ts */
export const FRAMES: usize = 2 * MB
export const FRAME_SIZE: usize = 256
/** hashes of 64 bytes that were asked for before, 96 bytes each (hashed.ts) */
export const HASHED: usize = 3 * MB
export const HASHED_BITS: u64 = 10
/** stacks of all frames, one above the other */
export const STACK: usize = 4 * MB
export const DIRTY_ACCOUNTS: usize = 40 * MB
export const DIRTY_SLOTS: usize = 42 * MB
/** accounts touched in this transaction, with repetitions */
export const TOUCHED: usize = 50 * MB
export const TOUCHED_END: usize = 64 * MB
export const ACCOUNTS: usize = 64 * MB
export const ACCOUNTS_MOST: u32 = 229376
/** up to 2^19 places of 8 bytes, behind the entries */
export const ACCOUNT_INDEX: usize = 92 * MB
export const SLOTS: usize = 96 * MB
export const SLOTS_MOST: u32 = 1835008
/** up to 2^22 places */
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
/** init code of creations under way, one above the other */
export const INIT: usize = 932 * MB
export const INIT_END: usize = 996 * MB
/** memories of all frames, one above the other; the only region that grows */
export const MEMORY: usize = 996 * MB

// At most four sevenths of the accounts, slots and codes that there is room for, and a fifth of the codes' bytes. Beyond, the next message might
// not find room, and the memory that was touched is also more than an instance should keep. Checkpoints are numbered with 32 bits; a run uses a
// few thousand of them.
export const ACCOUNTS_FULL: u32 = 131072
export const SLOTS_FULL: u32 = 524288
export const CODES_FULL: u32 = 16384
export const CODE_BYTES_FULL: usize = 64 * MB
export const SERIALS_FULL: u32 = 0xe0000000

/** Bytes that one frame's memory may have. 2^25 would cost 2.1 Ggas, more than any block has. */
export const MEMORY_MAX: u64 = 1 << 25

// --- an account's entry ----------------------------------------------------------------------------------------------------

export const ACCOUNT_SIZE: usize = 128
export const A_FLAGS: usize = 4
export const A_ADDRESS: usize = 8 // 20 bytes
export const A_CHANGED: usize = 28 // u32, the newest of its dirty slots (S_NEXT leads to the others); 0: none
export const A_NONCE: usize = 32 // u64; from here to the end is what the journal saves
export const A_CODE: usize = 40 // u32, pointer to a code record; 0: not looked up yet
export const A_SERIAL: usize = 44 // u32, the checkpoint since which it is journaled
export const A_BALANCE: usize = 48
export const A_CODE_HASH: usize = 80 // 32 bytes
export const A_WARM: usize = 112 // transaction epochs
export const A_CREATED: usize = 116
export const A_DESTROYED: usize = 120
export const A_TOUCHED: usize = 124

export const EXISTS: u32 = 1
export const LOADED: u32 = 2
export const DIRTY: u32 = 4

// --- a slot's entry; transient slots are entries of the same table ------------------------------------------------------------

export const SLOT_SIZE: usize = 128
export const S_OWNER: usize = 4 // u32, the account's entry; with bit 0 set: transient
export const S_WARM: usize = 8 // epoch; of a transient slot: in which its value holds
export const S_SERIAL: usize = 12
export const S_FLAGS: usize = 16
export const S_EPOCH: usize = 20 // of S_ORIGINAL
export const S_NEXT: usize = 24 // u32, another dirty slot of the same account; 0: none
export const S_KEY: usize = 32
export const S_VALUE: usize = 64
export const S_ORIGINAL: usize = 96

// --- a code record -----------------------------------------------------------------------------------------------------------

export const C_SIZE: usize = 0 // u32
export const C_JUMPS: usize = 4 // u32, pointer to one bit per byte: set where a JUMPDEST is
export const C_HOT: usize = 8 // u32, place of its compiled form in the table + 1; 0: none; 2^32 - 1: refused
export const C_GAS: usize = 12 // i32, gas spent in it, in units of 256
export const C_BYTES: usize = 16 // then CODE_PADDING zero bytes, so that a PUSH at the end reads zeroes and then STOP
export const CODE_PADDING: usize = 48

// --- how a frame ends --------------------------------------------------------------------------------------------------------

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
/** EIP-2200: SSTORE with no more than a call's stipend */
export const STIPEND_ONLY: i32 = 19
/** before Homestead: the creation stands, its code does not; for hooks only */
export const CODE_LEFT_OUT: i32 = 20
/** not outcomes of the machine: the whole run is given up, and the host undoes it */
export const OUT_OF_TIME: i32 = 32
export const OUT_OF_ROOM: i32 = 33
/** any of them; what a call comes to is told together with the size of what it returned, which is above them */
export const STATUS_BITS: u32 = 6

// --- forks, by rank ----------------------------------------------------------------------------------------------------------

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
