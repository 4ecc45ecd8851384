import type { GasPayment } from '../../chain/index.ts'
import { BLANK, Transaction, WIRE_OBJECTS, blockFields, headerFields, receiptFields, transactionFields } from '../../eth/index.ts'
import type { Address, Block, Hash, Header, Log, Receipt } from '../../eth/index.ts'
import * as layout from '../writer/layout.ts'
import { FieldDecoder } from './fielddecoder.ts'
import type { RecordReferences } from './fielddecoder.ts'
import { addressAt, bytesAt, hashAt, u64At, viewOf } from './fieldreader.ts'
import { tagOf } from './fieldtags.ts'

/** Returns the block that `encodeBlock` was given. Its byte arrays are views into the record. Throws RangeError for an invalid record. */
export function decodeBlock(bytes: Uint8Array): Block {
  return new RecordDecoder(bytes).block()
}

export function decodeHeader(bytes: Uint8Array): Header {
  return new RecordDecoder(bytes).header()
}

/** Returns the fees of its transactions, in their order. */
export function decodePayments(bytes: Uint8Array): readonly GasPayment[] {
  return new RecordDecoder(bytes).payments()
}

/** Returns the log that begins at `at`. */
export function logAt(bytes: Uint8Array, view: DataView, at: number): Log {
  const topics: Hash[] = []
  let end = at + layout.LOG_HEADER_BYTES
  for (let left = view.getUint32(at + layout.LOG_TOPIC_COUNT_OFFSET, true); left > 0; left--, end += 32) topics.push(hashAt(bytes, end))
  const data = bytesAt(bytes, end, view.getUint32(at + layout.LOG_DATA_SIZE_OFFSET, true))
  return { address: addressAt(bytes, at + layout.LOG_ADDRESS_OFFSET), topics, data }
}

const TYPE = tagOf(WIRE_OBJECTS.receipt, 'type')
const GAS_USED = tagOf(WIRE_OBJECTS.receipt, 'gasUsed')
const EFFECTIVE_GAS_PRICE = tagOf(WIRE_OBJECTS.receipt, 'effectiveGasPrice')

/** Decodes the objects of one record. */
class RecordDecoder implements RecordReferences {
  readonly #bytes: Uint8Array
  readonly #view: DataView
  readonly #fields: FieldDecoder
  readonly #transactionCount: number
  readonly #logTable: number
  /** offset of the current transaction's row */
  #row = layout.RECORD_HEADER_BYTES

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
    this.#view = viewOf(bytes)
    this.#transactionCount = this.#u32(layout.RECORD_TX_COUNT_OFFSET)
    this.#logTable = layout.RECORD_HEADER_BYTES + this.#transactionCount * layout.TX_ENTRY_BYTES
    this.#fields = new FieldDecoder(bytes, this)
  }

  block(): Block {
    const header = this.header()
    const body = blockFields(this.#fields, BLANK.block)
    const transactions: Transaction[] = []
    const receipts: Receipt[] = []
    for (let index = 0; index < this.#transactionCount; index++) {
      this.#row = layout.RECORD_HEADER_BYTES + index * layout.TX_ENTRY_BYTES
      this.#fields.open(this.#u32(this.#row + layout.TX_ENTRY_TX_POINTER_OFFSET))
      transactions.push(this.#transaction())
      this.#fields.open(this.#u32(this.#row + layout.TX_ENTRY_RECEIPT_POINTER_OFFSET))
      receipts.push(this.#receipt())
    }
    const timestampMs = this.#u32(layout.RECORD_HAS_TIMESTAMP_MS_OFFSET) === 0 ? null : u64At(this.#view, layout.RECORD_TIMESTAMP_MS_OFFSET)
    return {
      header,
      hash: this.blockHash(),
      transactions,
      receipts,
      ommers: body.ommers,
      withdrawals: body.withdrawals,
      timestampMs,
      sizeBytes: body.sizeBytes,
    }
  }

  /** Opens the block's fields. */
  header(): Header {
    this.#fields.open(this.#u32(layout.RECORD_BLOCK_POINTER_OFFSET))
    return headerFields(this.#fields, BLANK.header, BLANK.headerContext)
  }

  payments(): readonly GasPayment[] {
    const fields = this.#fields
    return Array.from({ length: this.#transactionCount }, (_, index) => {
      fields.open(this.#u32(layout.RECORD_HEADER_BYTES + index * layout.TX_ENTRY_BYTES + layout.TX_ENTRY_RECEIPT_POINTER_OFFSET))
      const [type, gasUsed] = [fields.transactionType('', TYPE), fields.readQuantity(GAS_USED)]
      return { type, gasUsed, effectiveGasPrice: fields.readQuantity(EFFECTIVE_GAS_PRICE) }
    })
  }

  #transaction(): Transaction {
    const fields = transactionFields(this.#fields, BLANK.transaction, BLANK.context)
    return Object.defineProperty(fields, 'raw', RAW) as Transaction // RAW is the missing property
  }

  #receipt(): Receipt {
    const place = { firstLogIndex: this.#u32(this.#row + layout.TX_ENTRY_FIRST_LOG_OFFSET) }
    return receiptFields(this.#fields, place as Receipt, BLANK.context) // decoding reads nothing else
  }

  // --- references ---------------------------------------------------------------------------------------------------------------------------

  blockHash(): Hash {
    return hashAt(this.#bytes, layout.RECORD_HASH_OFFSET)
  }

  blockNumber(): number {
    return u64At(this.#view, layout.RECORD_NUMBER_OFFSET)
  }

  blockTimestamp(): number {
    return u64At(this.#view, layout.RECORD_TIMESTAMP_OFFSET)
  }

  transactionHash(): Hash {
    return hashAt(this.#bytes, this.#row + layout.TX_ENTRY_HASH_OFFSET)
  }

  sender(): Address {
    return addressAt(this.#bytes, this.#row + layout.TX_ENTRY_FROM_OFFSET)
  }

  logs(): readonly Log[] {
    const next = this.#row + layout.TX_ENTRY_BYTES
    const end = this.#u32(next === this.#logTable ? layout.RECORD_LOG_COUNT_OFFSET : next + layout.TX_ENTRY_FIRST_LOG_OFFSET)
    const logs: Log[] = []
    for (let i = this.#u32(this.#row + layout.TX_ENTRY_FIRST_LOG_OFFSET); i < end; i++) {
      logs.push(logAt(this.#bytes, this.#view, this.#u32(this.#logTable + i * 4)))
    }
    return logs
  }

  #u32(at: number): number {
    return this.#view.getUint32(at, true)
  }
}

/**
 * Encodes on first use: few callers need the bytes, and they take longer than the rest. One getter for all transactions: with a closure for each,
 * V8 converts the objects to dictionaries, 6 us each.
 */
const RAW: PropertyDescriptor & ThisType<Transaction> = {
  get() {
    const raw = Transaction.encode(this)
    Object.defineProperty(this, 'raw', { value: raw })
    return raw
  },
  enumerable: true,
  configurable: true,
}
