// Frames begin and end here: the CALL family, creations, SELFDESTRUCT and the outermost frame. An interpreter asks `call`
// or `create`; when the answer is ENTERED it goes on in the new frame, and `leave` brings it back.

import { keccak256 } from './keccak'
import {
  A_ADDRESS, A_BALANCE, A_CREATED, A_DESTROYED, A_NONCE, BERLIN, CANCUN, CODE_LEFT_OUT, CODE_SIZE_MAX, CODE_STORE_OUT_OF_GAS, CODE_TOO_LARGE, COLLISION,
  COST_WARM, C_BYTES, C_SIZE, DEPTH_EXCEEDED, FORK, HOMESTEAD, INIT, INIT_CODE_SIZE_MAX, INIT_CODE_TOO_LARGE, INIT_END, INPUT,
  INSUFFICIENT_BALANCE, INVALID_CODE, LONDON, MEMORY, NONCE_OVERFLOW, ORIGIN, OUT_OF_GAS, PRAGUE,
  PRECOMPILE_FAILED, REFUND_DESTROY, RETURN, RETURN_END, REVERT, RUNNING, SCRATCH, SHANGHAI, SPURIOUS, STACK, SUCCESS, TANGERINE, TARGET, VALUE,
  WRITE_PROTECTION, CODE_PADDING,
} from './layout'
import {
  F_BASE, F_CALLER, F_CODE, F_CODE_ACCOUNT, F_CREATED, F_GAS, F_GIVEN, F_INIT_TOP, F_INPUT, F_INPUT_SIZE, F_KIND, F_LOG_COUNT, F_LOG_TOP, F_MARK, F_MEMORY,
  F_MEMORY_SIZE, F_OUT, F_OUT_SIZE, F_PC, F_REFUND, F_RESULT, F_SELF, F_SERIAL, F_SP, F_STATIC, F_VALUE,
} from './frame'
import { TRACE } from './flags'
import { hookEnter, hookLeave } from './hooks'
import {
  charge, chargeWords, depth, frame, frameAt, fuel, gasLeft, halt, halted, isStatic, memoryBase, memorySize, range, rangeAt, rangeSize, returnSize,
  self, setDepth, setFrame, setFuel, setGas, setMemory, setReturnSize, setSelf,
} from './machine'
import {
  account, analyse, checkpoint, codeOf, coldAccountCost, currentEpoch, currentSerial, ensure, exists, hasNoCode, isEmpty, logCount, logTop, noRoom,
  precompileAt, prepare, refund, resume, revertTo, setCode, setLogs, setRefund, touch, warmAccount,
} from './state'
import { add, clear, copy, copyAddress, copyBytes, isZero, lt, sub } from './word'

/** True when the account holds a slot that is not zero (EIP-7610). */
@external('host', 'hasStorage')
declare function hasStorage(entry: usize): i32
/** Gas used, with the output at RETURN and its size told to `returned`; -1: it failed. */
@external('host', 'precompile')
declare function runPrecompile(number: i32, input: usize, size: usize, gas: f64): f64

/** The frame is halted. */
export const HALTED: i32 = 0
/** The call is over, its result stands on the stack. */
export const DONE: i32 = 1
/** The machine is in the new frame. */
export const ENTERED: i32 = 2

const CALL_DEPTH: i32 = 1024
const VALUE_COST: i64 = 9000
const STIPEND: i64 = 2300
const NEW_ACCOUNT_COST: i64 = 25000
const CODE_BYTE_COST: i64 = 200
/** what a new frame does before its first loop, in fuel */
const FRAME_FUEL: i32 = 16

let initTop: usize = INIT
/** the creation that ends was made before Homestead and could not pay for its code */
let leftOut: bool = false
const NOTHING: usize = SCRATCH + 96 // a word that is always zero: the host never writes it
const ADDRESS: usize = SCRATCH + 64 // 20 bytes, the one at hand

@inline
function fork(): u32 {
  return load<u32>(FORK)
}

/** The 20 bytes of an address from a word. */
@inline
export function addressOf(word: usize, out: usize): void {
  store<u32>(out, bswap(load<u32>(word, 16)))
  store<u64>(out, bswap(load<u64>(word, 8)), 4)
  store<u64>(out, bswap(load<u64>(word)), 12)
}

