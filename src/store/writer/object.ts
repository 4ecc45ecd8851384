// Writes objects: a field's tag determines its key and the form of its value.

import { hex16, hex20, hex32, hexAll, hexInteger } from './hex'
import {
  KIND_ADDRESS,
  KIND_BLOCK_HASH,
  KIND_BLOCK_NUMBER,
  KIND_BLOCK_TIMESTAMP,
  KIND_BLOCK_TIMESTAMP_MS,
  KIND_BLOOM,
  BLOOM_BYTES,
  BLOOM_DENSE,
  KIND_BYTES,
  END_OF_OBJECT,
  KIND_HASH,
  KIND_HASHES,
  KIND_INTERNAL_BYTES,
  LITERAL_BYTES,
  KIND_LOGS,
  KIND_NULL,
  KIND_OBJECTS,
  KIND_QUANTITY,
  RECORD_HEADER_BYTES,
  RECORD_BLOCK_POINTER_OFFSET,
  RECORD_HASH_OFFSET,
  RECORD_LOG_COUNT_OFFSET,
  RECORD_NUMBER_OFFSET,
  RECORD_TIMESTAMP_OFFSET,
  RECORD_TIMESTAMP_MS_OFFSET,
  RECORD_TX_COUNT_OFFSET,
  TAG_KEYS,
  TAG_KINDS,
  KIND_TRANSACTIONS,
  KIND_TRUE,
  KIND_TX_FROM,
  KIND_TX_HASH,
  KIND_TX_INDEX,
  TX_ENTRY_BYTES,
  KIND_TX_TO,
  TX_ENTRY_TX_POINTER_OFFSET,
  TX_ENTRY_FIRST_LOG_OFFSET,
  TX_ENTRY_FROM_OFFSET,
  TX_ENTRY_HASH_OFFSET,
  TX_ENTRY_RECEIPT_POINTER_OFFSET,
  TX_ENTRY_TO_POINTER_OFFSET,
} from './layout'
import { literal } from './literal'
import { beginLogs, logAt, writeLog } from './log'
import { checkSize, ensureCapacity } from './capacity'

const QUOTE: u8 = 0x22
const COMMA: u8 = 0x2c
const BRACKET: u8 = 0x5b
const BRACKET_END: u8 = 0x5d
const BRACE: u8 = 0x7b
const BRACE_END: u8 = 0x7d
const X: u8 = 0x78
/** `0"` */
const ZERO_QUOTE: u16 = 0x2230
const QUOTE_0X: u32 = 0x783022
const NULL_TEXT: u32 = 0x6c6c756e
const TRUE_TEXT: u32 = 0x65757274

/** Upper bound of the characters of a key and a value of fixed size. */
const FIELD: usize = 1024

// Input and output positions are passed as arguments: as globals, which live in memory, they made writing twice as slow.

let record: usize = 0
/** the row of the transaction whose object or receipt is written */
let row: usize = 0
let isFull: bool = false
/** the end of the object or the list of objects that was written last */
let behind: usize = 0

/** Writes the block. Like all functions here, returns the end of the text. */
export function writeBlock(input: usize, to: usize, full: bool): usize {
  begin(input)
  isFull = full
  return object(input + <usize>load<u32>(input, RECORD_BLOCK_POINTER_OFFSET), to)
}

export function writeTransaction(input: usize, to: usize, index: u32): usize {
  begin(input)
  return part(index, TX_ENTRY_TX_POINTER_OFFSET, to)
}

export function writeReceipt(input: usize, to: usize, index: u32): usize {
  begin(input)
  return part(index, TX_ENTRY_RECEIPT_POINTER_OFFSET, to)
}

/** Writes the array of all receipts. */
export function writeReceipts(input: usize, to: usize): usize {
  begin(input)
  return parts(TX_ENTRY_RECEIPT_POINTER_OFFSET, to)
}

function begin(input: usize): void {
  record = input
  beginLogs(input)
}

