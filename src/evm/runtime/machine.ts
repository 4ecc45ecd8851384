// The frame that is running, its gas and its memory. One instance runs one message at a time, so these are globals; what a
// frame needs again after a call stands in its record (frame.ts).

import { FRAMES, FRAME_SIZE, MEMORY, MEMORY_MAX, OUT_OF_GAS, RETURN, RETURN_END, RUNNING } from './layout'
import { noRoom } from './state'
import { clearWords, copyBytes } from './word'

/** Looks at the clock. Answers the fuel for the next stretch; 0: the time is up. */
@external('host', 'refuel')
declare function askForFuel(): i32

/** 0 is the outermost frame */
export let depth: i32 = 0
/** the record of the running frame */
export let frame: usize = 0
/** of the running frame; below zero: it cannot pay */
export let gasLeft: i64 = 0
/** why the running frame ended; RUNNING while it has not */
export let halted: i32 = RUNNING
/** the account whose storage, balance and address the frame has */
export let self: usize = 0
export let isStatic: bool = false
export let memoryBase: usize = MEMORY
/** bytes, a multiple of 32 */
export let memorySize: usize = 0
/** what the last call of the running frame returned stands at RETURN */
export let returnSize: usize = 0
/** roughly a count of loops; when it is used up the host looks at the clock */
export let fuel: i32 = 0

@inline
export function frameAt(at: i32): usize {
  return FRAMES + <usize>at * FRAME_SIZE
}

export function setDepth(value: i32): void {
  depth = value
}
export function setFrame(value: usize): void {
  frame = value
}
@inline
export function setGas(value: i64): void {
  gasLeft = value
}
@inline
export function halt(reason: i32): void {
  halted = reason
}
export function setSelf(account: usize, readOnly: bool): void {
  self = account
  isStatic = readOnly
}
export function setMemory(base: usize, size: usize): void {
  memoryBase = base
  memorySize = size
}
export function setReturnSize(size: usize): void {
  returnSize = size
}
@inline
export function setFuel(value: i32): void {
  fuel = value
}

/** False: the time is up. */
export function refuel(): bool {
  fuel = askForFuel()
  return fuel > 0
}

/** False when there is not that much gas left; the frame is halted then. Work costs fuel in proportion. */
@inline
export function charge(cost: i64): bool {
  gasLeft -= cost
  fuel -= <i32>min(cost >> 4, 1 << 20)
  if (gasLeft >= 0) return true
  halted = OUT_OF_GAS
  return false
}

// --- memory -------------------------------------------------------------------------------------------------------------------

/** where the last `range` begins, and its bytes */
export let rangeAt: usize = 0
export let rangeSize: usize = 0

/** Makes sure of memory for an offset and a size on the stack, and pays for it. False: the frame is halted. */
export function range(offset: usize, size: usize): bool {
  rangeSize = <usize>load<u64>(size)
  if ((load<u64>(size) | load<u64>(size, 8) | load<u64>(size, 16) | load<u64>(size, 24)) == 0) {
    rangeAt = memoryBase
    return true
  }
  const start = load<u64>(offset)
  const length = load<u64>(size)
  const high = load<u64>(offset, 8) | load<u64>(offset, 16) | load<u64>(offset, 24) | load<u64>(size, 8) | load<u64>(size, 16) | load<u64>(size, 24)
  if (high != 0 || start > MEMORY_MAX || length > MEMORY_MAX) return outOfGas()
  rangeAt = memoryBase + <usize>start
  return start + length <= <u64>memorySize || grow(start + length)
}

/** The same for a number of bytes that is known. */
export function rangeOf(offset: usize, size: u64): bool {
  const start = load<u64>(offset)
  if ((load<u64>(offset, 8) | load<u64>(offset, 16) | load<u64>(offset, 24)) != 0 || start > MEMORY_MAX) return outOfGas()
  rangeAt = memoryBase + <usize>start
  return start + size <= <u64>memorySize || grow(start + size)
}

/** Asking for more than there can be costs more than anybody has. */
function outOfGas(): bool {
  gasLeft = -1
  halted = OUT_OF_GAS
  return false
}

/** Memory up to `end`, paid for: 3 gas a word and the square of the words over 512. */
function grow(end: u64): bool {
  if (end > MEMORY_MAX) return outOfGas()
  const words = (end + 31) >> 5
  const before = <u64>memorySize >> 5
  const cost = 3 * (words - before) + (words * words) / 512 - (before * before) / 512
  if (!charge(<i64>cost)) return false
  const size = <usize>(words << 5)
  const needed = <usize>((<u64>memoryBase + <u64>size + 0xffff) >> 16) // may be more than there can be
  const pages = <usize>memory.size()
  // A little ahead, for every growth makes the host take new views.
  if (needed > pages && memory.grow(<i32>(needed - pages + 64)) < 0 && memory.grow(<i32>(needed - pages)) < 0) noRoom()
  clearWords(memoryBase + memorySize, size - memorySize)
  memorySize = size
  return true
}

/** Gas for each word of `size` bytes. */
@inline
export function chargeWords(size: usize, each: i64): bool {
  return charge(<i64>((<u64>size + 31) >> 5) * each)
}

// --- what a frame returns ---------------------------------------------------------------------------------------------------------

/** Keeps bytes of the running frame's memory as what it returns. */
export function keepReturn(at: usize, size: usize): void {
  if (RETURN + size > RETURN_END) noRoom()
  copyBytes(RETURN, at, size)
  returnSize = size
}
