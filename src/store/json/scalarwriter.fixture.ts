import { BlockRecord, LOG_KEYS, TAGS, bloomAt, bloomSize } from '../record/index.ts'
import type { ByteFilter } from '../record/index.ts'
import * as layout from '../writer/layout.ts'
import { TextBuffer } from './scalartext.fixture.ts'
import type { JsonWriter, TextSink } from './writer.ts'

/** A writer in scalar TypeScript: the oracle that the wasm writer is compared with. */
export class ScalarWriter implements JsonWriter {
  readonly #text = new TextBuffer()
  #bytes: Uint8Array = new Uint8Array()
  #view: DataView = new DataView(new ArrayBuffer())
  /** the transaction whose object, receipt or log is written, and the offset of its row */
  #index = 0
  #row = 0
  /** whether a block's transactions are written as objects */
  #full = false
  /** the text that the logs of transaction `#sharedIndex` share */
  #shared: Uint8Array = new Uint8Array()
  #sharedIndex = -1

  block(record: Uint8Array, full: boolean): Uint8Array {
    this.#take(record)
    this.#full = full
    this.#object(this.#u32(layout.RECORD_BLOCK_POINTER_OFFSET))
    return this.#finish()
  }

  receipts(record: Uint8Array): Uint8Array {
    this.#take(record)
    this.#list(this.#u32(layout.RECORD_TX_COUNT_OFFSET), (index) => this.#ofTransaction(index, layout.TX_ENTRY_RECEIPT_POINTER_OFFSET))
    return this.#finish()
  }

  receipt(record: Uint8Array, transactionIndex: number): Uint8Array {
    return this.#single(record, transactionIndex, layout.TX_ENTRY_RECEIPT_POINTER_OFFSET)
  }

  transaction(record: Uint8Array, transactionIndex: number): Uint8Array {
    return this.#single(record, transactionIndex, layout.TX_ENTRY_TX_POINTER_OFFSET)
  }

  logs(record: Uint8Array, filter: ByteFilter | null, from: number, to: number, sink: TextSink): number {
    return this.#logs(record, filter, from, to, sink, (place) => place)
  }

  logsAt(record: Uint8Array, indices: readonly number[], filter: ByteFilter | null, from: number, to: number, sink: TextSink): number {
    return this.#logs(record, filter, from, to, sink, (place) => indices[place]!)
  }

  #logs(record: Uint8Array, filter: ByteFilter | null, from: number, to: number, sink: TextSink, logOf: (place: number) => number): number {
    const matched = new BlockRecord(record)
    this.#take(record)
    const room = sink.room
    let place = from
    for (; place < to && this.#text.size < room; place++) {
      const index = logOf(place)
      if (filter !== null && !matched.matches(filter, index)) continue
      this.#log(index)
      this.#text.char(COMMA)
    }
    if (this.#text.size > 0) sink.append(this.#text.written)
    this.#text.clear()
    return place
  }

  #single(record: Uint8Array, index: number, part: number): Uint8Array {
    this.#take(record)
    if (!(index >= 0 && index < this.#u32(layout.RECORD_TX_COUNT_OFFSET))) throw new RangeError(`the record has no transaction ${index}`)
    this.#ofTransaction(index, part)
    return this.#finish()
  }

  #take(record: Uint8Array): void {
    this.#text.clear() // an error may have left text
    this.#sharedIndex = -1
    this.#bytes = record
    this.#view = new DataView(record.buffer, record.byteOffset, record.byteLength)
  }