/** Writes an array of one object per transaction: the one at offset `field` of its row. */
function parts(field: usize, to: usize): usize {
  let out = to
  const count = load<u32>(record, RECORD_TX_COUNT_OFFSET)
  for (let i: u32 = 0; i < count; i++) out = part(i, field, comma(out))
  return enclosed(to, out, BRACKET, BRACKET_END)
}

function part(index: u32, field: usize, to: usize): usize {
  row = record + RECORD_HEADER_BYTES + index * TX_ENTRY_BYTES
  return object(record + <usize>load<u32>(row + field), to)
}

/** Writes the object at `from`. A comma precedes each field; the first comma becomes the brace. */
function object(from: usize, to: usize): usize {
  let at = from
  let out = to
  for (;;) {
    const tag: usize = load<u8>(at++)
    if (tag == END_OF_OBJECT) break
    const kind: i32 = load<u8>(TAG_KINDS + tag)
    if (kind == KIND_INTERNAL_BYTES) {
      at += 4 + <usize>load<u32>(at)
      continue
    }
    ensureCapacity(out, FIELD)
    // The literal of a key ends with `"0x` if hex digits follow.
    out = literal(TAG_KEYS + tag * LITERAL_BYTES, out)
    switch (kind) {
      case KIND_QUANTITY: {
        const size: usize = load<u8>(at++)
        out = quantity(at, size, out)
        at += size
        break
      }
      case KIND_HASH:
        out = closed(hex32(at, out))
        at += 32
        break
      case KIND_ADDRESS:
        out = closed(hex20(at, out))
        at += 20
        break
      case KIND_BLOCK_HASH:
        out = closed(hex32(record + RECORD_HASH_OFFSET, out))
        break
      case KIND_BLOCK_NUMBER:
        out = closed(hexInteger(load<u64>(record, RECORD_NUMBER_OFFSET), out))
        break
      case KIND_BLOCK_TIMESTAMP:
        out = closed(hexInteger(load<u64>(record, RECORD_TIMESTAMP_OFFSET), out))
        break
      case KIND_BLOCK_TIMESTAMP_MS:
        out = closed(hexInteger(load<u64>(record, RECORD_TIMESTAMP_MS_OFFSET), out))
        break
      case KIND_TX_HASH:
        out = closed(hex32(row + TX_ENTRY_HASH_OFFSET, out))
        break
      case KIND_TX_INDEX:
        out = closed(hexInteger((row - record - RECORD_HEADER_BYTES) / TX_ENTRY_BYTES, out))
        break
      case KIND_TX_FROM:
        out = closed(hex20(row + TX_ENTRY_FROM_OFFSET, out))
        break
      case KIND_TX_TO:
        out = closed(hex20(record + <usize>load<u32>(row, TX_ENTRY_TO_POINTER_OFFSET), out))
        break
      case KIND_BYTES: {
        const size = <usize>load<u32>(at)
        at += 4
        checkSize(size)
        ensureCapacity(out, 2 * size + FIELD)
        out = closed(hexAll(at, size, out))
        at += size
        break
      }
      case KIND_BLOOM: {
        const head: i32 = load<u8>(at++)
        const isWhole = head == BLOOM_DENSE
        const size = isWhole ? BLOOM_BYTES : head == 0 ? 0 : 2 * (head - BLOOM_DENSE)
        out = closed(isWhole ? hexAll(at, size, out) : bits(at, size, out))
        at += size
        break
      }
      case KIND_NULL:
        out = word(NULL_TEXT, out)
        break
      case KIND_TRUE:
        out = word(TRUE_TEXT, out)
        break
      case KIND_LOGS:
        out = logs(out)
        break
      case KIND_TRANSACTIONS:
        out = isFull ? parts(TX_ENTRY_TX_POINTER_OFFSET, out) : hashesOfRows(out)
        break
      case KIND_HASHES: {
        const count = load<u32>(at)
        at += 4
        checkSize(count)
        out = hashes(at, count, 32, out)
        at += 32 * <usize>count
        break
      }
      case KIND_OBJECTS:
        out = objects(at, out)
        at = behind
        break
      default:
        unreachable() // unknown kind
    }
  }
  behind = at
  return enclosed(to, out, BRACE, BRACE_END)
}

