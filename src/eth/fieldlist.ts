import type { Address } from './address.ts'
import type { FieldVisitor, FieldsOf } from './fieldvisitor.ts'
import type { Hash } from './hash.ts'
import type { TransactionType } from './transactiontype.ts'

/** One field of a wire object, without its value. */
export interface FieldRow {
  /** '' if JSON does not show it */
  readonly key: string
  /** 0 in an object that is not stored */
  readonly tag: number
  /** tag of a null value; 0 if null is never stored */
  readonly nullTag: number
  readonly codec: FieldCodec
  /** JSON may lack the key. */
  readonly isOptional: boolean
  /** The value may be null in JSON. */
  readonly isNullable: boolean
  /** only for a list of hashes: the highest number of items */
  readonly max?: number
  /** only for objects: the title and the fields of an item */
  readonly title?: string
  readonly items?: readonly FieldRow[]
}

export type FieldCodec =
  | 'hash'
  | 'hashes'
  | 'address'
  | 'quantity'
  | 'bytes'
  | 'bloom'
  | 'boolean'
  | 'flag'
  | 'objects'
  | 'hidden'
  | 'blockHash'
  | 'blockNumber'
  | 'blockTimestamp'
  | 'blockTimestampMs'
  | 'transactionHash'
  | 'transactionIndex'
  | 'sender'
  | 'receiverReference'
  | 'transactions'
  | 'logs'

type RowOptions = Partial<Omit<FieldRow, 'key' | 'tag' | 'codec'>>

/** Lists the fields of an object. All methods ignore the value and return the argument. */
export class FieldList implements FieldVisitor {
  readonly isDecoder = false
  readonly rows: FieldRow[] = []

  #add<T>(codec: FieldCodec, key: string, tag: number, value: T, options: RowOptions = {}): T {
    this.rows.push({ nullTag: 0, isOptional: false, isNullable: false, ...options, key, tag, codec })
    return value
  }

  hash(key: string, tag: number, value: Hash): Hash {
    return this.#add('hash', key, tag, value)
  }

  optionalHash(key: string, tag: number, value: Hash | null): Hash | null {
    return this.#add('hash', key, tag, value, { isOptional: true })
  }

  nullableHash(key: string, tag: number, nullTag: number, value: Hash | null | undefined): Hash | null {
    return this.#add('hash', key, tag, value ?? null, { isOptional: true, isNullable: true, nullTag })
  }

  hashes(key: string, tag: number, values: readonly Hash[], max?: number): readonly Hash[] {
    return this.#add('hashes', key, tag, values, max === undefined ? {} : { max })
  }

  optionalHashes(key: string, tag: number, values: readonly Hash[] | null): readonly Hash[] | null {
    return this.#add('hashes', key, tag, values, { isOptional: true })
  }

  address(key: string, tag: number, value: Address): Address {
    return this.#add('address', key, tag, value)
  }

  quantity(key: string, tag: number, value: bigint): bigint {
    return this.#add('quantity', key, tag, value)
  }

  optionalQuantity(key: string, tag: number, value: bigint | null): bigint | null {
    return this.#add('quantity', key, tag, value, { isOptional: true })
  }

  number(key: string, tag: number, value: number): number {
    return this.#add('quantity', key, tag, value)
  }

  optionalNumber(key: string, tag: number, value: number | null): number | null {
    return this.#add('quantity', key, tag, value, { isOptional: true })
  }

  transactionType(key: string, tag: number, value: TransactionType): TransactionType {
    return this.#add('quantity', key, tag, value)
  }

  bytes(key: string, tag: number, value: Uint8Array): Uint8Array {
    return this.#add('bytes', key, tag, value)
  }

  bloom(key: string, tag: number, value: Uint8Array): Uint8Array {
    return this.#add('bloom', key, tag, value)
  }

  boolean(key: string, value: boolean): boolean {
    return this.#add('boolean', key, 0, value)
  }

  flag(key: string, tag: number, value: boolean): boolean {
    return this.#add('flag', key, tag, value, { isOptional: true })
  }

  objects<T>(key: string, tag: number, title: string, values: readonly T[], fields: FieldsOf<T>): readonly T[] {
    return this.#add('objects', key, tag, values, { title, items: itemRows(fields) })
  }

  optionalObjects<T>(key: string, tag: number, title: string, values: readonly T[] | null, fields: FieldsOf<T>): readonly T[] | null {
    return this.#add('objects', key, tag, values, { isOptional: true, title, items: itemRows(fields) })
  }

  group<T>(_: number, part: T | null, fields: FieldsOf<T>): T | null {
    const rows = itemRows(fields)
    this.rows.push(...rows.map((row) => ({ ...row, isOptional: true })))
    return part
  }

  hidden(tag: number): Uint8Array | null {
    return this.#add('hidden', '', tag, null)
  }

  blockHash(key: string, tag: number, value: Hash): Hash {
    return this.#add('blockHash', key, tag, value)
  }

  blockHashOrNull(key: string, tag: number, value: Hash | null): Hash | null {
    return this.#add('blockHash', key, tag, value, { isNullable: true })
  }

  blockNumber(key: string, tag: number, value: number): number {
    return this.#add('blockNumber', key, tag, value)
  }

  blockNumberOrNull(key: string, tag: number, value: number | null): number | null {
    return this.#add('blockNumber', key, tag, value, { isNullable: true })
  }

  blockTimestamp(key: string, tag: number, value: number): number {
    return this.#add('blockTimestamp', key, tag, value)
  }

  blockTimestampOrNull(key: string, tag: number, value: number | null): number | null {
    return this.#add('blockTimestamp', key, tag, value, { isNullable: true })
  }

  optionalBlockTimestampMs(key: string, tag: number, value: number | null): number | null {
    return this.#add('blockTimestampMs', key, tag, value, { isOptional: true })
  }

  transactionHash(key: string, tag: number, value: Hash): Hash {
    return this.#add('transactionHash', key, tag, value)
  }

  transactionIndex(key: string, tag: number, value: number): number {
    return this.#add('transactionIndex', key, tag, value)
  }

  transactionIndexOrNull(key: string, tag: number, value: number | null): number | null {
    return this.#add('transactionIndex', key, tag, value, { isNullable: true })
  }

  sender(key: string, tag: number, value: Address): Address {
    return this.#add('sender', key, tag, value)
  }

  receiver(key: string, tag: number, nullTag: number, value: Address | null): Address | null {
    return this.#add('address', key, tag, value, { isNullable: true, nullTag })
  }

  receiverReference(key: string, tag: number, nullTag: number, value: Address | null): Address | null {
    return this.#add('receiverReference', key, tag, value, { isNullable: true, nullTag })
  }

  transactions<T>(key: string, tag: number, values: readonly T[]): readonly T[] {
    return this.#add('transactions', key, tag, values)
  }

  logs<T>(key: string, tag: number, values: readonly T[]): readonly T[] {
    return this.#add('logs', key, tag, values)
  }
}

/** Returns the fields that `fields` visits in an item. */
function itemRows<T>(fields: FieldsOf<T>): readonly FieldRow[] {
  const list = new FieldList()
  fields(list, {} as T) // no method reads the item
  return list.rows
}
