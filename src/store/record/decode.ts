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
  let end = at + layout.LOG_HEAD
  for (let left = view.getUint32(at + layout.L_TOPICS, true); left > 0; left--, end += 32) topics.push(hashAt(bytes, end))
  const data = bytesAt(bytes, end, view.getUint32(at + layout.L_DATA_SIZE, true))
  return { address: addressAt(bytes, at + layout.L_ADDRESS), topics, data }
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
  #row = layout.RECORD_HEAD

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
    this.#view = viewOf(bytes)
    this.#transactionCount = this.#u32(layout.R_TRANSACTIONS)
    this.#logTable = layout.RECORD_HEAD + this.#transactionCount * layout.TX_ROW
    this.#fields = new FieldDecoder(bytes, this)
  }

  block(): Block {
    const header = this.header()
    const body = blockFields(this.#fields, BLANK.block)
    const transactions: Transaction[] = []
    const receipts: Receipt[] = []
    for (let index = 0; index < this.#transactionCount; index++) {
      this.#row = layout.RECORD_HEAD + index * layout.TX_ROW
      this.#fields.open(this.#u32(this.#row + layout.T_FIELDS))
      transactions.push(this.#transaction())
      this.#fields.open(this.#u32(this.#row + layout.T_RECEIPT))
      receipts.push(this.#receipt())
    }
    const timestampMs = this.#u32(layout.R_HAS_MS) === 0 ? null : u64At(this.#view, layout.R_TIMESTAMP_MS)
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
    this.#fields.open(this.#u32(layout.R_BLOCK))
    return headerFields(this.#fields, BLANK.header, BLANK.headerContext)
  }

  payments(): readonly GasPayment[] {
    const fields = this.#fields
    return Array.from({ length: this.#transactionCount }, (_, index) => {
      fields.open(this.#u32(layout.RECORD_HEAD + index * layout.TX_ROW + layout.T_RECEIPT))
      const [type, gasUsed] = [fields.transactionType('', TYPE), fields.readQuantity(GAS_USED)]
      return { type, gasUsed, effectiveGasPrice: fields.readQuantity(EFFECTIVE_GAS_PRICE) }
    })
  }

  #transaction(): Transaction {
    const fields = transactionFields(this.#fields, BLANK.transaction, BLANK.context)
    return Object.defineProperty(fields, 'raw', RAW) as Transaction // RAW is the missing property
  }

  #receipt(): Receipt {
    const place = { firstLogIndex: this.#u32(this.#row + layout.T_FIRST_LOG) }
    return receiptFields(this.#fields, place as Receipt, BLANK.context) // decoding reads nothing else
  }

  // --- references ---------------------------------------------------------------------------------------------------------------------------

  blockHash(): Hash {
    return hashAt(this.#bytes, layout.R_HASH)
  }

  blockNumber(): number {
    return u64At(this.#view, layout.R_NUMBER)
  }

  blockTimestamp(): number {
    return u64At(this.#view, layout.R_TIMESTAMP)
  }

  transactionHash(): Hash {
    return hashAt(this.#bytes, this.#row + layout.T_HASH)
  }

  sender(): Address {
    return addressAt(this.#bytes, this.#row + layout.T_FROM)
  }

  logs(): readonly Log[] {
    const next = this.#row + layout.TX_ROW
    const end = this.#u32(next === this.#logTable ? layout.R_LOGS : next + layout.T_FIRST_LOG)
    const logs: Log[] = []
    for (let i = this.#u32(this.#row + layout.T_FIRST_LOG); i < end; i++) {
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
