// Entering and leaving frames: the CALL family, creations, SELFDESTRUCT and the outermost frame. The interpreter calls `call` or `create`;
// on ENTERED it continues in the new frame, and `endFrame` restores the caller's.

import { keccak256 } from './keccak'
import {
  A_ADDRESS, A_BALANCE, A_CREATED, A_DESTROYED, A_NONCE, BERLIN, CANCUN, CODE_NOT_STORED, CODE_SIZE_MAX, CODE_STORE_OUT_OF_GAS,
  CODE_TOO_LARGE, COLLISION, COST_WARM, C_BYTES, C_SIZE, DEPTH_EXCEEDED, FORK, HOMESTEAD, INIT, INIT_CODE_SIZE_MAX, INIT_CODE_TOO_LARGE,
  INIT_END, INPUT, INSUFFICIENT_BALANCE, INVALID_CODE, LONDON, MEMORY, NONCE_OVERFLOW, ORIGIN, OUT_OF_GAS, PRAGUE, PRECOMPILE_FAILED,
  REFUND_SELFDESTRUCT, RETURN, RETURN_END, REVERT, RUNNING, SCRATCH, SHANGHAI, SPURIOUS, STACK, SUCCESS, TANGERINE, TARGET, VALUE,
  WRITE_PROTECTION, CODE_PADDING,
} from './layout'
import {
  F_BASE, F_CALLER, F_CODE, F_CODE_ACCOUNT, F_CREATED, F_GAS, F_GAS_LIMIT, F_INIT_TOP, F_INPUT, F_INPUT_SIZE, F_OPCODE, F_LOG_COUNT,
  F_LOG_TOP, F_MARK, F_MEMORY, F_MEMORY_SIZE, F_OUT, F_OUT_SIZE, F_PC, F_REFUND, F_RESULT, F_SELF, F_CHECKPOINT, F_SP, F_STATIC, F_VALUE,
} from './frame'
import { TRACE } from './flags'
import { hookEnter, hookExit } from './hooks'
import {
  charge, chargeWords, depth, frame, frameAt, fuel, gasLeft, halt, frameStatus, isStatic, memoryBase, memorySize, resizeMemory, rangeStart,
  rangeSize, returnSize, self, setDepth, setFrame, setFuel, setGas, setMemory, setReturnSize, setSelf,
} from './machine'
import {
  account, markJumpDestinations, checkpoint, codeOf, coldAccountCost, currentEpoch, currentCheckpoint, ensureExists, exists, hasNoCode,
  isEmpty, logCount, logTop, outOfMemory, precompileAt, initCodeRecord, refund, resumeCheckpoint, revertTo, setCode, setLogs, setRefund,
  touch, warmAccount,
} from './state'
import { add, clear, copy, copyAddress, copyBytes, isZero, lt, sub } from './word'

/** True when the account holds a slot that is not zero (EIP-7610). */
@external('host', 'hasStorage')
declare function hasStorage(entry: usize): i32
/** Returns the gas used and leaves the output at RETURN (size through `setReturnSize`); -1: failed, -2: not enough gas. */
@external('host', 'precompile')
declare function hostPrecompile(number: i32, input: usize, size: usize, gas: f64): f64
/** A call to the console address, which has no code. Its gas and result are the same as for any account without code. */
@external('host', 'console')
declare function hostConsole(input: usize, size: usize): void

/** The frame has halted. */
export const HALTED: i32 = 0
/** The call is complete; its result is on the stack. */
export const DONE: i32 = 1
/** The machine has switched to the new frame. */
export const ENTERED: i32 = 2

const CALL_DEPTH_MAX: i32 = 1024
const VALUE_COST: i64 = 9000
const STIPEND: i64 = 2300
const NEW_ACCOUNT_COST: i64 = 25000
const CODE_BYTE_COST: i64 = 200
/** fuel for entering a frame */
const FRAME_FUEL: i32 = 16

let initTop: usize = INIT
/** set when a creation before Homestead cannot pay for its code */
let codeNotStored: bool = false
const ZERO_WORD: usize = SCRATCH + 96 // always zero: neither the runtime nor the host writes it
const ADDRESS_SCRATCH: usize = SCRATCH + 64 // 20 bytes

@inline
function fork(): u32 {
  return load<u32>(FORK)
}