/** An address as a word. */
@inline
export function wordOf(address: usize, out: usize): void {
  store<u64>(out, bswap(load<u64>(address, 12)))
  store<u64>(out, bswap(load<u64>(address, 4)), 8)
  store<u64>(out, <u64>bswap(load<u32>(address)), 16)
  store<u64>(out, 0, 24)
}

/** The account of an address on the stack. */
@inline
export function accountOf(word: usize): usize {
  addressOf(word, ADDRESS)
  return account(ADDRESS)
}

/** Pays for reaching an account beyond what the opcode's own price holds. */
export function reach(entry: usize): bool {
  const cold = coldAccountCost(entry)
  return cold == 0 || charge(cold - <i64>load<u32>(COST_WARM))
}

// --- the CALL family ---------------------------------------------------------------------------------------------------------------

/** `sp` is the top of the stack: gas, address, [value,] input offset and size, output offset and size. */
export function call(op: u32, sp: usize): i32 {
  const withValue = op == 0xf1 || op == 0xf2
  const args = withValue ? sp - 96 : sp - 64
  const result = args - 96
  const value = withValue ? sp - 64 : NOTHING
  const paying = withValue && !isZero(value)
  if (paying && isStatic && op == 0xf1) return stop(WRITE_PROTECTION)
  if (!range(args, args - 32)) return HALTED
  const inputSize = rangeSize
  const inputOffset = rangeAt - memoryBase
  if (!range(args - 64, args - 96)) return HALTED
  const outSize = rangeSize
  const out = rangeAt
  const input = memoryBase + inputOffset
  const target = accountOf(sp - 32)
  if (!reach(target)) return HALTED
  const codeAccount = delegate(target)
  if (codeAccount == 0) return HALTED
  if (paying && !charge(VALUE_COST)) return HALTED
  if (op == 0xf1 && isNew(target, paying) && !charge(NEW_ACCOUNT_COST)) return HALTED
  const gas = gasFor(sp)
  if (gas < 0) return HALTED
  setGas(gasLeft - gas)
  return begin(op, sp, result, target, codeAccount, value, paying, input, inputSize, out, outSize, paying ? gas + STIPEND : gas)
}

@inline
function stop(reason: i32): i32 {
  halt(reason)
  return HALTED
}

/** Would the call bring the account into being? */
function isNew(target: usize, paying: bool): bool {
  return fork() >= SPURIOUS ? paying && isEmpty(target) : !exists(target)
}

/** Whose code runs: with EIP-7702 perhaps another's, which costs, though it be the account itself. 0: halted. */
function delegate(target: usize): usize {
  if (!isDelegated(target)) return target
  const delegated = delegateOf(target)
  const cold = coldAccountCost(delegated)
  return charge(cold != 0 ? cold : <i64>load<u32>(COST_WARM)) ? delegated : 0
}

/** The account that a delegation names, or the account itself. */
export function delegateOf(target: usize): usize {
  return isDelegated(target) ? account(codeOf(target) + C_BYTES + 3) : target
}

function isDelegated(target: usize): bool {
  if (fork() < PRAGUE || hasNoCode(target)) return false
  const code = codeOf(target)
  return load<u32>(code, C_SIZE) == 23 && (load<u32>(code, C_BYTES) & 0xffffff) == 0x0001ef
}

/** The gas that a call hands over (EIP-150: all but a 64th at most), or -1: halted. */
function gasFor(asked: usize): i64 {
  const fits = (load<u64>(asked, 8) | load<u64>(asked, 16) | load<u64>(asked, 24)) == 0 && <i64>load<u64>(asked) >= 0
  const wanted = fits ? <i64>load<u64>(asked) : i64.MAX_VALUE
  if (fork() >= TANGERINE) return min(wanted, gasLeft - gasLeft / 64)
  if (wanted <= gasLeft) return wanted
  setGas(gasLeft - wanted)
  halt(OUT_OF_GAS)
  return -1
}

