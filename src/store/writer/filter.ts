// Matches a log's address and topics against lists of values. Short lists are compared value by value; longer ones have a hash table with
// open
// addressing.

import {
  FILTER,
  FILTER_ANY,
  FILTER_FACTORS,
  FILTER_LIST,
  FILTER_LISTS,
  FILTER_VALUE,
  FL_BITS,
  FL_COUNT,
  FL_TABLE,
  FL_VALUES,
  LOG_HEAD,
  L_ADDRESS,
  L_TOPICS,
} from './layout'

/** number of positions */
const TOPICS: u32 = FILTER_LISTS - 1

/** Fills the hash table of a list. */
export function indexList(list: i32): void {
  const head: usize = FILTER + list * FILTER_LIST
  const count = load<u32>(head, FL_COUNT)
  const values = <usize>load<u32>(head, FL_VALUES)
  const table = <usize>load<u32>(head, FL_TABLE)
  const bits = load<u32>(head, FL_BITS)
  memory.fill(table, 0, 2 << bits)
  const mask: u32 = (1 << bits) - 1
  for (let i: u32 = 0; i < count; i++) {
    const value = values + i * FILTER_VALUE
    let slot = (list == 0 ? hash20(value) : hash32(value)) & mask
    while (load<u16>(table + 2 * slot) != 0) slot = (slot + 1) & mask
    store<u16>(table + 2 * slot, <u16>(i + 1))
  }
}

export function accepts(log: usize): bool {
  if (!accepts20(FILTER, log + L_ADDRESS)) return false
  const topics = load<u32>(log, L_TOPICS)
  let head: usize = FILTER + FILTER_LIST
  for (let i: u32 = 0; i < TOPICS; i++) {
    if (load<i32>(head, FL_COUNT) != FILTER_ANY && (i >= topics || !accepts32(head, log + LOG_HEAD + 32 * i))) return false
    head += FILTER_LIST
  }
  return true
}

@inline
function accepts20(head: usize, value: usize): bool {
  const count = load<u32>(head, FL_COUNT)
  if (count == FILTER_ANY) return true
  const values = <usize>load<u32>(head, FL_VALUES)
  const bits = load<u32>(head, FL_BITS)
  if (bits == 0) {
    for (let i: u32 = 0; i < count; i++) if (equal20(values + i * FILTER_VALUE, value)) return true
    return false
  }
  const table = <usize>load<u32>(head, FL_TABLE)
  const mask: u32 = (1 << bits) - 1
  let slot = hash20(value) & mask
  let found = <u32>load<u16>(table + 2 * slot)
  while (found != 0 && !equal20(values + (found - 1) * FILTER_VALUE, value)) {
    slot = (slot + 1) & mask
    found = load<u16>(table + 2 * slot)
  }
  return found != 0
}

@inline
function accepts32(head: usize, value: usize): bool {
  const count = load<u32>(head, FL_COUNT)
  const values = <usize>load<u32>(head, FL_VALUES)
  const bits = load<u32>(head, FL_BITS)
  if (bits == 0) {
    for (let i: u32 = 0; i < count; i++) if (equal32(values + i * FILTER_VALUE, value)) return true
    return false
  }
  const table = <usize>load<u32>(head, FL_TABLE)
  const mask: u32 = (1 << bits) - 1
  let slot = hash32(value) & mask
  let found = <u32>load<u16>(table + 2 * slot)
  while (found != 0 && !equal32(values + (found - 1) * FILTER_VALUE, value)) {
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
  return load<u64>(FILTER_FACTORS + 8 * i)
}
