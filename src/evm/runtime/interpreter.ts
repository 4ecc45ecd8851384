// The interpreter loop. It is not recursive: a CALL switches to a new frame and the end of a frame restores the caller's, so call depth
// uses frame records and no host stack.
//
// Four registers are locals: program counter, stack pointer, stack base and gas. The gas is written to its global (`setGas`) before any
// function that charges or reads it, and read back after.

import { TRACE } from './flags'
import { call, create, delegateOf, ENTERED, HALTED, endFrame, startMessage, selfDestruct, wordOf } from './calls'
import { F_BASE, F_CALLER, F_CODE, F_INPUT_SIZE, F_PC, F_SP, F_VALUE } from './frame'
import { hookFault, hookStep } from './hooks'
import { beginMessage, countGas, enterCompiled } from './tier1'
import {
  A_ADDRESS, A_NONCE, BASE_FEE, BLOB_BASE_FEE, BLOB_COUNT, C_BYTES, C_JUMPS, C_SIZE, CHAIN_ID, COINBASE, FORK, GAS_LIMIT, GAS_PRICE,
  INVALID_JUMP, INVALID_OPCODE, MOVED_COUNT, NUMBER, OPCODES, ORIGIN, OUT_OF_GAS, OUT_OF_TIME, RANDOM, REVERT, RUNNING, SHANGHAI,
  STACK_OVERFLOW, STACK_UNDERFLOW, STATUS_BITS, SUCCESS, TARGET, TIMESTAMP, VALUE,
} from './layout'
import {
  depth, frame, fuel, gasLeft, halt, frameStatus, memoryBase, memorySize, rangeStart, resizeMemoryFixed, refuel, returnSize, setFuel,
  setGas, setReturnSize,
} from './machine'
import {
  opBalance, opBlobHash, opBlockHash, opCallDataCopy, opCallDataLoad, opCodeCopy, opExp, opExtCodeCopy, opExtCodeHash, opExtCodeSize,
  opKeccak, opLog, opMcopy, opReturn, opReturnDataCopy, opSload, opSstore, opTload, opTstore, pushNumber, pushSelf, pushSelfBalance,
} from './opcodes'
import { account, beginTransaction, ensureExists, warmAccount } from './state'
import {
  add, addmod, and, byteAt, clear, clz, copy, copyAddress, div, eq, fromBytes, gt, isZero, lt, mod, mul, mulmod, not, or, sar, sdiv, sgt,
  shl, shr, signextend, slt, smod, sub, toBytes, xor,
} from './word'

/** Runs a message whose parameters are in the parameter block. Returns its status; `gasLeft` is the remaining gas. */
export function execute(creation: bool, inputSize: usize, gas: i64): i32 {
  beginMessage()
  if (startMessage(creation, inputSize, gas)) runEntered(0)
  return frameStatus
}

/**
 * Runs an eth_call without value and fees: the steps of a transaction around its frame, in one host call instead of twelve. The host
 * reverts the changes. Returns the status in the lower STATUS_BITS and the output size above them.
 */
export function executeCall(from: usize, target: usize, inputSize: usize, gas: f64, initialFuel: i32): u32 {
  copyAddress(ORIGIN, from + A_ADDRESS)
  copyAddress(TARGET, target + A_ADDRESS)
  clear(VALUE)
  clear(GAS_PRICE)
  store<u32>(BLOB_COUNT, 0)
  store<u32>(MOVED_COUNT, 0)
  beginTransaction()
  ensureExists(from)
  store<u64>(from, load<u64>(from, A_NONCE) + 1, A_NONCE)
  warmAccount(from)
  warmAccount(target)
  if (load<u32>(FORK) >= SHANGHAI) warmAccount(account(COINBASE))
  warmAccount(delegateOf(target))
  setFuel(initialFuel)
  return <u32>execute(false, inputSize, <i64>gas) | <u32>returnSize << STATUS_BITS
}