function begin(
  op: u32, sp: usize, result: usize, target: usize, codeAccount: usize, value: usize, paying: bool,
  input: usize, inputSize: usize, out: usize, outSize: usize, gas: i64,
): i32 {
  const number = precompileAt(target + A_ADDRESS)
  if (TRACE) hookEnter(op, depth + 1, self + A_ADDRESS, target + A_ADDRESS, input, inputSize, gas, op == 0xf4 ? frame + F_VALUE : value, <i32>number, gasLeft)
  setReturnSize(0)
  if (depth >= CALL_DEPTH) return refuse(result, gas, DEPTH_EXCEEDED)
  if (paying && lt(self + A_BALANCE, value)) return refuse(result, gas, INSUFFICIENT_BALANCE)
  if (number != 0) return callPrecompile(op, number, result, target, value, paying, input, inputSize, out, outSize, gas)
  const absent = op == 0xf1 && !exists(target) && !paying && fork() >= SPURIOUS
  if (absent || load<u32>(codeOf(codeAccount), C_SIZE) == 0) {
    if (!absent) move(op, target, value, paying)
    return finished(result, gas)
  }
  const serial = currentSerial()
  const mark = checkpoint()
  move(op, target, value, paying)
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
  const own = op == 0xf1 || op == 0xfa ? target : self
  push(next, op, codeOf(codeAccount), own, isStatic || op == 0xfa, input, inputSize, mark, serial, gas, result)
  return ENTERED
}

/** The call fails before it begins; its gas comes back. */
function refuse(result: usize, gas: i64, reason: i32): i32 {
  setGas(gasLeft + gas)
  clear(result)
  if (TRACE) hookLeave(depth + 1, reason, 0, 0, 0)
  return DONE
}

/** A call that runs no code. */
function finished(result: usize, gas: i64): i32 {
  setGas(gasLeft + gas)
  clear(result)
  store<u64>(result, 1)
  if (TRACE) hookLeave(depth + 1, SUCCESS, RETURN, 0, 0)
  return DONE
}

function callPrecompile(
  op: u32, number: u32, result: usize, target: usize, value: usize, paying: bool,
  input: usize, inputSize: usize, out: usize, outSize: usize, gas: i64,
): i32 {
  const serial = currentSerial()
  const mark = checkpoint()
  move(op, target, value, paying)
  const used = native(number, input, inputSize, gas)
  if (used >= 0) {
    setGas(gasLeft + gas - used)
    copyBytes(out, RETURN, min(outSize, returnSize))
  } else {
    revertTo(mark)
    setReturnSize(0)
  }
  resume(serial)
  clear(result)
  if (used >= 0) store<u64>(result, 1)
  if (TRACE) hookLeave(depth + 1, used >= 0 ? SUCCESS : used == -2 ? OUT_OF_GAS : PRECOMPILE_FAILED, RETURN, returnSize, used >= 0 ? used : gas)
  return DONE
}

/** Gas used; -1: it failed; -2: it was too dear. Identity needs no host. */
function native(number: u32, input: usize, size: usize, gas: i64): i64 {
  if (number != 4) {
    const used = runPrecompile(<i32>number, input, size, <f64>gas)
    setFuel(fuel - <i32>min(used / 2, 1048576))
    return <i64>used
  }
  const cost = 15 + 3 * <i64>((size + 31) >> 5)
  if (cost > gas) return -2
  setFuel(fuel - <i32>min(cost >> 3, 1048576)) // its gas is not charged as work is
  if (RETURN + size > RETURN_END) noRoom()
  memory.copy(RETURN, input, size)
  setReturnSize(size)
  return cost
}

/** The host has written so many bytes to RETURN. */
export function returned(size: usize): void {
  setReturnSize(size)
}

/** Moves the value of a call; a call is a touch of its target too. */
function move(op: u32, target: usize, value: usize, paying: bool): void {
  if (op == 0xf1) transfer(self, target, value, paying)
  else if (op == 0xfa && exists(target)) touch(target)
}

function transfer(from: usize, to: usize, value: usize, paying: bool): void {
  ensure(to)
  if (!paying) return
  touch(from)
  sub(from + A_BALANCE, from + A_BALANCE, value)
  credit(to, value)
}

/** Stops at 2^256 - 1: a test may have given anybody that much. */
function credit(to: usize, value: usize): void {
  add(to + A_BALANCE, to + A_BALANCE, value)
  if (!lt(to + A_BALANCE, value)) return
  store<u64>(to, -1, A_BALANCE)
  store<u64>(to, -1, A_BALANCE + 8)
  store<u64>(to, -1, A_BALANCE + 16)
  store<u64>(to, -1, A_BALANCE + 24)
}

