import type { Block } from '../../eth/index.ts'
import { orNull } from '../../jsonrpc/jsonschema.ts'
import { blockHash, blockNumber } from '../../jsonrpc/schema.ts'
import type { BlockRef } from '../../jsonrpc/schema.ts'
import { findBlock } from '../blocks.ts'
import { method, required } from '../method.ts'
import type { JsonSchema, Method, MethodRow, Param, Schema, Values } from '../method.ts'
import { BLOCK_HASH } from './examples.ts'

interface BlockRow<P extends readonly Param<unknown>[]> extends Pick<MethodRow<P>, 'doc' | 'params' | 'example'> {
  readonly byNumber: string
  /** schema of the first parameter of `byNumber`; blockNumber by default */
  readonly number?: Schema<BlockRef>
  readonly byHash: string
  /** result for a block that exists; for others it is null */
  readonly result: JsonSchema
  readonly read: (block: Block, args: Values<P>) => unknown
}

/** Returns two methods that read one block: by number or tag, and by hash. `params` and `example.params` follow the block. An unknown block is null. */
export function byNumberAndHash<const P extends readonly Param<unknown>[]>(row: BlockRow<P>): readonly Method[] {
  const { byNumber, number = blockNumber, byHash, doc, params, result, example, read } = row
  const rowOf = (name: string, schema: Schema<BlockRef>, block: string) =>
    method({
      name,
      doc,
      params: [required('block', schema), ...params],
      result: orNull(result),
      example: { params: [block, ...example.params], result: example.result },
      handler: ({ chain }, [ref, ...args]) => mapBlock(findBlock(chain.head.view, ref), (block) => read(block, args as Values<P>)), // parsed by the schemas of the row
    })
  return [rowOf(byNumber, number, 'latest'), rowOf(byHash, blockHash, BLOCK_HASH)]
}

/** Returns null for an unknown block. */
export function mapBlock<T>(block: Block | null, as: (block: Block) => T): T | null {
  return block === null ? null : as(block)
}
