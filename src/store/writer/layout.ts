/// <reference path="../writer.d.ts" />
// The layout of a stored block. Read by two compilers: writer/ (AssemblyScript) writes JSON from records, record/ encodes and decodes them.
//
// A record is the block's JSON with keys as numbers and hex as bytes: an object is a sequence of fields in the order of its JSON, each a tag
// (u8, listed by the field functions of eth/) and a payload, terminated by END. Values that several objects share (the block's hash, a
// transaction's hash) are stored once and referred to. Structural integers are little-endian, all values are encoded as in Ethereum.

// --- the head of a record, RECORD_HEAD bytes, then the tables, then the objects ----------------------------------------------------------

/** u32: the letters pcb and the format */
export const R_MAGIC: i32 = 0
/** u32: CRC-32 of all bytes from R_SIZE on */
export const R_CHECKSUM: i32 = 4
/** u32: bytes of the whole record */
export const R_SIZE: i32 = 8
/** u32 */
export const R_TRANSACTIONS: i32 = 12
/** u32: logs of the whole block */
export const R_LOGS: i32 = 16
/** u32: 1 if the block has a timestamp in milliseconds */
export const R_HAS_MS: i32 = 20
/** u64 each */
export const R_NUMBER: i32 = 24
export const R_TIMESTAMP: i32 = 32
export const R_TIMESTAMP_MS: i32 = 40
/** 32 bytes */
export const R_HASH: i32 = 48
/** u32: offset of the block's object */
export const R_BLOCK: i32 = 80
export const RECORD_HEAD: i32 = 96

/** The rows of the transactions, TX_ROW bytes each, follow the head. */
export const TX_ROW: i32 = 68
/** 32 bytes */
export const T_HASH: i32 = 0
/** 20 bytes */
export const T_FROM: i32 = 32
/** u32: offset of the transaction's object */
export const T_FIELDS: i32 = 52
/** u32: offset of the receipt's object */
export const T_RECEIPT: i32 = 56
/** u32: index in the block of the receipt's first log; they end at that of the next row, or at R_LOGS */
export const T_FIRST_LOG: i32 = 60
/** u32: offset of the 20 bytes of the receiver, or of the created contract; 0: none */
export const T_RECEIVER: i32 = 64

// After the rows: a u32 offset of each log. Then the logs, contiguous and in order, and then the block's object: a log query reads only up
// to R_BLOCK.

export const LOG_HEAD: i32 = 32
/** u32: index of its transaction */
export const L_TRANSACTION: i32 = 0
/** u32: bytes of its data, which follows the topics */
export const L_DATA_SIZE: i32 = 4
/** u32: number of topics, 32 bytes each, after the head */
export const L_TOPICS: i32 = 8
/** 20 bytes */
export const L_ADDRESS: i32 = 12

// --- kinds of fields: the payload after the tag ---------------------------------------------------------------------

/** the tag that ends an object; it has no payload */
export const END: i32 = 0

/** 32 bytes */
export const HASH: i32 = 1
/** 20 bytes */
export const ADDRESS: i32 = 2
/** u8 length, then a big-endian integer without leading zeros; length 0 is written as 0x0 */
export const QUANTITY: i32 = 3
/** u32 length, then bytes */
export const BYTES: i32 = 4
/** no payload; null */
export const NULL: i32 = 5
/** no payload; true */
export const TRUE: i32 = 6
/**
 * u8: 0 for an empty bloom; BLOOM_WHOLE, then 256 bytes; or BLOOM_WHOLE plus the number of bits, then their positions, ascending u16: bit 0
 * is the
 * highest of the first byte
 */
export const BLOOM: i32 = 7
/** u32 count, then 32 bytes each: a list of hashes */
export const HASHES: i32 = 8
/** u32 count, then as many objects: a list */
export const OBJECTS: i32 = 9
/** u32 length, then bytes that are not in JSON */
export const HIDDEN: i32 = 10

