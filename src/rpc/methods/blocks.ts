import type { View } from '../../chain/index.ts'
import { Hex } from '../../eth/index.ts'
import type { Hash } from '../../eth/index.ts'
import { blockAt, findBlock, refForReceipts, sealedBlockNumber } from '../blocks.ts'
import type { Context } from '../context.ts'
import { blockJson, headerJson, ommerJson, receiptsJson } from '../json.ts'
import type { Json } from '../json.ts'
import { method, optional, required } from '../method.ts'
import type { Method } from '../method.ts'
import { QUANTITY, listOf, orNull } from '../../jsonrpc/jsonschema.ts'
import { BLOCK, HEADER, RECEIPT } from '../results.ts'
import { blockHash, blockNumber, blockRef, boolean, integer, quantityNumber } from '../../jsonrpc/schema.ts'
import type { BlockRef } from '../../jsonrpc/schema.ts'
import type { JsonBytes } from '../texts.ts'
import { byNumberAndHash, mapBlock } from './byblock.ts'
import { BLOCK_HASH } from './examples.ts'

const BLOCK_EXAMPLE = { number: '0x1b4', hash: BLOCK_HASH, timestamp: '0x6553f100', transactions: [] }

/** Unknown blocks are null; `pending` is the block under construction, the block of the pool's transactions, or the latest. */
export const BLOCK_METHODS: readonly Method[] = [
  method({
    name: 'eth_getBlockByNumber',
    doc: 'A block by number or tag. `pending` has a hash of zeros and no size; under the manual and native cadences it holds the executable transactions of the pool.',
    params: [required('block', blockNumber), optional('full transactions', boolean)],
    result: orNull(BLOCK),
    example: { params: ['pending', false], result: BLOCK_EXAMPLE },
    handler: (context, [ref, full]) => blockText(context, ref, full ?? false),
  }),
  method({
    name: 'eth_getBlockByHash',
    doc: 'A sealed block by hash.',
    params: [required('hash', blockHash), optional('full transactions', boolean)],
    result: orNull(BLOCK),
    example: { params: [BLOCK_HASH, false], result: BLOCK_EXAMPLE },
    handler: (context, [ref, full]) => blockText(context, ref, full ?? false),
  }),
  method({
    name: 'erigon_getBlockByTimestamp',
    doc: 'The sealed block at a time in seconds: the first one with this timestamp, else the last one before it; the first block if the chain is younger.',
    params: [required('timestamp', integer), optional('full transactions', boolean)],
    result: BLOCK,
    example: { params: ['0x6553f100', false], result: BLOCK_EXAMPLE },
    handler: (context, [seconds, full]) => {
      const number = numberAt(context.chain.head.view, seconds)
      return blockText(context, { kind: 'number', number }, full ?? false)
    },
  }),
  ...byNumberAndHash({
    byNumber: 'eth_getHeaderByNumber',
    byHash: 'eth_getHeaderByHash',
    doc: 'A header by number, tag or hash.',
    params: [],
    result: HEADER,
    example: { params: [], result: { number: '0x1b4', hash: BLOCK_HASH } },
    read: headerJson,
  }),
  ...byNumberAndHash({
    byNumber: 'eth_getBlockTransactionCountByNumber',
    byHash: 'eth_getBlockTransactionCountByHash',
    doc: 'How many transactions a block has; under `pending`, so far.',
    params: [],
    result: QUANTITY,
    example: { params: [], result: '0x3' },
    read: ({ transactions }) => Hex.fromQuantity(transactions.length),
  }),
  method({
    name: 'eth_getBlockReceipts',
    doc: 'All receipts of a block, by number, tag, hash or EIP-1898 object. Under `pending`: of every pre-confirmed transaction.',
    params: [required('block', blockRef)],
    result: orNull(listOf(RECEIPT)),
    errors: { [-32004]: 'on the public endpoint, there with HTTP status 403' },
    example: { params: ['pending'], result: [{ transactionHash: BLOCK_HASH, status: '0x1', gasUsed: '0x5208' }] },
    handler: (context, [ref]) => receiptsText(context, ref),
  }),
  ...byNumberAndHash({
    byNumber: 'eth_getUncleCountByBlockNumber',
    byHash: 'eth_getUncleCountByBlockHash',
    doc: 'How many uncles a block has: none, except on imported chains from before the merge.',
    params: [],
    result: QUANTITY,
    example: { params: [], result: '0x0' },
    read: ({ ommers }) => Hex.fromQuantity(ommers.length),
  }),
  ...byNumberAndHash({
    byNumber: 'eth_getUncleByBlockNumberAndIndex',
    byHash: 'eth_getUncleByBlockHashAndIndex',
    doc: 'An uncle of a block, or null.',
    params: [required('index', quantityNumber)],
    result: BLOCK,
    example: { params: ['0x0'], result: null },
    read: ({ ommers }, [index]) => {
      const header = ommers[index]
      return header === undefined ? null : ommerJson(header)
    },
  }),
]

/** The JSON of a sealed block is cached. */
function blockText({ chain: { head }, texts }: Context, ref: BlockRef, full: boolean): JsonBytes | Json | null {
  const { view } = head
  const number = sealedBlockNumber(view, ref)
  if (number === null) return mapBlock(findBlock(view, ref), (block) => blockJson(block, full))
  return texts.get(full ? 'full block' : 'block', hashOf(view, number), () => view.blockJsonBytes(number, full))
}

/** The block that erigon finds, by bisection: `head` from its time on. */
function numberAt(view: View, seconds: number): number {
  const { header } = view.head
  if (seconds >= header.timestamp) return header.number
  const timestampOf = (number: number) => blockAt(view, number).header.timestamp
  let [low, high] = [view.firstNumber, header.number] // the first block from this time on is from low to high
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (timestampOf(middle) < seconds) low = middle + 1
    else high = middle
  }
  return low > view.firstNumber && timestampOf(low) > seconds ? low - 1 : low
}

function receiptsText({ chain: { head }, texts }: Context, requested: BlockRef): JsonBytes | readonly Json[] | null {
  const { view } = head
  const ref = refForReceipts(view, requested)
  const number = sealedBlockNumber(view, ref)
  if (number === null) return mapBlock(findBlock(view, ref), receiptsJson)
  return texts.get('receipts', hashOf(view, number), () => view.receiptsJsonBytes(number))
}

function hashOf(view: View, number: number): Hash {
  const hash = view.blockHash(number)
  if (hash === null) throw new Error(`block ${number} is missing`)
  return hash
}