/** Completes a record and makes it the running frame. The interpreter has saved its own place before. */
function push(
  next: usize, op: u32, code: usize, own: usize, readOnly: bool, input: usize, inputSize: usize, mark: usize, serial: u32, gas: i64, result: usize,
): void {
  const base = memoryBase + memorySize
  store<u32>(next, <u32>(code + C_BYTES), F_PC)
  store<u32>(next, <u32>result, F_SP)
  store<u32>(next, <u32>result, F_BASE)
  store<u32>(next, <u32>code, F_CODE)
  store<u32>(next, <u32>own, F_SELF)
  store<u32>(next, readOnly ? 1 : 0, F_STATIC)
  store<u32>(next, op, F_KIND)
  store<u32>(next, <u32>input, F_INPUT)
  store<u32>(next, <u32>inputSize, F_INPUT_SIZE)
  store<u32>(next, <u32>initTop, F_INIT_TOP)
  store<u32>(next, <u32>mark, F_MARK)
  store<u32>(next, serial, F_SERIAL)
  store<u32>(next, <u32>logTop, F_LOG_TOP)
  store<u32>(next, logCount, F_LOG_COUNT)
  store<i64>(next, refund, F_REFUND)
  store<i64>(next, gas, F_GIVEN)
  store<u32>(next, <u32>result, F_RESULT)
  store<i64>(frame, gasLeft, F_GAS)
  store<u32>(frame, <u32>memoryBase, F_MEMORY)
  store<u32>(frame, <u32>memorySize, F_MEMORY_SIZE)
  setDepth(depth + 1)
  setFrame(next)
  setSelf(own, readOnly)
  setMemory(base, 0)
  setReturnSize(0)
  setGas(gas)
  setFuel(fuel - FRAME_FUEL)
}

// --- creations -------------------------------------------------------------------------------------------------------------------------

/** `sp` is the top of the stack: value, offset, size [, salt]. */
export function create(op: u32, sp: usize): i32 {
  const result = op == 0xf5 ? sp - 96 : sp - 64
  if (isStatic) return stop(WRITE_PROTECTION)
  if (!range(sp - 32, sp - 64)) return HALTED
  const size = rangeSize
  const source = rangeAt
  if (fork() >= SHANGHAI) {
    if (size > load<u32>(INIT_CODE_SIZE_MAX)) return stop(INIT_CODE_TOO_LARGE)
    if (!chargeWords(size, 2)) return HALTED
  }
  if (op == 0xf5 && !chargeWords(size, 6)) return HALTED
  const gas = fork() >= TANGERINE ? gasLeft - gasLeft / 64 : gasLeft
  setGas(gasLeft - gas)
  setReturnSize(0)
  const address = op == 0xf5 ? saltedAddress(sp - 96, source, size) : nextAddress()
  if (TRACE) hookEnter(op, depth + 1, self + A_ADDRESS, address, source, size, gas, sp, 0, gasLeft)
  if (depth >= CALL_DEPTH) return refuse(result, gas, DEPTH_EXCEEDED)
  if (lt(self + A_BALANCE, sp)) return refuse(result, gas, INSUFFICIENT_BALANCE)
  if (load<u64>(self, A_NONCE) == u64.MAX_VALUE) return refuse(result, gas, NONCE_OVERFLOW)
  touch(self)
  store<u64>(self, load<u64>(self, A_NONCE) + 1, A_NONCE)
  const made = account(address)
  if (fork() >= BERLIN) warmAccount(made)
  if (collides(made)) {
    clear(result)
    if (TRACE) hookLeave(depth + 1, COLLISION, 0, 0, gas)
    return DONE
  }
  const code = initCode(source, size)
  enterCreation(op, made, code, self + A_ADDRESS, sp, gas, result)
  return ENTERED
}

function collides(made: usize): bool {
  return load<u64>(made, A_NONCE) != 0 || !hasNoCode(made) || hasStorage(made) != 0
}

