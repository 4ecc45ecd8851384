// Opcodes beyond stack arithmetic. Each function takes the stack pointer, works on the current frame and returns false when the frame has
// halted. Both tiers call these functions, so each rule is implemented once.

import { accountOf, chargeAccountAccess, wordOf } from './calls'
import { F_CODE, F_INPUT, F_INPUT_SIZE } from './frame'
import { TRACE } from './flags'
import { cachedKeccak64 } from './keccakcache'
import { hookLog } from './hooks'
import { keccak256 } from './keccak'
import {
  A_ADDRESS, A_BALANCE, A_CODE_HASH, BLOB_COUNT, BLOB_HASHES, C_BYTES, C_SIZE, CONSTANTINOPLE, COST_EXP_BYTE, COST_SSTORE_NOOP,
  COST_SSTORE_RESET, COST_WARM, FORK, ISTANBUL, LOGS_END, NUMBER, REFUND_CLEAR, RETURN, RETURN_OUT_OF_BOUNDS, SCRATCH, REENTRANCY_SENTRY,
  S_VALUE, WRITE_PROTECTION,
} from './layout'
import {
  charge, chargeWords, frame, gasLeft, halt, isStatic, setReturnData, memoryBase, resizeMemory, rangeStart, rangeSize, returnSize, self,
} from './machine'
import {
  codeOf, coldSlotCost, isEmpty, logCount, logTop, outOfMemory, originalValue, refund, setLogs, setRefund, setSlot, setTransient, slot,
  transient,
} from './state'
import { byteLength, clear, copy, copyBytes, eq, exp, fromBytes, isZero, toBytes } from './word'

/** Writes the 32-byte hash of a block, or zeros. */
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

// --- arithmetic with dynamic gas -----------------------------------------------------------------------------------

export function opExp(sp: usize): bool {
  if (!charge(<i64>load<u32>(COST_EXP_BYTE) * <i64>byteLength(sp - 32))) return false
  exp(sp - 32, sp, sp - 32)
  return true
}

export function opKeccak(sp: usize): bool {
  if (!resizeMemory(sp, sp - 32) || !chargeWords(rangeSize, WORD_HASH)) return false
  if (rangeSize == 0) {
    fromBytes(sp - 32, EMPTY_KECCAK)
    return true
  }
  if (rangeSize == 64) {
    fromBytes(sp - 32, cachedKeccak64(rangeStart))
    return true
  }
  keccak256(rangeStart, rangeSize, SCRATCH)
  fromBytes(sp - 32, SCRATCH)
  return true
}

/** keccak256 of the empty input, which costs 36 gas and must not cost a permutation. */
const EMPTY_KECCAK: usize = memory.data<u8>([
  0xc5, 0xd2, 0x46, 0x01, 0x86, 0xf7, 0x23, 0x3c, 0x92, 0x7e, 0x7d, 0xb2, 0xdc, 0xc7, 0x03, 0xc0, 0xe5, 0x00, 0xb6, 0x53, 0xca, 0x82, 0x27, 0x3b, 0x7b, 0xfa,
  0xd8, 0x04, 0x5d, 0x85, 0xa4, 0x70,
])

// --- storage -------------------------------------------------------------------------------------------------------

export function opSload(sp: usize): bool {
  const entry = slot(self, sp)
  const cold = coldSlotCost(entry)
  if (cold != 0 && !charge(cold - <i64>load<u32>(COST_WARM))) return false
  copy(sp, entry + S_VALUE)
  return true
}

export function opSstore(sp: usize): bool {
  if (isStatic) return fail(WRITE_PROTECTION)
  if (fork() >= ISTANBUL && gasLeft <= SSTORE_SENTRY) return fail(REENTRANCY_SENTRY)
  const entry = slot(self, sp)
  const cost = coldSlotCost(entry) + (isNetMetered() ? netSstoreCost(entry, sp - 32) : legacySstoreCost(entry, sp - 32))
  if (!charge(cost)) return false
  if (!eq(entry + S_VALUE, sp - 32)) setSlot(entry, sp - 32)
  return true
}

function fail(reason: i32): bool {
  halt(reason)
  return false
}

/** EIP-1283 applies in Constantinople, was removed in Petersburg and returned with Istanbul as EIP-2200. */
function isNetMetered(): bool {
  return fork() >= ISTANBUL || fork() == CONSTANTINOPLE
}

function legacySstoreCost(entry: usize, value: usize): i64 {
  const was = !isZero(entry + S_VALUE)
  const is = !isZero(value)
  if (!was && is) return SSTORE_SET
  if (was && !is) setRefund(refund + <i64>load<u32>(REFUND_CLEAR))
  return <i64>load<u32>(COST_SSTORE_RESET)
}

/** EIP-2200 with the costs of EIP-2929 and EIP-3529. */
function netSstoreCost(entry: usize, value: usize): i64 {
  const nothing = <i64>load<u32>(COST_SSTORE_NOOP)
  const now = entry + S_VALUE
  if (eq(now, value)) return nothing
  const before = originalValue(entry)
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
  if (isStatic) return fail(WRITE_PROTECTION)
  setTransient(self, sp, sp - 32)
  return true
}

// --- other accounts ------------------------------------------------------------------------------------------------

export function opBalance(sp: usize): bool {
  const entry = accountOf(sp)
  if (!chargeAccountAccess(entry)) return false
  copy(sp, entry + A_BALANCE)
  return true
}

