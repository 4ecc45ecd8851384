import { PlainWriter } from './plain.ts'
import { wasmWriter } from './wasm.ts'
import type { JsonWriter } from './writer.ts'

let writer: JsonWriter | null = null

/** The fastest writer that this engine can run. Made at the first call (a few milliseconds), so that the start of the node does not wait for it. */
export function jsonWriter(): JsonWriter {
  return (writer ??= wasmWriter() ?? new PlainWriter())
}
