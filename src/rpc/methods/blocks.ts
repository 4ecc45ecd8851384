import type { View } from '../../chain/index.ts'
import { Hex } from '../../eth/index.ts'
import type { Block, Hash } from '../../eth/index.ts'
import { findBlock, sealedNumber } from '../blocks.ts'
import type { Context } from '../context.ts'
import { blockJson, headerJson, ommerJson, receiptsJson } from '../json.ts'
import type { Json } from '../json.ts'
import { method, optional, required } from '../method.ts'
import type { Method } from '../method.ts'
import { QUANTITY, listOf, orNull } from '../../jsonrpc/jsonschema.ts'
import { BLOCK, HEADER, RECEIPT } from '../results.ts'
import { blockNumber, blockRef, boolean, hash, quantityNumber } from '../../jsonrpc/schema.ts'
import type { BlockRef } from '../../jsonrpc/schema.ts'
import type { JsonBytes } from '../texts.ts'

const HASH_EXAMPLE = '0xd226371d0b1551adb03fb52b71f08e3e11247fe9b1af994768af8cdaa8e7dcd7'
const BLOCK_EXAMPLE = { number: '0x1b4', hash: HASH_EXAMPLE, timestamp: '0x6553f100', transactions: [] }

/** Blocks and what is counted in them. Unknown blocks are null; `pending` is the block under construction, or the latest. */
export const BLOCK_METHODS: readonly Method[] = [
  method({
    name: 'eth_getBlockByNumber',
    doc: 'A block by number or tag. `pending` has a hash of zeros and no size.',
    params: [required('block', blockNumber), optional('full transactions', boolean)],
    result: orNull(BLOCK),
    example: { params: ['pending', false], result: BLOCK_EXAMPLE },
    handler: (context, [ref, full]) => blockText(context, ref, full ?? false),
  }),
  method({
    name: 'eth_getBlockByHash',
    doc: 'A sealed block by hash.',
    params: [required('hash', hash), optional('full transactions', boolean)],
    result: orNull(BLOCK),
    example: { params: [HASH_EXAMPLE, false], result: BLOCK_EXAMPLE },
    handler: (context, [hash, full]) => blockText(context, { kind: 'hash', hash, requireCanonical: false }, full ?? false),
  }),
  method({
    name: 'eth_getHeaderByNumber',
    doc: 'A header by number or tag.',
    params: [required('block', blockNumber)],
    result: orNull(HEADER),
    example: { params: ['latest'], result: { number: '0x1b4', hash: HASH_EXAMPLE } },
    handler: ({ chain }, [ref]) => show(findBlock(chain.head.view, ref), headerJson),
  }),
  method({
    name: 'eth_getHeaderByHash',
    doc: 'A header by hash.',
    params: [required('hash', hash)],
    result: orNull(HEADER),
    example: { params: [HASH_EXAMPLE], result: { number: '0x1b4', hash: HASH_EXAMPLE } },
    handler: ({ chain }, [hash]) => show(chain.head.view.byHash(hash), headerJson),
  }),
  method({
    name: 'eth_getBlockTransactionCountByNumber',
    doc: 'How many transactions a block has; under `pending`, so far.',
    params: [required('block', blockNumber)],
    result: orNull(QUANTITY),
    example: { params: ['pending'], result: '0x3' },
    handler: ({ chain }, [ref]) => show(findBlock(chain.head.view, ref), transactionCount),
  }),
  method({
    name: 'eth_getBlockTransactionCountByHash',
    doc: 'How many transactions a block has.',
    params: [required('hash', hash)],
    result: orNull(QUANTITY),
    example: { params: [HASH_EXAMPLE], result: '0x3' },
    handler: ({ chain }, [hash]) => show(chain.head.view.byHash(hash), transactionCount),
  }),
  method({
    name: 'eth_getBlockReceipts',
    doc: 'All receipts of a block, by number, tag, hash or EIP-1898 object. Under `pending`: of every pre-confirmed transaction.',
    params: [required('block', blockRef)],
    result: orNull(listOf(RECEIPT)),
    errors: { [-32004]: 'on the public endpoint, there with HTTP status 403' },
    example: { params: ['pending'], result: [{ transactionHash: HASH_EXAMPLE, status: '0x1', gasUsed: '0x5208' }] },
    handler: (context, [ref]) => receiptsText(context, ref),
  }),
  method({
    name: 'eth_getUncleCountByBlockNumber',
    doc: 'How many uncles a block has: none, but on imported chains from before the merge.',
    params: [required('block', blockNumber)],
    result: orNull(QUANTITY),
    example: { params: ['latest'], result: '0x0' },
    handler: ({ chain }, [ref]) => show(findBlock(chain.head.view, ref), ommerCount),
  }),
  method({
    name: 'eth_getUncleCountByBlockHash',
    doc: 'As eth_getUncleCountByBlockNumber, by hash.',
    params: [required('hash', hash)],
    result: orNull(QUANTITY),
    example: { params: [HASH_EXAMPLE], result: '0x0' },
    handler: ({ chain }, [hash]) => show(chain.head.view.byHash(hash), ommerCount),
  }),
  method({
    name: 'eth_getUncleByBlockNumberAndIndex',
    doc: 'An uncle of a block, or null.',
    params: [required('block', blockNumber), required('index', quantityNumber)],
    result: orNull(BLOCK),
    example: { params: ['latest', '0x0'], result: null },
    handler: ({ chain }, [ref, index]) => show(findBlock(chain.head.view, ref), (block) => ommer(block, index)),
  }),
  method({
    name: 'eth_getUncleByBlockHashAndIndex',
    doc: 'An uncle of a block by its hash, or null.',
    params: [required('hash', hash), required('index', quantityNumber)],
    result: orNull(BLOCK),
    example: { params: [HASH_EXAMPLE, '0x0'], result: null },
    handler: ({ chain }, [hash, index]) => show(chain.head.view.byHash(hash), (block) => ommer(block, index)),
  }),
]

/** A sealed block as it is kept in JSON; the one under construction is another one each time. */
function blockText({ chain: { head }, texts }: Context, ref: BlockRef, full: boolean): JsonBytes | Json | null {
  const { view } = head
  const number = sealedNumber(view, ref)
  if (number === null) return show(findBlock(view, ref), (block) => blockJson(block, full))
  return texts.get(full ? 'full block' : 'block', hashOf(view, number), () => view.blockJsonBytes(number, full))
}

function receiptsText({ chain: { head }, texts }: Context, ref: BlockRef): JsonBytes | readonly Json[] | null {
  const { view } = head
  const number = sealedNumber(view, ref)
  if (number === null) return show(findBlock(view, ref), receiptsJson)
  return texts.get('receipts', hashOf(view, number), () => view.receiptsJsonBytes(number))
}

function hashOf(view: View, number: number): Hash {
  const hash = view.blockHash(number)
  if (hash === null) throw new Error(`block ${number} is missing`)
  return hash
}

function show<T>(block: Block | null, as: (block: Block) => T): T | null {
  return block === null ? null : as(block)
}

function transactionCount(block: Block): Hex {
  return Hex.fromQuantity(block.transactions.length)
}

function ommerCount(block: Block): Hex {
  return Hex.fromQuantity(block.ommers.length)
}

function ommer(block: Block, index: number): Json | null {
  const header = block.ommers[index]
  return header === undefined ? null : ommerJson(header)
}
