// Writes logs, the hot path. The text that a transaction's logs share is written once to SHARED_LOG_TEXT and copied.

import { hex20, hex32, hexAll, hexInteger } from './hex'
import {
  LOG_LITERAL_END,
  LOG_HEADER_BYTES,
  LOG_LITERAL_START,
  LOG_LITERAL_BEFORE_BLOCK_HASH,
  LOG_LITERAL_BEFORE_DATA,
  LOG_LITERAL_BEFORE_LOG_INDEX,
  LOG_LITERAL_BEFORE_BLOCK_NUMBER,
  LOG_LITERAL_BEFORE_TIMESTAMP,
  LOG_LITERAL_BEFORE_TIMESTAMP_MS,
  LOG_LITERAL_BEFORE_TOPICS,
  LOG_LITERAL_BEFORE_TX_HASH,
  LOG_LITERAL_BEFORE_TX_INDEX,
  LOG_ADDRESS_OFFSET,
  LOG_DATA_SIZE_OFFSET,
  LOG_TOPIC_COUNT_OFFSET,
  LOG_TX_INDEX_OFFSET,
  SHARED_LOG_TEXT,
  RECORD_HEADER_BYTES,
  RECORD_HASH_OFFSET,
  RECORD_HAS_TIMESTAMP_MS_OFFSET,
  RECORD_NUMBER_OFFSET,
  RECORD_TIMESTAMP_OFFSET,
  RECORD_TIMESTAMP_MS_OFFSET,
  RECORD_TX_COUNT_OFFSET,
  TX_ENTRY_HASH_OFFSET,
  TX_ENTRY_BYTES,
} from './layout'
import { literal } from './literal'
import { checkSize, ensureCapacity } from './capacity'

/** Upper bound of the characters of a log without its data. */
const FRAME: usize = 2048

const MAX_TOPICS: u32 = 4
const NO_TRANSACTION: u32 = 0xffffffff

/** the record and its log table; the end of the block's part of SHARED_LOG_TEXT; the transaction of the rest, and its end */
let record: usize = 0
let table: usize = 0
let blockEnd: usize = 0
let transaction: u32 = NO_TRANSACTION
let sharedEnd: usize = 0

/** Called before the first log of a record. */
export function beginLogs(input: usize): void {
  record = input
  table = input + RECORD_HEADER_BYTES + load<u32>(input, RECORD_TX_COUNT_OFFSET) * TX_ENTRY_BYTES
  transaction = NO_TRANSACTION
  blockEnd = 0
}

@inline
export function logAt(index: u32): usize {
  return record + <usize>load<u32>(table + 4 * index)
}

/** Writes a log and a comma. */
export function writeLog(log: usize, index: u32, to: usize): usize {
  const dataSize = <usize>load<u32>(log, LOG_DATA_SIZE_OFFSET)
  const topics = load<u32>(log, LOG_TOPIC_COUNT_OFFSET)
  checkSize(dataSize)
  if (topics > MAX_TOPICS) unreachable()
  ensureCapacity(to, 2 * dataSize + FRAME)
  if (load<u32>(log, LOG_TX_INDEX_OFFSET) != transaction) enterTransaction(load<u32>(log, LOG_TX_INDEX_OFFSET))

  let out = literal(LOG_LITERAL_START, to)
  out = hex20(log + LOG_ADDRESS_OFFSET, out)
  out = literal(LOG_LITERAL_BEFORE_TOPICS, out)

  let at = log + LOG_HEADER_BYTES
  const data = at + 32 * topics
  for (; at < data; at += 32) {
    store<u16>(out, 0x3022) // "0
    store<u8>(out, 0x78, 2) // x
    out = hex32(at, out + 3)
    store<u16>(out, 0x2c22) // ",
    out += 2
  }
  if (topics != 0) out-- // no comma after the last
  out = literal(LOG_LITERAL_BEFORE_DATA, out)
  out = hexAll(data, dataSize, out)

  for (let from: usize = SHARED_LOG_TEXT; from < sharedEnd; from += 64) {
    v128.store(out + from - SHARED_LOG_TEXT, v128.load(from))
    v128.store(out + from - SHARED_LOG_TEXT, v128.load(from, 16), 16)
    v128.store(out + from - SHARED_LOG_TEXT, v128.load(from, 32), 32)
    v128.store(out + from - SHARED_LOG_TEXT, v128.load(from, 48), 48)
  }
  out = hexInteger(index, out + sharedEnd - SHARED_LOG_TEXT)
  return literal(LOG_LITERAL_END, out)
}

function enterTransaction(index: u32): void {
  if (blockEnd == 0) enterBlock()
  let out = hex32(record + RECORD_HEADER_BYTES + index * TX_ENTRY_BYTES + TX_ENTRY_HASH_OFFSET, blockEnd)
  out = literal(LOG_LITERAL_BEFORE_TX_INDEX, out)
  out = hexInteger(index, out)
  sharedEnd = literal(LOG_LITERAL_BEFORE_LOG_INDEX, out)
  transaction = index
}

function enterBlock(): void {
  let out = literal(LOG_LITERAL_BEFORE_BLOCK_HASH, SHARED_LOG_TEXT)
  out = hex32(record + RECORD_HASH_OFFSET, out)
  out = hexInteger(load<u64>(record, RECORD_NUMBER_OFFSET), literal(LOG_LITERAL_BEFORE_BLOCK_NUMBER, out))
  out = hexInteger(load<u64>(record, RECORD_TIMESTAMP_OFFSET), literal(LOG_LITERAL_BEFORE_TIMESTAMP, out))
  if (load<u32>(record, RECORD_HAS_TIMESTAMP_MS_OFFSET) != 0) out = hexInteger(load<u64>(record, RECORD_TIMESTAMP_MS_OFFSET), literal(LOG_LITERAL_BEFORE_TIMESTAMP_MS, out))
  blockEnd = literal(LOG_LITERAL_BEFORE_TX_HASH, out)
}
