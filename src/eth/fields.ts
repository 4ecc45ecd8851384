import { Address } from './address.ts'
import { Hash } from './hash.ts'
import { DecodeError } from './hex.ts'
import { Rlp, type RlpItem } from './rlp.ts'

/** Reads the fields of an RLP list in order. Every method throws DecodeError with the field's path, e.g. `header.nonce`. */
export class Fields {
  readonly #noun: string
  readonly #items: readonly RlpItem[]
  #at = 0

  /** Throws DecodeError unless `item` is a list of `min` to `max` items. */
  constructor(item: RlpItem, noun: string, min: number, max = min) {
    if (item instanceof Uint8Array) throw new DecodeError(noun, 'must be an RLP list')
    if (item.length < min || item.length > max)
      throw new DecodeError(noun, `must have ${min === max ? min : `${min} to ${max}`} fields, not ${item.length}`)
    this.#noun = noun
    this.#items = item
  }

  get left(): number {
    return this.#items.length - this.#at
  }

  item(name: string): RlpItem {
    const item = this.#items[this.#at++]
    if (item === undefined) throw this.#wrong(name, 'is missing')
    return item
  }

  list(name: string): readonly RlpItem[] {
    const item = this.item(name)
    if (item instanceof Uint8Array) throw this.#wrong(name, 'must be an RLP list')
    return item
  }

  bytes(name: string, sizeBytes?: number): Uint8Array {
    const item = this.item(name)
    if (!(item instanceof Uint8Array)) throw this.#wrong(name, 'must be bytes, not an RLP list')
    if (sizeBytes !== undefined && item.length !== sizeBytes) throw this.#wrong(name, `must be ${sizeBytes} bytes, not ${item.length}`)
    return item
  }

  hash(name: string): Hash {
    return Hash.from(this.bytes(name, 32))
  }

  address(name: string): Address {
    return Address.from(this.bytes(name, 20))
  }

  /** Returns `null` for empty bytes. */
  addressOrNull(name: string): Address | null {
    const bytes = this.bytes(name)
    return bytes.length === 0 ? null : Address.from(bytes, `${this.#noun}.${name}`)
  }

  /** Reads an unsigned integer of at most `maxBytes` bytes without leading zeros. */
  uint(name: string, maxBytes: number): bigint {
    const bytes = this.bytes(name)
    if (bytes.length > maxBytes) throw this.#wrong(name, `does not fit ${maxBytes} bytes`)
    if (bytes[0] === 0) throw this.#wrong(name, 'has leading zeros')
    return Rlp.toBigint(bytes)
  }

  /** Reads an unsigned integer below 2^53. */
  number(name: string): number {
    const value = Number(this.uint(name, 8))
    if (!Number.isSafeInteger(value)) throw this.#wrong(name, `is too large (${value})`)
    return value
  }

  bit(name: string): 0 | 1 {
    const value = this.uint(name, 1)
    if (value > 1n) throw this.#wrong(name, `must be 0 or 1, not ${value}`)
    return value === 0n ? 0 : 1
  }

  #wrong(name: string, reason: string): DecodeError {
    return new DecodeError(`${this.#noun}.${name}`, reason)
  }
}
