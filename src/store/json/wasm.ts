import { TAGS } from '../record/index.ts'
import type { ByteFilter } from '../record/index.ts'
import wasm from '../wasm/writer.ts'
import {
  FILTER,
  FILTERED_LOGS,
  FILTER_FACTORS,
  INPUT,
  LIST,
  LISTED_LOGS,
  LIST_SIZE,
  LITERAL_SIZE,
  LITERAL_TEXT,
  LOG_TEXTS,
  R_BLOCK,
  R_LOGS,
  R_TRANSACTIONS,
  SLACK,
  TAG_KEYS,
  TAG_KINDS,
} from '../writer/layout.ts'
import { lendChunk } from './chunks.ts'
import { filterImage } from './filterimage.ts'
import { LENT_TEXT_BYTES, LOG_CHUNK_BYTES, WRITER_MEMORY_BYTES } from './limits.ts'
import { LOG_LITERALS, TAG_TEXTS } from './literals.ts'
import type { JsonWriter, TextSink } from './writer.ts'

// Node and browsers have it; the ECMAScript library of TypeScript does not, and the DOM's is not wanted.
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array<ArrayBuffer>) => object
  readonly Instance: new (module: object) => { readonly exports: object }
  readonly CompileError: new () => Error
  readonly RuntimeError: new () => Error
}

/** Of src/store/writer/index.ts. Places in memory are numbers; what prints answers where its text ends. */
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

/** How many indices of logs are handed over at once. */
const LIST_PLACES = LIST_SIZE / Uint32Array.BYTES_PER_ELEMENT
const ALIGNMENT = 64
/** So much of a record is copied in though no log needs it, before a view of the rest is made (0.1 us). */
const SPARED_BYTES = 4096
/** More than this is not printed before a sink gets it, however much it would take. */
const PIECE_BYTES = 4 * LOG_CHUNK_BYTES

/** The writer as WebAssembly of our own. null: this engine's WebAssembly has no vectors, without which it would gain nothing. */
export function wasmWriter(): JsonWriter | null {
  try {
    return new WasmWriter(new WebAssembly.Module(new Uint8Array(Buffer.from(wasm, 'base64'))))
  } catch (error) {
    if (error instanceof WebAssembly.CompileError) return null
    throw error
  }
}

/**
 * Every call copies the record in, has it printed behind, and copies the text out: nothing of a query rests in the memory between two calls,
 * but for what is known by its identity and else put there again (a filter, a record whose logs take several calls).
 */
class WasmWriter implements JsonWriter {
  readonly #module: object
  #exports: Exports
  #bytes: Uint8Array
  /** what lies at LIST */
  #list: Uint32Array
  /** images of filters with their tables, for as long as the filters live */
  #filters = new WeakMap<ByteFilter, Uint8Array>()
  /** what lies at FILTER */
  #filter: ByteFilter | null = null
  /** of which record the part with the logs lies at INPUT */
  #record: Uint8Array | null = null
  /** where text may begin behind it */
  #recordEnd = 0
  /** the same for every instance, for images of filters outlive it */
  readonly #factors = crypto.getRandomValues(new BigUint64Array(4)).map((factor) => factor | 1n)

  constructor(module: object) {
    this.#module = module
    this.#exports = this.#instantiate()
    this.#bytes = new Uint8Array(this.#exports.memory.buffer)
    this.#list = listIn(this.#bytes)
  }

  block(record: Uint8Array, full: boolean): Uint8Array {
    return this.#text(record, (out) => this.#exports.writeBlock(INPUT, out, Number(full)))
  }

  receipts(record: Uint8Array): Uint8Array {
    return this.#text(record, (out) => this.#exports.writeReceipts(INPUT, out))
  }

  receipt(record: Uint8Array, transactionIndex: number): Uint8Array {
    assertBelow(transactionIndex, u32(record, R_TRANSACTIONS), 'transaction')
    return this.#text(record, (out) => this.#exports.writeReceipt(INPUT, out, transactionIndex))
  }

  transaction(record: Uint8Array, transactionIndex: number): Uint8Array {
    assertBelow(transactionIndex, u32(record, R_TRANSACTIONS), 'transaction')
    return this.#text(record, (out) => this.#exports.writeTransaction(INPUT, out, transactionIndex))
  }

  logs(record: Uint8Array, filter: ByteFilter | null, from: number, to: number, sink: TextSink): number {
    if (from < to) assertBelow(to - 1, u32(record, R_LOGS), 'log')
    return this.#logs(record, null, filter, from, to, sink)
  }

  logsAt(record: Uint8Array, indices: readonly number[], filter: ByteFilter | null, from: number, to: number, sink: TextSink): number {
    return this.#logs(record, indices, filter, from, to, sink)
  }