/** Init code is a code like any other for as long as its frame runs. */
function initCode(source: usize, size: usize): usize {
  const code = initTop
  const whole = ((C_BYTES + size + CODE_PADDING + 15) & ~15) + (((size + 63) >> 6) << 3) + 16
  if (code + whole > INIT_END) noRoom()
  initTop = (code + whole + 15) & ~15
  prepare(code, <u32>size)
  memory.copy(code + C_BYTES, source, size)
  analyse(code)
  return code
}

function enterCreation(op: u32, made: usize, code: usize, caller: usize, value: usize, gas: i64, result: usize): void {
  const serial = currentSerial()
  const mark = checkpoint()
  const next = frameAt(depth + 1)
  copyAddress(next + F_CALLER, caller)
  copy(next + F_VALUE, value)
  ensure(made)
  store<u32>(made, currentEpoch(), A_CREATED)
  if (fork() >= SPURIOUS) store<u64>(made, 1, A_NONCE)
  transfer(op == 0 ? account(caller) : self, made, value, !isZero(value))
  store<u32>(next, 0, F_OUT_SIZE)
  store<u32>(next, <u32>made, F_CREATED)
  store<u32>(next, <u32>made, F_CODE_ACCOUNT)
  const top = initTop
  initTop = code
  push(next, op, code, made, false, 0, 0, mark, serial, gas, result)
  initTop = top
}

