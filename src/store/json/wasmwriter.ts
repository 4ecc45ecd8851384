import { TAGS } from '../record/index.ts'
import type { ByteFilter } from '../record/index.ts'
import wasm from '../wasm/writer.ts'
import {
  FILTER_REGION,
  SELECT_FILTERED_LOGS,
  FILTER_HASH_FACTORS,
  INPUT_REGION,
  LOG_INDEX_LIST,
  SELECT_LISTED_LOGS,
  LOG_INDEX_LIST_BYTES,
  LITERAL_BYTES,
  LITERAL_TEXT_OFFSET,
  LOG_LITERAL_REGION,
  RECORD_BLOCK_POINTER_OFFSET,
  RECORD_LOG_COUNT_OFFSET,
  RECORD_TX_COUNT_OFFSET,
  VECTOR_PADDING_BYTES,
  TAG_KEYS,
  TAG_KINDS,
} from '../writer/layout.ts'
import { acquireBuffer } from './bufferpool.ts'
import { filterImage } from './filterimage.ts'
import { POOLED_TEXT_BYTES, LOG_CHUNK_BYTES, WRITER_MEMORY_BYTES } from './limits.ts'
import { LOG_LITERALS, TAG_TEXTS } from './literals.ts'
import type { JsonWriter, TextSink } from './writer.ts'

// TypeScript declares WebAssembly in its DOM library only, which this project does not include.
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array<ArrayBuffer>) => object
  readonly Instance: new (module: object) => { readonly exports: object }
  readonly RuntimeError: new () => Error
}

/** The exports of src/store/writer/index.ts. Addresses are numbers; the write functions return the end of the text. */
interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer }
  reserve(end: number): void
  writeBlock(input: number, out: number, full: number): number
  writeReceipts(input: number, out: number): number
  writeReceipt(input: number, out: number, index: number): number
  writeTransaction(input: number, out: number, index: number): number
  writeLogs(input: number, out: number, full: number, which: number, from: number, to: number): number
  position(): number
  indexList(list: number): void
}

/** Log indices passed per call. */
const LIST_LENGTH = LOG_INDEX_LIST_BYTES / Uint32Array.BYTES_PER_ELEMENT
const ALIGNMENT = 64
/** Copying this much more of a record is cheaper than creating a subarray (0.1 us). */
const SUBARRAY_BYTES = 4096
/** Upper bound of the text written per call, whatever room the sink has. */
const PIECE_BYTES = 4 * LOG_CHUNK_BYTES

let writer: JsonWriter | null = null

/**
 * Returns the writer of this thread. Compiled on the first call (a few milliseconds) to keep it out of the node's start. Requires wasm SIMD, as the EVM does.
 */
export function jsonWriter(): JsonWriter {
  return (writer ??= newWasmWriter())
}

export function newWasmWriter(): JsonWriter {
  return new WasmWriter(new WebAssembly.Module(new Uint8Array(Buffer.from(wasm, 'base64'))))
}

/**
 * Each call copies the record into wasm memory, writes the text after it and copies the text out. Two inputs stay loaded between calls and are
 * recognised by identity: the filter, and a record whose logs take several calls.
 */
class WasmWriter implements JsonWriter {
  readonly #module: object
  #exports: Exports
  #bytes: Uint8Array
  /** the memory at LOG_INDEX_LIST */
  #list: Uint32Array
  /** filter images with filled tables */
  #filters = new WeakMap<ByteFilter, Uint8Array>()
  /** the filter loaded at FILTER_REGION */
  #filter: ByteFilter | null = null
  /** the record whose logs are loaded at INPUT_REGION */
  #record: Uint8Array | null = null
  /** first address after it that may hold text */
  #recordEnd = 0
  /** shared by all instances, because filter images outlive an instance */
  readonly #factors = crypto.getRandomValues(new BigUint64Array(4)).map((factor) => factor | 1n)