  #finish(): Uint8Array {
    const text = this.#text.written.slice()
    this.#text.clear()
    return text
  }

  // --- objects and lists -------------------------------------------------------------------------------------------------------------------

  /** Writes each field with a preceding comma, the first of which becomes the brace. Returns the end of the object. */
  #object(at: number): number {
    const start = this.#text.size
    for (let tag = this.#tag(at++); tag !== layout.END_OF_OBJECT; tag = this.#tag(at++)) {
      this.#text.literal(KEY_LITERALS[tag]!)
      at += this.#payload[KINDS[tag]!]!(at)
    }
    this.#close(start)
    return at
  }

  /** Throws RangeError for a tag outside the table. */
  #tag(at: number): number {
    const tag = this.#bytes[at]
    if (tag === undefined || tag >= TAGS.length) throw new RangeError(`a record has no tag at byte ${at}`)
    return tag
  }

  #close(start: number): void {
    if (this.#text.size === start) this.#text.char(OPEN_BRACE)
    else this.#text.charAt(start, OPEN_BRACE)
    this.#text.char(CLOSE_BRACE)
  }

  #list(count: number, write: (index: number) => void): void {
    this.#text.char(OPEN_BRACKET)
    for (let i = 0; i < count; i++) {
      if (i > 0) this.#text.char(COMMA)
      write(i)
    }
    this.#text.char(CLOSE_BRACKET)
  }

  #ofTransaction(index: number, part: number): void {
    this.#enter(index)
    this.#object(this.#u32(this.#row + part))
  }

  #enter(index: number): void {
    this.#index = index
    this.#row = layout.RECORD_HEADER_BYTES + index * layout.TX_ENTRY_BYTES
  }

  // --- payloads by kind -------------------------------------------------------------------------------------------------------------

  /** By kind: writes the payload at `at` and returns its size. */
  readonly #payload: Readonly<Record<number, (at: number) => number>> = {
    [layout.KIND_HASH]: (at) => this.#hex(at, 32),
    [layout.KIND_ADDRESS]: (at) => this.#hex(at, 20),
    [layout.KIND_QUANTITY]: (at) => this.#quantity(at),
    [layout.KIND_BYTES]: (at) => 4 + this.#hex(at + 4, this.#u32(at)),
    [layout.KIND_NULL]: () => this.#literal(NULL_TEXT),
    [layout.KIND_TRUE]: () => this.#literal(TRUE_TEXT),
    [layout.KIND_BLOOM]: (at) => this.#bloom(at),
    [layout.KIND_HASHES]: (at) => this.#hashes(at + 4, this.#u32(at)),
    [layout.KIND_OBJECTS]: (at) => this.#objects(at),
    [layout.KIND_INTERNAL_BYTES]: (at) => 4 + this.#u32(at),
    [layout.KIND_BLOCK_HASH]: () => this.#blockHash(),
    [layout.KIND_BLOCK_NUMBER]: () => this.#u64(layout.RECORD_NUMBER_OFFSET),
    [layout.KIND_BLOCK_TIMESTAMP]: () => this.#u64(layout.RECORD_TIMESTAMP_OFFSET),
    [layout.KIND_BLOCK_TIMESTAMP_MS]: () => this.#u64(layout.RECORD_TIMESTAMP_MS_OFFSET),
    [layout.KIND_TX_HASH]: () => this.#txHash(),
    [layout.KIND_TX_INDEX]: () => this.#integer(this.#index),
    [layout.KIND_TX_FROM]: () => this.#referred(this.#row + layout.TX_ENTRY_FROM_OFFSET, 20),
    [layout.KIND_TX_TO]: () => this.#referred(this.#u32(this.#row + layout.TX_ENTRY_TO_POINTER_OFFSET), 20),
    [layout.KIND_LOGS]: () => this.#logsOfTransaction(),
    [layout.KIND_TRANSACTIONS]: () => this.#transactions(),
  }

  #hex(at: number, size: number): number {
    this.#text.hex(this.#bytes, at, at + size)
    return size
  }

  #quantity(at: number): number {
    const size = this.#bytes[at]!
    this.#text.quantity(this.#bytes, at + 1, at + 1 + size)
    return 1 + size
  }

  #bloom(at: number): number {
    this.#text.hex(bloomAt(this.#bytes, at), 0, layout.BLOOM_BYTES)
    return bloomSize(this.#bytes, at)
  }

  #hashes(at: number, count: number): number {
    this.#list(count, (i) => this.#hex(at + i * 32, 32))
    return 4 + count * 32
  }

  #objects(start: number): number {
    let at = start + 4
    this.#list(this.#u32(start), () => {
      at = this.#object(at)
    })
    return at - start
  }

  // The kinds below have empty payloads.

  #literal(text: Uint8Array): number {
    this.#text.literal(text)
    return 0
  }

  #referred(at: number, size: number): number {
    this.#hex(at, size)
    return 0
  }

  #blockHash(): number {
    return this.#referred(layout.RECORD_HASH_OFFSET, 32)
  }

  #txHash(): number {
    return this.#referred(this.#row + layout.TX_ENTRY_HASH_OFFSET, 32)
  }

  #integer(value: number): number {
    this.#text.integer(value)
    return 0
  }

  #u64(at: number): number {
    return this.#integer(this.#u32(at) + this.#u32(at + 4) * 2 ** 32)
  }

  #transactions(): number {
    this.#list(this.#u32(layout.RECORD_TX_COUNT_OFFSET), (index) => {
      if (this.#full) return this.#ofTransaction(index, layout.TX_ENTRY_TX_POINTER_OFFSET)
      this.#enter(index)
      this.#txHash()
    })
    return 0
  }

  #logsOfTransaction(): number {
    const first = this.#u32(this.#row + layout.TX_ENTRY_FIRST_LOG_OFFSET)
    const isLast = this.#index + 1 === this.#u32(layout.RECORD_TX_COUNT_OFFSET)
    const end = this.#u32(isLast ? layout.RECORD_LOG_COUNT_OFFSET : this.#row + layout.TX_ENTRY_BYTES + layout.TX_ENTRY_FIRST_LOG_OFFSET)
    this.#list(end - first, (i) => this.#log(first + i))
    return 0
  }

  // --- a log ---------------------------------------------------------------------------------------------------------------------------------

  #log(index: number): void {
    if (index < 0 || index >= this.#u32(layout.RECORD_LOG_COUNT_OFFSET)) throw new RangeError(`the record has no log ${index}`)
    const start = this.#text.size
    const at = this.#u32(layout.RECORD_HEADER_BYTES + this.#u32(layout.RECORD_TX_COUNT_OFFSET) * layout.TX_ENTRY_BYTES + index * 4)
    const topics = this.#u32(at + layout.LOG_TOPIC_COUNT_OFFSET)
    this.#key('address')
    this.#hex(at + layout.LOG_ADDRESS_OFFSET, 20)
    this.#key('topics')
    this.#hashes(at + layout.LOG_HEADER_BYTES, topics)
    this.#key('data')
    this.#hex(at + layout.LOG_HEADER_BYTES + topics * 32, this.#u32(at + layout.LOG_DATA_SIZE_OFFSET))
    this.#sharedLogText(this.#u32(at + layout.LOG_TX_INDEX_OFFSET))
    this.#key('logIndex')
    this.#integer(index)
    this.#key('removed')
    this.#text.literal(FALSE_TEXT)
    this.#close(start)
  }

  #sharedLogText(transactionIndex: number): void {
    if (transactionIndex === this.#sharedIndex) return this.#text.literal(this.#shared)
    const start = this.#text.size
    this.#enter(transactionIndex)
    this.#key('blockHash')
    this.#blockHash()
    this.#key('blockNumber')
    this.#u64(layout.RECORD_NUMBER_OFFSET)
    this.#key('blockTimestamp')
    this.#u64(layout.RECORD_TIMESTAMP_OFFSET)
    if (this.#u32(layout.RECORD_HAS_TIMESTAMP_MS_OFFSET) !== 0) {
      this.#key('blockTimestampMs')
      this.#u64(layout.RECORD_TIMESTAMP_MS_OFFSET)
    }
    this.#key('transactionHash')
    this.#txHash()
    this.#key('transactionIndex')
    this.#integer(transactionIndex)
    this.#shared = this.#text.written.slice(start)
    this.#sharedIndex = transactionIndex
  }

  #key(name: string): void {
    this.#text.literal(LOG_LITERALS.get(name)!) // a key of a log
  }

  #u32(at: number): number {
    return this.#view.getUint32(at, true)
  }
}

const COMMA = 0x2c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d

const NULL_TEXT = bytesOf('null')
const TRUE_TEXT = bytesOf('true')
const FALSE_TEXT = bytesOf('false')

const KINDS = TAGS.map(({ kind }) => kind)
/** By tag; empty for hidden fields. */
const KEY_LITERALS = TAGS.map(({ key }) => (key === '' ? new Uint8Array() : keyLiteral(key)))
const LOG_LITERALS = new Map(LOG_KEYS.map((key) => [key, keyLiteral(key)]))

function keyLiteral(key: string): Uint8Array {
  return bytesOf(`,"${key}":`)
}

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}
