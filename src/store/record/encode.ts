import { Hash, blockFields, headerFields, receiptFields, transactionFields } from '../../eth/index.ts'
import type { Block } from '../../eth/index.ts'
import * as layout from '../writer/layout.ts'
import type { RecordArena } from './arena.ts'
import { FieldEncoder } from './fieldencoder.ts'
import { MAGIC } from './record.ts'

/**
 * Returns the record of a sealed block, checksum included; `BlockRecord.decode` is the inverse.
 * Throws RangeError for a block that is pending, lacks receipts, counts its logs wrongly, or holds a value out of its field's range.
 */
export function encodeBlock(block: Block): Uint8Array {
  return encoder.encode(block).slice()
}

/** As `encodeBlock`; the record is in the arena's memory, valid until its `clear`. */
export function encodeBlockInto(arena: RecordArena, block: Block): Uint8Array {
  return arena.add(encoder.encode(block))
}

/** Encodes blocks in one scratch memory. */
export class BlockEncoder {
  readonly #writer: FieldEncoder

  constructor(writer = new FieldEncoder()) {
    this.#writer = writer
  }

  /** The record is valid until the next call. Throws RangeError. */
  encode(block: Block): Uint8Array {
    assertSealed(block)
    const logs = logCount(block)
    prefetch(block)
    const logTable = layout.RECORD_HEADER_BYTES + block.transactions.length * layout.TX_ENTRY_BYTES
    this.#writer.begin(logTable + logs * 4)
    this.#writeHead(block, logs)
    this.#writeLogs(block, logTable)
    this.#writeBlock(block)
    this.#writeTransactions(block)
    return this.#writer.finish()
  }

  #writeHead({ header, hash, transactions, timestampMs }: Block, logs: number): void {
    const writer = this.#writer
    writer.u32At(layout.RECORD_MAGIC_OFFSET, MAGIC)
    writer.u32At(layout.RECORD_TX_COUNT_OFFSET, transactions.length)
    writer.u32At(layout.RECORD_LOG_COUNT_OFFSET, logs)
    writer.u32At(layout.RECORD_HAS_TIMESTAMP_MS_OFFSET, timestampMs === null ? 0 : 1)
    writer.u64At(layout.RECORD_NUMBER_OFFSET, header.number)
    writer.u64At(layout.RECORD_TIMESTAMP_OFFSET, header.timestamp)
    writer.u64At(layout.RECORD_TIMESTAMP_MS_OFFSET, timestampMs ?? 0)
    writer.hashAt(layout.RECORD_HASH_OFFSET, hash)
  }

  /** The logs of all transactions are contiguous, so that a search reads one range. */
  #writeLogs({ receipts }: Block, logTable: number): void {
    let entry = logTable
    for (let index = 0; index < receipts.length; index++) {
      for (const { address, topics, data } of receipts[index]!.logs) {
        this.#writer.u32At(entry, this.#writer.size)
        this.#writer.log(index, address, topics, data)
        entry += 4
      }
    }
  }

  #writeBlock(block: Block): void {
    this.#writer.u32At(layout.RECORD_BLOCK_POINTER_OFFSET, this.#writer.size)
    headerFields(this.#writer, block.header, block)
    blockFields(this.#writer, block)
    this.#writer.end()
  }

  #writeTransactions(block: Block): void {
    const writer = this.#writer
    const context = { block, index: 0, transaction: block.transactions[0]!, receipt: block.receipts[0]! } // set for each
    for (let index = 0; index < block.transactions.length; index++) {
      const row = layout.RECORD_HEADER_BYTES + index * layout.TX_ENTRY_BYTES
      const transaction = block.transactions[index]!
      const receipt = block.receipts[index]! // as many as transactions
      context.index = index
      context.transaction = transaction
      context.receipt = receipt
      writer.beginRow(row)
      writer.hashAt(row + layout.TX_ENTRY_HASH_OFFSET, transaction.hash)
      writer.addressAt(row + layout.TX_ENTRY_FROM_OFFSET, transaction.from)
      writer.u32At(row + layout.TX_ENTRY_FIRST_LOG_OFFSET, receipt.firstLogIndex)
      writer.u32At(row + layout.TX_ENTRY_TX_POINTER_OFFSET, writer.size)
      transactionFields(writer, transaction, context)
      writer.end()
      writer.u32At(row + layout.TX_ENTRY_RECEIPT_POINTER_OFFSET, writer.size)
      receiptFields(writer, receipt, context)
      writer.end()
    }
  }
}

/** Encoding is synchronous, so one encoder serves all callers. */
const encoder = new BlockEncoder()

function assertSealed({ header, hash, transactions, receipts }: Block): void {
  if (hash === Hash.zero) throw new RangeError(`block ${header.number} is pending`)
  if (transactions.length !== receipts.length)
    throw new RangeError(`block ${header.number} has ${transactions.length} transactions and ${receipts.length} receipts`)
}

function logCount({ header, receipts }: Block): number {
  let count = 0
  for (const { firstLogIndex, logs } of receipts) {
    if (firstLogIndex !== count)
      throw new RangeError(`block ${header.number} has a receipt that begins at log ${firstLogIndex}, not ${count}`)
    count += logs.length
  }
  return count
}

/**
 * Touches the values that encoding reads. In these short loops the cache misses overlap, where encoding would wait for each: an eighth of the
 * time for a block that is not in the processor's cache.
 */
function prefetch({ receipts }: Block): void {
  let sum = 0
  for (const { logs, logsBloom } of receipts) {
    for (let at = 0; at < logsBloom.length; at += CACHE_LINE_BYTES) sum += logsBloom[at]!
    for (const { topics, data } of logs) sum += topics.length + data.length
  }
  for (const { logs } of receipts) {
    for (const { address, topics } of logs) {
      sum += address.length
      for (const topic of topics) sum += topic.length
    }
  }
  prefetched[0] = sum
}

/** Stores an unused result: without it the compiler would drop the reads. */
const prefetched = new Uint32Array(1)
const CACHE_LINE_BYTES = 64
