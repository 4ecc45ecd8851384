// Where the text goes: to the end of memory, which grows when it is full.

import { SLACK } from './layout'

const PAGE_BITS: usize = 16
let end: usize = 0

/** Afterwards `bytes` may be written from `out` on, and SLACK more. */
@inline
export function room(out: usize, bytes: usize): void {
  if (out + bytes + SLACK > end) reserve(out + bytes + SLACK)
}

/** Memory up to there. Grows by a quarter at least, so that a long text is not moved (by the engine) over and over. Traps when there is none left. */
export function reserve(to: usize): void {
  end = <usize>memory.size() << PAGE_BITS
  if (to <= end) return
  const wanted: i32 = <i32>((to - end + 0xffff) >> PAGE_BITS)
  if (memory.grow(max(wanted, memory.size() >> 2)) < 0 && memory.grow(wanted) < 0) unreachable()
  end = <usize>memory.size() << PAGE_BITS
}

/**
 * Traps when a record says that something in it has a size that it cannot have. Records are checked before they come here; this keeps a broken
 * one from writing round the end of the address space over what is not its own.
 */
@inline
export function plausible(size: usize): void {
  if (size > PLAUSIBLE) unreachable()
}

/** Twice as much text still has addresses. */
const PLAUSIBLE: usize = 1 << 29
