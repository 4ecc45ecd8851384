import { IDLE_BYTES, SMALLEST_CHUNK_BYTES } from './limits.ts'

/** given back, the latest last */
const idle: Uint8Array[] = []
let idleBytes = 0
const lent = new WeakSet<ArrayBufferLike>()

/**
 * Memory for a long text, of `sizeBytes` or more, with anything in it. Fresh memory costs as much as printing into it (a page fault for every
 * 4 KiB), so who has sent a text gives it back; what is not given back is the garbage collector's.
 */
export function lendChunk(sizeBytes: number): Uint8Array {
  let capacity = SMALLEST_CHUNK_BYTES
  while (capacity < sizeBytes) capacity *= 2
  const at = idle.findLastIndex(({ length }) => length === capacity)
  const known = at < 0 ? undefined : idle.splice(at, 1)[0]
  if (known !== undefined) idleBytes -= capacity
  const chunk = known ?? new Uint8Array(Buffer.allocUnsafeSlow(capacity).buffer)
  lent.add(chunk.buffer)
  return chunk
}

/** Nobody reads it any more, nor any other part of the same memory. What was not lent, or was given back before, is left alone. */
export function giveBackChunk({ buffer }: Uint8Array): void {
  if (!lent.delete(buffer) || buffer.byteLength > IDLE_BYTES / 2) return
  idle.push(new Uint8Array(buffer))
  idleBytes += buffer.byteLength
  while (idleBytes > IDLE_BYTES) idleBytes -= idle.shift()?.length ?? 0
}

/** The text for one who keeps it: who has sent it does not give it back. One that was lent is copied, and is given back here. */
export function ownText(text: Uint8Array): Uint8Array {
  if (!lent.has(text.buffer)) return text
  const own = text.slice()
  giveBackChunk(text)
  return own
}
