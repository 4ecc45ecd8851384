import { Hex } from '../../eth/index.ts'
import type { Address, Hash } from '../../eth/index.ts'
import {
  KIND_ADDRESS,
  KIND_BLOOM,
  KIND_BYTES,
  END_OF_OBJECT,
  KIND_HASH,
  KIND_HASHES,
  KIND_INTERNAL_BYTES,
  KIND_OBJECTS,
  KIND_QUANTITY,
} from '../writer/layout.ts'
import { bloomAt, bloomSize } from './bloom.ts'
import { TAGS } from './fieldtags.ts'

/** Reads the fields of one object of a record by tag, after one pass over it. Byte arrays are views into the record. */
export class FieldReader {
  readonly #bytes: Uint8Array
  readonly #view: DataView
  /** by tag: where the payload begins; 0 for an absent field */
  readonly #offsets = new Int32Array(TAGS.length)

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
    this.#view = viewOf(bytes)
  }

  /** Switches to the object that begins at `at`. Returns its end. */
  open(at: number): number {
    this.#offsets.fill(0)
    for (;;) {
      const tag = this.#bytes[at++] ?? END_OF_OBJECT
      if (tag === END_OF_OBJECT) return at
      this.#offsets[tag] = at
      at += sizeAt(tag, this.#bytes, this.#view, at)
    }
  }

  has(tag: number): boolean {
    return this.#offsets[tag] !== 0
  }

  readHash(tag: number): Hash {
    return hashAt(this.#bytes, this.#offset(tag))
  }

  readAddress(tag: number): Address {
    return addressAt(this.#bytes, this.#offset(tag))
  }

  readQuantity(tag: number): bigint {
    const at = this.#offset(tag)
    const size = this.#bytes[at]!
    // The words read end where the integer ends; the bytes before it, which the record's head guarantees, are cut off.
    const end = at + 1 + size
    if (size <= 8) return BigInt.asUintN(size * 8, this.#view.getBigUint64(end - 8))
    const low = (this.#view.getBigUint64(end - 16) << 64n) | this.#view.getBigUint64(end - 8)
    if (size <= 16) return BigInt.asUintN(size * 8, low)
    const high = (this.#view.getBigUint64(end - 32) << 64n) | this.#view.getBigUint64(end - 24)
    return BigInt.asUintN(size * 8, (high << 128n) | low)
  }

  /** A quantity below 2^53. */
  readNumber(tag: number): number {
    const at = this.#offset(tag)
    let value = 0
    for (let i = at + 1; i <= at + this.#bytes[at]!; i++) value = value * 256 + this.#bytes[i]!
    return value
  }

  readBytes(tag: number): Uint8Array {
    const at = this.#offset(tag)
    return bytesAt(this.#bytes, at + 4, this.#view.getUint32(at, true))
  }

  readBloom(tag: number): Uint8Array {
    return bloomAt(this.#bytes, this.#offset(tag))
  }

  readHashes(tag: number): readonly Hash[] {
    const at = this.#offset(tag)
    return Array.from({ length: this.#view.getUint32(at, true) }, (_, i) => hashAt(this.#bytes, at + 4 + i * 32))
  }

  /** Reads a list of objects: opens `each`, which reads the same record, at every item, then calls `read`. */
  readObjects<T>(tag: number, each: { open(at: number): number }, read: () => T): readonly T[] {
    let at = this.#offset(tag)
    const count = this.#view.getUint32(at, true)
    at += 4
    const values: T[] = []
    for (let i = 0; i < count; i++) {
      at = each.open(at)
      values.push(read())
    }
    return values
  }

  #offset(tag: number): number {
    const at = this.#offsets[tag]!
    if (at === 0) throw new RangeError(`an object of a record has no ${TAGS[tag]?.key || `field ${tag}`}`)
    return at
  }
}

const VARIABLE = -1
const HAS_LENGTH = new Set([KIND_QUANTITY, KIND_BYTES, KIND_INTERNAL_BYTES, KIND_BLOOM, KIND_HASHES, KIND_OBJECTS])
const KINDS = Uint8Array.from(TAGS, ({ kind }) => kind)

/** Size of the payload by tag: 0 for kinds without one. */
const SIZES = Int8Array.from(KINDS, (kind) => (kind === KIND_HASH ? 32 : kind === KIND_ADDRESS ? 20 : HAS_LENGTH.has(kind) ? VARIABLE : 0))

function sizeAt(tag: number, bytes: Uint8Array, view: DataView, at: number): number {
  const size = SIZES[tag] ?? 0
  return size === VARIABLE ? variableSize(KINDS[tag]!, bytes, view, at) : size
}

function variableSize(kind: number, bytes: Uint8Array, view: DataView, at: number): number {
  if (kind === KIND_QUANTITY) return 1 + bytes[at]!
  if (kind === KIND_BYTES || kind === KIND_INTERNAL_BYTES) return 4 + view.getUint32(at, true)
  if (kind === KIND_BLOOM) return bloomSize(bytes, at)
  if (kind === KIND_HASHES) return 4 + view.getUint32(at, true) * 32
  return objectsSize(bytes, view, at)
}

function objectsSize(bytes: Uint8Array, view: DataView, start: number): number {
  let at = start + 4
  for (let left = view.getUint32(start, true); left > 0; left--) {
    for (let tag = bytes[at++] ?? END_OF_OBJECT; tag !== END_OF_OBJECT; tag = bytes[at++] ?? END_OF_OBJECT)
      at += sizeAt(tag, bytes, view, at)
  }
  return at - start
}

// --- values at a fixed offset ------------------------------------------------------------------------------------------------------------------

export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** Reads a u64 below 2^53. */
export function u64At(view: DataView, at: number): number {
  return view.getUint32(at, true) + view.getUint32(at + 4, true) * 2 ** 32
}

export function hashAt(bytes: Uint8Array, at: number): Hash {
  return hexAt(bytes, at, 32) as Hash // of its size
}

export function addressAt(bytes: Uint8Array, at: number): Address {
  return hexAt(bytes, at, 20) as Address // of its size
}

function hexAt(bytes: Uint8Array, at: number, size: number): Hex {
  if (at + size > bytes.length) throw new RangeError('an object of a record ends beyond the record')
  return Hex.fromRange(bytes, at, size)
}

/** Returns a Uint8Array even if the record is a Buffer. */
export function bytesAt(bytes: Uint8Array, at: number, size: number): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset + at, size)
}
