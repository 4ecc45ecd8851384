import { MIN_BUFFER_BYTES, POOL_BYTES } from './limits.ts'

/** Released buffers, the most recent last. */
const pool: Uint8Array[] = []
let poolBytes = 0
const acquired = new WeakSet<ArrayBufferLike>()

/**
 * Returns a buffer of at least `sizeBytes` with arbitrary content. Fresh memory costs as much as writing the text into it (one page fault per
 * 4 KiB), so the sender of a text releases its buffer for the next one. An unreleased buffer is garbage-collected.
 */
export function acquireBuffer(sizeBytes: number): Uint8Array {
  let capacity = MIN_BUFFER_BYTES
  while (capacity < sizeBytes) capacity *= 2
  const at = pool.findLastIndex(({ length }) => length === capacity)
  const pooled = at < 0 ? undefined : pool.splice(at, 1)[0]
  if (pooled !== undefined) poolBytes -= capacity
  const buffer = pooled ?? new Uint8Array(Buffer.allocUnsafeSlow(capacity).buffer)
  acquired.add(buffer.buffer)
  return buffer
}

/**
 * Returns the buffer behind `bytes` to the pool. The caller must not read it, or any other view of it, afterwards. Does nothing for memory
 * that did not come from the pool or was released before.
 */
export function releaseBuffer({ buffer }: Uint8Array): void {
  if (!acquired.delete(buffer) || buffer.byteLength > POOL_BYTES / 2) return
  pool.push(new Uint8Array(buffer))
  poolBytes += buffer.byteLength
  while (poolBytes > POOL_BYTES) poolBytes -= pool.shift()?.length ?? 0
}

/** Returns `text` in memory that `releaseBuffer` does not reuse: copies and releases a pooled text, returns any other as it is. */
export function detachBuffer(text: Uint8Array): Uint8Array {
  if (!acquired.has(text.buffer)) return text
  const copy = text.slice()
  releaseBuffer(text)
  return copy
}
