import * as layout from '../writer/layout.ts'

/** The parts of a block that the index reads. */
export interface PlainBlock {
  readonly number: number
  readonly hash: Uint8Array
  /** hashes */
  readonly transactions: readonly Uint8Array[]
  /** sender and receiver of each transaction; zero and null by default */
  readonly parties?: readonly PlainTransaction[]
  readonly logs: readonly PlainLog[]
}

export interface PlainTransaction {
  readonly sender: Uint8Array
  readonly receiver: Uint8Array | null
}

export interface PlainLog {
  readonly address: Uint8Array
  readonly topics: readonly Uint8Array[]
}

/** A record with the parts that the index reads. */
export function recordOf({ number, hash, transactions, logs, parties = [] }: PlainBlock): Uint8Array {
  const table = layout.RECORD_HEADER_BYTES + layout.TX_ENTRY_BYTES * transactions.length
  const sizes = logs.map(({ topics }) => layout.LOG_HEADER_BYTES + 32 * topics.length + 3)
  const bytes = new Uint8Array(table + 4 * logs.length + sizes.reduce((sum, size) => sum + size, 20 * parties.length))
  const view = new DataView(bytes.buffer)
  view.setBigUint64(layout.RECORD_NUMBER_OFFSET, BigInt(number), true)
  view.setUint32(layout.RECORD_TX_COUNT_OFFSET, transactions.length, true)
  view.setUint32(layout.RECORD_LOG_COUNT_OFFSET, logs.length, true)
  bytes.set(hash, layout.RECORD_HASH_OFFSET)
  for (const [i, transaction] of transactions.entries())
    bytes.set(transaction, layout.RECORD_HEADER_BYTES + layout.TX_ENTRY_BYTES * i + layout.TX_ENTRY_HASH_OFFSET)
  let at = table + 4 * logs.length
  for (const [i, { address, topics }] of logs.entries()) {
    view.setUint32(table + 4 * i, at, true)
    view.setUint32(at + layout.LOG_TOPIC_COUNT_OFFSET, topics.length, true)
    bytes.set(address, at + layout.LOG_ADDRESS_OFFSET)
    for (const [k, topic] of topics.entries()) bytes.set(topic, at + layout.LOG_HEADER_BYTES + 32 * k)
    at += sizes[i] ?? 0
  }
  for (const [i, { sender, receiver }] of parties.entries()) {
    const row = layout.RECORD_HEADER_BYTES + layout.TX_ENTRY_BYTES * i
    bytes.set(sender, row + layout.TX_ENTRY_FROM_OFFSET)
    if (receiver === null) continue
    view.setUint32(row + layout.TX_ENTRY_TO_POINTER_OFFSET, at, true)
    bytes.set(receiver, at)
    at += 20
  }
  return bytes
}

/** `number` in `size` bytes, as logs hold small values. */
export function valueOf(number: number, size = 32): Uint8Array {
  const bytes = new Uint8Array(size)
  new DataView(bytes.buffer).setBigUint64(size - 8, BigInt(number))
  return bytes
}
