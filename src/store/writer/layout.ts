/// <reference path="../writer.d.ts" />
// The layout of a stored block. Read by two compilers: writer/ (AssemblyScript) writes JSON from records, record/ encodes and decodes them.
//
// A record is the block's JSON with keys as numbers and hex as bytes: an object is a sequence of fields in the order of its JSON, each a tag
// (u8, listed by the field functions of eth/) and a payload, terminated by END_OF_OBJECT. Values that several objects share (the block's hash, a
// transaction's hash) are stored once and referred to. Structural integers are little-endian, all values are encoded as in Ethereum.

// --- the head of a record, RECORD_HEADER_BYTES bytes, then the tables, then the objects ----------------------------------------------------------

/** u32: the letters pcb and the format */
export const RECORD_MAGIC_OFFSET: i32 = 0
/** u32: CRC-32 of all bytes from RECORD_SIZE_OFFSET on */
export const RECORD_CHECKSUM_OFFSET: i32 = 4
/** u32: bytes of the whole record */
export const RECORD_SIZE_OFFSET: i32 = 8
/** u32 */
export const RECORD_TX_COUNT_OFFSET: i32 = 12
/** u32: logs of the whole block */
export const RECORD_LOG_COUNT_OFFSET: i32 = 16
/** u32: 1 if the block has a timestamp in milliseconds */
export const RECORD_HAS_TIMESTAMP_MS_OFFSET: i32 = 20
/** u64 each */
export const RECORD_NUMBER_OFFSET: i32 = 24
export const RECORD_TIMESTAMP_OFFSET: i32 = 32
export const RECORD_TIMESTAMP_MS_OFFSET: i32 = 40
/** 32 bytes */
export const RECORD_HASH_OFFSET: i32 = 48
/** u32: offset of the block's object */
export const RECORD_BLOCK_POINTER_OFFSET: i32 = 80
export const RECORD_HEADER_BYTES: i32 = 96

/** The rows of the transactions, TX_ENTRY_BYTES bytes each, follow the head. */
export const TX_ENTRY_BYTES: i32 = 68
/** 32 bytes */
export const TX_ENTRY_HASH_OFFSET: i32 = 0
/** 20 bytes */
export const TX_ENTRY_FROM_OFFSET: i32 = 32
/** u32: offset of the transaction's object */
export const TX_ENTRY_TX_POINTER_OFFSET: i32 = 52
/** u32: offset of the receipt's object */
export const TX_ENTRY_RECEIPT_POINTER_OFFSET: i32 = 56
/** u32: index in the block of the receipt's first log; they end at that of the next row, or at RECORD_LOG_COUNT_OFFSET */
export const TX_ENTRY_FIRST_LOG_OFFSET: i32 = 60
/** u32: offset of the 20 bytes of the receiver, or of the created contract; 0: none */
export const TX_ENTRY_TO_POINTER_OFFSET: i32 = 64

// After the rows: a u32 offset of each log. Then the logs, contiguous and in order, and then the block's object: a log query reads only up
// to RECORD_BLOCK_POINTER_OFFSET.

export const LOG_HEADER_BYTES: i32 = 32
/** u32: index of its transaction */
export const LOG_TX_INDEX_OFFSET: i32 = 0
/** u32: bytes of its data, which follows the topics */
export const LOG_DATA_SIZE_OFFSET: i32 = 4
/** u32: number of topics, 32 bytes each, after the head */
export const LOG_TOPIC_COUNT_OFFSET: i32 = 8
/** 20 bytes */
export const LOG_ADDRESS_OFFSET: i32 = 12

// --- kinds of fields: the payload after the tag ---------------------------------------------------------------------

/** the tag that ends an object; it has no payload */
export const END_OF_OBJECT: i32 = 0

/** 32 bytes */
export const KIND_HASH: i32 = 1
/** 20 bytes */
export const KIND_ADDRESS: i32 = 2
/** u8 length, then a big-endian integer without leading zeros; length 0 is written as 0x0 */
export const KIND_QUANTITY: i32 = 3
/** u32 length, then bytes */
export const KIND_BYTES: i32 = 4
/** no payload; null */
export const KIND_NULL: i32 = 5
/** no payload; true */
export const KIND_TRUE: i32 = 6
/**
 * u8: 0 for an empty bloom; BLOOM_DENSE, then 256 bytes; or BLOOM_DENSE plus the number of bits, then their positions, ascending u16: bit 0
 * is the highest of the first byte
 */
export const KIND_BLOOM: i32 = 7
/** u32 count, then 32 bytes each: a list of hashes */
export const KIND_HASHES: i32 = 8
/** u32 count, then as many objects: a list */
export const KIND_OBJECTS: i32 = 9
/** u32 length, then bytes that are not in JSON */
export const KIND_INTERNAL_BYTES: i32 = 10

export const BLOOM_BYTES: i32 = 256
export const BLOOM_DENSE: i32 = 1
/** One more position would take as much as the bloom. */
export const BLOOM_MAX_SPARSE_BITS: i32 = 127

