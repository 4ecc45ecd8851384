import { Address, Hash } from '../../eth/index.ts'
import { ADDRESS, BLOOM, BYTES, END, HASH, HASHES, HIDDEN, OBJECTS, QUANTITY } from '../writer/layout.ts'
import { bloomAt, bloomSize } from './bloom.ts'
import { TAGS } from './tags.ts'

/** The fields of one object of a record, found in one pass over it and read by their tags. What it reads lies in the record, uncopied. */
export class Fields {
  readonly #bytes: Uint8Array
  readonly #view: DataView
  /** where the payload of each tag begins; 0: the object has no such field */
  readonly #places = new Int32Array(TAGS.length)

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
    this.#view = viewOf(bytes)
  }

  /** Takes up the object that begins at `at`. Answers where it ends. */
  open(at: number): number {
    this.#places.fill(0)
    for (;;) {
      const tag = this.#bytes[at++] ?? END
      if (tag === END) return at
      this.#places[tag] = at
      at += payloadSize(KINDS[tag] ?? END, this.#bytes, this.#view, at)
    }
  }

  has(tag: number): boolean {
    return this.#places[tag] !== 0
  }

  hash(tag: number): Hash {
    return hashAt(this.#bytes, this.#place(tag))
  }

  address(tag: number): Address {
    return addressAt(this.#bytes, this.#place(tag))
  }

  quantity(tag: number): bigint {
    const at = this.#place(tag)
    const size = this.#bytes[at]!
    // Words are read so that they end with the integer. What lies before it, at least a record's head, is cut off.
    const end = at + 1 + size
    if (size <= 8) return BigInt.asUintN(size * 8, this.#view.getBigUint64(end - 8))
    const low = (this.#view.getBigUint64(end - 16) << 64n) | this.#view.getBigUint64(end - 8)
    if (size <= 16) return BigInt.asUintN(size * 8, low)
    const high = (this.#view.getBigUint64(end - 32) << 64n) | this.#view.getBigUint64(end - 24)
    return BigInt.asUintN(size * 8, (high << 128n) | low)
  }

  /** A quantity that was made of a number. */
  number(tag: number): number {
    const at = this.#place(tag)
    let value = 0
    for (let i = at + 1; i <= at + this.#bytes[at]!; i++) value = value * 256 + this.#bytes[i]!
    return value
  }

  /** Of a field of bytes or a hidden one. */
  bytes(tag: number): Uint8Array {
    const at = this.#place(tag)
    return bytesAt(this.#bytes, at + 4, this.#view.getUint32(at, true))
  }

  bloom(tag: number): Uint8Array {
    return bloomAt(this.#bytes, this.#place(tag))
  }

  hashes(tag: number): readonly Hash[] {
    const at = this.#place(tag)
    return Array.from({ length: this.#view.getUint32(at, true) }, (_, i) => hashAt(this.#bytes, at + 4 + i * 32))
  }

  /** `read` reads one object of the list from `each`, which is another one over the same record. */
  objects<T>(tag: number, each: Fields, read: (each: Fields) => T): readonly T[] {
    let at = this.#place(tag)
    const count = this.#view.getUint32(at, true)
    at += 4
    const values: T[] = []
    for (let i = 0; i < count; i++) {
      at = each.open(at)
      values.push(read(each))
    }
    return values
  }

  hashOrNull(tag: number): Hash | null {
    return this.has(tag) ? this.hash(tag) : null
  }

  addressOrNull(tag: number): Address | null {
    return this.has(tag) ? this.address(tag) : null
  }

  quantityOrNull(tag: number): bigint | null {
    return this.has(tag) ? this.quantity(tag) : null
  }

  numberOrNull(tag: number): number | null {
    return this.has(tag) ? this.number(tag) : null
  }

  #place(tag: number): number {
    const at = this.#places[tag]!
    if (at === 0) throw new RangeError(`an object of a record has no ${TAGS[tag]?.key || `field ${tag}`}`)
    return at
  }
}

const KINDS = Uint8Array.from(TAGS, ({ kind }) => kind)

/** Of kinds whose payload always has the same size; kinds without one are 0. */
const FIXED_SIZES = new Uint8Array(32)
FIXED_SIZES[HASH] = 32
FIXED_SIZES[ADDRESS] = 20

function payloadSize(kind: number, bytes: Uint8Array, view: DataView, at: number): number {
  if (kind === QUANTITY) return 1 + bytes[at]!
  if (kind === BYTES || kind === HIDDEN) return 4 + view.getUint32(at, true)
  if (kind === BLOOM) return bloomSize(bytes, at)
  if (kind === HASHES) return 4 + view.getUint32(at, true) * 32
  if (kind === OBJECTS) return objectsSize(bytes, view, at)
  return FIXED_SIZES[kind]!
}

function objectsSize(bytes: Uint8Array, view: DataView, start: number): number {
  let at = start + 4
  for (let left = view.getUint32(start, true); left > 0; left--) {
    for (let tag = bytes[at++] ?? END; tag !== END; tag = bytes[at++] ?? END) at += payloadSize(KINDS[tag] ?? END, bytes, view, at)
  }
  return at - start
}

// --- what has a fixed place ------------------------------------------------------------------------------------------------------------------

export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** A u64 that is a safe integer. */
export function u64At(view: DataView, at: number): number {
  return view.getUint32(at, true) + view.getUint32(at + 4, true) * 2 ** 32
}

export function hashAt(bytes: Uint8Array, at: number): Hash {
  return Hash.from(bytes.subarray(at, at + 32))
}

export function addressAt(bytes: Uint8Array, at: number): Address {
  return Address.from(bytes.subarray(at, at + 20))
}

/** Never a Buffer, whatever the record is. */
export function bytesAt(bytes: Uint8Array, at: number, size: number): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset + at, size)
}