/** Writes the address in the low 20 bytes of `word`. */
@inline
export function addressOf(word: usize, out: usize): void {
  store<u32>(out, bswap(load<u32>(word, 16)))
  store<u64>(out, bswap(load<u64>(word, 8)), 4)
  store<u64>(out, bswap(load<u64>(word)), 12)
}

/** Writes an address as a word. */
@inline
export function wordOf(address: usize, out: usize): void {
  store<u64>(out, bswap(load<u64>(address, 12)))
  store<u64>(out, bswap(load<u64>(address, 4)), 8)
  store<u64>(out, <u64>bswap(load<u32>(address)), 16)
  store<u64>(out, 0, 24)
}

/** The account entry of an address on the stack. */
@inline
export function accountOf(word: usize): usize {
  addressOf(word, ADDRESS_SCRATCH)
  return account(ADDRESS_SCRATCH)
}

/** Charges the account access cost in excess of the opcode's static gas (EIP-2929). */
export function chargeAccountAccess(entry: usize): bool {
  const cold = coldAccountCost(entry)
  return cold == 0 || charge(cold - <i64>load<u32>(COST_WARM))
}

// --- CALL family ---------------------------------------------------------------------------------------------------

/** `sp` points at the top of the stack: gas, address, [value,] input offset and size, output offset and size. */
export function call(op: u32, sp: usize): i32 {
  const withValue = op == 0xf1 || op == 0xf2
  const args = withValue ? sp - 96 : sp - 64
  const result = args - 96
  const value = withValue ? sp - 64 : ZERO_WORD
  const hasValue = withValue && !isZero(value)
  if (hasValue && isStatic && op == 0xf1) return haltWith(WRITE_PROTECTION)
  if (!resizeMemory(args, args - 32)) return HALTED
  const inputSize = rangeSize
  const inputOffset = rangeStart - memoryBase
  if (!resizeMemory(args - 64, args - 96)) return HALTED
  const outSize = rangeSize
  const out = rangeStart
  const input = memoryBase + inputOffset
  const target = accountOf(sp - 32)
  if (!chargeAccountAccess(target)) return HALTED
  const codeAccount = resolveDelegation(target)
  if (codeAccount == 0) return HALTED
  if (hasValue && !charge(VALUE_COST)) return HALTED
  if (op == 0xf1 && createsAccount(target, hasValue) && !charge(NEW_ACCOUNT_COST)) return HALTED
  const gas = callGas(sp)
  if (gas < 0) return HALTED
  setGas(gasLeft - gas)
  return beginCall(op, sp, result, target, codeAccount, value, hasValue, input, inputSize, out, outSize, hasValue ? gas + STIPEND : gas)
}

@inline
function haltWith(reason: i32): i32 {
  halt(reason)
  return HALTED
}

/** True if the call creates the account and therefore pays for a new one (EIP-161). */
function createsAccount(target: usize, hasValue: bool): bool {
  return fork() >= SPURIOUS ? hasValue && isEmpty(target) : !exists(target)
}

/** The account whose code runs. An EIP-7702 delegation is charged even when it names the account itself. 0: the frame has halted. */
function resolveDelegation(target: usize): usize {
  if (!isDelegated(target)) return target
  const delegated = delegateOf(target)
  const cold = coldAccountCost(delegated)
  return charge(cold != 0 ? cold : <i64>load<u32>(COST_WARM)) ? delegated : 0
}

/** The target of the account's delegation, or the account itself. */
export function delegateOf(target: usize): usize {
  return isDelegated(target) ? account(codeOf(target) + C_BYTES + 3) : target
}

function isDelegated(target: usize): bool {
  if (fork() < PRAGUE || hasNoCode(target)) return false
  const code = codeOf(target)
  return load<u32>(code, C_SIZE) == 23 && (load<u32>(code, C_BYTES) & 0xffffff) == 0x0001ef
}

/** Gas for the callee (EIP-150: at most 63/64 of what is left); -1: the frame has halted. */
function callGas(requested: usize): i64 {
  const fits = (load<u64>(requested, 8) | load<u64>(requested, 16) | load<u64>(requested, 24)) == 0 && <i64>load<u64>(requested) >= 0
  const requestedGas = fits ? <i64>load<u64>(requested) : i64.MAX_VALUE
  if (fork() >= TANGERINE) return min(requestedGas, gasLeft - gasLeft / 64)
  if (requestedGas <= gasLeft) return requestedGas
  setGas(gasLeft - requestedGas)
  halt(OUT_OF_GAS)
  return -1
}

