import type { Address } from './address.ts'
import type { Hash } from './hash.ts'
import type { TransactionType } from './transactiontype.ts'

/**
 * Visits the fields of a wire object in the order of its JSON. Each object has one function that lists its fields (`receiptFields`, …); JSON, JSON
 * Schema, and the encoding and decoding of stored records are visitors. A function with one call per field, rather than a table, keeps the calls
 * monomorphic: a table of getters made encoding 1.5 times as slow.
 *
 * A method takes the key in JSON, the tag in stored records and the value, and returns the value; a decoding visitor ignores the argument and
 * returns the decoded one, and it and the object may be blank. `null` means absent unless the field is nullable.
 *
 * Tags identify fields in stored records and are shared by all objects; fields of one key and codec may share a tag. They are at most 127 and never
 * changed or reused. The next free tag is 87.
 */
export interface FieldVisitor {
  /** True if the methods return decoded values. Otherwise the object itself is the result. */
  readonly isDecoder: boolean
  hash(key: string, tag: number, value: Hash): Hash
  optionalHash(key: string, tag: number, value: Hash | null): Hash | null
  /** `undefined`: absent; `null`: null, stored as `nullTag` */
  nullableHash(key: string, tag: number, nullTag: number, value: Hash | null | undefined): Hash | null
  /** `max`: the number of hashes there may be */
  hashes(key: string, tag: number, values: readonly Hash[], max?: number): readonly Hash[]
  optionalHashes(key: string, tag: number, values: readonly Hash[] | null): readonly Hash[] | null
  address(key: string, tag: number, value: Address): Address
  quantity(key: string, tag: number, value: bigint): bigint
  optionalQuantity(key: string, tag: number, value: bigint | null): bigint | null
  /** a quantity below 2^53 */
  number(key: string, tag: number, value: number): number
  optionalNumber(key: string, tag: number, value: number | null): number | null
  transactionType(key: string, tag: number, value: TransactionType): TransactionType
  bytes(key: string, tag: number, value: Uint8Array): Uint8Array
  bloom(key: string, tag: number, value: Uint8Array): Uint8Array
  /** not stored */
  boolean(key: string, value: boolean): boolean
  /** `true`, or absent */
  flag(key: string, tag: number, value: boolean): boolean
  /** A list of objects, whose fields `fields` visits. `title` names an item in the JSON Schema. */
  objects<T>(key: string, tag: number, title: string, values: readonly T[], fields: FieldsOf<T>): readonly T[]
  optionalObjects<T>(key: string, tag: number, title: string, values: readonly T[] | null, fields: FieldsOf<T>): readonly T[] | null
  /** Fields of a part of the object, which are all absent if it is null. The one of `firstTag` is always present otherwise. */
  group<T>(firstTag: number, part: T | null, fields: FieldsOf<T>): T | null
  /** Bytes in stored records that JSON does not show. */
  hidden(tag: number, value: Uint8Array | null): Uint8Array | null

  // Values that a record stores once for the block or the transaction. Stored objects refer to them.

  blockHash(key: string, tag: number, value: Hash): Hash
  /** `null` in JSON before the block is sealed */
  blockHashOrNull(key: string, tag: number, value: Hash | null): Hash | null
  blockNumber(key: string, tag: number, value: number): number
  /** `null` in JSON in the pool */
  blockNumberOrNull(key: string, tag: number, value: number | null): number | null
  blockTimestamp(key: string, tag: number, value: number): number
  blockTimestampOrNull(key: string, tag: number, value: number | null): number | null
  optionalBlockTimestampMs(key: string, tag: number, value: number | null): number | null
  transactionHash(key: string, tag: number, value: Hash): Hash
  transactionIndex(key: string, tag: number, value: number): number
  transactionIndexOrNull(key: string, tag: number, value: number | null): number | null
  sender(key: string, tag: number, value: Address): Address
  /** A nullable address. The first of a transaction and its receipt is the one that the transaction's row refers to. */
  receiver(key: string, tag: number, nullTag: number, value: Address | null): Address | null
  /** The row's address; `null` is stored as `nullTag`. */
  receiverReference(key: string, tag: number, nullTag: number, value: Address | null): Address | null
  transactions<T>(key: string, tag: number, values: readonly T[]): readonly T[]
  logs<T>(key: string, tag: number, values: readonly T[]): readonly T[]
}

/** Visits the fields of `value`. A decoding visitor ignores `value` and returns the decoded object. */
export type FieldsOf<T> = (visitor: FieldVisitor, value: T) => T

/** The block and the transaction that an object belongs to. */
export interface FieldContext {
  /** `null` in the pool */
  readonly block: {
    readonly header: { readonly number: number; readonly timestamp: number; readonly baseFeePerGas: bigint | null }
    readonly hash: Hash
    readonly timestampMs: number | null
  } | null
  readonly index: number
  readonly transaction: { readonly hash: Hash; readonly from: Address; readonly to: Address | null }
  /** `null` before execution */
  readonly receipt: { readonly depositNonce: bigint | null; readonly depositReceiptVersion: number | null } | null
}
