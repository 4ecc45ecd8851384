import { Address, DecodeError, Hash, Rlp, Transaction, Withdrawal } from '../../eth/index.ts'
import type { RlpInput, RlpItem } from '../../eth/index.ts'
import type { BlockAttributes } from './builder.ts'

/**
 * Write-ahead record of the open block's promises: enough to rebuild exactly that block after a restart. It replaces the previous record.
 */
export interface OpenBlockRecord {
  readonly parentHash: Hash
  /** Hash of the header when the block was last promised. */
  readonly promisedHash: Hash
  /** Without ommers: locally built blocks have none. */
  readonly attributes: BlockAttributes
  /** All transactions, including the system deposits, because the fee settings may differ after a restart. */
  readonly transactions: readonly Transaction[]
  /** Number of system deposits. */
  readonly deposits: number
}

export const OpenBlockRecord = { encode, decode }

/** Version of the encoding on disk. */
const FORMAT_VERSION = 1
const FIELD_COUNT = 15

function encode({ parentHash, promisedHash, attributes, transactions, deposits }: OpenBlockRecord): Uint8Array {
  return Rlp.encode([
    FORMAT_VERSION,
    parentHash,
    promisedHash,
    attributes.timestamp,
    optional(attributes.timestampMs),
    attributes.prevRandao,
    attributes.feeRecipient,
    attributes.gasLimit,
    attributes.extraData,
    optional(attributes.parentBeaconBlockRoot),
    optional(attributes.withdrawals?.map(Withdrawal.toRlp) ?? null),
    optional(attributes.baseFeePerGas),
    attributes.difficulty,
    deposits,
    transactions.map((tx) => tx.raw),
  ])
}

/** Throws CorruptOpenBlockRecord. */
function decode(bytes: Uint8Array): OpenBlockRecord {
  try {
    return read(bytes)
  } catch (error) {
    throw error instanceof DecodeError ? new CorruptOpenBlockRecord(error.message) : error
  }
}

function read(bytes: Uint8Array): OpenBlockRecord {
  const items = listOf(Rlp.decode(bytes, 'open-block record'))
  if (numberAt(items, 0) !== FORMAT_VERSION || items.length !== FIELD_COUNT)
    throw new DecodeError('open-block record', 'was written by another version')
  return {
    parentHash: hashOf(items[1]),
    promisedHash: hashOf(items[2]),
    attributes: {
      timestamp: numberAt(items, 3),
      timestampMs: optionOf(items[4], (item) => Number(integerOf(item))),
      prevRandao: hashOf(items[5]),
      feeRecipient: Address.from(bytesOf(items[6])),
      gasLimit: integerOf(items[7]),
      extraData: bytesOf(items[8]),
      parentBeaconBlockRoot: optionOf(items[9], hashOf),
      withdrawals: optionOf(items[10], (item) => listOf(item).map(Withdrawal.fromRlp)),
      baseFeePerGas: optionOf(items[11], integerOf),
      difficulty: integerOf(items[12]),
      ommers: [],
    },
    deposits: numberAt(items, 13),
    // The record is trusted: an impersonated sender stays impersonated.
    transactions: listOf(items[14]).map((item) => Transaction.decode(bytesOf(item), { impersonated: true })),
  }
}

/** `null` is encoded as an empty list, which no value is. */
function optional(value: RlpInput | null): RlpInput {
  return value === null ? [] : [value]
}

function optionOf<T>(item: RlpItem | undefined, read: (item: RlpItem | undefined) => T): T | null {
  const [value] = listOf(item)
  return value === undefined ? null : read(value)
}

function listOf(item: RlpItem | undefined): readonly RlpItem[] {
  if (item === undefined || item instanceof Uint8Array) throw new DecodeError('open-block record', 'must hold a list')
  return item
}

function bytesOf(item: RlpItem | undefined): Uint8Array {
  if (item instanceof Uint8Array) return item
  throw new DecodeError('open-block record', 'must hold bytes')
}

function hashOf(item: RlpItem | undefined): Hash {
  return Hash.from(bytesOf(item))
}

function integerOf(item: RlpItem | undefined): bigint {
  return Rlp.toBigint(bytesOf(item))
}

function numberAt(items: readonly RlpItem[], index: number): number {
  return Number(integerOf(items[index]))
}

/** The record cannot be decoded, so its promises can be neither kept nor retracted by hash. */
export class CorruptOpenBlockRecord extends Error {
  override readonly name = 'CorruptOpenBlockRecord'

  constructor(reason: string) {
    super(`what was promised beyond the newest block cannot be read: ${reason}`)
  }
}