// --- values ------------------------------------------------------------------------------------------------------------------------------

@inline
function quantity(at: usize, size: usize, out: usize): usize {
  if (size == 0) {
    store<u16>(out, ZERO_QUOTE)
    return out + 2
  }
  // A leading zero digit overwrites the x, which is then restored.
  const digits = out - <usize>(load<u8>(at) < 16)
  hex16(at, digits)
  if (size > 16) hexAll(at + 16, size - 16, digits + 32)
  store<u8>(out - 1, X)
  return closed(digits + 2 * size)
}

@inline
function closed(out: usize): usize {
  store<u8>(out, QUOTE)
  return out + 1
}

/** Writes a bloom from its bit positions, `size` bytes at `at`. */
function bits(at: usize, size: usize, to: usize): usize {
  const end = to + 2 * BLOOM_BYTES
  for (let out = to; out < end; out += 16) v128.store(out, i8x16.splat(0x30))
  let digit: usize = 0
  let value: u32 = 0
  for (const last = at + size; at < last; at += 2) {
    const place: u32 = load<u16>(at) & 2047
    value = (place >> 2 == digit ? value : 0) | (8 >> (place & 3))
    digit = place >> 2
    store<u8>(to + digit, value < 10 ? 0x30 + value : 0x57 + value)
  }
  return end
}

@inline
function word(text: u32, out: usize): usize {
  store<u32>(out, text)
  return out + 4
}

// --- lists -------------------------------------------------------------------------------------------------------------------------------

/** Writes an array of hashes, one every `step` bytes. */
function hashes(from: usize, count: u32, step: usize, to: usize): usize {
  let out = to
  let at = from
  for (let i: u32 = 0; i < count; i++, at += step) {
    out = comma(out)
    store<u32>(out, QUOTE_0X)
    out = closed(hex32(at, out + 3))
  }
  return enclosed(to, out, BRACKET, BRACKET_END)
}

function hashesOfRows(to: usize): usize {
  return hashes(record + RECORD_HEADER_BYTES + TX_ENTRY_HASH_OFFSET, load<u32>(record, RECORD_TX_COUNT_OFFSET), TX_ENTRY_BYTES, to)
}

function objects(from: usize, to: usize): usize {
  let out = to
  const count = load<u32>(from)
  checkSize(count)
  behind = from + 4
  for (let i: u32 = 0; i < count; i++) out = object(behind, comma(out))
  return enclosed(to, out, BRACKET, BRACKET_END)
}

/** A comma follows each log; the last comma becomes the bracket. */
function logs(to: usize): usize {
  const isLast = row + TX_ENTRY_BYTES == record + RECORD_HEADER_BYTES + load<u32>(record, RECORD_TX_COUNT_OFFSET) * TX_ENTRY_BYTES
  const end = isLast ? load<u32>(record, RECORD_LOG_COUNT_OFFSET) : load<u32>(row + TX_ENTRY_BYTES, TX_ENTRY_FIRST_LOG_OFFSET)
  store<u8>(to, BRACKET)
  let out = to + 1
  for (let i = load<u32>(row, TX_ENTRY_FIRST_LOG_OFFSET); i < end; i++) out = writeLog(logAt(i), i, out)
  if (out != to + 1) out--
  store<u8>(out, BRACKET_END)
  return out + 1
}

/** Writes the comma before a member, and ensures capacity for values of fixed size. */
@inline
function comma(out: usize): usize {
  ensureCapacity(out, FIELD)
  store<u8>(out, COMMA)
  return out + 1
}

/** Replaces the first comma of the text from `start` to `end` with `first` and appends `last`. */
@inline
function enclosed(start: usize, end: usize, first: u8, last: u8): usize {
  ensureCapacity(end, FIELD)
  store<u8>(start, first)
  const out = end + <usize>(end == start)
  store<u8>(out, last)
  return out + 1
}
