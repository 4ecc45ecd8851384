import { Address, DecodeError, Hash, Rlp, Transaction, Withdrawal } from '../../eth/index.ts'
import type { RlpInput, RlpItem } from '../../eth/index.ts'
import type { BlockAttributes } from './builder.ts'

/** An open block as it was promised: enough to build exactly it again. */
export interface Journal {
  readonly parentHash: Hash
  /** the hash that the header had when it was promised last */
  readonly promisedHash: Hash
  /** without ommers, which no block of our own has */
  readonly attributes: BlockAttributes
  /** all of them, those that the block opens with too: their fees may be set otherwise by now */
  readonly transactions: readonly Transaction[]
  /** how many of them the block opens with */
  readonly deposits: number
}

export const Journal = { encode, decode }

/** Another one is written by another version. */
const FORMAT = 1
const FIELDS = 15

function encode({ parentHash, promisedHash, attributes, transactions, deposits }: Journal): Uint8Array {
  return Rlp.encode([
    FORMAT,
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

/** Throws UnreadableJournal. */
function decode(bytes: Uint8Array): Journal {
  try {
    return read(bytes)
  } catch (error) {
    throw error instanceof DecodeError ? new UnreadableJournal(error.message) : error
  }
}

function read(bytes: Uint8Array): Journal {
  const items = listOf(Rlp.decode(bytes, 'journal'))
  if (numberAt(items, 0) !== FORMAT || items.length !== FIELDS) throw new DecodeError('journal', 'was written by another version')
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
    // Nobody but this chain wrote them: an impersonated sender is one here too.
    transactions: listOf(items[14]).map((item) => Transaction.decode(bytesOf(item), { impersonated: true })),
  }
}

/** An empty list is null, which an empty value is not. */
function optional(value: RlpInput | null): RlpInput {
  return value === null ? [] : [value]
}

function optionOf<T>(item: RlpItem | undefined, read: (item: RlpItem | undefined) => T): T | null {
  const [value] = listOf(item)
  return value === undefined ? null : read(value)
}

function listOf(item: RlpItem | undefined): readonly RlpItem[] {
  if (item === undefined || item instanceof Uint8Array) throw new DecodeError('journal', 'must hold a list')
  return item
}

function bytesOf(item: RlpItem | undefined): Uint8Array {
  if (item instanceof Uint8Array) return item
  throw new DecodeError('journal', 'must hold bytes')
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

/** What was promised cannot be read, so it can neither be kept nor be named as taken back. */
export class UnreadableJournal extends Error {
  override readonly name = 'UnreadableJournal'

  constructor(reason: string) {
    super(`what was promised beyond the newest block cannot be read: ${reason}`)
  }
}
