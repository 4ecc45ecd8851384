import type { Address } from './address.ts'
import { Fields } from './fields.ts'
import type { FieldContext, FieldVisitor } from './fieldvisitor.ts'
import { Hash } from './hash.ts'
import { DecodeError } from './hex.ts'
import type { RlpInput, RlpItem } from './rlp.ts'

/** An event as the EVM emitted it. Its position is that in its receipt. */
export interface Log {
  readonly address: Address
  readonly topics: readonly Hash[]
  readonly data: Uint8Array
}

export const Log = { toRlp, fromRlp }

function toRlp(log: Log): RlpInput {
  return [log.address, log.topics, log.data]
}

/** Throws DecodeError. */
function fromRlp(item: RlpItem): Log {
  const fields = new Fields(item, 'log', 3)
  return { address: fields.address('address'), topics: fields.list('topics').map(topic), data: fields.bytes('data') }
}

function topic(item: RlpItem): Hash {
  if (!(item instanceof Uint8Array)) throw new DecodeError('log.topics', 'must hold bytes, not RLP lists')
  return Hash.from(item, 'log.topics')
}

/** Stored logs have a fixed layout without tags (LOG_HEADER_BYTES in store/writer/layout.ts). */
const NO_TAG = 0

export interface LogContext extends FieldContext {
  /** index in the block */
  readonly logIndex: number
  /** `true` in the announcement that a reorganisation removed the log */
  readonly isRemoved: boolean
}

export function logFields(f: FieldVisitor, log: Log, { block, transaction, index, logIndex, isRemoved }: LogContext): void {
  f.address('address', NO_TAG, log.address)
  f.hashes('topics', NO_TAG, log.topics, 4)
  f.bytes('data', NO_TAG, log.data)
  f.blockHash('blockHash', NO_TAG, block === null ? Hash.zero : block.hash)
  f.blockNumber('blockNumber', NO_TAG, block === null ? 0 : block.header.number)
  f.blockTimestamp('blockTimestamp', NO_TAG, block === null ? 0 : block.header.timestamp)
  f.optionalBlockTimestampMs('blockTimestampMs', NO_TAG, block === null ? null : block.timestampMs)
  f.transactionHash('transactionHash', NO_TAG, transaction.hash)
  f.transactionIndex('transactionIndex', NO_TAG, index)
  f.number('logIndex', NO_TAG, logIndex)
  f.boolean('removed', isRemoved)
}