  constructor(module: object) {
    this.#module = module
    this.#exports = this.#instantiate()
    this.#bytes = new Uint8Array(this.#exports.memory.buffer)
    this.#list = listIn(this.#bytes)
  }

  block(record: Uint8Array, full: boolean): Uint8Array {
    return this.#text(record, (out) => this.#exports.writeBlock(INPUT_REGION, out, Number(full)))
  }

  receipts(record: Uint8Array): Uint8Array {
    return this.#text(record, (out) => this.#exports.writeReceipts(INPUT_REGION, out))
  }

  receipt(record: Uint8Array, transactionIndex: number): Uint8Array {
    assertBelow(transactionIndex, u32(record, RECORD_TX_COUNT_OFFSET), 'transaction')
    return this.#text(record, (out) => this.#exports.writeReceipt(INPUT_REGION, out, transactionIndex))
  }

  transaction(record: Uint8Array, transactionIndex: number): Uint8Array {
    assertBelow(transactionIndex, u32(record, RECORD_TX_COUNT_OFFSET), 'transaction')
    return this.#text(record, (out) => this.#exports.writeTransaction(INPUT_REGION, out, transactionIndex))
  }

  logs(record: Uint8Array, filter: ByteFilter | null, from: number, to: number, sink: TextSink): number {
    if (from < to) assertBelow(to - 1, u32(record, RECORD_LOG_COUNT_OFFSET), 'log')
    return this.#logs(record, null, filter, from, to, sink)
  }

  logsAt(record: Uint8Array, indices: readonly number[], filter: ByteFilter | null, from: number, to: number, sink: TextSink): number {
    return this.#logs(record, indices, filter, from, to, sink)
  }