/** keccak(rlp([sender, nonce])), at ADDRESS. */
function nextAddress(): usize {
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

/** EIP-1014. The 85 bytes are put together where the next init code will go. */
function saltedAddress(salt: usize, source: usize, size: usize): usize {
  const at = initTop
  if (at + 96 > INIT_END) noRoom()
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
  copyAddress(ADDRESS, at + 12)
  return ADDRESS
}

// --- the end of a frame ------------------------------------------------------------------------------------------------------------------

/**
 * Ends the running frame for the reason in `halted` and goes back to its caller: gas, output and result are where they
 * belong. True: that was the outermost frame, and `halted` says how the message ended.
 */
export function leave(): bool {
  const created = <usize>load<u32>(frame, F_CREATED)
  if (TRACE) leftOut = false
  if (created != 0 && halted == SUCCESS) deploy(created)
  const status = halted
  if (status == SUCCESS) resume(load<u32>(frame, F_SERIAL))
  else undo(status)
  initTop = <usize>load<u32>(frame, F_INIT_TOP)
  if (TRACE) hookLeave(depth, leftOut ? CODE_LEFT_OUT : status, RETURN, returnSize, load<i64>(frame, F_GIVEN) - gasLeft)
  if (depth == 0) return true
  returnTo(status, created)
  return false
}

/** What failed leaves nothing behind but, after REVERT, its gas and its reason. */
function undo(status: i32): void {
  revertTo(<usize>load<u32>(frame, F_MARK))
  resume(load<u32>(frame, F_SERIAL))
  setLogs(<usize>load<u32>(frame, F_LOG_TOP), load<u32>(frame, F_LOG_COUNT))
  setRefund(load<i64>(frame, F_REFUND))
  if (status == REVERT) return
  setGas(0)
  setReturnSize(0)
}

function returnTo(status: i32, created: usize): void {
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

/** What the init code returned becomes the code, if it may and can be paid for. */
function deploy(created: usize): void {
  const size = returnSize
  if (fork() >= SPURIOUS && size > load<u32>(CODE_SIZE_MAX)) return halt(CODE_TOO_LARGE)
  if (fork() >= LONDON && size > 0 && load<u8>(RETURN) == 0xef) return halt(INVALID_CODE)
  const cost = CODE_BYTE_COST * <i64>size
  if (cost > gasLeft) {
    if (fork() >= HOMESTEAD) return halt(CODE_STORE_OUT_OF_GAS)
    if (TRACE) leftOut = true
    return setCode(created, RETURN, 0)
  }
  setGas(gasLeft - cost)
  setCode(created, RETURN, <u32>size)
}

// --- the outermost frame -------------------------------------------------------------------------------------------------------------------

/** Sets the machine up for a message. True: there is code to run; else it is over and `halted` says how. */
export function open(creation: bool, inputSize: usize, gas: i64): bool {
  initTop = INIT
  setDepth(-1)
  setFrame(frameAt(-1))
  setMemory(MEMORY, 0)
  setReturnSize(0)
  setGas(0)
  setSelf(account(ORIGIN), false)
  halt(RUNNING)
  return creation ? openCreation(inputSize, gas) : openCall(inputSize, gas)
}

function openCreation(size: usize, gas: i64): bool {
  const made = account(TARGET)
  if (TRACE) hookEnter(0xf0, 0, ORIGIN, TARGET, INPUT, size, gas, VALUE, 0, 0)
  if (load<u32>(FORK) >= BERLIN) warmAccount(made)
  if (collides(made)) return over(COLLISION, 0, gas)
  enterCreation(0, made, initCode(INPUT, size), ORIGIN, VALUE, gas, STACK)
  return true
}

function openCall(inputSize: usize, gas: i64): bool {
  const from = self
  const target = account(TARGET)
  const number = precompileAt(TARGET)
  const paying = !isZero(VALUE)
  if (TRACE) hookEnter(0, 0, ORIGIN, TARGET, INPUT, inputSize, gas, VALUE, <i32>number, 0)
  const absent = !exists(target) && !paying && number == 0 && fork() >= SPURIOUS
  if (absent) return over(SUCCESS, gas, gas)
  const serial = currentSerial()
  const mark = checkpoint()
  transfer(from, target, VALUE, paying)
  if (number != 0) return openPrecompile(number, inputSize, gas, mark)
  const codeAccount = delegateOf(target)
  const code = codeOf(codeAccount)
  if (load<u32>(code, C_SIZE) == 0) return over(SUCCESS, gas, gas)
  const next = frameAt(0)
  copyAddress(next + F_CALLER, ORIGIN)
  copy(next + F_VALUE, VALUE)
  store<u32>(next, 0, F_OUT_SIZE)
  store<u32>(next, 0, F_CREATED)
  store<u32>(next, <u32>codeAccount, F_CODE_ACCOUNT)
  push(next, 0, code, target, false, INPUT, inputSize, mark, serial, gas, STACK)
  return true
}

function openPrecompile(number: u32, inputSize: usize, gas: i64, mark: usize): bool {
  const used = native(number, INPUT, inputSize, gas)
  if (used >= 0) return over(SUCCESS, gas - used, gas)
  revertTo(mark)
  setReturnSize(0)
  return over(used == -2 ? OUT_OF_GAS : PRECOMPILE_FAILED, 0, gas)
}

/** The message has run no code. */
function over(status: i32, left: i64, given: i64): bool {
  setGas(left)
  halt(status)
  if (TRACE) hookLeave(0, status, RETURN, returnSize, given - left)
  return false
}

// --- SELFDESTRUCT -----------------------------------------------------------------------------------------------------------------------------

/** `sp`: the beneficiary. False: the frame is halted. */
export function selfDestruct(sp: usize): bool {
  if (isStatic) return stop(WRITE_PROTECTION) != HALTED
  const beneficiary = accountOf(sp)
  const cold = coldAccountCost(beneficiary)
  if (cold != 0 && !charge(cold)) return false
  const paying = !isZero(self + A_BALANCE)
  if (fork() >= TANGERINE && isNew(beneficiary, paying) && !charge(NEW_ACCOUNT_COST)) return false
  if (TRACE) {
    hookEnter(0xff, depth + 1, self + A_ADDRESS, beneficiary + A_ADDRESS, 0, 0, 0, self + A_BALANCE, 0, gasLeft)
    hookLeave(depth + 1, SUCCESS, 0, 0, 0)
  }
  const first = load<u32>(self, A_DESTROYED) != currentEpoch()
  if (first) setRefund(refund + <i64>load<u32>(REFUND_DESTROY))
  const dies = fork() < CANCUN || load<u32>(self, A_CREATED) == currentEpoch()
  giveAll(beneficiary, paying, dies)
  if (dies) store<u32>(self, currentEpoch(), A_DESTROYED)
  return true
}

/** EIP-6780: who lives on and names itself keeps its ether; who dies with it burns it. */
function giveAll(beneficiary: usize, paying: bool, dies: bool): void {
  touch(self)
  ensure(beneficiary)
  if (beneficiary == self) {
    if (dies) clear(self + A_BALANCE)
    return
  }
  if (!paying) return
  credit(beneficiary, self + A_BALANCE)
  clear(self + A_BALANCE)
}
