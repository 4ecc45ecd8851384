import { crc32 } from 'node:zlib'
import type { Address, Hash } from '../../eth/index.ts'
import {
  BLOOM_BYTES,
  END_OF_OBJECT,
  LOG_HEADER_BYTES,
  LOG_ADDRESS_OFFSET,
  LOG_DATA_SIZE_OFFSET,
  LOG_TOPIC_COUNT_OFFSET,
  LOG_TX_INDEX_OFFSET,
  RECORD_CHECKSUM_OFFSET,
  RECORD_SIZE_OFFSET,
  SCRATCH_BLOOM,
  SCRATCH_HEX,
  SCRATCH_TARGETS,
  TX_ENTRY_TO_POINTER_OFFSET,
  SCRATCH_RECORD,
  SCRATCH_BATCH_LENGTH,
} from '../writer/layout.ts'
import { SCRATCH_KEPT_BYTES } from './limits.ts'
import { newScratchMemory } from './scratchmemory.ts'
import type { ScratchMemory } from './scratchmemory.ts'

/**
 * Appends to a record: its head, rows, logs and fields as writer/layout.ts lays them out. Works in wasm scratch memory, where hex and blooms are
 * converted with SIMD (a fifth of the time in JavaScript); finished records are copied out (RecordArena).
 */
export class RecordWriter {
  readonly #make: () => ScratchMemory
  /** created by the first record, to keep it out of the node's start */
  #scratch: ScratchMemory | null = null
  #bytes = EMPTY
  #view = new DataView(EMPTY.buffer)
  #targets = new Uint32Array(EMPTY.buffer)
  #hex = Buffer.from(EMPTY.buffer)
  #end = SCRATCH_RECORD
  /** concatenated addresses and hashes that are not converted yet, and their number */
  #texts = ''
  #count = 0
  /** offset of the transaction's row, and whether its receiver is set */
  #row = 0
  #hasReceiver = false

  constructor(make = newScratchMemory) {
    this.#make = make
  }

  /** Size of the record so far. */
  get size(): number {
    return this.#end - SCRATCH_RECORD
  }

  /** Begins a record with `size` zero bytes for its head and tables. */
  begin(size: number): void {
    if (this.#scratch === null || this.#bytes.length > SCRATCH_KEPT_BYTES) this.#renew()
    this.#end = SCRATCH_RECORD
    this.#count = 0
    this.#texts = ''
    this.#reserve(size)
    this.#bytes.fill(0, this.#end, this.#end + size)
    this.#end += size
  }

  /** Returns the record with size and checksum in its head, valid until the next `begin`. */
  finish(): Uint8Array {
    this.#convertTexts()
    this.u32At(RECORD_SIZE_OFFSET, this.size)
    this.u32At(RECORD_CHECKSUM_OFFSET, crc32(this.#bytes.subarray(SCRATCH_RECORD + RECORD_SIZE_OFFSET, this.#end)))
    return this.#bytes.subarray(SCRATCH_RECORD, this.#end)
  }

  // --- structure --------------------------------------------------------------------

  u32At(at: number, value: number): void {
    this.#view.setUint32(SCRATCH_RECORD + at, value, true)
  }

  u64At(at: number, value: number): void {
    this.u32At(at, value) // modulo 2^32
    this.u32At(at + 4, value / 2 ** 32)
  }

  /** Writes 20 bytes, by the end of `finish`. */
  addressAt(at: number, address: Address): void {
    this.#text(SCRATCH_RECORD + at, 20, address)
  }

  /** Writes 32 bytes, by the end of `finish`. */
  hashAt(at: number, hash: Hash): void {
    this.#text(SCRATCH_RECORD + at, 32, hash)
  }

  u8(value: number): void {
    this.#reserve(1)
    this.#bytes[this.#end++] = value
  }

  u32(value: number): void {
    this.#reserve(4)
    this.#view.setUint32(this.#end, value, true)
    this.#end += 4
  }

  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length)
    this.#bytes.set(bytes, this.#end)
    this.#end += bytes.length
  }

  /** Appends a log: LOG_HEADER_BYTES in writer/layout.ts. */
  log(transactionIndex: number, address: Address, topics: readonly Hash[], data: Uint8Array): void {
    this.#reserve(LOG_HEADER_BYTES + 32 * topics.length)
    const start = this.#end
    this.#view.setUint32(start + LOG_TX_INDEX_OFFSET, transactionIndex, true)
    this.#view.setUint32(start + LOG_DATA_SIZE_OFFSET, data.length, true)
    this.#view.setUint32(start + LOG_TOPIC_COUNT_OFFSET, topics.length, true)
    this.#text(start + LOG_ADDRESS_OFFSET, 20, address)
    let end = start + LOG_HEADER_BYTES
    for (let i = 0; i < topics.length; i++, end += 32) this.#text(end, 32, topics[i]!)
    this.#end = end
    this.raw(data)
  }

  // --- fields ----------------------------------------------------------------------------------------------------------------------------

  /** Appends a field without payload. */
  mark(tag: number): void {
    this.#reserve(1)
    this.#bytes[this.#end++] = tag
  }

  end(): void {
    this.mark(END_OF_OBJECT)
  }

  putAddress(tag: number, value: Address): void {
    this.#reserve(1 + 20)
    const start = this.#end
    this.#bytes[start] = tag
    this.#text(start + 1, 20, value)
    this.#end = start + 21
  }

  /** Begins the fields of the transaction whose row is at `row`. */
  beginRow(row: number): void {
    this.#row = row
    this.#hasReceiver = false
  }

  /** Appends an address, to which the row refers if it is the first since `beginRow`. */
  putReceiver(tag: number, value: Address): void {
    this.putAddress(tag, value)
    if (this.#hasReceiver) return
    this.#hasReceiver = true
    this.u32At(this.#row + TX_ENTRY_TO_POINTER_OFFSET, this.size - 20)
  }

  putHash(tag: number, value: Hash): void {
    this.#reserve(1 + 32)
    const start = this.#end
    this.#bytes[start] = tag
    this.#text(start + 1, 32, value)
    this.#end = start + 33
  }

  /** Throws RangeError below zero and from 2^256 on. Most bigints fit 64 bits: 14 ns, where a comparison through `Number` takes 22. */
  putQuantity(tag: number, value: bigint | number): void {
    this.#reserve(2 + 32)
    this.#bytes[this.#end] = tag
    if (typeof value === 'number') return this.#number(value)
    words[0] = value
    if (words[0] === value) this.#small(halves[0]!, halves[1]!)
    else this.#large(value)
  }

  putBytes(tag: number, value: Uint8Array): void {
    this.#reserve(5 + value.length)
    const start = this.#end
    this.#bytes[start] = tag
    this.#view.setUint32(start + 1, value.length, true)
    if (value.length > 0) this.#bytes.set(value, start + 5)
    this.#end = start + 5 + value.length
  }

  /** Throws RangeError unless the value has 256 bytes. */
  putBloom(tag: number, value: Uint8Array): void {
    if (value.length !== BLOOM_BYTES) throw new RangeError(`a bloom of ${value.length} bytes`)
    this.#reserve(2 + BLOOM_BYTES)
    this.#bytes[this.#end] = tag
    this.#bytes.set(value, SCRATCH_BLOOM)
    this.#end = this.#scratch!.encodeBloom(this.#end + 1) // `begin` created it
  }

  putHashes(tag: number, values: readonly Hash[]): void {
    this.mark(tag)
    this.u32(values.length)
    for (const value of values) this.#hash(value)
  }

  #hash(value: Hash): void {
    this.#reserve(32)
    this.#text(this.#end, 32, value)
    this.#end += 32
  }

  #text(at: number, size: number, text: string): void {
    if (this.#count === SCRATCH_BATCH_LENGTH) this.#convertTexts()
    const entry = 2 * this.#count++
    this.#targets[entry] = at
    this.#targets[entry + 1] = size
    this.#texts += text
  }

  #number(value: number): void {
    if (!(value >= 0 && Number.isSafeInteger(value))) throw new RangeError(`${value} is not a quantity`)
    this.#small(value >>> 0, (value / 2 ** 32) >>> 0)
  }

  /** Writes length and big-endian bytes after the tag at `#end`. */
  #small(low: number, high: number): void {
    const bytes = this.#bytes
    const length = high > 0 ? 8 - (Math.clz32(high) >> 3) : 4 - (Math.clz32(low) >> 3)
    let at = this.#end + 1
    bytes[at] = length
    this.#end = at + 1 + length
    for (let shift = 8 * length - 40; shift >= 0; shift -= 8) bytes[++at] = high >>> shift
    for (let shift = 8 * Math.min(length, 4) - 8; shift >= 0; shift -= 8) bytes[++at] = low >>> shift
  }

