/// <reference path="../writer.d.ts" />
// How a sealed block lies in its record. Read by both compilers: writer/ (AssemblyScript) prints JSON from it, record/ makes and reads it.
//
// A record is the block's JSON with the names as numbers and the hex as bytes: an object is a run of fields in the order of its JSON, each a
// tag (u8, an index into the table of record/tags.ts) and its payload, ended by END. What many objects repeat (the block's hash, a
// transaction's hash) stands once and is referred to. Integers of the structure are little-endian, everything else is as Ethereum has it.

// --- the head of a record, RECORD_HEAD bytes, then the tables, then the objects ----------------------------------------------------------

/** u32: the letters pcb and the format's number */
export const R_MAGIC: i32 = 0
/** u32: CRC-32 of all bytes from R_SIZE on */
export const R_CHECKSUM: i32 = 4
/** u32: bytes of the whole record */
export const R_SIZE: i32 = 8
/** u32 */
export const R_TRANSACTIONS: i32 = 12
/** u32: logs of the whole block */
export const R_LOGS: i32 = 16
/** u32: 1 when the block has a timestamp in milliseconds */
export const R_HAS_MS: i32 = 20
/** u64 each */
export const R_NUMBER: i32 = 24
export const R_TIMESTAMP: i32 = 32
export const R_TIMESTAMP_MS: i32 = 40
/** 32 bytes */
export const R_HASH: i32 = 48
/** u32: where the block's object begins */
export const R_BLOCK: i32 = 80
export const RECORD_HEAD: i32 = 96

/** rows of the transactions, TX_ROW bytes each, directly behind the head */
export const TX_ROW: i32 = 68
/** 32 bytes */
export const T_HASH: i32 = 0
/** 20 bytes */
export const T_FROM: i32 = 32
/** u32: where the transaction's object begins */
export const T_FIELDS: i32 = 52
/** u32: where the receipt's object begins */
export const T_RECEIPT: i32 = 56
/** u32: index in the block of the receipt's first log; the next row's, or R_LOGS, ends them */
export const T_FIRST_LOG: i32 = 60
/** u32: where the 20 bytes of its receiver stand, or of the contract that it was to create; 0: nowhere */
export const T_RECEIVER: i32 = 64

// Behind the rows: u32 for each log, where it begins. Behind those the logs themselves, in order and without gaps, and then the block's
// object: what a log query reads ends at R_BLOCK, so it never touches the rest.

export const LOG_HEAD: i32 = 32
/** u32: index of its transaction */
export const L_TRANSACTION: i32 = 0
/** u32: bytes of its data, which stands behind the topics */
export const L_DATA_SIZE: i32 = 4
/** u32: how many topics stand behind the head, 32 bytes each */
export const L_TOPICS: i32 = 8
/** 20 bytes */
export const L_ADDRESS: i32 = 12

// --- kinds of fields: what stands behind the tag, and what is printed ---------------------------------------------------------------------

/** the tag that ends an object; it has no payload */
export const END: i32 = 0

/** 32 bytes, printed whole */
export const HASH: i32 = 1
/** 20 bytes, printed whole */
export const ADDRESS: i32 = 2
/** u8 length, then a big-endian integer without leading zeros; length 0 is printed as 0x0 */
export const QUANTITY: i32 = 3
/** u32 length, then bytes, printed whole */
export const BYTES: i32 = 4
/** nothing; null */
export const NULL: i32 = 5
/** nothing; true */
export const TRUE: i32 = 6
/**
 * u8: BLOOM_WHOLE and then its 256 bytes, or 0 when it has no bit, or BLOOM_WHOLE more than it has bits and then their places, rising, u16 each:
 * bit 0 is the first byte's highest
 */
export const BLOOM: i32 = 7
/** u32 count, then 32 bytes each: a list of hashes */
export const HASHES: i32 = 8
/** u32 count, then as many objects: a list */
export const OBJECTS: i32 = 9
/** u32 length, then bytes that JSON does not show */
export const HIDDEN: i32 = 10

export const BLOOM_BYTES: i32 = 256
export const BLOOM_WHOLE: i32 = 1
/** With one more the places would take as much as the bytes. */
export const BLOOM_MAX_BITS: i32 = 127

// Without a payload: what the field refers to.
/** the block's hash */
export const BLOCK_HASH: i32 = 11
/** the block's number, as a quantity */
export const BLOCK_NUMBER: i32 = 12
export const BLOCK_TIMESTAMP: i32 = 13
export const BLOCK_TIMESTAMP_MS: i32 = 14
/** the hash of the transaction whose object or receipt this is */
export const TX_HASH: i32 = 15
/** its index in the block, as a quantity */
export const TX_INDEX: i32 = 16
/** its sender */
export const TX_FROM: i32 = 17
/** its receiver: where T_RECEIVER says */
export const TX_TO: i32 = 20
/** the logs of the receipt, a list of objects */
export const LOGS: i32 = 18
/** the transactions of the block: a list of objects, or of hashes when they are not asked for in full */
export const TRANSACTIONS: i32 = 19