  /** Has logs printed until the sink is full or they are at an end. Most calls are for one or two logs of a record, so it makes little garbage. */
  #logs(
    record: Uint8Array,
    indices: readonly number[] | null,
    filter: ByteFilter | null,
    from: number,
    to: number,
    sink: TextSink,
  ): number {
    const which = (indices === null ? 0 : LISTED_LOGS) | (filter === null ? 0 : FILTERED_LOGS)
    let next = from
    try {
      while (next < to && sink.room > 0) {
        const out = this.#loadLogs(record, next > 0)
        if (filter !== null) this.#loadFilter(filter)
        const end = indices === null ? to : this.#loadList(indices, next, to)
        const textEnd = this.#exports.writeLogs(INPUT, out, out + Math.min(sink.room, PIECE_BYTES), which, next, end)
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

  #text(record: Uint8Array, print: (out: number) => number): Uint8Array {
    try {
      this.#record = null
      const out = this.#load(record)
      const end = print(out)
      return copyOf(this.#memory().subarray(out, end))
    } catch (error) {
      throw this.#afterTrap(error)
    } finally {
      this.#shrink()
    }
  }

  /** Puts bytes at INPUT; answers where text may begin. */
  #load(bytes: Uint8Array): number {
    const out = INPUT + Math.ceil((bytes.length + SLACK) / ALIGNMENT) * ALIGNMENT
    if (out > this.#memory().length) this.#exports.reserve(out)
    this.#memory().set(bytes, INPUT)
    return out
  }

  /** A record, as far as its logs need it. `isContinued`: it may still be there, from the call before. */
  #loadLogs(record: Uint8Array, isContinued: boolean): number {
    if (isContinued && this.#record === record) return this.#recordEnd
    this.#record = record
    const size = u32(record, R_BLOCK)
    return (this.#recordEnd = this.#load(size + SPARED_BYTES > record.length ? record : record.subarray(0, size)))
  }

  /** Puts indices of logs at LIST; answers before which place they end. */
  #loadList(indices: readonly number[], from: number, to: number): number {
    const end = Math.min(to, from + LIST_PLACES)
    this.#memory()
    for (let i = from; i < end; i++) this.#list[i - from] = indices[i]!
    return end
  }

  #loadFilter(filter: ByteFilter): void {
    if (this.#filter === filter) return
    const image = this.#filters.get(filter)
    this.#filter = filter
    if (image !== undefined) this.#memory().set(image, FILTER)
    else this.#filters.set(filter, this.#prepare(filter))
  }

  #prepare(filter: ByteFilter): Uint8Array {
    const { bytes, tables } = filterImage(filter)
    this.#memory().set(bytes, FILTER)
    for (const list of tables) this.#exports.indexList(list)
    return this.#memory().slice(FILTER, FILTER + bytes.length)
  }

  /** After a trap nothing in the memory can be relied on. Answers what is to be thrown. */
  #afterTrap(error: unknown): unknown {
    this.#renew()
    return error instanceof WebAssembly.RuntimeError ? new RangeError('a record is not as the writer expects', { cause: error }) : error
  }

  /** After a very long text the memory is larger than it should stay. */
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

  /** Made anew when the memory grew: the old view is empty then. */
  #memory(): Uint8Array {
    if (this.#bytes.length === 0) {
      this.#bytes = new Uint8Array(this.#exports.memory.buffer)
      this.#list = listIn(this.#bytes)
    }
    return this.#bytes
  }

  #instantiate(): Exports {
    const exports = new WebAssembly.Instance(this.#module).exports as Exports // made from index.ts of the writer
    const bytes = new Uint8Array(exports.memory.buffer)
    TAGS.forEach(({ kind }, tag) => (bytes[TAG_KINDS + tag] = kind))
    TAG_TEXTS.forEach((text, tag) => writeLiteral(bytes, TAG_KEYS + tag * LITERAL_SIZE, text))
    LOG_LITERALS.forEach((text, i) => writeLiteral(bytes, LOG_TEXTS + i * LITERAL_SIZE, text))
    new BigUint64Array(bytes.buffer, FILTER_FACTORS, this.#factors.length).set(this.#factors)
    return exports
  }
}

function listIn(memory: Uint8Array): Uint32Array {
  return new Uint32Array(memory.buffer, LIST, LIST_PLACES)
}

function writeLiteral(bytes: Uint8Array, place: number, text: string): void {
  if (LITERAL_TEXT + text.length > LITERAL_SIZE) throw new RangeError(`${text} is longer than a literal may be`)
  bytes[place] = text.length
  bytes.set(Buffer.from(text, 'latin1'), place + LITERAL_TEXT)
}

/** Not zeroed first: that would cost as much as the copy. */
function copyOf(text: Uint8Array): Uint8Array {
  const copy = text.length < LENT_TEXT_BYTES ? Buffer.allocUnsafeSlow(text.length) : lendChunk(text.length).subarray(0, text.length)
  copy.set(text)
  return copy
}

function u32(record: Uint8Array, place: number): number {
  return (record[place]! | (record[place + 1]! << 8) | (record[place + 2]! << 16) | (record[place + 3]! << 24)) >>> 0
}

function assertBelow(index: number, count: number, noun: string): void {
  if (!(index >= 0 && index < count)) throw new RangeError(`the block has no ${noun} ${index}, but ${count}`)
}