  /** Writes all 32 bytes, then removes the leading zeros. */
  #large(value: bigint): void {
    if (value < 0n) throw new RangeError(`${value} is not a quantity`)
    if (value > MAX_WORD) throw new RangeError(`${value} does not fit 32 bytes`)
    words[0] = value // each of these takes the low 64 bits
    words[1] = value >> 64n
    words[2] = value >> 128n
    words[3] = value >> 192n
    const first = this.#end + 2
    for (let i = 0; i < 8; i++) this.#view.setUint32(first + 28 - 4 * i, halves[i]!)
    let zeros = 0
    while (this.#bytes[first + zeros] === 0) zeros++
    if (zeros > 0) this.#bytes.copyWithin(first, first + zeros, first + 32)
    this.#bytes[first - 1] = 32 - zeros
    this.#end = first + 32 - zeros
  }

  /** Converts in batches, because a call of `write` costs as much as several texts. Throws RangeError if the total length is wrong. */
  #convertTexts(): void {
    this.#hex.write(this.#texts, 'latin1')
    const length = this.#scratch!.decodeHex(this.#count) // `begin` created it
    if (length !== this.#texts.length) throw new RangeError('an address does not have 20 bytes, or a hash 32')
    this.#texts = ''
    this.#count = 0
  }

  #reserve(more: number): void {
    if (this.#end + more > this.#bytes.length) this.#grow(more)
  }

  /** By half at least, so that the copies of a long record are amortised. */
  #grow(more: number): void {
    const { length } = this.#bytes
    const scratch = this.#scratch! // `begin` created it
    scratch.memory.grow(Math.ceil(Math.max(this.#end + more - length, length / 2) / PAGE_BYTES))
    this.#attach(scratch)
  }

  #renew(): void {
    this.#scratch = this.#make()
    this.#attach(this.#scratch)
  }

  #attach({ memory: { buffer } }: ScratchMemory): void {
    this.#bytes = new Uint8Array(buffer)
    this.#view = new DataView(buffer)
    this.#targets = new Uint32Array(buffer, SCRATCH_TARGETS, 2 * SCRATCH_BATCH_LENGTH)
    this.#hex = Buffer.from(buffer, SCRATCH_HEX, SCRATCH_BATCH_LENGTH * 66)
  }
}

const EMPTY = new Uint8Array(0)
const MAX_WORD = (1n << 256n) - 1n
const PAGE_BYTES = 2 ** 16

/** words of a quantity, least significant first */
const words = new BigUint64Array(4)
const halves = new Uint32Array(words.buffer)
