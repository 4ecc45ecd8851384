// Objects as their fields come: a tag says which key stands before the value and how the value is printed.

import { hex20, hex32, hexAll, hexInteger } from './hex'
import {
  ADDRESS,
  BLOCK_HASH,
  BLOCK_NUMBER,
  BLOCK_TIMESTAMP,
  BLOCK_TIMESTAMP_MS,
  BLOOM,
  BYTES,
  END,
  HASH,
  HASHES,
  HIDDEN,
  LITERAL_SIZE,
  LOGS,
  NULL,
  OBJECTS,
  QUANTITY,
  RECORD_HEAD,
  R_BLOCK,
  R_HASH,
  R_LOGS,
  R_NUMBER,
  R_TIMESTAMP,
  R_TIMESTAMP_MS,
  R_TRANSACTIONS,
  TAG_KEYS,
  TAG_KINDS,
  TRANSACTIONS,
  TRUE,
  TX_FROM,
  TX_HASH,
  TX_INDEX,
  TX_ROW,
  T_FIELDS,
  T_FIRST_LOG,
  T_FROM,
  T_HASH,
  T_RECEIPT,
} from './layout'
import { literal } from './literal'
import { beginLogs, logAt, writeLog } from './log'
import { plausible, room } from './room'

const QUOTE: u32 = 0x22
const COMMA: u32 = 0x2c
const BRACKET: u32 = 0x5b
const BRACKET_END: u32 = 0x5d
const BRACE: u32 = 0x7b
const BRACE_END: u32 = 0x7d
const ZERO: u32 = 0x30
const NULL_TEXT: u32 = 0x6c6c756e
const TRUE_TEXT: u32 = 0x65757274

const BLOOM_BYTES: usize = 256
/** Characters of a key and of any value whose size is not in the record. */
const FIELD: usize = 1024

let record: usize = 0
/** the transaction whose object or receipt is printed */
let row: usize = 0
let isFull: bool = false
/** what is read next, where the next character goes */
let at: usize = 0
let out: usize = 0

/** The block's object. Answers where the text ends, as all of these do. */
export function writeBlock(input: usize, to: usize, full: bool): usize {
  begin(input, to)
  isFull = full
  at = input + <usize>load<u32>(input, R_BLOCK)
  object()
  return out
}

export function writeTransaction(input: usize, to: usize, index: u32): usize {
  begin(input, to)
  part(index, T_FIELDS)
  return out
}

export function writeReceipt(input: usize, to: usize, index: u32): usize {
  begin(input, to)
  part(index, T_RECEIPT)
  return out
}

/** The list of all receipts. */
export function writeReceipts(input: usize, to: usize): usize {
  begin(input, to)
  parts(T_RECEIPT)
  return out
}

function begin(input: usize, to: usize): void {
  record = input
  out = to
  beginLogs(input)
}

/** Of every transaction one object: the one that its row points to at `field`. */
function parts(field: usize): void {
  const start = out
  const count = load<u32>(record, R_TRANSACTIONS)
  for (let i: u32 = 0; i < count; i++) {
    comma()
    part(i, field)
  }
  enclose(start, BRACKET, BRACKET_END)
}

function part(index: u32, field: usize): void {
  row = record + RECORD_HEAD + index * TX_ROW
  at = record + <usize>load<u32>(row + field)
  object()
}

/** From `at` on to behind its END. Every field is printed with a comma before it; the first one's becomes the brace. */
function object(): void {
  const start = out
  for (;;) {
    const tag: usize = load<u8>(at++)
    if (tag == END) break
    const kind: i32 = load<u8>(TAG_KINDS + tag)
    if (kind == HIDDEN) {
      at += 4 + <usize>load<u32>(at)
      continue
    }
    room(out, FIELD)
    out = literal(TAG_KEYS + tag * LITERAL_SIZE, out)
    value(kind)
  }
  enclose(start, BRACE, BRACE_END)
}