function beginCall(
  op: u32, sp: usize, result: usize, target: usize, codeAccount: usize, value: usize, hasValue: bool,
  input: usize, inputSize: usize, out: usize, outSize: usize, gas: i64,
): i32 {
  const number = precompileAt(target + A_ADDRESS)
  if (TRACE) hookEnter(op, depth + 1, self + A_ADDRESS, target + A_ADDRESS, input, inputSize, gas, op == 0xf4 ? frame + F_VALUE : value, <i32>number, gasLeft)
  setReturnSize(0)
  if (depth >= CALL_DEPTH_MAX) return failCall(result, gas, DEPTH_EXCEEDED)
  if (hasValue && lt(self + A_BALANCE, value)) return failCall(result, gas, INSUFFICIENT_BALANCE)
  if (number != 0) return callPrecompile(op, number, result, target, value, hasValue, input, inputSize, out, outSize, gas)
  const absent = op == 0xf1 && !exists(target) && !hasValue && fork() >= SPURIOUS
  if (absent || load<u32>(codeOf(codeAccount), C_SIZE) == 0) {
    if (isConsole(target + A_ADDRESS)) hostConsole(input, inputSize)
    if (!absent) moveValue(op, target, value, hasValue)
    return completeEmptyCall(result, gas)
  }
  const checkpointId = currentCheckpoint()
  const mark = checkpoint()
  moveValue(op, target, value, hasValue)
  const next = frameAt(depth + 1)
  if (op == 0xf4) {
    copyAddress(next + F_CALLER, frame + F_CALLER)
    copy(next + F_VALUE, frame + F_VALUE)
  } else {
    copyAddress(next + F_CALLER, self + A_ADDRESS)
    copy(next + F_VALUE, value)
  }
  store<u32>(next, <u32>out, F_OUT)
  store<u32>(next, <u32>outSize, F_OUT_SIZE)
  store<u32>(next, 0, F_CREATED)
  store<u32>(next, <u32>codeAccount, F_CODE_ACCOUNT)
  const storageAccount = op == 0xf1 || op == 0xfa ? target : self
  pushFrame(next, op, codeOf(codeAccount), storageAccount, isStatic || op == 0xfa, input, inputSize, mark, checkpointId, gas, result)
  return ENTERED
}

/** True for 0x000000000000000000636F6e736F6c652e6c6f67, `console.log` in ASCII, which Hardhat's and Foundry's console.sol call. */
@inline
function isConsole(address: usize): bool {
  return load<u64>(address) == 0 && load<u64>(address, 8) == 0x656c6f736e6f6300 && load<u32>(address, 16) == 0x676f6c2e
}

/** The call fails before its frame starts, and its gas is returned. */
function failCall(result: usize, gas: i64, reason: i32): i32 {
  setGas(gasLeft + gas)
  clear(result)
  if (TRACE) hookExit(depth + 1, reason, 0, 0, 0)
  return DONE
}

/** Completes a call to an account without code. */
function completeEmptyCall(result: usize, gas: i64): i32 {
  setGas(gasLeft + gas)
  clear(result)
  store<u64>(result, 1)
  if (TRACE) hookExit(depth + 1, SUCCESS, RETURN, 0, 0)
  return DONE
}

function callPrecompile(
  op: u32, number: u32, result: usize, target: usize, value: usize, hasValue: bool,
  input: usize, inputSize: usize, out: usize, outSize: usize, gas: i64,
): i32 {
  const checkpointId = currentCheckpoint()
  const mark = checkpoint()
  moveValue(op, target, value, hasValue)
  const used = runPrecompile(number, input, inputSize, gas)
  if (used >= 0) {
    setGas(gasLeft + gas - used)
    copyBytes(out, RETURN, min(outSize, returnSize))
  } else {
    revertTo(mark)
    setReturnSize(0)
  }
  resumeCheckpoint(checkpointId)
  clear(result)
  if (used >= 0) store<u64>(result, 1)
  if (TRACE) hookExit(depth + 1, used >= 0 ? SUCCESS : used == -2 ? OUT_OF_GAS : PRECOMPILE_FAILED, RETURN, returnSize, used >= 0 ? used : gas)
  return DONE
}

