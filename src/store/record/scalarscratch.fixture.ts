import {
  BLOOM_BYTES,
  BLOOM_MAX_SPARSE_BITS,
  BLOOM_DENSE,
  SCRATCH_BLOOM,
  SCRATCH_HEX,
  SCRATCH_TARGETS,
  SCRATCH_RECORD,
} from '../writer/layout.ts'
import type { ScratchMemory } from './scratchmemory.ts'

/** Scratch memory in scalar TypeScript: the oracle for writer/scratch.ts. */
export class ScalarScratchMemory implements ScratchMemory {
  readonly memory = new PlainMemory()

  decodeHex(count: number): number {
    const { view } = this.memory
    let from = SCRATCH_HEX
    for (let i = 0, place = SCRATCH_TARGETS; i < count; i++, place += 8) {
      const size = view.getUint32(place + 4, true)
      putBytes(view, view.getUint32(place, true), from + 2, size)
      from += 2 + 2 * size
    }
    return from - SCRATCH_HEX
  }

  encodeBloom(to: number): number {
    const { bytes } = this.memory
    return encodeBloom(bytes.subarray(SCRATCH_BLOOM, SCRATCH_BLOOM + BLOOM_BYTES), bytes, to)
  }
}

class PlainMemory {
  bytes = new Uint8Array(SCRATCH_RECORD + 2 ** 20)
  view = new DataView(this.bytes.buffer)

  get buffer(): ArrayBuffer {
    return this.bytes.buffer
  }

  grow(pages: number): number {
    const before = this.bytes
    this.bytes = new Uint8Array(before.length + pages * PAGE_BYTES)
    this.bytes.set(before)
    this.view = new DataView(this.bytes.buffer)
    return before.length / PAGE_BYTES
  }
}

const PAGE_BYTES = 2 ** 16

/** Decodes hex digits from `from` on, four at a time: addresses and hashes have a multiple of four. */
function putBytes(view: DataView, to: number, from: number, size: number): void {
  for (const end = to + size; to < end; to += 4, from += 8) {
    view.setUint32(to, pairOf(view.getUint32(from, true)) | (pairOf(view.getUint32(from + 4, true)) << 16), true)
  }
}

/** Decodes four hex digits to two bytes. A letter has bit 6 set and is 9 more than its low four bits. */
function pairOf(letters: number): number {
  const digits = (letters & 0x0f0f0f0f) + ((letters >>> 6) & 0x01010101) * 9
  const bytes = (digits << 4) | (digits >>> 8)
  return (bytes & 0xff) | ((bytes >>> 8) & 0xff00)
}

/** Encodes a bloom to `to` from `at` on. Returns the end. */
function encodeBloom(bloom: Uint8Array, to: Uint8Array, at: number): number {
  let end = at + 1
  for (let place = 0; place < BLOOM_BYTES; place++) {
    for (let left = bloom[place]!; left !== 0; end += 2) {
      if (end > at + 2 * BLOOM_MAX_SPARSE_BITS) return putWhole(bloom, to, at)
      const bit = Math.clz32(left) - 24
      left ^= 0x80 >> bit
      to[end] = 8 * place + bit // modulo 256
      to[end + 1] = place >> 5
    }
  }
  to[at] = end === at + 1 ? 0 : BLOOM_DENSE + (end - at - 1) / 2
  return end
}

function putWhole(bloom: Uint8Array, to: Uint8Array, at: number): number {
  to[at] = BLOOM_DENSE
  to.set(bloom, at + 1)
  return at + 1 + BLOOM_BYTES
}