function value(kind: i32): void {
  switch (kind) {
    case QUANTITY:
      return quantity()
    case HASH:
      return payload(32)
    case ADDRESS:
      return payload(20)
    case BYTES:
      return bytes()
    case NULL:
      return word(NULL_TEXT)
    case TRUE:
      return word(TRUE_TEXT)
    case BLOOM:
      return bloom()
    case HASHES:
      return hashes()
    case OBJECTS:
      return objects()
    case LOGS:
      return logs()
    case TRANSACTIONS:
      return transactions()
    case BLOCK_HASH:
      return hash(record + R_HASH)
    case BLOCK_NUMBER:
      return integer(load<u64>(record, R_NUMBER))
    case BLOCK_TIMESTAMP:
      return integer(load<u64>(record, R_TIMESTAMP))
    case BLOCK_TIMESTAMP_MS:
      return integer(load<u64>(record, R_TIMESTAMP_MS))
    case TX_HASH:
      return hash(row + T_HASH)
    case TX_INDEX:
      return integer((row - record - RECORD_HEAD) / TX_ROW)
    case TX_FROM:
      return address(row + T_FROM)
    default:
      unreachable() // a kind of another format
  }
}

// --- values ------------------------------------------------------------------------------------------------------------------------------

function quantity(): void {
  const size: usize = load<u8>(at++)
  open()
  if (size == 0) {
    store<u8>(out++, ZERO)
  } else if (load<u8>(at) < 16) {
    // Its first digit is a leading zero: it is printed over the x, which is put back.
    out = hexAll(at, size, out - 1)
    store<u8>(out - 2 * size, 0x78)
  } else {
    out = hexAll(at, size, out)
  }
  at += size
  close()
}

function payload(size: usize): void {
  open()
  out = hexAll(at, size, out)
  at += size
  close()
}

function bytes(): void {
  const size = <usize>load<u32>(at)
  at += 4
  plausible(size)
  room(out, 2 * size + FIELD)
  payload(size)
}

function bloom(): void {
  if (load<u8>(at++) != 0) return payload(BLOOM_BYTES)
  open()
  memory.fill(out, <u8>ZERO, 2 * BLOOM_BYTES)
  out += 2 * BLOOM_BYTES
  close()
}

function hash(from: usize): void {
  open()
  out = hex32(from, out)
  close()
}

function address(from: usize): void {
  open()
  out = hex20(from, out)
  close()
}

function integer(value: u64): void {
  open()
  out = hexInteger(value, out)
  close()
}

function word(text: u32): void {
  store<u32>(out, text)
  out += 4
}

/** A quote and 0x. */
@inline
function open(): void {
  store<u32>(out, 0x783022)
  out += 3
}

@inline
function close(): void {
  store<u8>(out++, QUOTE)
}

// --- lists -------------------------------------------------------------------------------------------------------------------------------

function hashes(): void {
  const start = out
  const count = load<u32>(at)
  at += 4
  plausible(count)
  for (let i: u32 = 0; i < count; i++, at += 32) {
    comma()
    hash(at)
  }
  enclose(start, BRACKET, BRACKET_END)
}

function objects(): void {
  const start = out
  const count = load<u32>(at)
  at += 4
  plausible(count)
  for (let i: u32 = 0; i < count; i++) {
    comma()
    object()
  }
  enclose(start, BRACKET, BRACKET_END)
}

/** Each is printed with a comma behind it, the last one's becomes the bracket. */
function logs(): void {
  const isLast = row + TX_ROW == record + RECORD_HEAD + load<u32>(record, R_TRANSACTIONS) * TX_ROW
  const end = isLast ? load<u32>(record, R_LOGS) : load<u32>(row + TX_ROW, T_FIRST_LOG)
  store<u8>(out++, BRACKET)
  let to = out
  for (let i = load<u32>(row, T_FIRST_LOG); i < end; i++) to = writeLog(logAt(i), i, to)
  if (to != out) to--
  out = to
  store<u8>(out++, BRACKET_END)
}

function transactions(): void {
  const behind = at
  if (isFull) parts(T_FIELDS)
  else hashesOfRows()
  at = behind
}

function hashesOfRows(): void {
  const start = out
  const count = load<u32>(record, R_TRANSACTIONS)
  for (let i: u32 = 0; i < count; i++) {
    comma()
    hash(record + RECORD_HEAD + i * TX_ROW + T_HASH)
  }
  enclose(start, BRACKET, BRACKET_END)
}

/** Between members of a list, and room for what has a fixed size. */
function comma(): void {
  room(out, FIELD)
  store<u8>(out++, COMMA)
}

/** Puts what stands from `start` on, each member with a comma before it, between two brackets. */
function enclose(start: usize, first: u32, last: u32): void {
  room(out, FIELD)
  store<u8>(start, first)
  if (out == start) out++
  store<u8>(out++, last)
}