/** Returns the gas used; -1: failed; -2: not enough gas. IDENTITY runs here, without a call to the host. */
function runPrecompile(number: u32, input: usize, size: usize, gas: i64): i64 {
  if (number != 4) {
    const used = hostPrecompile(<i32>number, input, size, <f64>gas)
    setFuel(fuel - <i32>min(used / 2, 1048576))
    return <i64>used
  }
  const cost = 15 + 3 * <i64>((size + 31) >> 5)
  if (cost > gas) return -2
  setFuel(fuel - <i32>min(cost >> 3, 1048576)) // this gas is not charged through `charge`, which burns fuel
  if (RETURN + size > RETURN_END) outOfMemory()
  memory.copy(RETURN, input, size)
  setReturnSize(size)
  return cost
}

/** Transfers the value of a call. A call also touches its target. */
function moveValue(op: u32, target: usize, value: usize, hasValue: bool): void {
  if (op == 0xf1) transfer(self, target, value, hasValue)
  else if (op == 0xfa && exists(target)) touch(target)
}

function transfer(from: usize, to: usize, value: usize, hasValue: bool): void {
  ensureExists(to)
  if (!hasValue) return
  touch(from)
  sub(from + A_BALANCE, from + A_BALANCE, value)
  credit(to, value)
}

/** Saturates at 2^256 - 1: a test may have set any balance. */
function credit(to: usize, value: usize): void {
  add(to + A_BALANCE, to + A_BALANCE, value)
  if (!lt(to + A_BALANCE, value)) return
  store<u64>(to, -1, A_BALANCE)
  store<u64>(to, -1, A_BALANCE + 8)
  store<u64>(to, -1, A_BALANCE + 16)
  store<u64>(to, -1, A_BALANCE + 24)
}

/** Fills in a frame record and makes it the current frame. The interpreter has saved its registers before. */
function pushFrame(
  next: usize, op: u32, code: usize, storageAccount: usize, readOnly: bool, input: usize, inputSize: usize, mark: usize, checkpointId: u32, gas: i64, result: usize,
): void {
  const base = memoryBase + memorySize
  store<u32>(next, <u32>(code + C_BYTES), F_PC)
  store<u32>(next, <u32>result, F_SP)
  store<u32>(next, <u32>result, F_BASE)
  store<u32>(next, <u32>code, F_CODE)
  store<u32>(next, <u32>storageAccount, F_SELF)
  store<u32>(next, readOnly ? 1 : 0, F_STATIC)
  store<u32>(next, op, F_OPCODE)
  store<u32>(next, <u32>input, F_INPUT)
  store<u32>(next, <u32>inputSize, F_INPUT_SIZE)
  store<u32>(next, <u32>initTop, F_INIT_TOP)
  store<u32>(next, <u32>mark, F_MARK)
  store<u32>(next, checkpointId, F_CHECKPOINT)
  store<u32>(next, <u32>logTop, F_LOG_TOP)
  store<u32>(next, logCount, F_LOG_COUNT)
  store<i64>(next, refund, F_REFUND)
  store<i64>(next, gas, F_GAS_LIMIT)
  store<u32>(next, <u32>result, F_RESULT)
  store<i64>(frame, gasLeft, F_GAS)
  store<u32>(frame, <u32>memoryBase, F_MEMORY)
  store<u32>(frame, <u32>memorySize, F_MEMORY_SIZE)
  setDepth(depth + 1)
  setFrame(next)
  setSelf(storageAccount, readOnly)
  setMemory(base, 0)
  setReturnSize(0)
  setGas(gas)
  setFuel(fuel - FRAME_FUEL)
}

// --- creations -----------------------------------------------------------------------------------------------------

