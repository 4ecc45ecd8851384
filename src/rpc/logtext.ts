import { RewoundState } from '../chain/index.ts'
import type { LogFilter, View } from '../chain/index.ts'
import { BlockRemoved } from '../store/index.ts'
import { logJson } from './json.ts'

/** Logs of sealed blocks from…to as chunks of one JSON array, read as they are asked for. Throws RewoundState when blocks are taken back meanwhile. */
export function sealedLogs(view: View, filter: LogFilter, from: number, to: number): Iterable<Uint8Array> {
  return whileTheyStand(view, view.logsText(filter, from, to))
}

/** Those of the block under construction as items of a JSON array, now: there will be more. Empty: there are none. */
export function pendingLogs(view: View, filter: LogFilter): string {
  return Array.from(view.pendingLogs(filter), (placed) => JSON.stringify(logJson(placed))).join(',')
}

/** An array's chunks with `items` behind the rest of it. */
export function* withItems(chunks: Iterable<Uint8Array>, items: string): Generator<Uint8Array, void, undefined> {
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

/** Between two chunks others have their turn, and may rewind the chain. */
function* whileTheyStand(view: View, chunks: Iterable<Uint8Array>): Generator<Uint8Array, void, undefined> {
  try {
    yield* chunks
  } catch (error) {
    throw error instanceof BlockRemoved ? new RewoundState(view.version) : error
  }
}
