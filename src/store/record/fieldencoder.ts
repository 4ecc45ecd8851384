import type { Address, FieldVisitor, FieldsOf, Hash, TransactionType } from '../../eth/index.ts'
import { RecordWriter } from './recordwriter.ts'

/** Writes the fields that it visits to a record. A method throws RangeError for a value out of range. */
export class FieldEncoder extends RecordWriter implements FieldVisitor {
  readonly isDecoder = false
  hash(_: string, tag: number, value: Hash): Hash {
    this.putHash(tag, value)
    return value
  }

  optionalHash(_: string, tag: number, value: Hash | null): Hash | null {
    if (value !== null) this.putHash(tag, value)
    return value
  }

  nullableHash(_: string, tag: number, nullTag: number, value: Hash | null | undefined): Hash | null {
    if (value === null) this.mark(nullTag)
    else if (value !== undefined) this.putHash(tag, value)
    return value ?? null
  }

  hashes(_: string, tag: number, values: readonly Hash[]): readonly Hash[] {
    this.putHashes(tag, values)
    return values
  }

  optionalHashes(_: string, tag: number, values: readonly Hash[] | null): readonly Hash[] | null {
    if (values !== null) this.putHashes(tag, values)
    return values
  }

  address(_: string, tag: number, value: Address): Address {
    this.putAddress(tag, value)
    return value
  }

  quantity(_: string, tag: number, value: bigint): bigint {
    this.putQuantity(tag, value)
    return value
  }

  optionalQuantity(_: string, tag: number, value: bigint | null): bigint | null {
    if (value !== null) this.putQuantity(tag, value)
    return value
  }

  number(_: string, tag: number, value: number): number {
    this.putQuantity(tag, value)
    return value
  }

  optionalNumber(_: string, tag: number, value: number | null): number | null {
    if (value !== null) this.putQuantity(tag, value)
    return value
  }

  transactionType(_: string, tag: number, value: TransactionType): TransactionType {
    this.putQuantity(tag, value)
    return value
  }

  bytes(_: string, tag: number, value: Uint8Array): Uint8Array {
    this.putBytes(tag, value)
    return value
  }

  bloom(_: string, tag: number, value: Uint8Array): Uint8Array {
    this.putBloom(tag, value)
    return value
  }

  boolean(_: string, value: boolean): boolean {
    return value
  }

  flag(_: string, tag: number, value: boolean): boolean {
    if (value) this.mark(tag)
    return value
  }

  objects<T>(_: string, tag: number, __: string, values: readonly T[], fields: FieldsOf<T>): readonly T[] {
    this.mark(tag)
    this.u32(values.length)
    for (const value of values) {
      fields(this, value)
      this.end()
    }
    return values
  }

  optionalObjects<T>(key: string, tag: number, title: string, values: readonly T[] | null, fields: FieldsOf<T>): readonly T[] | null {
    return values === null ? null : this.objects(key, tag, title, values, fields)
  }

  group<T>(_: number, part: T | null, fields: FieldsOf<T>): T | null {
    return part === null ? null : fields(this, part)
  }

  hidden(tag: number, value: Uint8Array | null): Uint8Array | null {
    if (value !== null) this.putBytes(tag, value)
    return value
  }

  blockHash(_: string, tag: number, value: Hash): Hash {
    this.mark(tag)
    return value
  }

  blockHashOrNull(_: string, tag: number, value: Hash | null): Hash | null {
    this.mark(tag)
    return value
  }

  blockNumber(_: string, tag: number, value: number): number {
    this.mark(tag)
    return value
  }

  blockNumberOrNull(_: string, tag: number, value: number | null): number | null {
    this.mark(tag)
    return value
  }

  blockTimestamp(_: string, tag: number, value: number): number {
    this.mark(tag)
    return value
  }

  blockTimestampOrNull(_: string, tag: number, value: number | null): number | null {
    this.mark(tag)
    return value
  }

  optionalBlockTimestampMs(_: string, tag: number, value: number | null): number | null {
    if (value !== null) this.mark(tag)
    return value
  }

  transactionHash(_: string, tag: number, value: Hash): Hash {
    this.mark(tag)
    return value
  }

  transactionIndex(_: string, tag: number, value: number): number {
    this.mark(tag)
    return value
  }

  transactionIndexOrNull(_: string, tag: number, value: number | null): number | null {
    this.mark(tag)
    return value
  }

  sender(_: string, tag: number, value: Address): Address {
    this.mark(tag)
    return value
  }

  receiver(_: string, tag: number, nullTag: number, value: Address | null): Address | null {
    if (value === null) this.mark(nullTag)
    else this.putReceiver(tag, value)
    return value
  }

  receiverReference(_: string, tag: number, nullTag: number, value: Address | null): Address | null {
    this.mark(value === null ? nullTag : tag)
    return value
  }

  transactions<T>(_: string, tag: number, values: readonly T[]): readonly T[] {
    this.mark(tag)
    return values
  }

  logs<T>(_: string, tag: number, values: readonly T[]): readonly T[] {
    this.mark(tag)
    return values
  }
}
