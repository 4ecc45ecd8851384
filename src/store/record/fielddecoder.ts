import { isTransactionType } from '../../eth/index.ts'
import type { Address, FieldVisitor, FieldsOf, Hash, Log, TransactionType } from '../../eth/index.ts'
import { FieldReader } from './fieldreader.ts'

/** The values of a record that its objects refer to. */
export interface RecordReferences {
  blockHash(): Hash
  blockNumber(): number
  blockTimestamp(): number
  transactionHash(): Hash
  sender(): Address
  logs(): readonly Log[]
}

/** Returns the fields of one object of a record instead of those that it visits. A method throws RangeError for an absent field that is not optional. */
export class FieldDecoder extends FieldReader implements FieldVisitor {
  readonly isDecoder = true
  readonly #references: RecordReferences
  /** decodes the items of lists */
  #items: FieldDecoder | null = null
  readonly #record: Uint8Array

  constructor(record: Uint8Array, references: RecordReferences) {
    super(record)
    this.#record = record
    this.#references = references
  }

  hash(_: string, tag: number): Hash {
    return this.readHash(tag)
  }

  optionalHash(_: string, tag: number): Hash | null {
    return this.has(tag) ? this.readHash(tag) : null
  }

  quantity(_: string, tag: number): bigint {
    return this.readQuantity(tag)
  }

  optionalQuantity(_: string, tag: number): bigint | null {
    return this.has(tag) ? this.readQuantity(tag) : null
  }

  number(_: string, tag: number): number {
    return this.readNumber(tag)
  }

  optionalNumber(_: string, tag: number): number | null {
    return this.has(tag) ? this.readNumber(tag) : null
  }

  nullableHash(_: string, tag: number): Hash | null {
    return this.optionalHash('', tag)
  }

  hashes(_: string, tag: number): readonly Hash[] {
    return this.readHashes(tag)
  }

  optionalHashes(_: string, tag: number): readonly Hash[] | null {
    return this.has(tag) ? this.readHashes(tag) : null
  }

  address(_: string, tag: number): Address {
    return this.readAddress(tag)
  }

  transactionType(_: string, tag: number): TransactionType {
    const type = this.readNumber(tag)
    if (!isTransactionType(type)) throw new RangeError(`a record holds the transaction type ${type}`)
    return type
  }

  bytes(_: string, tag: number): Uint8Array {
    return this.readBytes(tag)
  }

  bloom(_: string, tag: number): Uint8Array {
    return this.readBloom(tag)
  }

  boolean(_: string, value: boolean): boolean {
    return value
  }

  flag(_: string, tag: number): boolean {
    return this.has(tag)
  }

  objects<T>(_: string, tag: number, __: string, ___: unknown, fields: FieldsOf<T>): readonly T[] {
    const items = (this.#items ??= new FieldDecoder(this.#record, this.#references))
    return this.readObjects(tag, items, () => fields(items, NO_VALUE as T))
  }

  optionalObjects<T>(key: string, tag: number, title: string, values: unknown, fields: FieldsOf<T>): readonly T[] | null {
    return this.has(tag) ? this.objects(key, tag, title, values, fields) : null
  }

  group<T>(firstTag: number, _: T | null, fields: FieldsOf<T>): T | null {
    return this.has(firstTag) ? fields(this, NO_VALUE as T) : null
  }

  hidden(tag: number): Uint8Array | null {
    return this.has(tag) ? this.readBytes(tag) : null
  }

  blockHash(): Hash {
    return this.#references.blockHash()
  }

  blockHashOrNull(_: string, __: number, value: Hash | null): Hash | null {
    return value
  }

  blockNumber(): number {
    return this.#references.blockNumber()
  }

  blockNumberOrNull(_: string, __: number, value: number | null): number | null {
    return value
  }

  blockTimestamp(): number {
    return this.#references.blockTimestamp()
  }

  blockTimestampOrNull(_: string, __: number, value: number | null): number | null {
    return value
  }

  optionalBlockTimestampMs(_: string, __: number, value: number | null): number | null {
    return value
  }

  transactionHash(): Hash {
    return this.#references.transactionHash()
  }

  transactionIndex(_: string, __: number, value: number): number {
    return value
  }

  transactionIndexOrNull(_: string, __: number, value: number | null): number | null {
    return value
  }

  sender(): Address {
    return this.#references.sender()
  }

  receiver(_: string, tag: number): Address | null {
    return this.has(tag) ? this.readAddress(tag) : null
  }

  receiverReference(_: string, __: number, ___: number, value: Address | null): Address | null {
    return value
  }

  transactions<T>(_: string, __: number, values: readonly T[]): readonly T[] {
    return values
  }

  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- of FieldVisitor, which cannot import Log without a cycle
  logs<T>(): readonly T[] {
    return this.#references.logs() as readonly unknown[] as readonly T[] // of a receipt
  }
}

/** The value of a part or an item, which no method reads. */
const NO_VALUE: unknown = Object.freeze({})