/** `sp` points at the top of the stack: value, offset, size [, salt]. */
export function create(op: u32, sp: usize): i32 {
  const result = op == 0xf5 ? sp - 96 : sp - 64
  if (isStatic) return haltWith(WRITE_PROTECTION)
  if (!resizeMemory(sp - 32, sp - 64)) return HALTED
  const size = rangeSize
  const source = rangeStart
  if (fork() >= SHANGHAI) {
    if (size > load<u32>(INIT_CODE_SIZE_MAX)) return haltWith(INIT_CODE_TOO_LARGE)
    if (!chargeWords(size, 2)) return HALTED
  }
  if (op == 0xf5 && !chargeWords(size, 6)) return HALTED
  const gas = fork() >= TANGERINE ? gasLeft - gasLeft / 64 : gasLeft
  setGas(gasLeft - gas)
  setReturnSize(0)
  const address = op == 0xf5 ? create2Address(sp - 96, source, size) : createAddress()
  if (TRACE) hookEnter(op, depth + 1, self + A_ADDRESS, address, source, size, gas, sp, 0, gasLeft)
  if (depth >= CALL_DEPTH_MAX) return failCall(result, gas, DEPTH_EXCEEDED)
  if (lt(self + A_BALANCE, sp)) return failCall(result, gas, INSUFFICIENT_BALANCE)
  if (load<u64>(self, A_NONCE) == u64.MAX_VALUE) return failCall(result, gas, NONCE_OVERFLOW)
  touch(self)
  store<u64>(self, load<u64>(self, A_NONCE) + 1, A_NONCE)
  const made = account(address)
  if (fork() >= BERLIN) warmAccount(made)
  if (hasCollision(made)) {
    clear(result)
    if (TRACE) hookExit(depth + 1, COLLISION, 0, 0, gas)
    return DONE
  }
  const code = makeInitCode(source, size)
  enterCreation(op, made, code, self + A_ADDRESS, sp, gas, result)
  return ENTERED
}

function hasCollision(made: usize): bool {
  return load<u64>(made, A_NONCE) != 0 || !hasNoCode(made) || hasStorage(made) != 0
}

/** Makes a temporary code record, valid while the creation frame runs. */
function makeInitCode(source: usize, size: usize): usize {
  const code = initTop
  const whole = ((C_BYTES + size + CODE_PADDING + 15) & ~15) + (((size + 63) >> 6) << 3) + 16
  if (code + whole > INIT_END) outOfMemory()
  initTop = (code + whole + 15) & ~15
  initCodeRecord(code, <u32>size)
  memory.copy(code + C_BYTES, source, size)
  markJumpDestinations(code)
  return code
}

function enterCreation(op: u32, made: usize, code: usize, caller: usize, value: usize, gas: i64, result: usize): void {
  const checkpointId = currentCheckpoint()
  const mark = checkpoint()
  const next = frameAt(depth + 1)
  copyAddress(next + F_CALLER, caller)
  copy(next + F_VALUE, value)
  ensureExists(made)
  store<u32>(made, currentEpoch(), A_CREATED)
  if (fork() >= SPURIOUS) store<u64>(made, 1, A_NONCE)
  transfer(op == 0 ? account(caller) : self, made, value, !isZero(value))
  store<u32>(next, 0, F_OUT_SIZE)
  store<u32>(next, <u32>made, F_CREATED)
  store<u32>(next, <u32>made, F_CODE_ACCOUNT)
  const top = initTop
  initTop = code
  pushFrame(next, op, code, made, false, 0, 0, mark, checkpointId, gas, result)
  initTop = top
}

/** Writes keccak256(rlp([sender, nonce])) to ADDRESS_SCRATCH. */
function createAddress(): usize {
  const at = SCRATCH
  const nonce = load<u64>(self, A_NONCE)
  store<u8>(at, 0x94, 1)
  copyAddress(at + 2, self + A_ADDRESS)
  let size: usize = 22
  if (nonce == 0) store<u8>(at + size++, 0x80)
  else if (nonce < 0x80) store<u8>(at + size++, <u8>nonce)
  else {
    const bytes = <usize>((71 - clz(nonce)) >> 3)
    store<u8>(at + size++, <u8>(0x80 + bytes))
    for (let i = bytes; i > 0; i--) store<u8>(at + size++, <u8>(nonce >> ((i - 1) << 3)))
  }
  store<u8>(at, <u8>(0xc0 + size - 1))
  return hashToAddress(at, size)
}

/** EIP-1014. The 85-byte preimage is assembled where the next init code will be copied. */
function create2Address(salt: usize, source: usize, size: usize): usize {
  const at = initTop
  if (at + 96 > INIT_END) outOfMemory()
  store<u8>(at, 0xff)
  copyAddress(at + 1, self + A_ADDRESS)
  store<u64>(at, bswap(load<u64>(salt, 24)), 21)
  store<u64>(at, bswap(load<u64>(salt, 16)), 29)
  store<u64>(at, bswap(load<u64>(salt, 8)), 37)
  store<u64>(at, bswap(load<u64>(salt)), 45)
  keccak256(source, size, at + 53)
  return hashToAddress(at, 85)
}

