import type { Address } from './address.ts'
import type { FieldVisitor, FieldsOf } from './fieldvisitor.ts'
import type { Hash } from './hash.ts'
import { Hex } from './hex.ts'
import type { TransactionType } from './transactiontype.ts'

/** A JSON-ready object. */
export type Json = Readonly<Record<string, unknown>>

/** Builds the JSON of an object whose fields it visits. */
export class JsonObject implements FieldVisitor {
  readonly isDecoder = false
  readonly json: Record<string, unknown> = {}
  readonly #list: (values: readonly unknown[]) => unknown

  /** `list` builds the JSON of a block's transactions or a receipt's logs. */
  constructor(list: (values: readonly unknown[]) => unknown = (values) => values) {
    this.#list = list
  }

  hash(key: string, _: number, value: Hash): Hash {
    this.json[key] = value
    return value
  }

  optionalHash(key: string, _: number, value: Hash | null): Hash | null {
    if (value !== null) this.json[key] = value
    return value
  }

  nullableHash(key: string, _: number, __: number, value: Hash | null | undefined): Hash | null {
    if (value !== undefined) this.json[key] = value
    return value ?? null
  }

  hashes(key: string, _: number, values: readonly Hash[]): readonly Hash[] {
    this.json[key] = values
    return values
  }

  optionalHashes(key: string, _: number, values: readonly Hash[] | null): readonly Hash[] | null {
    if (values !== null) this.json[key] = values
    return values
  }

  address(key: string, _: number, value: Address): Address {
    this.json[key] = value
    return value
  }

  quantity(key: string, _: number, value: bigint): bigint {
    this.json[key] = Hex.fromQuantity(value)
    return value
  }

  optionalQuantity(key: string, _: number, value: bigint | null): bigint | null {
    if (value !== null) this.json[key] = Hex.fromQuantity(value)
    return value
  }

  number(key: string, _: number, value: number): number {
    this.json[key] = Hex.fromQuantity(value)
    return value
  }

  optionalNumber(key: string, _: number, value: number | null): number | null {
    if (value !== null) this.json[key] = Hex.fromQuantity(value)
    return value
  }

  transactionType(key: string, _: number, value: TransactionType): TransactionType {
    this.json[key] = Hex.fromQuantity(value)
    return value
  }

  bytes(key: string, _: number, value: Uint8Array): Uint8Array {
    this.json[key] = Hex.fromBytes(value)
    return value
  }

  bloom(key: string, _: number, value: Uint8Array): Uint8Array {
    this.json[key] = Hex.fromBytes(value)
    return value
  }

  boolean(key: string, value: boolean): boolean {
    this.json[key] = value
    return value
  }

  flag(key: string, _: number, value: boolean): boolean {
    if (value) this.json[key] = true
    return value
  }

  objects<T>(key: string, _: number, __: string, values: readonly T[], fields: FieldsOf<T>): readonly T[] {
    this.json[key] = values.map((value) => {
      const item = new JsonObject()
      fields(item, value)
      return item.json
    })
    return values
  }

  optionalObjects<T>(key: string, tag: number, title: string, values: readonly T[] | null, fields: FieldsOf<T>): readonly T[] | null {
    return values === null ? null : this.objects(key, tag, title, values, fields)
  }

  group<T>(_: number, part: T | null, fields: FieldsOf<T>): T | null {
    return part === null ? null : fields(this, part)
  }

  hidden(): Uint8Array | null {
    return null
  }

  blockHash(key: string, tag: number, value: Hash): Hash {
    return this.hash(key, tag, value)
  }

  blockHashOrNull(key: string, _: number, value: Hash | null): Hash | null {
    this.json[key] = value
    return value
  }

  blockNumber(key: string, tag: number, value: number): number {
    return this.number(key, tag, value)
  }

  blockNumberOrNull(key: string, _: number, value: number | null): number | null {
    this.json[key] = value === null ? null : Hex.fromQuantity(value)
    return value
  }

  blockTimestamp(key: string, tag: number, value: number): number {
    return this.number(key, tag, value)
  }

  blockTimestampOrNull(key: string, tag: number, value: number | null): number | null {
    return this.blockNumberOrNull(key, tag, value)
  }

  optionalBlockTimestampMs(key: string, tag: number, value: number | null): number | null {
    return this.optionalNumber(key, tag, value)
  }

  transactionHash(key: string, tag: number, value: Hash): Hash {
    return this.hash(key, tag, value)
  }

  transactionIndex(key: string, tag: number, value: number): number {
    return this.number(key, tag, value)
  }

  transactionIndexOrNull(key: string, tag: number, value: number | null): number | null {
    return this.blockNumberOrNull(key, tag, value)
  }

  sender(key: string, tag: number, value: Address): Address {
    return this.address(key, tag, value)
  }

  receiver(key: string, _: number, __: number, value: Address | null): Address | null {
    this.json[key] = value
    return value
  }

  receiverReference(key: string, tag: number, nullTag: number, value: Address | null): Address | null {
    return this.receiver(key, tag, nullTag, value)
  }

  transactions<T>(key: string, _: number, values: readonly T[]): readonly T[] {
    this.json[key] = this.#list(values)
    return values
  }

  logs<T>(key: string, _: number, values: readonly T[]): readonly T[] {
    this.json[key] = this.#list(values)
    return values
  }
}