export const BLOOM_BYTES: i32 = 256
export const BLOOM_WHOLE: i32 = 1
/** One more position would take as much as the bloom. */
export const BLOOM_MAX_BITS: i32 = 127

// Kinds without payload, which refer to a value of the block or the transaction.
/** the block's hash */
export const BLOCK_HASH: i32 = 11
/** the block's number, as a quantity */
export const BLOCK_NUMBER: i32 = 12
export const BLOCK_TIMESTAMP: i32 = 13
export const BLOCK_TIMESTAMP_MS: i32 = 14
/** the hash of the object's transaction */
export const TX_HASH: i32 = 15
/** its index in the block, as a quantity */
export const TX_INDEX: i32 = 16
/** its sender */
export const TX_FROM: i32 = 17
/** its receiver: T_RECEIVER */
export const TX_TO: i32 = 20
/** the logs of the receipt, a list of objects */
export const LOGS: i32 = 18
/** the transactions of the block: a list of objects, or of hashes */
export const TRANSACTIONS: i32 = 19

// --- the writer's linear memory: regions with fixed addresses, written by src/store/json/wasmwriter.ts -----------------------------------------------

const MB: usize = 1 << 20

/** a literal: u32 length, and its characters from LITERAL_TEXT on */
export const LITERAL_SIZE: usize = 48
export const LITERAL_TEXT: usize = 16

/** u8 per tag: its kind */
export const TAG_KINDS: usize = 4096
/** a literal per tag: the key as `,"key":`, then `"0x` if hex digits follow */
export const TAG_KEYS: usize = TAG_KINDS + 256

/** literals before, between and after the values of a log */
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

/** The text that a transaction's logs share: from after a log's data to before its index. */
export const SHARED: usize = 20480
export const SHARED_SIZE: usize = 1024

/** u64 each: four odd factors of the filter's hash function, random against chosen collisions */
export const FILTER_FACTORS: usize = SHARED + SHARED_SIZE

/** A query's filter: FILTER_LISTS lists (addresses, then topics by position), then their values and tables. */
export const FILTER: usize = 65536
export const FILTER_LISTS: i32 = 5
/** u32 each: number of values, FILTER_ANY for no condition; address of the values; address of the table; its bits, 0 for none */
export const FILTER_LIST: i32 = 16
export const FL_COUNT: i32 = 0
export const FL_VALUES: i32 = 4
export const FL_TABLE: i32 = 8
export const FL_BITS: i32 = 12
export const FILTER_ANY: i32 = -1
/** bytes per value, whether 32 or 20 */
export const FILTER_VALUE: i32 = 32
/** a table has u16 slots: 0, or 1 + the index of a value */
export const FILTER_SLOT: i32 = 2
export const FILTER_SIZE: usize = MB

/** u32 each: indices of selected logs */
export const LIST: usize = FILTER + FILTER_SIZE
export const LIST_SIZE: usize = 65536

/** The record and SLACK bytes; the text follows. */
export const INPUT: usize = 2 * MB
/** Vectors may read or write this many bytes past an end. */
export const SLACK: usize = 128
/** Initial size: room for records of 1 MiB and as much text. */
export const MEMORY: usize = 4 * MB

// How logs are selected: bits, none for all logs.
export const FILTERED_LOGS: i32 = 1
export const LISTED_LOGS: i32 = 2

// --- the linear memory of scratch.ts, in which a record is encoded, written by src/store/record/recordwriter.ts ---------------------------------------

/** number of addresses and hashes per batch */
export const SCRATCH_TEXTS: i32 = 256
/** u32 each: address of the bytes, their number (20 or 32) */
export const SCRATCH_TARGETS: usize = 4096
/** 256 bytes: the bloom to encode */
export const SCRATCH_BLOOM: usize = 8192
/** the concatenated texts, with 0x */
export const SCRATCH_HEX: usize = 16384
/** The record. Memory grows with it. */
export const SCRATCH_RECORD: usize = 65536
