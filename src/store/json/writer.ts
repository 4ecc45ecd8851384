import type { ByteFilter } from '../record/index.ts'

/**
 * Prints JSON from records (writer/layout.ts). Every text is byte for byte what `JSON.stringify` makes of the shapes of rpc/json.ts, and a
 * Uint8Array that the caller owns; a long one lies in lent memory (chunks.ts). Records are taken as checked: a broken one prints nonsense or
 * throws RangeError, but harms nothing else.
 */
export interface JsonWriter {
  /** `full`: the transactions as objects, else as hashes */
  block(record: Uint8Array, full: boolean): Uint8Array
  /** all receipts, a list */
  receipts(record: Uint8Array): Uint8Array
  receipt(record: Uint8Array, transactionIndex: number): Uint8Array
  transaction(record: Uint8Array, transactionIndex: number): Uint8Array
  /**
   * Of the logs `from` … `to` - 1 those that match (null: all), in order, each an object FOLLOWED by a comma. Stops behind the log that left the
   * sink without room. Answers the first log that was not looked at, `to` when it came to the end.
   */
  logs(record: Uint8Array, filter: ByteFilter | null, from: number, to: number, sink: TextSink): number
  /** The same of some logs: `indices` are log indices, `from` … `to` - 1 are places in it. */
  logsAt(record: Uint8Array, indices: readonly number[], filter: ByteFilter | null, from: number, to: number, sink: TextSink): number
}

/** Takes text in pieces. */
export interface TextSink {
  /** bytes it would like to take still; a piece may be longer */
  readonly room: number
  /** copies */
  append(text: Uint8Array): void
}
