// Tier 1 in the runtime: the host compiles code that has used much gas to functions of separate modules (src/evm/jit/). They share this
// memory and call the same opcode functions. A frame whose code is compiled runs there instead of in the interpreter.

import { TRACE } from './flags'
import { F_BASE, F_CODE, F_CREATED, F_GAS_LIMIT, F_PC, F_SP } from './frame'
import { C_BYTES, C_GAS, C_COMPILED, TIER1_LAST_RUN, OUT_OF_TIME } from './layout'
import { depth, frame, frameAt, fuel, gasLeft, halt, memoryBase, memorySize, refuel, setGas } from './machine'

/** Compiles a code record. Returns its table index + 1; 0: not yet; REFUSED: never. */
@external('host', 'promote')
declare function promote(code: usize): u32

const REFUSED: u32 = 0xffffffff

/** Maximum nesting of compiled frames; deeper frames are interpreted. 0: Tier 1 is off. */
let compiledDepthMax: i32 = 0
/** promotion threshold, in units of 256 gas */
let promoteAt: i32 = i32.MAX_VALUE
/** table index of the first compiled function */
let firstSlot: u32 = 0
let compiledDepth: i32 = 0
/** serial number of the running message, recorded for each compiled code it runs */
let message: u32 = 0

export function setTier(depthMax: i32, promoteAtGas256: i32, first: u32): void {
  compiledDepthMax = depthMax
  promoteAt = promoteAtGas256
  firstSlot = first
}

/** Starts a message. */
export function beginMessage(): void {
  compiledDepth = 0
  message++
}

export function currentMessage(): u32 {
  return message
}

/**
 * Runs the frame that was just entered if its code is compiled. Returns true if it has ended (`frameStatus`) or bailed out to the
 * interpreter, which continues at the saved registers. Also checks the fuel, so that a message without loops ends at its deadline.
 */
export function enterCompiled(): bool {
  if (fuel < 0 && !refuel()) {
    halt(OUT_OF_TIME)
    return true
  }
  if (TRACE || compiledDepth >= compiledDepthMax) return false
  const code = <usize>load<u32>(frame, F_CODE)
  let entry = load<u32>(code, C_COMPILED)
  if (entry == 0) {
    if (load<i32>(code, C_GAS) < promoteAt || load<u32>(frame, F_CREATED) != 0) return false
    entry = promote(code)
    store<u32>(code, entry, C_COMPILED)
    if (entry == 0) return false
  }
  if (entry == REFUSED) return false
  const index = entry - 1
  store<u32>(TIER1_LAST_RUN + (<usize>(index - firstSlot) << 2), message)
  compiledDepth++
  call_indirect<void>(index, frame, <usize>load<u32>(frame, F_BASE), gasLeft, memoryBase, memorySize)
  compiledDepth--
  return true
}

/** Bails out of a compiled frame: the interpreter continues at `pc`, an offset in the code. */
export function bail(sp: usize, gas: i64, pc: u32): void {
  store<u32>(frame, load<u32>(frame, F_CODE) + <u32>C_BYTES + pc, F_PC)
  store<u32>(frame, <u32>sp, F_SP)
  setGas(gas)
}

/** Adds the gas of the ending frame, without its callees, to its code. A callee's gas is subtracted from its caller, which paid for it. */
export function countGas(): void {
  if (TRACE) return
  const used = <i32>((load<i64>(frame, F_GAS_LIMIT) - gasLeft) >> 8)
  const code = <usize>load<u32>(frame, F_CODE)
  store<i32>(code, load<i32>(code, C_GAS) + used, C_GAS)
  if (depth == 0) return
  const caller = <usize>load<u32>(frameAt(depth - 1), F_CODE)
  store<i32>(caller, load<i32>(caller, C_GAS) - used, C_GAS)
}
