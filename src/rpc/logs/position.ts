import type { Hash, Hex } from '../../eth/index.ts'
import { boolean, hash, maybe, object, quantityNumber, refused } from '../../jsonrpc/schema.ts'
import type { Schema } from '../../jsonrpc/schema.ts'
import type { Json } from '../json.ts'
import type { Segment } from './feedevent.ts'

/**
 * The last notification that a client has: log or transaction `index` of a block. `payloadId` or `blockHash` identifies the block of this number, and
 * `removed` marks a notification of a removal; without them the position is exact unless the block was built more than once.
 */
export interface Position {
  readonly block: number
  readonly index: number
  readonly payloadId: Hex | undefined
  readonly blockHash: Hash | undefined
  readonly removed: boolean | undefined
}

export interface ResumeOptions {
  /** undefined: the subscription begins now */
  readonly after: Position | undefined
}

const payloadId: Schema<Hex> = {
  json: { title: '8 bytes', type: 'string', pattern: '^0x[0-9a-fA-F]{16}$' },
  parse: (value, path) => {
    if (typeof value !== 'string' || !/^0x[0-9a-f]{16}$/i.test(value)) throw refused(path, 'expected 8 bytes, 0x and 16 hex digits')
    return value.toLowerCase() as Hex // its pattern was just checked
  },
}

/** The third parameter of eth_subscribe. */
export const resumeOptions: Schema<ResumeOptions> = object({
  after: maybe(
    object({ block: quantityNumber, index: quantityNumber, payloadId: maybe(payloadId), blockHash: maybe(hash), removed: maybe(boolean) }),
  ),
})

/** The position after item `index` of a segment, which `after` accepts. */
export function positionJson({ block, payloadId, blockHash, removed }: Segment, index: number): Json {
  return {
    block: `0x${block.header.number.toString(16)}`,
    index: `0x${index.toString(16)}`,
    ...(payloadId === null ? {} : { payloadId }),
    ...(blockHash === null ? {} : { blockHash }),
    ...(removed ? { removed } : {}),
  }
}
