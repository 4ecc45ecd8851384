// Opcodes that are more than arithmetic on the stack. Each takes the top of the stack, works on the running frame, and
// answers false when the frame is halted. Both tiers call these, so every rule stands here once.

import { accountOf, reach, wordOf } from './calls'
import {
  F_CODE, F_INPUT, F_INPUT_SIZE,
} from './frame'
import { TRACE } from './flags'
import { hashOfPair } from './hashed'
import { hookLog } from './hooks'
import { keccak256 } from './keccak'
import {
  A_ADDRESS, A_BALANCE, A_CODE_HASH, BLOB_COUNT, BLOB_HASHES, C_BYTES, C_SIZE, CONSTANTINOPLE, COST_EXP_BYTE, COST_SSTORE_NOTHING, COST_SSTORE_RESET,
  COST_WARM, FORK, ISTANBUL, LOGS_END, NUMBER, REFUND_CLEAR, RETURN, RETURN_OUT_OF_BOUNDS, SCRATCH, STIPEND_ONLY, S_VALUE, WRITE_PROTECTION,
} from './layout'
import {
  charge, chargeWords, frame, gasLeft, halt, isStatic, keepReturn, memoryBase, range, rangeAt, rangeSize, returnSize, self,
} from './machine'
import {
  codeOf, coldSlotCost, isEmpty, logCount, logTop, noRoom, original, refund, setLogs, setRefund, setSlot, setTransient, slot, transient,
} from './state'
import { byteLength, clear, copy, copyBytes, eq, exp, fromBytes, isZero, toBytes } from './word'

/** Writes the hash of a block, 32 bytes, or zeroes. */
@external('host', 'blockHash')
declare function loadBlockHash(number: f64, out: usize): void

const SSTORE_SET: i64 = 20000
const SSTORE_SENTRY: i64 = 2300
const LOG_BYTE: i64 = 8
const WORD_COPY: i64 = 3
const WORD_HASH: i64 = 6

@inline
function fork(): u32 {
  return load<u32>(FORK)
}

@inline
export function pushNumber(at: usize, value: u64): void {
  clear(at)
  store<u64>(at, value)
}

// --- arithmetic with a price of its own -----------------------------------------------------------------------------------------

export function opExp(sp: usize): bool {
  if (!charge(<i64>load<u32>(COST_EXP_BYTE) * <i64>byteLength(sp - 32))) return false
  exp(sp - 32, sp, sp - 32)
  return true
}

export function opKeccak(sp: usize): bool {
  if (!range(sp, sp - 32) || !chargeWords(rangeSize, WORD_HASH)) return false
  if (rangeSize == 0) {
    fromBytes(sp - 32, NOTHING_HASHED)
    return true
  }
  if (rangeSize == 64) {
    fromBytes(sp - 32, hashOfPair(rangeAt))
    return true
  }
  keccak256(rangeAt, rangeSize, SCRATCH)
  fromBytes(sp - 32, SCRATCH)
  return true
}

/** keccak256 of nothing: asked for at 36 gas, it must not cost a permutation. */
const NOTHING_HASHED: usize = memory.data<u8>([
  0xc5, 0xd2, 0x46, 0x01, 0x86, 0xf7, 0x23, 0x3c, 0x92, 0x7e, 0x7d, 0xb2, 0xdc, 0xc7, 0x03, 0xc0, 0xe5, 0x00, 0xb6, 0x53, 0xca, 0x82, 0x27, 0x3b, 0x7b, 0xfa,
  0xd8, 0x04, 0x5d, 0x85, 0xa4, 0x70,
])

// --- storage --------------------------------------------------------------------------------------------------------------------

export function opSload(sp: usize): bool {
  const entry = slot(self, sp)
  const cold = coldSlotCost(entry)
  if (cold != 0 && !charge(cold - <i64>load<u32>(COST_WARM))) return false
  copy(sp, entry + S_VALUE)
  return true
}

export function opSstore(sp: usize): bool {
  if (isStatic) return deny(WRITE_PROTECTION)
  if (fork() >= ISTANBUL && gasLeft <= SSTORE_SENTRY) return deny(STIPEND_ONLY)
  const entry = slot(self, sp)
  const cost = coldSlotCost(entry) + (isNetMetered() ? netCost(entry, sp - 32) : simpleCost(entry, sp - 32))
  if (!charge(cost)) return false
  if (!eq(entry + S_VALUE, sp - 32)) setSlot(entry, sp - 32)
  return true
}