  /** Writes logs until the sink is full or all are written. Allocates little: most calls are for one or two logs of a record. */
  #logs(
    record: Uint8Array,
    indices: readonly number[] | null,
    filter: ByteFilter | null,
    from: number,
    to: number,
    sink: TextSink,
  ): number {
    const which = (indices === null ? 0 : SELECT_LISTED_LOGS) | (filter === null ? 0 : SELECT_FILTERED_LOGS)
    let next = from
    try {
      while (next < to && sink.room > 0) {
        const out = this.#loadLogs(record, next > 0)
        if (filter !== null) this.#loadFilter(filter)
        const end = indices === null ? to : this.#loadList(indices, next, to)
        const textEnd = this.#exports.writeLogs(INPUT_REGION, out, out + Math.min(sink.room, PIECE_BYTES), which, next, end)
        if (textEnd > out) sink.append(this.#memory().subarray(out, textEnd))
        next = this.#exports.position()
      }
      return next
    } catch (error) {
      throw this.#afterTrap(error)
    } finally {
      this.#shrink()
    }
  }

  #text(record: Uint8Array, write: (out: number) => number): Uint8Array {
    try {
      this.#record = null
      const out = this.#load(record)
      const end = write(out)
      return copyOf(this.#memory().subarray(out, end))
    } catch (error) {
      throw this.#afterTrap(error)
    } finally {
      this.#shrink()
    }
  }

  /** Copies `bytes` to INPUT_REGION. Returns the first address that may hold text. */
  #load(bytes: Uint8Array): number {
    const out = INPUT_REGION + Math.ceil((bytes.length + VECTOR_PADDING_BYTES) / ALIGNMENT) * ALIGNMENT
    if (out > this.#memory().length) this.#exports.reserve(out)
    this.#memory().set(bytes, INPUT_REGION)
    return out
  }

  /** Loads the part of a record that its logs need. `isContinued`: it may still be loaded from the previous call. */
  #loadLogs(record: Uint8Array, isContinued: boolean): number {
    if (isContinued && this.#record === record) return this.#recordEnd
    this.#record = record
    const size = u32(record, RECORD_BLOCK_POINTER_OFFSET)
    return (this.#recordEnd = this.#load(size + SUBARRAY_BYTES > record.length ? record : record.subarray(0, size)))
  }

  /** Copies log indices to LOG_INDEX_LIST. Returns the position after the last one copied. */
  #loadList(indices: readonly number[], from: number, to: number): number {
    const end = Math.min(to, from + LIST_LENGTH)
    this.#memory()
    for (let i = from; i < end; i++) this.#list[i - from] = indices[i]!
    return end
  }

  #loadFilter(filter: ByteFilter): void {
    if (this.#filter === filter) return
    const image = this.#filters.get(filter)
    this.#filter = filter
    if (image !== undefined) this.#memory().set(image, FILTER_REGION)
    else this.#filters.set(filter, this.#prepare(filter))
  }

  #prepare(filter: ByteFilter): Uint8Array {
    const { bytes, tables } = filterImage(filter)
    this.#memory().set(bytes, FILTER_REGION)
    for (const list of tables) this.#exports.indexList(list)
    return this.#memory().slice(FILTER_REGION, FILTER_REGION + bytes.length)
  }

  /** Replaces the instance, whose memory is undefined after a trap. Returns the error to throw. */
  #afterTrap(error: unknown): unknown {
    this.#renew()
    return error instanceof WebAssembly.RuntimeError ? new RangeError('a record is not as the writer expects', { cause: error }) : error
  }

  #shrink(): void {
    if (this.#memory().length > WRITER_MEMORY_BYTES) this.#renew()
  }

  #renew(): void {
    this.#exports = this.#instantiate()
    this.#bytes = new Uint8Array(this.#exports.memory.buffer)
    this.#list = listIn(this.#bytes)
    this.#filter = null
    this.#record = null
  }

  /** Growing the memory detaches its previous buffer. */
  #memory(): Uint8Array {
    if (this.#bytes.length === 0) {
      this.#bytes = new Uint8Array(this.#exports.memory.buffer)
      this.#list = listIn(this.#bytes)
    }
    return this.#bytes
  }

  #instantiate(): Exports {
    const exports = new WebAssembly.Instance(this.#module).exports as Exports // compiled from writer/index.ts
    const bytes = new Uint8Array(exports.memory.buffer)
    TAGS.forEach(({ kind }, tag) => (bytes[TAG_KINDS + tag] = kind))
    TAG_TEXTS.forEach((text, tag) => writeLiteral(bytes, TAG_KEYS + tag * LITERAL_BYTES, text))
    LOG_LITERALS.forEach((text, i) => writeLiteral(bytes, LOG_LITERAL_REGION + i * LITERAL_BYTES, text))
    new BigUint64Array(bytes.buffer, FILTER_HASH_FACTORS, this.#factors.length).set(this.#factors)
    return exports
  }
}

function listIn(memory: Uint8Array): Uint32Array {
  return new Uint32Array(memory.buffer, LOG_INDEX_LIST, LIST_LENGTH)
}

function writeLiteral(bytes: Uint8Array, address: number, text: string): void {
  if (LITERAL_TEXT_OFFSET + text.length > LITERAL_BYTES) throw new RangeError(`${text} is longer than a literal may be`)
  bytes[address] = text.length
  bytes.set(Buffer.from(text, 'latin1'), address + LITERAL_TEXT_OFFSET)
}

/** Not zeroed: that would cost as much as the copy. */
function copyOf(text: Uint8Array): Uint8Array {
  const copy = text.length < POOLED_TEXT_BYTES ? Buffer.allocUnsafeSlow(text.length) : acquireBuffer(text.length).subarray(0, text.length)
  copy.set(text)
  return copy
}

function u32(record: Uint8Array, at: number): number {
  return (record[at]! | (record[at + 1]! << 8) | (record[at + 2]! << 16) | (record[at + 3]! << 24)) >>> 0
}

function assertBelow(index: number, count: number, noun: string): void {
  if (!(index >= 0 && index < count)) throw new RangeError(`the block has no ${noun} ${index}, but ${count}`)
}
