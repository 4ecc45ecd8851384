import { RewoundState } from '../chain/index.ts'
import type { LogFilter, View } from '../chain/index.ts'
import { BlockRemoved } from '../store/index.ts'
import { logJson } from './json.ts'

/** Yields the logs of sealed blocks from…to as chunks of one JSON array, on demand. Throws RewoundState if the chain rewinds meanwhile. */
export function sealedLogsJson(view: View, filter: LogFilter, from: number, to: number): Iterable<Uint8Array> {
  return rethrowingRewinds(view, view.logsJsonBytes(filter, from, to))
}

/** Returns the current logs of the block under construction as items of a JSON array, '' for none. */
export function pendingLogItemsJson(view: View, filter: LogFilter): string {
  return Array.from(view.pendingLogs(filter), (placed) => JSON.stringify(logJson(placed))).join(',')
}

/** Appends `items` to the array in `chunks`. */
export function* appendItems(chunks: Iterable<Uint8Array>, items: string): Generator<Uint8Array, void, undefined> {
  let sizeBytes = 0
  let last: Uint8Array | null = null
  for (const chunk of chunks) {
    if (last !== null) yield last
    last = chunk
    sizeBytes += chunk.length
  }
  if (last !== null) yield last.subarray(0, -1)
  yield Buffer.from(`${sizeBytes > EMPTY_ARRAY_BYTES ? ',' : ''}${items}]`)
}

const EMPTY_ARRAY_BYTES = 2

/** The chain may rewind between two chunks. */
function* rethrowingRewinds(view: View, chunks: Iterable<Uint8Array>): Generator<Uint8Array, void, undefined> {
  try {
    yield* chunks
  } catch (error) {
    throw error instanceof BlockRemoved ? new RewoundState(view.version) : error
  }
}
