import { IDLE_CHUNKS, LOG_CHUNK_BYTES } from './limits.ts'

/** A usual log does not go beyond. */
const CHUNK_BYTES = LOG_CHUNK_BYTES + 8 * 1024

const idle: Uint8Array[] = []
const lent = new WeakSet<ArrayBufferLike>()

/**
 * Memory for a chunk of a long text. Fresh memory costs as much as printing into it (a page fault for every 4 KiB), so who has sent a chunk gives
 * it back; one that is not given back is the garbage collector's.
 */
export function lendChunk(): Uint8Array {
  const chunk = idle.pop() ?? new Uint8Array(CHUNK_BYTES)
  lent.add(chunk.buffer)
  return chunk
}

/** Nobody reads it any more, nor any other part of the same memory. What was not lent, or was given back before, is left alone. */
export function giveBackChunk({ buffer }: Uint8Array): void {
  if (lent.delete(buffer) && idle.length < IDLE_CHUNKS) idle.push(new Uint8Array(buffer))
}