function deny(reason: i32): bool {
  halt(reason)
  return false
}

/** EIP-1283 came with Constantinople, went with Petersburg and is back since Istanbul (EIP-2200). */
function isNetMetered(): bool {
  return fork() >= ISTANBUL || fork() == CONSTANTINOPLE
}

function simpleCost(entry: usize, value: usize): i64 {
  const was = !isZero(entry + S_VALUE)
  const is = !isZero(value)
  if (!was && is) return SSTORE_SET
  if (was && !is) setRefund(refund + <i64>load<u32>(REFUND_CLEAR))
  return <i64>load<u32>(COST_SSTORE_RESET)
}

/** EIP-2200 with the figures of 2929 and 3529. */
function netCost(entry: usize, value: usize): i64 {
  const nothing = <i64>load<u32>(COST_SSTORE_NOTHING)
  const now = entry + S_VALUE
  if (eq(now, value)) return nothing
  const before = original(entry)
  const clearing = <i64>load<u32>(REFUND_CLEAR)
  const reset = <i64>load<u32>(COST_SSTORE_RESET)
  if (eq(before, now)) {
    if (isZero(before)) return SSTORE_SET
    if (isZero(value)) setRefund(refund + clearing)
    return reset
  }
  if (!isZero(before)) {
    if (isZero(now)) setRefund(refund - clearing)
    else if (isZero(value)) setRefund(refund + clearing)
  }
  if (eq(before, value)) setRefund(refund + (isZero(before) ? SSTORE_SET : reset) - nothing)
  return nothing
}

export function opTload(sp: usize): void {
  transient(self, sp, sp)
}

export function opTstore(sp: usize): bool {
  if (isStatic) return deny(WRITE_PROTECTION)
  setTransient(self, sp, sp - 32)
  return true
}

// --- other accounts ----------------------------------------------------------------------------------------------------------------

export function opBalance(sp: usize): bool {
  const entry = accountOf(sp)
  if (!reach(entry)) return false
  copy(sp, entry + A_BALANCE)
  return true
}

export function opExtCodeSize(sp: usize): bool {
  const entry = accountOf(sp)
  if (!reach(entry)) return false
  pushNumber(sp, load<u32>(codeOf(entry), C_SIZE))
  return true
}

export function opExtCodeHash(sp: usize): bool {
  const entry = accountOf(sp)
  if (!reach(entry)) return false
  if (isEmpty(entry)) clear(sp)
  else fromBytes(sp, entry + A_CODE_HASH)
  return true
}

export function opExtCodeCopy(sp: usize): bool {
  const entry = accountOf(sp)
  if (!reach(entry)) return false
  if (!range(sp - 32, sp - 96) || !chargeWords(rangeSize, WORD_COPY)) return false
  const code = codeOf(entry)
  copyPadded(sp - 64, code + C_BYTES, load<u32>(code, C_SIZE))
  return true
}

// --- copies into memory ------------------------------------------------------------------------------------------------------------------

/** CALLDATACOPY and CODECOPY: destination, offset, size. */
export function opCopy(sp: usize, source: usize, size: u32): bool {
  if (!range(sp, sp - 64) || !chargeWords(rangeSize, WORD_COPY)) return false
  copyPadded(sp - 32, source, size)
  return true
}

export function opCallDataCopy(sp: usize): bool {
  return opCopy(sp, <usize>load<u32>(frame, F_INPUT), load<u32>(frame, F_INPUT_SIZE))
}

export function opCodeCopy(sp: usize): bool {
  const code = <usize>load<u32>(frame, F_CODE)
  return opCopy(sp, code + C_BYTES, load<u32>(code, C_SIZE))
}

/** Fills the last range from `source`, beginning at the offset on the stack; zeroes where there is nothing. */
function copyPadded(offset: usize, source: usize, size: u32): void {
  const high = load<u64>(offset, 8) | load<u64>(offset, 16) | load<u64>(offset, 24)
  const from = high != 0 ? <u64>size : min(load<u64>(offset), <u64>size)
  const count = min(<usize>(<u64>size - from), rangeSize)
  copyBytes(rangeAt, source + <usize>from, count)
  if (count < rangeSize) memory.fill(rangeAt + count, 0, rangeSize - count)
}

