// Matches a log's address and topics against lists of values. Short lists are compared value by value; longer ones have a hash table with
// open addressing.

import {
  FILTER_REGION,
  CONDITION_ANY,
  FILTER_HASH_FACTORS,
  CONDITION_BYTES,
  CONDITION_COUNT,
  CONDITION_VALUE_BYTES,
  CONDITION_TABLE_BITS_OFFSET,
  CONDITION_VALUE_COUNT_OFFSET,
  CONDITION_TABLE_OFFSET,
  CONDITION_VALUES_OFFSET,
  LOG_HEADER_BYTES,
  LOG_ADDRESS_OFFSET,
  LOG_TOPIC_COUNT_OFFSET,
} from './layout'

/** number of positions */
const TOPICS: u32 = CONDITION_COUNT - 1

/** Fills the hash table of a list. */
export function indexList(list: i32): void {
  const head: usize = FILTER_REGION + list * CONDITION_BYTES
  const count = load<u32>(head, CONDITION_VALUE_COUNT_OFFSET)
  const values = <usize>load<u32>(head, CONDITION_VALUES_OFFSET)
  const table = <usize>load<u32>(head, CONDITION_TABLE_OFFSET)
  const bits = load<u32>(head, CONDITION_TABLE_BITS_OFFSET)
  memory.fill(table, 0, 2 << bits)
  const mask: u32 = (1 << bits) - 1
  for (let i: u32 = 0; i < count; i++) {
    const value = values + i * CONDITION_VALUE_BYTES
    let slot = (list == 0 ? hash20(value) : hash32(value)) & mask
    while (load<u16>(table + 2 * slot) != 0) slot = (slot + 1) & mask
    store<u16>(table + 2 * slot, <u16>(i + 1))
  }
}

export function accepts(log: usize): bool {
  if (!accepts20(FILTER_REGION, log + LOG_ADDRESS_OFFSET)) return false
  const topics = load<u32>(log, LOG_TOPIC_COUNT_OFFSET)
  let head: usize = FILTER_REGION + CONDITION_BYTES
  for (let i: u32 = 0; i < TOPICS; i++) {
    if (load<i32>(head, CONDITION_VALUE_COUNT_OFFSET) != CONDITION_ANY && (i >= topics || !accepts32(head, log + LOG_HEADER_BYTES + 32 * i))) return false
    head += CONDITION_BYTES
  }
  return true
}

@inline
function accepts20(head: usize, value: usize): bool {
  const count = load<u32>(head, CONDITION_VALUE_COUNT_OFFSET)
  if (count == CONDITION_ANY) return true
  const values = <usize>load<u32>(head, CONDITION_VALUES_OFFSET)
  const bits = load<u32>(head, CONDITION_TABLE_BITS_OFFSET)
  if (bits == 0) {
    for (let i: u32 = 0; i < count; i++) if (equal20(values + i * CONDITION_VALUE_BYTES, value)) return true
    return false
  }
  const table = <usize>load<u32>(head, CONDITION_TABLE_OFFSET)
  const mask: u32 = (1 << bits) - 1
  let slot = hash20(value) & mask
  let found = <u32>load<u16>(table + 2 * slot)
  while (found != 0 && !equal20(values + (found - 1) * CONDITION_VALUE_BYTES, value)) {
    slot = (slot + 1) & mask
    found = load<u16>(table + 2 * slot)
  }
  return found != 0
}

@inline
function accepts32(head: usize, value: usize): bool {
  const count = load<u32>(head, CONDITION_VALUE_COUNT_OFFSET)
  const values = <usize>load<u32>(head, CONDITION_VALUES_OFFSET)
  const bits = load<u32>(head, CONDITION_TABLE_BITS_OFFSET)
  if (bits == 0) {
    for (let i: u32 = 0; i < count; i++) if (equal32(values + i * CONDITION_VALUE_BYTES, value)) return true
    return false
  }
  const table = <usize>load<u32>(head, CONDITION_TABLE_OFFSET)
  const mask: u32 = (1 << bits) - 1
  let slot = hash32(value) & mask
  let found = <u32>load<u16>(table + 2 * slot)
  while (found != 0 && !equal32(values + (found - 1) * CONDITION_VALUE_BYTES, value)) {
    slot = (slot + 1) & mask
    found = load<u16>(table + 2 * slot)
  }
  return found != 0
}

@inline
function equal20(a: usize, b: usize): bool {
  return load<u64>(a) == load<u64>(b) && load<u64>(a, 8) == load<u64>(b, 8) && load<u32>(a, 16) == load<u32>(b, 16)
}

@inline
function equal32(a: usize, b: usize): bool {
  return (
    load<u64>(a) == load<u64>(b) &&
    load<u64>(a, 8) == load<u64>(b, 8) &&
    load<u64>(a, 16) == load<u64>(b, 16) &&
    load<u64>(a, 24) == load<u64>(b, 24)
  )
}

@inline
function hash20(value: usize): u32 {
  const sum = load<u64>(value) * factor(0) + load<u64>(value, 8) * factor(1) + <u64>load<u32>(value, 16) * factor(2)
  return <u32>(sum >> 48)
}

@inline
function hash32(value: usize): u32 {
  const low = load<u64>(value) * factor(0) + load<u64>(value, 8) * factor(1)
  return <u32>((low + load<u64>(value, 16) * factor(2) + load<u64>(value, 24) * factor(3)) >> 48)
}

@inline
function factor(i: usize): u64 {
  return load<u64>(FILTER_HASH_FACTORS + 8 * i)
}
