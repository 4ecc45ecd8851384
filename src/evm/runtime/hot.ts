// Tier 1 as the runtime sees it: code that has burnt much gas is handed to the host, which compiles it to functions of its own modules
// (src/evm/jit/). Those work on the same memory and call the same opcodes; a frame whose code is compiled runs there instead of in the loop.

import { TRACE } from './flags'
import { F_BASE, F_CODE, F_CREATED, F_GIVEN, F_PC, F_SP } from './frame'
import { C_BYTES, C_GAS, C_HOT, HOT_MARKS, OUT_OF_TIME } from './layout'
import { depth, frame, frameAt, fuel, gasLeft, halt, memoryBase, memorySize, refuel, setGas } from './machine'

/** Compiles a code record. Answers its place in the table + 1; 0: not now; REFUSED: never. */
@external('host', 'promote')
declare function promote(code: usize): u32

const REFUSED: u32 = 0xffffffff

/** Compiled frames within one another; deeper ones are interpreted. 0: Tier 1 is off. */
let activeMax: i32 = 0
/** what a code has to have burnt, in units of 256 gas */
let promoteAt: i32 = i32.MAX_VALUE
/** the table's place of the first compiled form */
let firstPlace: u32 = 0
let active: i32 = 0
/** of the running message: what compiled forms it ran is marked with it */
let message: u32 = 0

export function setTier(mostActive: i32, promoteAtGas256: i32, first: u32): void {
  activeMax = mostActive
  promoteAt = promoteAtGas256
  firstPlace = first
}

/** A message begins. Answers the mark of the compiled forms that will have run in it. */
export function beginMessage(): void {
  active = 0
  message++
}

export function currentMessage(): u32 {
  return message
}

/**
 * Runs the frame that was just entered in its compiled form, if there is one. True: it did, and has either ended (`halted`) or left the rest
 * to the interpreter, which goes on where the record says. Also where a message that is out of time ends though it never loops.
 */
export function enterHot(): bool {
  if (fuel < 0 && !refuel()) {
    halt(OUT_OF_TIME)
    return true
  }
  if (TRACE || active >= activeMax) return false
  const code = <usize>load<u32>(frame, F_CODE)
  let hot = load<u32>(code, C_HOT)
  if (hot == 0) {
    if (load<i32>(code, C_GAS) < promoteAt || load<u32>(frame, F_CREATED) != 0) return false
    hot = promote(code)
    store<u32>(code, hot, C_HOT)
    if (hot == 0) return false
  }
  if (hot == REFUSED) return false
  const place = hot - 1
  store<u32>(HOT_MARKS + (<usize>(place - firstPlace) << 2), message)
  active++
  call_indirect<void>(place, frame, <usize>load<u32>(frame, F_BASE), gasLeft, memoryBase, memorySize)
  active--
  return true
}

/** A compiled frame leaves the rest to the interpreter, from `pc` (counted from the code's first byte) on. */
export function bail(sp: usize, gas: i64, pc: u32): void {
  store<u32>(frame, load<u32>(frame, F_CODE) + <u32>C_BYTES + pc, F_PC)
  store<u32>(frame, <u32>sp, F_SP)
  setGas(gas)
}

/** Counts what the frame that ends has burnt itself: its callees have counted theirs, and it pays for them too. */
export function countGas(): void {
  if (TRACE) return
  const used = <i32>((load<i64>(frame, F_GIVEN) - gasLeft) >> 8)
  const code = <usize>load<u32>(frame, F_CODE)
  store<i32>(code, load<i32>(code, C_GAS) + used, C_GAS)
  if (depth == 0) return
  const caller = <usize>load<u32>(frameAt(depth - 1), F_CODE)
  store<i32>(caller, load<i32>(caller, C_GAS) - used, C_GAS)
}