export function opExtCodeSize(sp: usize): bool {
  const entry = accountOf(sp)
  if (!chargeAccountAccess(entry)) return false
  pushNumber(sp, load<u32>(codeOf(entry), C_SIZE))
  return true
}

export function opExtCodeHash(sp: usize): bool {
  const entry = accountOf(sp)
  if (!chargeAccountAccess(entry)) return false
  if (isEmpty(entry)) clear(sp)
  else fromBytes(sp, entry + A_CODE_HASH)
  return true
}

export function opExtCodeCopy(sp: usize): bool {
  const entry = accountOf(sp)
  if (!chargeAccountAccess(entry)) return false
  if (!resizeMemory(sp - 32, sp - 96) || !chargeWords(rangeSize, WORD_COPY)) return false
  const code = codeOf(entry)
  copyPadded(sp - 64, code + C_BYTES, load<u32>(code, C_SIZE))
  return true
}

// --- copies into memory --------------------------------------------------------------------------------------------

/** CALLDATACOPY and CODECOPY: destination, offset, size. */
export function opCopy(sp: usize, source: usize, size: u32): bool {
  if (!resizeMemory(sp, sp - 64) || !chargeWords(rangeSize, WORD_COPY)) return false
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

/** Fills the range of the last `resizeMemory` from `source` at the offset on the stack, padded with zeros. */
function copyPadded(offset: usize, source: usize, size: u32): void {
  const high = load<u64>(offset, 8) | load<u64>(offset, 16) | load<u64>(offset, 24)
  const from = high != 0 ? <u64>size : min(load<u64>(offset), <u64>size)
  const count = min(<usize>(<u64>size - from), rangeSize)
  copyBytes(rangeStart, source + <usize>from, count)
  if (count < rangeSize) memory.fill(rangeStart + count, 0, rangeSize - count)
}

export function opReturnDataCopy(sp: usize): bool {
  const size = sp - 64
  const offset = sp - 32
  const high = load<u64>(offset, 8) | load<u64>(offset, 16) | load<u64>(offset, 24) | load<u64>(size, 8) | load<u64>(size, 16) | load<u64>(size, 24)
  const from = load<u64>(offset)
  const count = load<u64>(size)
  if (high != 0 || from > <u64>returnSize || count > <u64>returnSize - from) return fail(RETURN_OUT_OF_BOUNDS)
  if (!resizeMemory(sp, size) || !chargeWords(rangeSize, WORD_COPY)) return false
  copyBytes(rangeStart, RETURN + <usize>from, rangeSize)
  return true
}

/** EIP-5656. Memory expands to the larger of both ends. */
export function opMcopy(sp: usize): bool {
  if (!resizeMemory(sp - 32, sp - 64)) return false
  const source = rangeStart - memoryBase
  if (!resizeMemory(sp, sp - 64) || !chargeWords(rangeSize, WORD_COPY)) return false
  copyBytes(rangeStart, memoryBase + source, rangeSize)
  return true
}

/** CALLDATALOAD at any offset. */
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

// --- logs ----------------------------------------------------------------------------------------------------------

/** Buffer entry: u32 data size, u32 topic count, u32 account entry, u32 entry size; topics of 32 bytes; data, padded to 8. */
export function opLog(sp: usize, topics: u32): bool {
  if (isStatic) return fail(WRITE_PROTECTION)
  if (!resizeMemory(sp, sp - 32) || !charge(LOG_BYTE * <i64>rangeSize)) return false
  const data = logTop + 16 + (<usize>topics << 5)
  const end = (data + rangeSize + 7) & ~7
  if (end > LOGS_END) outOfMemory()
  store<u32>(logTop, <u32>rangeSize)
  store<u32>(logTop, topics, 4)
  store<u32>(logTop, <u32>self, 8)
  store<u32>(logTop, <u32>(end - logTop), 12)
  for (let i: u32 = 0; i < topics; i++) toBytes(logTop + 16 + (<usize>i << 5), sp - 64 - (<usize>i << 5))
  copyBytes(data, rangeStart, rangeSize)
  const at = logTop
  setLogs(end, logCount + 1)
  if (TRACE) hookLog(at)
  return true
}

// --- the block -----------------------------------------------------------------------------------------------------

export function opBlockHash(sp: usize): void {
  const requested = load<u64>(sp)
  const number = load<u64>(NUMBER)
  const high = load<u64>(sp, 8) | load<u64>(sp, 16) | load<u64>(sp, 24)
  if (high != 0 || requested >= number || number - requested > 256) return clear(sp)
  loadBlockHash(<f64>requested, SCRATCH)
  fromBytes(sp, SCRATCH)
}

export function opBlobHash(sp: usize): void {
  const high = load<u64>(sp, 8) | load<u64>(sp, 16) | load<u64>(sp, 24)
  if (high != 0 || load<u64>(sp) >= <u64>load<u32>(BLOB_COUNT)) return clear(sp)
  copy(sp, BLOB_HASHES + (<usize>load<u64>(sp) << 5))
}

// --- end of a frame ------------------------------------------------------------------------------------------------

/** RETURN and REVERT: keeps the return data. */
export function opReturn(sp: usize, reason: i32): void {
  if (!resizeMemory(sp, sp - 32)) return
  setReturnData(rangeStart, rangeSize)
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