function hashToAddress(at: usize, size: usize): usize {
  keccak256(at, size, at)
  copyAddress(ADDRESS_SCRATCH, at + 12)
  return ADDRESS_SCRATCH
}

// --- end of a frame ------------------------------------------------------------------------------------------------

/**
 * Ends the current frame with `frameStatus` and restores the caller: its gas, the output and the result word. Returns true for the
 * outermost frame; `frameStatus` is then the status of the message.
 */
export function endFrame(): bool {
  const created = <usize>load<u32>(frame, F_CREATED)
  if (TRACE) codeNotStored = false
  if (created != 0 && frameStatus == SUCCESS) storeCode(created)
  const status = frameStatus
  if (status == SUCCESS) resumeCheckpoint(load<u32>(frame, F_CHECKPOINT))
  else revertFrame(status)
  initTop = <usize>load<u32>(frame, F_INIT_TOP)
  if (TRACE) hookExit(depth, codeNotStored ? CODE_NOT_STORED : status, RETURN, returnSize, load<i64>(frame, F_GAS_LIMIT) - gasLeft)
  if (depth == 0) return true
  returnToCaller(status, created)
  return false
}

/** Reverts everything a failed frame did. REVERT keeps the remaining gas and the output. */
function revertFrame(status: i32): void {
  revertTo(<usize>load<u32>(frame, F_MARK))
  resumeCheckpoint(load<u32>(frame, F_CHECKPOINT))
  setLogs(<usize>load<u32>(frame, F_LOG_TOP), load<u32>(frame, F_LOG_COUNT))
  setRefund(load<i64>(frame, F_REFUND))
  if (status == REVERT) return
  setGas(0)
  setReturnSize(0)
}

function returnToCaller(status: i32, created: usize): void {
  const ended = frame
  const left = gasLeft
  const caller = frameAt(depth - 1)
  setDepth(depth - 1)
  setFrame(caller)
  setSelf(<usize>load<u32>(caller, F_SELF), load<u32>(caller, F_STATIC) != 0)
  setMemory(<usize>load<u32>(caller, F_MEMORY), <usize>load<u32>(caller, F_MEMORY_SIZE))
  setGas(load<i64>(caller, F_GAS) + left)
  const result = <usize>load<u32>(ended, F_RESULT)
  store<u32>(caller, <u32>result, F_SP)
  clear(result)
  if (created != 0) {
    if (status == SUCCESS) wordOf(created + A_ADDRESS, result)
    if (status != REVERT) setReturnSize(0)
  } else {
    if (status == SUCCESS) store<u64>(result, 1)
    copyBytes(<usize>load<u32>(ended, F_OUT), RETURN, min(<usize>load<u32>(ended, F_OUT_SIZE), returnSize))
  }
  halt(RUNNING)
}

/** Stores the output of init code as the account's code, if it is valid and paid for. */
function storeCode(created: usize): void {
  const size = returnSize
  if (fork() >= SPURIOUS && size > load<u32>(CODE_SIZE_MAX)) return halt(CODE_TOO_LARGE)
  if (fork() >= LONDON && size > 0 && load<u8>(RETURN) == 0xef) return halt(INVALID_CODE)
  const cost = CODE_BYTE_COST * <i64>size
  if (cost > gasLeft) {
    if (fork() >= HOMESTEAD) return halt(CODE_STORE_OUT_OF_GAS)
    if (TRACE) codeNotStored = true
    return setCode(created, RETURN, 0)
  }
  setGas(gasLeft - cost)
  setCode(created, RETURN, <u32>size)
}

// --- outermost frame -----------------------------------------------------------------------------------------------

/** Initialises the machine for a message. Returns true if there is code to run, else the message is complete with `frameStatus`. */
export function startMessage(creation: bool, inputSize: usize, gas: i64): bool {
  initTop = INIT
  setDepth(-1)
  setFrame(frameAt(-1))
  setMemory(MEMORY, 0)
  setReturnSize(0)
  setGas(0)
  setSelf(account(ORIGIN), false)
  halt(RUNNING)
  return creation ? startCreation(inputSize, gas) : startCall(inputSize, gas)
}