// Kinds without payload, which refer to a value of the block or the transaction.
/** the block's hash */
export const KIND_BLOCK_HASH: i32 = 11
/** the block's number, as a quantity */
export const KIND_BLOCK_NUMBER: i32 = 12
export const KIND_BLOCK_TIMESTAMP: i32 = 13
export const KIND_BLOCK_TIMESTAMP_MS: i32 = 14
/** the hash of the object's transaction */
export const KIND_TX_HASH: i32 = 15
/** its index in the block, as a quantity */
export const KIND_TX_INDEX: i32 = 16
/** its sender */
export const KIND_TX_FROM: i32 = 17
/** its receiver: TX_ENTRY_TO_POINTER_OFFSET */
export const KIND_TX_TO: i32 = 20
/** the logs of the receipt, a list of objects */
export const KIND_LOGS: i32 = 18
/** the transactions of the block: a list of objects, or of hashes */
export const KIND_TRANSACTIONS: i32 = 19

// --- the writer's linear memory: regions with fixed addresses, written by src/store/json/wasmwriter.ts -----------------------------------------------

const MB: usize = 1 << 20

/** a literal: u32 length, and its characters from LITERAL_TEXT_OFFSET on */
export const LITERAL_BYTES: usize = 48
export const LITERAL_TEXT_OFFSET: usize = 16

/** u8 per tag: its kind */
export const TAG_KINDS: usize = 4096
/** a literal per tag: the key as `,"key":`, then `"0x` if hex digits follow */
export const TAG_KEYS: usize = TAG_KINDS + 256

/** literals before, between and after the values of a log */
export const LOG_LITERAL_REGION: usize = TAG_KEYS + 256 * LITERAL_BYTES
export const LOG_LITERAL_START: usize = LOG_LITERAL_REGION
export const LOG_LITERAL_BEFORE_TOPICS: usize = LOG_LITERAL_REGION + LITERAL_BYTES
export const LOG_LITERAL_BEFORE_DATA: usize = LOG_LITERAL_REGION + 2 * LITERAL_BYTES
export const LOG_LITERAL_BEFORE_BLOCK_HASH: usize = LOG_LITERAL_REGION + 3 * LITERAL_BYTES
export const LOG_LITERAL_BEFORE_BLOCK_NUMBER: usize = LOG_LITERAL_REGION + 4 * LITERAL_BYTES
export const LOG_LITERAL_BEFORE_TIMESTAMP: usize = LOG_LITERAL_REGION + 5 * LITERAL_BYTES
export const LOG_LITERAL_BEFORE_TIMESTAMP_MS: usize = LOG_LITERAL_REGION + 6 * LITERAL_BYTES
export const LOG_LITERAL_BEFORE_TX_HASH: usize = LOG_LITERAL_REGION + 7 * LITERAL_BYTES
export const LOG_LITERAL_BEFORE_TX_INDEX: usize = LOG_LITERAL_REGION + 8 * LITERAL_BYTES
export const LOG_LITERAL_BEFORE_LOG_INDEX: usize = LOG_LITERAL_REGION + 9 * LITERAL_BYTES
export const LOG_LITERAL_END: usize = LOG_LITERAL_REGION + 10 * LITERAL_BYTES

/** The text that a transaction's logs share: from after a log's data to before its index. */
export const SHARED_LOG_TEXT: usize = 20480
export const SHARED_LOG_TEXT_BYTES: usize = 1024

/** u64 each: four odd factors of the filter's hash function, random against chosen collisions */
export const FILTER_HASH_FACTORS: usize = SHARED_LOG_TEXT + SHARED_LOG_TEXT_BYTES

/** A query's filter: CONDITION_COUNT lists (addresses, then topics by position), then their values and tables. */
export const FILTER_REGION: usize = 65536
export const CONDITION_COUNT: i32 = 5
/** u32 each: number of values, CONDITION_ANY for no condition; address of the values; address of the table; its bits, 0 for none */
export const CONDITION_BYTES: i32 = 16
export const CONDITION_VALUE_COUNT_OFFSET: i32 = 0
export const CONDITION_VALUES_OFFSET: i32 = 4
export const CONDITION_TABLE_OFFSET: i32 = 8
export const CONDITION_TABLE_BITS_OFFSET: i32 = 12
export const CONDITION_ANY: i32 = -1
/** bytes per value, whether 32 or 20 */
export const CONDITION_VALUE_BYTES: i32 = 32
/** a table has u16 slots: 0, or 1 + the index of a value */
export const CONDITION_SLOT_BYTES: i32 = 2
export const FILTER_REGION_BYTES: usize = MB

/** u32 each: indices of selected logs */
export const LOG_INDEX_LIST: usize = FILTER_REGION + FILTER_REGION_BYTES
export const LOG_INDEX_LIST_BYTES: usize = 65536

/** The record and VECTOR_PADDING_BYTES bytes; the text follows. */
export const INPUT_REGION: usize = 2 * MB
/** Vectors may read or write this many bytes past an end. */
export const VECTOR_PADDING_BYTES: usize = 128
/** Initial size: room for records of 1 MiB and as much text. */
export const MEMORY: usize = 4 * MB

// How logs are selected: bits, none for all logs.
export const SELECT_FILTERED_LOGS: i32 = 1
export const SELECT_LISTED_LOGS: i32 = 2

// --- the linear memory of scratch.ts, in which a record is encoded, written by src/store/record/recordwriter.ts ---------------------------------------

/** number of addresses and hashes per batch */
export const SCRATCH_BATCH_LENGTH: i32 = 256
/** u32 each: address of the bytes, their number (20 or 32) */
export const SCRATCH_TARGETS: usize = 4096
/** 256 bytes: the bloom to encode */
export const SCRATCH_BLOOM: usize = 8192
/** the concatenated texts, with 0x */
export const SCRATCH_HEX: usize = 16384
/** The record. Memory grows with it. */
export const SCRATCH_RECORD: usize = 65536
