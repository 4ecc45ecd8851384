// The current frame with its gas and memory. An instance runs one message at a time, so these are globals. Values that are needed after a
// call are saved in the frame record (frame.ts).

import { FRAMES, FRAME_SIZE, MEMORY, MEMORY_MAX, OUT_OF_GAS, RETURN, RETURN_END, RUNNING } from './layout'
import { outOfMemory } from './state'
import { clearWords, copyBytes } from './word'

/** Reads the clock. Returns more fuel; 0: time is up. */
@external('host', 'refuel')
declare function hostRefuel(): i32

/** 0: the outermost frame */
export let depth: i32 = 0
/** record of the current frame */
export let frame: usize = 0
/** gas of the current frame; negative: out of gas */
export let gasLeft: i64 = 0
/** why the current frame ended; RUNNING until then */
export let frameStatus: i32 = RUNNING
/** account entry of ADDRESS, whose storage and balance the frame uses */
export let self: usize = 0
export let isStatic: bool = false
export let memoryBase: usize = MEMORY
/** bytes, a multiple of 32 */
export let memorySize: usize = 0
/** size of the data at RETURN that the last call of the current frame returned */
export let returnSize: usize = 0
/** approximate count of loop iterations; at zero the host reads the clock */
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
  frameStatus = reason
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

/** Returns false when time is up. */
export function refuel(): bool {
  fuel = hostRefuel()
  return fuel > 0
}

/** Returns false, with the frame halted, when the gas does not suffice. Burns fuel in proportion. */
@inline
export function charge(cost: i64): bool {
  gasLeft -= cost
  fuel -= <i32>min(cost >> 4, 1 << 20)
  if (gasLeft >= 0) return true
  frameStatus = OUT_OF_GAS
  return false
}

// --- memory --------------------------------------------------------------------------------------------------------

/** start and bytes of the range of the last `resizeMemory` */
export let rangeStart: usize = 0
export let rangeSize: usize = 0

/** Expands memory to an offset and size on the stack, and charges for it. Returns false when the frame has halted. */
export function resizeMemory(offset: usize, size: usize): bool {
  rangeSize = <usize>load<u64>(size)
  if ((load<u64>(size) | load<u64>(size, 8) | load<u64>(size, 16) | load<u64>(size, 24)) == 0) {
    rangeStart = memoryBase
    return true
  }
  const start = load<u64>(offset)
  const length = load<u64>(size)
  const high = load<u64>(offset, 8) | load<u64>(offset, 16) | load<u64>(offset, 24) | load<u64>(size, 8) | load<u64>(size, 16) | load<u64>(size, 24)
  if (high != 0 || start > MEMORY_MAX || length > MEMORY_MAX) return outOfGas()
  rangeStart = memoryBase + <usize>start
  return start + length <= <u64>memorySize || grow(start + length)
}

/** As `resizeMemory`, for a constant size. */
export function resizeMemoryFixed(offset: usize, size: u64): bool {
  const start = load<u64>(offset)
  if ((load<u64>(offset, 8) | load<u64>(offset, 16) | load<u64>(offset, 24)) != 0 || start > MEMORY_MAX) return outOfGas()
  rangeStart = memoryBase + <usize>start
  return start + size <= <u64>memorySize || grow(start + size)
}

/** A range above MEMORY_MAX costs more gas than any message has. */
function outOfGas(): bool {
  gasLeft = -1
  frameStatus = OUT_OF_GAS
  return false
}

/** Expands memory to `end` for 3 gas per word plus words^2 / 512. */
function grow(end: u64): bool {
  if (end > MEMORY_MAX) return outOfGas()
  const words = (end + 31) >> 5
  const before = <u64>memorySize >> 5
  const cost = 3 * (words - before) + (words * words) / 512 - (before * before) / 512
  if (!charge(<i64>cost)) return false
  const size = <usize>(words << 5)
  const needed = <usize>((<u64>memoryBase + <u64>size + 0xffff) >> 16) // may exceed the maximum
  const pages = <usize>memory.size()
  // Grows 64 pages ahead: after each growth the host has to create new views.
  if (needed > pages && memory.grow(<i32>(needed - pages + 64)) < 0 && memory.grow(<i32>(needed - pages)) < 0) outOfMemory()
  clearWords(memoryBase + memorySize, size - memorySize)
  memorySize = size
  return true
}

/** Charges `each` gas per word of `size` bytes. */
@inline
export function chargeWords(size: usize, each: i64): bool {
  return charge(<i64>((<u64>size + 31) >> 5) * each)
}

// --- return data ---------------------------------------------------------------------------------------------------

/** Copies a range of memory to RETURN. */
export function setReturnData(at: usize, size: usize): void {
  if (RETURN + size > RETURN_END) outOfMemory()
  copyBytes(RETURN, at, size)
  returnSize = size
}
