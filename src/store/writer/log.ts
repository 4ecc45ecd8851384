// A log: the hot path of the writer. What all logs of a transaction share stands rendered in PLACE and is copied.

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
  PLACE,
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
import { plausible, room } from './room'

/** Characters of a log without its data: its literals, its topics, its place. */
const FRAME: usize = 2048

const MAX_TOPICS: u32 = 4
const NO_TRANSACTION: u32 = 0xffffffff

/** of which record; where the block's part of PLACE ends; of which transaction the rest is, and where that ends */
let record: usize = 0
let table: usize = 0
let blockEnd: usize = 0
let transaction: u32 = NO_TRANSACTION
let placeEnd: usize = 0

/** Before the first log of a record. */
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

/** The object and a comma. */
export function writeLog(log: usize, index: u32, to: usize): usize {
  const dataSize = <usize>load<u32>(log, L_DATA_SIZE)
  const topics = load<u32>(log, L_TOPICS)
  plausible(dataSize)
  if (topics > MAX_TOPICS) unreachable()
  room(to, 2 * dataSize + FRAME)
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
  if (topics != 0) out-- // no comma behind the last
  out = literal(LOG_TO_DATA, out)
  out = hexAll(data, dataSize, out)

  for (let from: usize = PLACE; from < placeEnd; from += 64) {
    v128.store(out + from - PLACE, v128.load(from))
    v128.store(out + from - PLACE, v128.load(from, 16), 16)
    v128.store(out + from - PLACE, v128.load(from, 32), 32)
    v128.store(out + from - PLACE, v128.load(from, 48), 48)
  }
  out = hexInteger(index, out + placeEnd - PLACE)
  return literal(LOG_CLOSE, out)
}

function enterTransaction(index: u32): void {
  if (blockEnd == 0) enterBlock()
  let out = hex32(record + RECORD_HEAD + index * TX_ROW + T_HASH, blockEnd)
  out = literal(LOG_TO_TX_INDEX, out)
  out = hexInteger(index, out)
  placeEnd = literal(LOG_TO_INDEX, out)
  transaction = index
}

function enterBlock(): void {
  let out = literal(LOG_TO_BLOCK_HASH, PLACE)
  out = hex32(record + R_HASH, out)
  out = hexInteger(load<u64>(record, R_NUMBER), literal(LOG_TO_NUMBER, out))
  out = hexInteger(load<u64>(record, R_TIMESTAMP), literal(LOG_TO_TIMESTAMP, out))
  if (load<u32>(record, R_HAS_MS) != 0) out = hexInteger(load<u64>(record, R_TIMESTAMP_MS), literal(LOG_TO_TIMESTAMP_MS, out))
  blockEnd = literal(LOG_TO_TX_HASH, out)
}