// --- the writer's linear memory: regions with fixed places, written by src/store/json/wasm.ts -----------------------------------------------

const MB: usize = 1 << 20

/** a literal: u32 length, and from LITERAL_TEXT on as many characters as LITERAL_SIZE has left */
export const LITERAL_SIZE: usize = 48
export const LITERAL_TEXT: usize = 16

/** u8 for each tag: its kind */
export const TAG_KINDS: usize = 4096
/** a literal for each tag: its key with what stands around it, `,"key":`, and `"0x` where hex digits follow */
export const TAG_KEYS: usize = TAG_KINDS + 256

/** Literals that stand between the values of a log, from before its first to behind its last. */
export const LOG_TEXTS: usize = TAG_KEYS + 256 * LITERAL_SIZE
export const LOG_OPEN: usize = LOG_TEXTS
export const LOG_TO_TOPICS: usize = LOG_TEXTS + LITERAL_SIZE
export const LOG_TO_DATA: usize = LOG_TEXTS + 2 * LITERAL_SIZE
export const LOG_TO_BLOCK_HASH: usize = LOG_TEXTS + 3 * LITERAL_SIZE
export const LOG_TO_NUMBER: usize = LOG_TEXTS + 4 * LITERAL_SIZE
export const LOG_TO_TIMESTAMP: usize = LOG_TEXTS + 5 * LITERAL_SIZE
export const LOG_TO_TIMESTAMP_MS: usize = LOG_TEXTS + 6 * LITERAL_SIZE
export const LOG_TO_TX_HASH: usize = LOG_TEXTS + 7 * LITERAL_SIZE
export const LOG_TO_TX_INDEX: usize = LOG_TEXTS + 8 * LITERAL_SIZE
export const LOG_TO_INDEX: usize = LOG_TEXTS + 9 * LITERAL_SIZE
export const LOG_CLOSE: usize = LOG_TEXTS + 10 * LITERAL_SIZE

/** What the logs of a transaction share, rendered once: from behind a log's data to before its index. At most PLACE_SIZE characters. */
export const PLACE: usize = 20480
export const PLACE_SIZE: usize = 1024

/** u64 each: four odd factors that the hashes of filter values are made with, random so that nobody can choose values that collide */
export const FILTER_FACTORS: usize = PLACE + PLACE_SIZE

/** The filter of a query: FILTER_LISTS lists (addresses, then the topics by position), then their values and tables. */
export const FILTER: usize = 65536
export const FILTER_LISTS: i32 = 5
/** u32 each: how many values, FILTER_ANY when everything is accepted; where they are; where their table is; its bits, 0 for none */
export const FILTER_LIST: i32 = 16
export const FL_COUNT: i32 = 0
export const FL_VALUES: i32 = 4
export const FL_TABLE: i32 = 8
export const FL_BITS: i32 = 12
export const FILTER_ANY: i32 = -1
/** bytes from one value to the next, whether it has 32 or 20 */
export const FILTER_VALUE: i32 = 32
/** a table has u16 slots: 0, or 1 + the index of a value */
export const FILTER_SLOT: i32 = 2
export const FILTER_SIZE: usize = MB

/** u32 each: indices of logs that are asked for */
export const LIST: usize = FILTER + FILTER_SIZE
export const LIST_SIZE: usize = 65536

/** The record, with SLACK bytes behind it; what is printed lies behind that. */
export const INPUT: usize = 2 * MB
/** What vectors may read or write beyond an end. */
export const SLACK: usize = 128
/** What the module starts with: room for records of 1 MiB and as much text. */
export const MEMORY: usize = 4 * MB

// How the logs to print are chosen: bits, none of them for all logs.
export const FILTERED_LOGS: i32 = 1
export const LISTED_LOGS: i32 = 2

// --- the linear memory of sheet.ts, in which a record is made, written by src/store/record/pen.ts ---------------------------------------

/** addresses and hashes that wait to be put into the record, at most SCRATCH_TEXTS */
export const SCRATCH_TEXTS: i32 = 256
/** u32 each: where its bytes go, how many they are (20 or 32) */
export const SCRATCH_TARGETS: usize = 4096
/** 256 bytes: the bloom that is to be put into the record */
export const SCRATCH_BLOOM: usize = 8192
/** the texts, 0x included, one behind the other */
export const SCRATCH_HEX: usize = 16384
/** the record; memory grows with it */
export const SCRATCH_RECORD: usize = 65536
