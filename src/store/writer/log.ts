// Writes logs, the hot path. The text that a transaction's logs share is written once to SHARED and copied.

import { hex20, hex32, hexAll, hexInteger } from './hex'
import {
  LOG_CLOSE,
  LOG_HEAD,
  LOG_OPEN,
  LOG_TO_BLOCK_HASH,
  LOG_TO_DATA,
  LOG_TO_INDEX,
  LOG_TO_NUMBER,
  LOG_TO_TIMESTAMP,
  LOG_TO_TIMESTAMP_MS,
  LOG_TO_TOPICS,
  LOG_TO_TX_HASH,
  LOG_TO_TX_INDEX,
  L_ADDRESS,
  L_DATA_SIZE,
  L_TOPICS,
  L_TRANSACTION,
  SHARED,
  RECORD_HEAD,
  R_HASH,
  R_HAS_MS,
  R_NUMBER,
  R_TIMESTAMP,
  R_TIMESTAMP_MS,
  R_TRANSACTIONS,
  T_HASH,
  TX_ROW,
} from './layout'
import { literal } from './literal'
import { checkSize, ensureCapacity } from './capacity'

/** Upper bound of the characters of a log without its data. */
const FRAME: usize = 2048

const MAX_TOPICS: u32 = 4
const NO_TRANSACTION: u32 = 0xffffffff

/** the record and its log table; the end of the block's part of SHARED; the transaction of the rest, and its end */
let record: usize = 0
let table: usize = 0
let blockEnd: usize = 0
let transaction: u32 = NO_TRANSACTION
let sharedEnd: usize = 0

/** Called before the first log of a record. */
export function beginLogs(input: usize): void {
  record = input
  table = input + RECORD_HEAD + load<u32>(input, R_TRANSACTIONS) * TX_ROW
  transaction = NO_TRANSACTION
  blockEnd = 0
}

@inline
export function logAt(index: u32): usize {
  return record + <usize>load<u32>(table + 4 * index)
}

/** Writes a log and a comma. */
export function writeLog(log: usize, index: u32, to: usize): usize {
  const dataSize = <usize>load<u32>(log, L_DATA_SIZE)
  const topics = load<u32>(log, L_TOPICS)
  checkSize(dataSize)
  if (topics > MAX_TOPICS) unreachable()
  ensureCapacity(to, 2 * dataSize + FRAME)
  if (load<u32>(log, L_TRANSACTION) != transaction) enterTransaction(load<u32>(log, L_TRANSACTION))

  let out = literal(LOG_OPEN, to)
  out = hex20(log + L_ADDRESS, out)
  out = literal(LOG_TO_TOPICS, out)

  let at = log + LOG_HEAD
  const data = at + 32 * topics
  for (; at < data; at += 32) {
    store<u16>(out, 0x3022) // "0
    store<u8>(out, 0x78, 2) // x
    out = hex32(at, out + 3)
    store<u16>(out, 0x2c22) // ",
    out += 2
  }
  if (topics != 0) out-- // no comma after the last
  out = literal(LOG_TO_DATA, out)
  out = hexAll(data, dataSize, out)

  for (let from: usize = SHARED; from < sharedEnd; from += 64) {
    v128.store(out + from - SHARED, v128.load(from))
    v128.store(out + from - SHARED, v128.load(from, 16), 16)
    v128.store(out + from - SHARED, v128.load(from, 32), 32)
    v128.store(out + from - SHARED, v128.load(from, 48), 48)
  }
  out = hexInteger(index, out + sharedEnd - SHARED)
  return literal(LOG_CLOSE, out)
}

function enterTransaction(index: u32): void {
  if (blockEnd == 0) enterBlock()
  let out = hex32(record + RECORD_HEAD + index * TX_ROW + T_HASH, blockEnd)
  out = literal(LOG_TO_TX_INDEX, out)
  out = hexInteger(index, out)
  sharedEnd = literal(LOG_TO_INDEX, out)
  transaction = index
}

function enterBlock(): void {
  let out = literal(LOG_TO_BLOCK_HASH, SHARED)
  out = hex32(record + R_HASH, out)
  out = hexInteger(load<u64>(record, R_NUMBER), literal(LOG_TO_NUMBER, out))
  out = hexInteger(load<u64>(record, R_TIMESTAMP), literal(LOG_TO_TIMESTAMP, out))
  if (load<u32>(record, R_HAS_MS) != 0) out = hexInteger(load<u64>(record, R_TIMESTAMP_MS), literal(LOG_TO_TIMESTAMP_MS, out))
  blockEnd = literal(LOG_TO_TX_HASH, out)
}
