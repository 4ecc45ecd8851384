import { crc32 } from 'node:zlib'
import type { GasPayment, LocatedLog } from '../../chain/index.ts'
import { WIRE_OBJECTS } from '../../eth/index.ts'
import type { Block, Hash, Header } from '../../eth/index.ts'
import * as layout from '../writer/layout.ts'
import { decodeBlock, decodeHeader, decodePayments, logAt } from './decode.ts'
import { FieldReader, hashAt, u64At, viewOf } from './fieldreader.ts'
import type { ByteFilter } from './bytefilter.ts'
import { tagOf } from './fieldtags.ts'

/** The format of records. Others are refused. It is not covered by the checksum: no flipped bit turns it into the older one. */
const FORMAT = 4
/** Also read: blooms are stored whole, and the receiver is repeated in the receipt. */
const OLDER_FORMAT = 2

const NONCE = tagOf(WIRE_OBJECTS.transaction, 'nonce')

/** `pcb` and the format, little-endian */
export const MAGIC = 0x62_63_70 | (FORMAT << 24)

/** A stored block. Frequent queries read its bytes (writer/layout.ts) without decoding it. */
export class BlockRecord {
  readonly bytes: Uint8Array
  readonly #view: DataView
  /** offset of the table of log offsets */
  readonly #logTable: number

  /** Does not copy or verify. */
  constructor(bytes: Uint8Array) {
    this.bytes = bytes
    this.#view = viewOf(bytes)
    this.#logTable = layout.RECORD_HEADER_BYTES + this.transactionCount * layout.TX_ENTRY_BYTES
  }

  /** Verifies bytes from disk. Throws CorruptRecord. */
  static checked(bytes: Uint8Array, number: number): BlockRecord {
    checkRecord(bytes, number)
    return new BlockRecord(bytes)
  }