export function opReturnDataCopy(sp: usize): bool {
  const size = sp - 64
  const offset = sp - 32
  const high = load<u64>(offset, 8) | load<u64>(offset, 16) | load<u64>(offset, 24) | load<u64>(size, 8) | load<u64>(size, 16) | load<u64>(size, 24)
  const from = load<u64>(offset)
  const count = load<u64>(size)
  if (high != 0 || from > <u64>returnSize || count > <u64>returnSize - from) return deny(RETURN_OUT_OF_BOUNDS)
  if (!range(sp, size) || !chargeWords(rangeSize, WORD_COPY)) return false
  copyBytes(rangeAt, RETURN + <usize>from, rangeSize)
  return true
}

/** EIP-5656; memory grows to the further of both ends. */
export function opMcopy(sp: usize): bool {
  if (!range(sp - 32, sp - 64)) return false
  const source = rangeAt - memoryBase
  if (!range(sp, sp - 64) || !chargeWords(rangeSize, WORD_COPY)) return false
  copyBytes(rangeAt, memoryBase + source, rangeSize)
  return true
}

/** CALLDATALOAD at an offset that may lie anywhere. */
export function opCallDataLoad(sp: usize): void {
  const size = <u64>load<u32>(frame, F_INPUT_SIZE)
  const from = load<u64>(sp)
  const high = load<u64>(sp, 8) | load<u64>(sp, 16) | load<u64>(sp, 24)
  if (high != 0 || from >= size) return clear(sp)
  const source = <usize>load<u32>(frame, F_INPUT) + <usize>from
  if (from + 32 <= size) return fromBytes(sp, source)
  const count = <usize>(size - from)
  memory.copy(SCRATCH, source, count)
  memory.fill(SCRATCH + count, 0, 32 - count)
  fromBytes(sp, SCRATCH)
}

// --- logs ----------------------------------------------------------------------------------------------------------------------------------

/** In the buffer: u32 data size, u32 topics, u32 account, u32 size of it all; topics of 32 bytes; data, padded to 8. */
export function opLog(sp: usize, topics: u32): bool {
  if (isStatic) return deny(WRITE_PROTECTION)
  if (!range(sp, sp - 32) || !charge(LOG_BYTE * <i64>rangeSize)) return false
  const data = logTop + 16 + (<usize>topics << 5)
  const end = (data + rangeSize + 7) & ~7
  if (end > LOGS_END) noRoom()
  store<u32>(logTop, <u32>rangeSize)
  store<u32>(logTop, topics, 4)
  store<u32>(logTop, <u32>self, 8)
  store<u32>(logTop, <u32>(end - logTop), 12)
  for (let i: u32 = 0; i < topics; i++) toBytes(logTop + 16 + (<usize>i << 5), sp - 64 - (<usize>i << 5))
  copyBytes(data, rangeAt, rangeSize)
  const at = logTop
  setLogs(end, logCount + 1)
  if (TRACE) hookLog(at)
  return true
}

// --- the block -----------------------------------------------------------------------------------------------------------------------------

export function opBlockHash(sp: usize): void {
  const asked = load<u64>(sp)
  const number = load<u64>(NUMBER)
  const high = load<u64>(sp, 8) | load<u64>(sp, 16) | load<u64>(sp, 24)
  if (high != 0 || asked >= number || number - asked > 256) return clear(sp)
  loadBlockHash(<f64>asked, SCRATCH)
  fromBytes(sp, SCRATCH)
}

export function opBlobHash(sp: usize): void {
  const high = load<u64>(sp, 8) | load<u64>(sp, 16) | load<u64>(sp, 24)
  if (high != 0 || load<u64>(sp) >= <u64>load<u32>(BLOB_COUNT)) return clear(sp)
  copy(sp, BLOB_HASHES + (<usize>load<u64>(sp) << 5))
}

// --- the end -------------------------------------------------------------------------------------------------------------------------------

/** RETURN and REVERT: keeps what the frame hands back. */
export function opReturn(sp: usize, reason: i32): void {
  if (!range(sp, sp - 32)) return
  keepReturn(rangeAt, rangeSize)
  halt(reason)
}

export function pushAddress(at: usize, address: usize): void {
  wordOf(address, at)
}

export function pushSelf(at: usize): void {
  wordOf(self + A_ADDRESS, at)
}

export function pushSelfBalance(at: usize): void {
  copy(at, self + A_BALANCE)
}
