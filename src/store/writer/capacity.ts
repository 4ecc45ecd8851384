// The text goes to the end of memory, which grows as needed.

import { VECTOR_PADDING_BYTES } from './layout'

const PAGE_BITS: usize = 16
let end: usize = 0

/** Ensures that `bytes` bytes, and VECTOR_PADDING_BYTES more, may be written from `out` on. */
@inline
export function ensureCapacity(out: usize, bytes: usize): void {
  if (out + bytes + VECTOR_PADDING_BYTES > end) reserve(out + bytes + VECTOR_PADDING_BYTES)
}

/** Grows memory to at least `to`, by a quarter at least, so that the engine's copies of a long text are amortised. Traps if memory is exhausted. */
export function reserve(to: usize): void {
  end = <usize>memory.size() << PAGE_BITS
  if (to <= end) return
  const pages: i32 = <i32>((to - end + 0xffff) >> PAGE_BITS)
  if (memory.grow(max(pages, memory.size() >> 2)) < 0 && memory.grow(pages) < 0) unreachable()
  end = <usize>memory.size() << PAGE_BITS
}

/** Traps on an impossible size in a record. Records are verified before; this keeps a corrupt one from wrapping around the address space. */
@inline
export function checkSize(size: usize): void {
  if (size > MAX_SIZE) unreachable()
}

/** Twice as much text is still addressable. */
const MAX_SIZE: usize = 1 << 29