  get number(): number {
    return u64At(this.#view, layout.RECORD_NUMBER_OFFSET)
  }

  /** seconds */
  get timestamp(): number {
    return u64At(this.#view, layout.RECORD_TIMESTAMP_OFFSET)
  }

  /** `null` except under the `native` cadence */
  get timestampMs(): number | null {
    return this.#u32(layout.RECORD_HAS_TIMESTAMP_MS_OFFSET) === 0 ? null : u64At(this.#view, layout.RECORD_TIMESTAMP_MS_OFFSET)
  }

  get hash(): Hash {
    return hashAt(this.bytes, layout.RECORD_HASH_OFFSET)
  }

  get transactionCount(): number {
    return this.#u32(layout.RECORD_TX_COUNT_OFFSET)
  }

  get logCount(): number {
    return this.#u32(layout.RECORD_LOG_COUNT_OFFSET)
  }

  /** Throws RangeError if the block has no such transaction. */
  transactionHash(index: number): Hash {
    return hashAt(this.bytes, this.#row(index) + layout.TX_ENTRY_HASH_OFFSET)
  }

  /** Returns whether the 20 bytes are the sender of a transaction. Throws RangeError if the block has no such transaction. */
  isSender(address: Uint8Array, index: number): boolean {
    return this.#isAt(address, this.#row(index) + layout.TX_ENTRY_FROM_OFFSET)
  }

  /** Returns whether they are its receiver or the contract that it created. Throws RangeError as above. */
  isReceiver(address: Uint8Array, index: number): boolean {
    const at = this.#u32(this.#row(index) + layout.TX_ENTRY_TO_POINTER_OFFSET)
    return at !== 0 && this.#isAt(address, at)
  }

  /** As in JSON: the nonce of a deposit is the nonce at its execution. Throws RangeError as above. */
  nonceOf(index: number): bigint {
    const fields = new FieldReader(this.bytes)
    fields.open(this.#u32(this.#row(index) + layout.TX_ENTRY_TX_POINTER_OFFSET))
    return fields.readQuantity(NONCE)
  }

  /** Decodes the block on every call. Its byte arrays are views into the record. */
  decode(): Block {
    return decodeBlock(this.bytes)
  }

  payments(): readonly GasPayment[] {
    return decodePayments(this.bytes)
  }

  header(): Header {
    return decodeHeader(this.bytes)
  }

  /** `logIndex` counts over the block. Throws RangeError if the block has no such log. */
  log(logIndex: number): Omit<LocatedLog, 'block'> {
    const start = this.#logStart(logIndex)
    return { log: logAt(this.bytes, this.#view, start), transactionIndex: this.#u32(start + layout.LOG_TX_INDEX_OFFSET), logIndex }
  }

  /** Throws RangeError if the block has no such log. */
  matches({ addresses, topics }: ByteFilter, logIndex: number): boolean {
    const start = this.#logStart(logIndex)
    if (addresses !== null && !this.#isOneOf(addresses, start + layout.LOG_ADDRESS_OFFSET)) return false
    const count = this.#u32(start + layout.LOG_TOPIC_COUNT_OFFSET)
    for (let i = 0; i < topics.length; i++) {
      const accepted = topics[i] ?? null
      if (accepted !== null && (i >= count || !this.#isOneOf(accepted, start + layout.LOG_HEADER_BYTES + i * 32))) return false
    }
    return true
  }

  #isOneOf(values: readonly Uint8Array[], at: number): boolean {
    for (const value of values) if (this.#isAt(value, at)) return true
    return false
  }

  #isAt(value: Uint8Array, at: number): boolean {
    for (let i = 0; i < value.length; i++) if (value[i] !== this.bytes[at + i]) return false
    return true
  }

  #row(index: number): number {
    assertBelow(index, this.transactionCount, 'transaction')
    return layout.RECORD_HEADER_BYTES + index * layout.TX_ENTRY_BYTES
  }

  #logStart(logIndex: number): number {
    assertBelow(logIndex, this.logCount, 'log')
    return this.#u32(this.#logTable + logIndex * 4)
  }

  #u32(at: number): number {
    return this.#view.getUint32(at, true)
  }
}

/** Verifies that bytes from disk are the record of block `number`. Throws CorruptRecord. */
export function checkRecord(bytes: Uint8Array, number: number): void {
  const fault = faultOf(bytes, number)
  if (fault !== null) throw new CorruptRecord(number, fault)
}

/** Reads the number of logs without creating a DataView. */
export function logCountOf(record: Uint8Array): number {
  const at = layout.RECORD_LOG_COUNT_OFFSET
  return (record[at]! | (record[at + 1]! << 8) | (record[at + 2]! << 16) | (record[at + 3]! << 24)) >>> 0
}

function assertBelow(index: number, count: number, noun: string): void {
  if (index >>> 0 !== index || index >= count) throw new RangeError(`the block has no ${noun} ${index}, but ${count}`)
}

/** Returns what is wrong with a record of block `number`, `null` if it is valid. */
function faultOf(bytes: Uint8Array, number: number): string | null {
  if (bytes.length < layout.RECORD_HEADER_BYTES) return `it has only ${bytes.length} bytes`
  const view = viewOf(bytes)
  const magic = view.getUint32(layout.RECORD_MAGIC_OFFSET, true)
  const format = magic >>> 24
  if (!isOurs(magic)) return 'it does not begin as a record'
  if (format !== FORMAT && format !== OLDER_FORMAT) return `it has the format ${format}, not ${FORMAT} or ${OLDER_FORMAT}`
  const size = view.getUint32(layout.RECORD_SIZE_OFFSET, true)
  if (size !== bytes.length) return `it has ${bytes.length} bytes instead of ${size}`
  if (view.getUint32(layout.RECORD_CHECKSUM_OFFSET, true) !== crc32(bytes.subarray(layout.RECORD_SIZE_OFFSET)))
    return 'its checksum does not match its bytes'
  const found = u64At(view, layout.RECORD_NUMBER_OFFSET)
  return found === number ? null : `it is that of block ${found}`
}

function isOurs(magic: number): boolean {
  return (magic & 0xff_ff_ff) === (MAGIC & 0xff_ff_ff)
}

/** A stored record is damaged or of another block. */
export class CorruptRecord extends Error {
  override readonly name = 'CorruptRecord'
  /** number of the block */
  readonly number: number
  readonly reason: string

  constructor(number: number, reason: string) {
    super(`the record of block ${number} is corrupt: ${reason}`)
    this.number = number
    this.reason = reason
  }
}