/** Runs the frame that was just entered and its callees until it ends, compiled if possible. `floor`: its depth. */
function runEntered(floor: i32): void {
  if (enterCompiled()) {
    if (frameStatus == OUT_OF_TIME) return
    if (frameStatus != RUNNING) {
      finishFrame()
      return
    }
  }
  run(floor)
}

/** CALL family in a compiled frame: runs the callee to its end. Returns false when the caller has halted or time is up. */
export function callFromCompiled(op: u32, sp: usize): bool {
  if (call(op, sp) == ENTERED) runEntered(depth)
  return frameStatus == RUNNING
}

/** CREATE and CREATE2 in a compiled frame. */
export function createFromCompiled(op: u32, sp: usize): bool {
  if (create(op, sp) == ENTERED) runEntered(depth)
  return frameStatus == RUNNING
}

/** Returns true for the outermost frame. */
@inline
function finishFrame(): bool {
  countGas()
  return endFrame()
}

@inline
function setBool(at: usize, value: bool): void {
  store<u64>(at, <u64>value)
  store<u64>(at, 0, 8)
  store<u64>(at, 0, 16)
  store<u64>(at, 0, 24)
}

/** Address of the jump target in the word at `target`; 0 when it is not a JUMPDEST. */
@inline
function destination(target: usize, code: usize): usize {
  const to = load<u64>(target)
  if ((load<u64>(target, 8) | load<u64>(target, 16) | load<u64>(target, 24)) != 0 || to >= <u64>load<u32>(code, C_SIZE)) return 0
  const place = <usize>to
  const marks = <usize>load<u32>(code, C_JUMPS)
  return (load<u8>(marks + (place >> 3)) >> <u8>(place & 7)) & 1 ? code + C_BYTES + place : 0
}

/** PUSH data of 9 to 31 bytes: whole limbs from the end, then the remaining bytes. */
function pushBytes(at: usize, data: usize, size: usize): void {
  const end = data + size
  store<u64>(at, bswap(load<u64>(end - 8)))
  if (size <= 16) {
    store<u64>(at, bswap(load<u64>(data)) >> ((16 - size) << 3), 8)
    store<u64>(at, 0, 16)
    store<u64>(at, 0, 24)
    return
  }
  store<u64>(at, bswap(load<u64>(end - 16)), 8)
  if (size <= 24) {
    store<u64>(at, bswap(load<u64>(data)) >> ((24 - size) << 3), 16)
    store<u64>(at, 0, 24)
    return
  }
  store<u64>(at, bswap(load<u64>(end - 24)), 16)
  store<u64>(at, bswap(load<u64>(data)) >> ((32 - size) << 3), 24)
}

