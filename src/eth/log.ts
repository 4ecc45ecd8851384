import type { Address } from './address.ts'
import { Fields } from './fields.ts'
import { Hash } from './hash.ts'
import { DecodeError } from './hex.ts'
import type { RlpInput, RlpItem } from './rlp.ts'

/** An event as the EVM emitted it. Its position follows from the receipt that holds it. */
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
