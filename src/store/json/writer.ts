import type { ByteFilter } from '../record/index.ts'

/**
 * Writes JSON from records (writer/layout.ts). Each text equals `JSON.stringify` of the object that rpc/json.ts builds, byte for byte, and
 * belongs to the caller; a long one is in a pooled buffer (bufferpool.ts). Records are assumed to be verified: a corrupt one yields invalid text
 * or RangeError and has no other effect.
 */
export interface JsonWriter {
  /** Returns a block, with its transactions as objects if `full`, else as hashes. */
  block(record: Uint8Array, full: boolean): Uint8Array
  /** Returns the array of all receipts of a block. */
  receipts(record: Uint8Array): Uint8Array
  /** Throws RangeError if the block has no such transaction. */
  receipt(record: Uint8Array, transactionIndex: number): Uint8Array
  /** Throws RangeError if the block has no such transaction. */
  transaction(record: Uint8Array, transactionIndex: number): Uint8Array
  /**
   * Appends the logs `from` … `to` - 1 that match `filter` (`null`: all) to `sink`, in order, each followed by a comma. Stops after the log that
   * exhausts `sink.room`. Returns the index of the first log not examined, `to` if all were.
   */
  logs(record: Uint8Array, filter: ByteFilter | null, from: number, to: number, sink: TextSink): number
  /** As `logs`, for a selection: `indices` holds log indices, and `from` … `to` - 1 and the result are positions in it. */
  logsAt(record: Uint8Array, indices: readonly number[], filter: ByteFilter | null, from: number, to: number, sink: TextSink): number
}

/** Receives text in pieces. */
export interface TextSink {
  /** Free bytes. A piece may be longer. */
  readonly room: number
  /** Copies `text`. */
  append(text: Uint8Array): void
}