/** Runs the current frame from its saved registers, and its callees, until the frame at depth `floor` ends. */
function run(floor: i32): void {
  let code = <usize>load<u32>(frame, F_CODE)
  let base = <usize>load<u32>(frame, F_BASE)
  let pc = <usize>load<u32>(frame, F_PC)
  /** start of the straight-line code that is running; its length is charged in fuel at its end */
  let lineStart = pc
  let sp = <usize>load<u32>(frame, F_SP)
  let gas = gasLeft
  while (true) {
    const op = <u32>load<u8>(pc)
    if (TRACE) {
      setGas(gas)
      hookStep(<u32>(pc - code - C_BYTES), op, <f64>gas, depth, sp, base)
    }
    const rule = OPCODES + <usize>(op << 3)
    const stackBytes = <u32>(sp - base)
    if (stackBytes - <u32>load<u16>(rule, 2) > load<u32>(rule, 4)) {
      setGas(gas)
      halt(stackError(rule, stackBytes))
    } else {
      gas -= <i64>load<u16>(rule)
      if (gas < 0) {
        setGas(gas)
        halt(OUT_OF_GAS)
      } else {
        switch (op) {
          case 0x00:
            setGas(gas)
            setReturnSize(0)
            halt(SUCCESS)
            break
          case 0x01:
            add(sp - 32, sp, sp - 32)
            sp -= 32
            pc++
            continue
          case 0x02:
            mul(sp - 32, sp, sp - 32)
            sp -= 32
            pc++
            continue
          case 0x03:
            sub(sp - 32, sp, sp - 32)
            sp -= 32
            pc++
            continue
          case 0x04:
            div(sp - 32, sp, sp - 32)
            sp -= 32
            pc++
            continue
          case 0x05:
            sdiv(sp - 32, sp, sp - 32)
            sp -= 32
            pc++
            continue
          case 0x06:
            mod(sp - 32, sp, sp - 32)
            sp -= 32
            pc++
            continue
          case 0x07:
            smod(sp - 32, sp, sp - 32)
            sp -= 32
            pc++
            continue
          case 0x08:
            addmod(sp - 64, sp, sp - 32, sp - 64)
            sp -= 64
            pc++
            continue
          case 0x09:
            mulmod(sp - 64, sp, sp - 32, sp - 64)
            sp -= 64
            pc++
            continue
          case 0x0a:
            setGas(gas)
            if (!opExp(sp)) break
            gas = gasLeft
            sp -= 32
            pc++
            continue
          case 0x0b:
            signextend(sp - 32, sp, sp - 32)
            sp -= 32
            pc++
            continue
          case 0x10:
            setBool(sp - 32, lt(sp, sp - 32))
            sp -= 32
            pc++
            continue
          case 0x11:
            setBool(sp - 32, gt(sp, sp - 32))
            sp -= 32
            pc++
            continue
          case 0x12:
            setBool(sp - 32, slt(sp, sp - 32))
            sp -= 32
            pc++
            continue
          case 0x13:
            setBool(sp - 32, sgt(sp, sp - 32))
            sp -= 32
            pc++
            continue
          case 0x14:
            setBool(sp - 32, eq(sp, sp - 32))
            sp -= 32
            pc++
            continue
          case 0x15:
            setBool(sp, isZero(sp))
            pc++
            continue
          case 0x16:
            and(sp - 32, sp, sp - 32)
            sp -= 32
            pc++
            continue
          case 0x17:
            or(sp - 32, sp, sp - 32)
            sp -= 32
            pc++
            continue
          case 0x18:
            xor(sp - 32, sp, sp - 32)
            sp -= 32
            pc++
            continue
          case 0x19:
            not(sp, sp)
            pc++
            continue
          case 0x1a:
            byteAt(sp - 32, sp, sp - 32)
            sp -= 32
            pc++
            continue
          case 0x1b:
            shl(sp - 32, sp, sp - 32)
            sp -= 32
            pc++
            continue
          case 0x1c:
            shr(sp - 32, sp, sp - 32)
            sp -= 32
            pc++
            continue
          case 0x1d:
            sar(sp - 32, sp, sp - 32)
            sp -= 32
            pc++
            continue
          case 0x1e:
            clz(sp, sp)
            pc++
            continue
          case 0x20:
            setGas(gas)
            if (!opKeccak(sp)) break
            gas = gasLeft
            sp -= 32
            pc++
            continue
          case 0x30:
            sp += 32
            pushSelf(sp)
            pc++
            continue
          case 0x31:
            setGas(gas)
            if (!opBalance(sp)) break
            gas = gasLeft
            pc++
            continue
          case 0x32:
            sp += 32
            wordOf(ORIGIN, sp)
            pc++
            continue
          case 0x33:
            sp += 32
            wordOf(frame + F_CALLER, sp)
            pc++
            continue
          case 0x34:
            sp += 32
            copy(sp, frame + F_VALUE)
            pc++
            continue
          case 0x35:
            opCallDataLoad(sp)
            pc++
            continue
          case 0x36:
            sp += 32
            pushNumber(sp, load<u32>(frame, F_INPUT_SIZE))
            pc++
            continue
          case 0x37:
            setGas(gas)
            if (!opCallDataCopy(sp)) break
            gas = gasLeft
            sp -= 96
            pc++
            continue
          case 0x38:
            sp += 32
            pushNumber(sp, load<u32>(code, C_SIZE))
            pc++
            continue
          case 0x39:
            setGas(gas)
            if (!opCodeCopy(sp)) break
            gas = gasLeft
            sp -= 96
            pc++
            continue
          case 0x3a:
            sp += 32
            copy(sp, GAS_PRICE)
            pc++
            continue
          case 0x3b:
            setGas(gas)
            if (!opExtCodeSize(sp)) break
            gas = gasLeft
            pc++
            continue
          case 0x3c:
            setGas(gas)
            if (!opExtCodeCopy(sp)) break
            gas = gasLeft
            sp -= 128
            pc++
            continue
          case 0x3d:
            sp += 32
            pushNumber(sp, returnSize)
            pc++
            continue
          case 0x3e:
            setGas(gas)
            if (!opReturnDataCopy(sp)) break
            gas = gasLeft
            sp -= 96
            pc++
            continue
          case 0x3f:
            setGas(gas)
            if (!opExtCodeHash(sp)) break
            gas = gasLeft
            pc++
            continue
          case 0x40:
            opBlockHash(sp)
            pc++
            continue
          case 0x41:
            sp += 32
            wordOf(COINBASE, sp)
            pc++
            continue
          case 0x42:
            sp += 32
            copy(sp, TIMESTAMP)
            pc++
            continue
          case 0x43:
            sp += 32
            copy(sp, NUMBER)
            pc++
            continue
          case 0x44:
            sp += 32
            copy(sp, RANDOM)
            pc++
            continue
          case 0x45:
            sp += 32
            copy(sp, GAS_LIMIT)
            pc++
            continue
          case 0x46:
            sp += 32
            copy(sp, CHAIN_ID)
            pc++
            continue
          case 0x47:
            sp += 32
            pushSelfBalance(sp)
            pc++
            continue
          case 0x48:
            sp += 32
            copy(sp, BASE_FEE)
            pc++
            continue
          case 0x49:
            opBlobHash(sp)
            pc++
            continue
          case 0x4a:
            sp += 32
            copy(sp, BLOB_BASE_FEE)
            pc++
            continue
          case 0x50:
            sp -= 32
            pc++
            continue
          case 0x51: {
            const offset = load<u64>(sp)
            if ((load<u64>(sp, 8) | load<u64>(sp, 16) | load<u64>(sp, 24)) == 0 && offset + 32 <= <u64>memorySize && offset < 0xffffffff) {
              fromBytes(sp, memoryBase + <usize>offset)
              pc++
              continue
            }
            setGas(gas)
            if (!resizeMemoryFixed(sp, 32)) break
            gas = gasLeft
            fromBytes(sp, rangeStart)
            pc++
            continue
          }
          case 0x52: {
            const offset = load<u64>(sp)
            if ((load<u64>(sp, 8) | load<u64>(sp, 16) | load<u64>(sp, 24)) == 0 && offset + 32 <= <u64>memorySize && offset < 0xffffffff) {
              toBytes(memoryBase + <usize>offset, sp - 32)
              sp -= 64
              pc++
              continue
            }
            setGas(gas)
            if (!resizeMemoryFixed(sp, 32)) break
            gas = gasLeft
            toBytes(rangeStart, sp - 32)
            sp -= 64
            pc++
            continue
          }
          case 0x53:
            setGas(gas)
            if (!resizeMemoryFixed(sp, 1)) break
            gas = gasLeft
            store<u8>(rangeStart, load<u8>(sp - 32))
            sp -= 64
            pc++
            continue
          case 0x54:
            setGas(gas)
            if (!opSload(sp)) break
            gas = gasLeft
            pc++
            continue
          case 0x55:
            setGas(gas)
            if (!opSstore(sp)) break
            gas = gasLeft
            sp -= 64
            pc++
            continue
          case 0x56: {
            const to = destination(sp, code)
            if (to != 0 && burnFuel(pc - lineStart)) {
              sp -= 32
              pc = to
              lineStart = to
              continue
            }
            setGas(gas)
            if (to == 0) halt(INVALID_JUMP)
            break
          }
          case 0x57: {
            if (isZero(sp - 32)) {
              sp -= 64
              pc++
              continue
            }
            const to = destination(sp, code)
            if (to != 0 && burnFuel(pc - lineStart)) {
              sp -= 64
              pc = to
              lineStart = to
              continue
            }
            setGas(gas)
            if (to == 0) halt(INVALID_JUMP)
            break
          }
          case 0x58:
            sp += 32
            pushNumber(sp, <u64>(pc - code - C_BYTES))
            pc++
            continue
          case 0x59:
            sp += 32
            pushNumber(sp, memorySize)
            pc++
            continue
          case 0x5a:
            sp += 32
            pushNumber(sp, gas)
            pc++
            continue
          case 0x5b:
            pc++
            continue
          case 0x5c:
            opTload(sp)
            pc++
            continue
          case 0x5d:
            setGas(gas)
            if (!opTstore(sp)) break
            sp -= 64
            pc++
            continue
          case 0x5e:
            setGas(gas)
            if (!opMcopy(sp)) break
            gas = gasLeft
            sp -= 96
            pc++
            continue
          case 0x5f:
            sp += 32
            pushNumber(sp, 0)
            pc++
            continue
          case 0x60:
            sp += 32
            pushNumber(sp, load<u8>(pc, 1))
            pc += 2
            continue
          case 0x61:
            sp += 32
            pushNumber(sp, bswap(load<u16>(pc, 1)))
            pc += 3
            continue
          case 0x62:
          case 0x63:
          case 0x64:
          case 0x65:
          case 0x66:
          case 0x67:
            sp += 32
            pushNumber(sp, bswap(load<u64>(pc, 1)) >> ((0x67 - op) << 3))
            pc += op - 0x5e
            continue
          case 0x68:
          case 0x69:
          case 0x6a:
          case 0x6b:
          case 0x6c:
          case 0x6d:
          case 0x6e:
          case 0x6f:
          case 0x70:
          case 0x71:
          case 0x72:
          case 0x73:
          case 0x74:
          case 0x75:
          case 0x76:
          case 0x77:
          case 0x78:
          case 0x79:
          case 0x7a:
          case 0x7b:
          case 0x7c:
          case 0x7d:
          case 0x7e:
            sp += 32
            pushBytes(sp, pc + 1, <usize>(op - 0x5f))
            pc += op - 0x5e
            continue
          case 0x7f:
            sp += 32
            fromBytes(sp, pc + 1)
            pc += 33
            continue
          case 0x80:
          case 0x81:
          case 0x82:
          case 0x83:
          case 0x84:
          case 0x85:
          case 0x86:
          case 0x87:
          case 0x88:
          case 0x89:
          case 0x8a:
          case 0x8b:
          case 0x8c:
          case 0x8d:
          case 0x8e:
          case 0x8f:
            copy(sp + 32, sp - <usize>((op - 0x80) << 5))
            sp += 32
            pc++
            continue
          case 0x90:
          case 0x91:
          case 0x92:
          case 0x93:
          case 0x94:
          case 0x95:
          case 0x96:
          case 0x97:
          case 0x98:
          case 0x99:
          case 0x9a:
          case 0x9b:
          case 0x9c:
          case 0x9d:
          case 0x9e:
          case 0x9f: {
            const other = sp - <usize>((op - 0x8f) << 5)
            const low = v128.load(sp)
            const high = v128.load(sp, 16)
            copy(sp, other)
            v128.store(other, low)
            v128.store(other, high, 16)
            pc++
            continue
          }
          case 0xa0:
          case 0xa1:
          case 0xa2:
          case 0xa3:
          case 0xa4:
            setGas(gas)
            if (!opLog(sp, op - 0xa0)) break
            gas = gasLeft
            sp -= 64 + <usize>((op - 0xa0) << 5)
            pc++
            continue
          case 0xf0:
          case 0xf5: {
            setGas(gas)
            store<u32>(frame, <u32>(pc + 1), F_PC)
            const entry = create(op, sp)
            if (entry == HALTED) break
            sp -= op == 0xf5 ? 96 : 64
            pc++
            if (entry == ENTERED) {
              code = <usize>load<u32>(frame, F_CODE)
              base = <usize>load<u32>(frame, F_BASE)
              if (!burnFuel(pc - lineStart)) break
              enterCompiled()
              pc = <usize>load<u32>(frame, F_PC)
              sp = <usize>load<u32>(frame, F_SP)
              lineStart = pc
              if (frameStatus != RUNNING) break
            }
            gas = gasLeft
            continue
          }
          case 0xf1:
          case 0xf2:
          case 0xf4:
          case 0xfa: {
            setGas(gas)
            store<u32>(frame, <u32>(pc + 1), F_PC)
            const entry = call(op, sp)
            if (entry == HALTED) break
            sp -= op == 0xf1 || op == 0xf2 ? 192 : 160
            pc++
            if (entry == ENTERED) {
              code = <usize>load<u32>(frame, F_CODE)
              base = <usize>load<u32>(frame, F_BASE)
              if (!burnFuel(pc - lineStart)) break
              enterCompiled()
              pc = <usize>load<u32>(frame, F_PC)
              sp = <usize>load<u32>(frame, F_SP)
              lineStart = pc
              if (frameStatus != RUNNING) break
            }
            gas = gasLeft
            continue
          }
          case 0xf3:
            setGas(gas)
            opReturn(sp, SUCCESS)
            break
          case 0xfd:
            setGas(gas)
            opReturn(sp, REVERT)
            break
          case 0xff:
            setGas(gas)
            if (!selfDestruct(sp)) break
            setReturnSize(0)
            halt(SUCCESS)
            break
          default:
            setGas(gas)
            halt(INVALID_OPCODE)
            break
        }
      }
    }
    // The frame has ended. Its registers are part of the halt reason.
    store<u32>(frame, <u32>pc, F_PC)
    store<u32>(frame, <u32>sp, F_SP)
    if (frameStatus == OUT_OF_TIME) return
    if (TRACE && frameStatus > REVERT) hookFault(frameStatus, <f64>gasLeft)
    setFuel(fuel - <i32>((pc - lineStart) >> 3))
    if (finishFrame() || depth < floor) return
    code = <usize>load<u32>(frame, F_CODE)
    base = <usize>load<u32>(frame, F_BASE)
    pc = <usize>load<u32>(frame, F_PC)
    lineStart = pc
    sp = <usize>load<u32>(frame, F_SP)
    gas = gasLeft
  }
}

/** Burns fuel for the straight-line code that ends here. Returns false when time is up. */
@inline
function burnFuel(bytes: usize): bool {
  setFuel(fuel - 1 - <i32>(bytes >> 3))
  return fuel >= 0 || refuelOrHalt()
}

/** Refuels. Returns false, with the message halted, when time is up. */
export function refuelOrHalt(): bool {
  if (refuel()) return true
  halt(OUT_OF_TIME)
  return false
}

/** Why the stack does not suit the opcode. An undefined opcode has an impossible minimum. */
function stackError(rule: usize, stackBytes: u32): i32 {
  const least = <u32>load<u16>(rule, 2)
  if (least == 0xffff) return INVALID_OPCODE
  return stackBytes < least ? STACK_UNDERFLOW : STACK_OVERFLOW
}