function startCreation(size: usize, gas: i64): bool {
  const made = account(TARGET)
  if (TRACE) hookEnter(0xf0, 0, ORIGIN, TARGET, INPUT, size, gas, VALUE, 0, 0)
  if (load<u32>(FORK) >= BERLIN) warmAccount(made)
  if (hasCollision(made)) return finishWithoutCode(COLLISION, 0, gas)
  enterCreation(0, made, makeInitCode(INPUT, size), ORIGIN, VALUE, gas, STACK)
  return true
}

function startCall(inputSize: usize, gas: i64): bool {
  const from = self
  const target = account(TARGET)
  const number = precompileAt(TARGET)
  const hasValue = !isZero(VALUE)
  if (TRACE) hookEnter(0, 0, ORIGIN, TARGET, INPUT, inputSize, gas, VALUE, <i32>number, 0)
  const absent = !exists(target) && !hasValue && number == 0 && fork() >= SPURIOUS
  if (isConsole(TARGET) && hasNoCode(target)) hostConsole(INPUT, inputSize)
  if (absent) return finishWithoutCode(SUCCESS, gas, gas)
  const checkpointId = currentCheckpoint()
  const mark = checkpoint()
  transfer(from, target, VALUE, hasValue)
  if (number != 0) return startPrecompile(number, inputSize, gas, mark)
  const codeAccount = delegateOf(target)
  const code = codeOf(codeAccount)
  if (load<u32>(code, C_SIZE) == 0) return finishWithoutCode(SUCCESS, gas, gas)
  const next = frameAt(0)
  copyAddress(next + F_CALLER, ORIGIN)
  copy(next + F_VALUE, VALUE)
  store<u32>(next, 0, F_OUT_SIZE)
  store<u32>(next, 0, F_CREATED)
  store<u32>(next, <u32>codeAccount, F_CODE_ACCOUNT)
  pushFrame(next, 0, code, target, false, INPUT, inputSize, mark, checkpointId, gas, STACK)
  return true
}

function startPrecompile(number: u32, inputSize: usize, gas: i64, mark: usize): bool {
  const used = runPrecompile(number, INPUT, inputSize, gas)
  if (used >= 0) return finishWithoutCode(SUCCESS, gas - used, gas)
  revertTo(mark)
  setReturnSize(0)
  return finishWithoutCode(used == -2 ? OUT_OF_GAS : PRECOMPILE_FAILED, 0, gas)
}

/** Completes a message that runs no code. */
function finishWithoutCode(status: i32, left: i64, given: i64): bool {
  setGas(left)
  halt(status)
  if (TRACE) hookExit(0, status, RETURN, returnSize, given - left)
  return false
}

// --- SELFDESTRUCT --------------------------------------------------------------------------------------------------

/** `sp` points at the beneficiary. Returns false when the frame has halted. */
export function selfDestruct(sp: usize): bool {
  if (isStatic) return haltWith(WRITE_PROTECTION) != HALTED
  const beneficiary = accountOf(sp)
  const cold = coldAccountCost(beneficiary)
  if (cold != 0 && !charge(cold)) return false
  const hasValue = !isZero(self + A_BALANCE)
  if (fork() >= TANGERINE && createsAccount(beneficiary, hasValue) && !charge(NEW_ACCOUNT_COST)) return false
  if (TRACE) {
    hookEnter(0xff, depth + 1, self + A_ADDRESS, beneficiary + A_ADDRESS, 0, 0, 0, self + A_BALANCE, 0, gasLeft)
    hookExit(depth + 1, SUCCESS, 0, 0, 0)
  }
  const first = load<u32>(self, A_DESTROYED) != currentEpoch()
  if (first) setRefund(refund + <i64>load<u32>(REFUND_SELFDESTRUCT))
  const isDestroyed = fork() < CANCUN || load<u32>(self, A_CREATED) == currentEpoch()
  sweepBalance(beneficiary, hasValue, isDestroyed)
  if (isDestroyed) store<u32>(self, currentEpoch(), A_DESTROYED)
  return true
}

/** EIP-6780: a contract that survives and names itself as beneficiary keeps its ether; one that is destroyed burns it. */
function sweepBalance(beneficiary: usize, hasValue: bool, isDestroyed: bool): void {
  touch(self)
  ensureExists(beneficiary)
  if (beneficiary == self) {
    if (isDestroyed) clear(self + A_BALANCE)
    return
  }
  if (!hasValue) return
  credit(beneficiary, self + A_BALANCE)
  clear(self + A_BALANCE)
}
