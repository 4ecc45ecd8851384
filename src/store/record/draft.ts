import { crc32 } from 'node:zlib'
import type { Address, Hash } from '../../eth/index.ts'
import { END, R_CHECKSUM, R_SIZE } from '../writer/layout.ts'
import { DRAFT_KEPT_BYTES } from './limits.ts'

/** A record while it is written, front to back: fields of objects as writer/layout.ts lays out their kinds. */
export class Draft {
  #bytes = new Uint8Array(FIRST_BYTES)
  #view = new DataView(this.#bytes.buffer)
  #size = 0

  get size(): number {
    return this.#size
  }

  /** Begins anew with `size` zero bytes, for the head and the tables. */
  begin(size: number): void {
    if (this.#bytes.length > DRAFT_KEPT_BYTES) this.#hold(new Uint8Array(FIRST_BYTES))
    this.#size = 0
    this.#reserve(size)
    this.#bytes.fill(0, 0, size)
    this.#size = size
  }

  /** A copy, with size and checksum in its head. */
  finish(): Uint8Array {
    this.u32At(R_SIZE, this.#size)
    this.u32At(R_CHECKSUM, crc32(this.#bytes.subarray(R_SIZE, this.#size)))
    return this.#bytes.slice(0, this.#size)
  }

  // --- structure: at a place that stands already, or behind what stands --------------------------------------------------------------------

  u32At(at: number, value: number): void {
    this.#view.setUint32(at, value, true)
  }

  u64At(at: number, value: number): void {
    this.#view.setUint32(at, value, true) // modulo 2^32
    this.#view.setUint32(at + 4, value / 2 ** 32, true)
  }

  /** As many bytes as the text has digits for. */
  hexAt(at: number, hex: Address | Hash): void {
    const bytes = this.#bytes
    const end = hex.length
    // A table beats Buffer's `write`, which wants the text without its prefix.
    for (let i = 2; i < end; i += 2) bytes[at++] = (DIGITS[hex.charCodeAt(i)]! << 4) | DIGITS[hex.charCodeAt(i + 1)]!
  }

  u8(value: number): void {
    this.#reserve(1)
    this.#bytes[this.#size++] = value
  }

  u32(value: number): void {
    this.#reserve(4)
    this.#view.setUint32(this.#size, value, true)
    this.#size += 4
  }

  hex(hex: Address | Hash): void {
    const size = (hex.length - 2) >> 1
    this.#reserve(size)
    this.hexAt(this.#size, hex)
    this.#size += size
  }

  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length)
    this.#bytes.set(bytes, this.#size)
    this.#size += bytes.length
  }

  // --- fields ----------------------------------------------------------------------------------------------------------------------------

  /** A field without a payload: it refers to something, or is null or true. */
  mark(tag: number): void {
    this.u8(tag)
  }

  end(): void {
    this.mark(END)
  }

  /** A hash or an address. */
  fixed(tag: number, value: Address | Hash): void {
    this.mark(tag)
    this.hex(value)
  }

  /** Throws RangeError below zero and from 2^256 on. */
  quantity(tag: number, value: bigint | number): void {
    this.#reserve(2 + 32)
    this.#bytes[this.#size] = tag
    if (typeof value === 'bigint' && value > MAX_SAFE) this.#large(value)
    else this.#small(Number(value))
  }

  bytes(tag: number, value: Uint8Array): void {
    this.mark(tag)
    this.u32(value.length)
    this.raw(value)
  }

  /** 256 bytes; one without a bit takes no room. */
  bloom(tag: number, value: Uint8Array): void {
    if (value.length !== BLOOM_BYTES) throw new RangeError(`a bloom of ${value.length} bytes`)
    this.mark(tag)
    this.u8(1)
    this.raw(value)
    if (this.#areZero(this.#size - BLOOM_BYTES, BLOOM_BYTES)) {
      this.#size -= BLOOM_BYTES
      this.#bytes[this.#size - 1] = 0
    }
  }

  hashes(tag: number, values: readonly Hash[]): void {
    this.mark(tag)
    this.u32(values.length)
    for (const value of values) this.hex(value)
  }

  /** `write` writes an object's fields and its end. */
  objects<T>(tag: number, values: readonly T[], write: (value: T) => void): void {
    this.mark(tag)
    this.u32(values.length)
    for (const value of values) write(value)
  }

  /** Length and big-endian bytes behind the tag at `#size`. */
  #small(value: number): void {
    if (!(value >= 0 && Number.isSafeInteger(value))) throw new RangeError(`${value} is not a quantity`)
    const bytes = this.#bytes
    const length = byteLength(value)
    bytes[this.#size + 1] = length
    let [rest, at] = [value, this.#size + 1 + length]
    for (; rest > 0xff_ff_ff_ff; rest = Math.floor(rest / 256)) bytes[at--] = rest % 256
    for (let low = rest >>> 0; low !== 0; low >>>= 8) bytes[at--] = low
    this.#size += 2 + length
  }

  /** All 32 bytes are written, then the leading zeros are moved out of the way. */
  #large(value: bigint): void {
    if (value > MAX_WORD) throw new RangeError(`${value} does not fit 32 bytes`)
    const first = this.#size + 2
    this.#view.setBigUint64(first, value >> 192n)
    this.#view.setBigUint64(first + 8, value >> 128n) // each of these takes the low 64 bits
    this.#view.setBigUint64(first + 16, value >> 64n)
    this.#view.setBigUint64(first + 24, value)
    let zeros = 0
    while (this.#bytes[first + zeros] === 0) zeros++
    if (zeros > 0) this.#bytes.copyWithin(first, first + zeros, first + 32)
    this.#bytes[first - 1] = 32 - zeros
    this.#size = first + 32 - zeros
  }

  #areZero(from: number, size: number): boolean {
    for (let at = from; at < from + size; at += 4) if (this.#view.getUint32(at) !== 0) return false
    return true
  }

  #reserve(more: number): void {
    if (this.#size + more <= this.#bytes.length) return
    const larger = new Uint8Array(Math.max(this.#bytes.length * 2, this.#size + more))
    larger.set(this.#bytes.subarray(0, this.#size))
    this.#hold(larger)
  }

  #hold(bytes: Uint8Array<ArrayBuffer>): void {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer)
  }
}

const FIRST_BYTES = 64 * 1024
const BLOOM_BYTES = 256
const MAX_SAFE = BigInt(Number.MAX_SAFE_INTEGER)
const MAX_WORD = (1n << 256n) - 1n

/** Value of a lower-case hex digit by its character code. */
const DIGITS = new Uint8Array(128)
for (let i = 0; i < 16; i++) DIGITS[i.toString(16).charCodeAt(0)] = i

/** Of a safe integer; 0 has none. */
function byteLength(value: number): number {
  if (value <= 0xff_ff_ff_ff) return 4 - (Math.clz32(value) >> 3)
  return 8 - (Math.clz32(value / 2 ** 32) >> 3)
}
