import type { View } from '../../chain/index.ts'
import { Hex } from '../../eth/index.ts'
import type { Address, Block, Hash } from '../../eth/index.ts'
import { Deadline } from '../../evm/index.ts'
import type { TraceFactory } from '../../evm/index.ts'
import { findBlock, requireState } from '../blocks.ts'
import { callEntries, operations } from '../execution/calllist.ts'
import { computed } from '../execution/computed.ts'
import { creationOf, hasCode } from '../execution/creation.ts'
import { CODE } from '../../jsonrpc/index.ts'
import { blockJson, headerJson, receiptJson, transactionJson } from '../json.ts'
import type { Json } from '../json.ts'
import { CREATION_TIME_MS, OTTERSCAN_PAGE, TRACE_BYTES, TRACE_TIME_MS } from '../limits.ts'
import { method, optional, required } from '../method.ts'
import type { Method } from '../method.ts'
import { pageAfter, pageBefore } from '../search/paging.ts'
import type { ComputeDeps } from '../execution/workerport.ts'
import { ADDRESS, BOOLEAN, BYTES, HASH, INTEGER, QUANTITY, listOf, orNull, record } from '../../jsonrpc/jsonschema.ts'
import { BLOCK, HEADER, RECEIPT, TRANSACTION } from '../results.ts'
import { address, blockNumber, blockRef, hash, integer, refused } from '../../jsonrpc/schema.ts'
import type { BlockRef, Schema } from '../../jsonrpc/schema.ts'
import { JsonText } from '../texts.ts'
import { locateIncluded, needsOfRun, traceAt, withinBudget, withRun } from '../execution/tracing.ts'
import { byNumberAndHash, mapBlock } from './byblock.ts'
import { ALICE, BLOCK_HASH, TRANSACTION_HASH } from './examples.ts'

// Otterscan is an explorer in the browser that needs methods beyond the standard ones. It was written for erigon, so the shapes are erigon's where
// anvil's differ (the order of pages, which calls are internal).

/** Otterscan's version of this set of methods. */
const API_LEVEL = 8

/** Otterscan sends block numbers as JSON numbers. */
export const anyBlock: Schema<BlockRef> = numberOr(blockRef)
export const anyNumber: Schema<BlockRef> = numberOr(blockNumber)

function numberOr(schema: Schema<BlockRef>): Schema<BlockRef> {
  return {
    json: { title: 'block number or tag', oneOf: [schema.json, { type: 'integer', minimum: 0 }] },
    parse: (value, path) =>
      typeof value === 'number' ? { kind: 'number', number: integer.parse(value, path) } : schema.parse(value, path),
  }
}

const pageSize: Schema<number> = {
  json: { title: 'page size', type: 'integer', minimum: 1, maximum: OTTERSCAN_PAGE },
  parse: (value, path) => {
    const size = integer.parse(value, path)
    if (size < 1 || size > OTTERSCAN_PAGE) throw refused(path, `a page has 1 to ${OTTERSCAN_PAGE} transactions, not ${size}`)
    return size
  },
}

const DETAILS = record('block details', {
  block: HEADER,
  issuance: record('issuance', { blockReward: QUANTITY, uncleReward: QUANTITY, issuance: QUANTITY }),
  totalFees: QUANTITY,
})
const PAGE = record('page', { txs: listOf(TRANSACTION), receipts: listOf(RECEIPT), firstPage: BOOLEAN, lastPage: BOOLEAN })
const ENTRY = record('call', {
  type: { type: 'string' },
  depth: INTEGER,
  from: ADDRESS,
  to: ADDRESS,
  value: orNull(QUANTITY),
  input: BYTES,
  output: BYTES,
})
const OPERATION = record('operation', { type: INTEGER, from: ADDRESS, to: ADDRESS, value: QUANTITY })

const TRACE_ERRORS = {
  [CODE.server]: 'there is no such transaction, or running it again took too long',
  [CODE.responseTooLarge]: `the trace is larger than ${TRACE_BYTES} bytes`,
  [CODE.pruned]: 'the state before it is no longer kept',
}

const CONTRACT = '0x5fbdb2315678afecb367f032d93f642f64180aa3'
const DETAILS_EXAMPLE = {
  block: { number: '0x1', hash: TRANSACTION_HASH, transactionCount: 1 },
  issuance: { blockReward: '0x0', uncleReward: '0x0', issuance: '0x0' },
  totalFees: '0x1319718a5000',
}
const PAGE_EXAMPLE = {
  txs: [{ hash: TRANSACTION_HASH, blockNumber: '0x1' }],
  receipts: [{ transactionHash: TRANSACTION_HASH, timestamp: '0x6553f100' }],
  firstPage: true,
  lastPage: true,
}

/** The methods that Otterscan uses beyond the standard ones. */
export const OTTERSCAN_METHODS: readonly Method[] = [
  ...byNumberAndHash({
    byNumber: 'erigon_getHeaderByNumber',
    number: anyNumber,
    byHash: 'erigon_getHeaderByHash',
    doc: 'A header by number, tag or hash; by number the first request of Otterscan.',
    params: [],
    result: HEADER,
    example: { params: [], result: { number: '0x1b4', hash: BLOCK_HASH } },
    read: headerJson,
  }),
  method({
    name: 'ots_getApiLevel',
    doc: "Otterscan's version of this set of methods.",
    params: [],
    result: INTEGER,
    example: { params: [], result: API_LEVEL },
    handler: () => API_LEVEL,
  }),
  method({
    name: 'ots_hasCode',
    doc: 'Whether an account has code.',
    params: [required('address', address), optional('block', anyBlock)],
    result: BOOLEAN,
    errors: { [CODE.notFound]: 'there is no such block', [CODE.pruned]: 'the state after that block is no longer kept' },
    example: { params: [CONTRACT, 'latest'], result: true },
    handler: ({ chain, compat }, [address, ref]) => hasCode(requireState(chain.head.view, compat, ref), address),
  }),
  ...byNumberAndHash({
    byNumber: 'ots_getBlockDetails',
    number: anyNumber,
    byHash: 'ots_getBlockDetailsByHash',
    doc: 'A block without its transactions, but with their number (`transactionCount`) and their fees; null for an unknown block.',
    params: [],
    result: DETAILS,
    example: { params: [], result: DETAILS_EXAMPLE },
    read: detailsJson,
  }),
  method({
    name: 'ots_getBlockTransactions',
    doc: 'A page of a block: transactions whose input is cut to the selector, and their receipts without logs; page 0 has the last ones, and `transactionCount` counts all. Transactions of the pool have no receipts.',
    params: [required('block', anyNumber), required('page', integer), required('page size', pageSize)],
    result: orNull(record('page of a block', { fullblock: BLOCK, receipts: listOf(RECEIPT) })),
    example: {
      params: [1, 0, 25],
      result: {
        fullblock: { number: '0x1', transactions: [{ hash: TRANSACTION_HASH }], transactionCount: 1 },
        receipts: [{ status: '0x1' }],
      },
    },
    handler: ({ chain }, [ref, page, size]) => {
      const { view } = chain.head
      return mapBlock(findBlock(view, ref), (block) => blockPage(block, view.isPoolBlock(block), page, size))
    },
  }),
  method({
    name: 'ots_getTransactionBySenderAndNonce',
    doc: 'The hash of the transaction that an account sent with a nonce, sealed or pre-confirmed, or null; it may be missing after a test has lowered a nonce. On a fork upstream is asked, too, if it has the method.',
    params: [required('sender', address), required('nonce', integer)],
    result: orNull(HASH),
    example: { params: [ALICE, 0], result: TRANSACTION_HASH },
    handler: ({ chain }, [sender, nonce]) => sentWith(chain.head.view, sender, BigInt(nonce)),
  }),
  method({
    name: 'ots_searchTransactionsBefore',
    doc: 'Sealed transactions in blocks below one (0: from the newest on) that an address sent, received or was created by, or in which it made or received an inner call, the newest first, always whole blocks. On a fork it joins those of upstream up to the fork block, if upstream has the method.',
    params: [required('address', address), required('block', integer), required('page size', pageSize)],
    result: PAGE,
    example: { params: [ALICE, 0, 25], result: PAGE_EXAMPLE },
    handler: ({ search }, [address, block, size]) => pageBefore(search, address, block, size),
  }),
  method({
    name: 'ots_searchTransactionsAfter',
    doc: 'As ots_searchTransactionsBefore, in the blocks that follow one (0: from the oldest on); the newest first, too.',
    params: [required('address', address), required('block', integer), required('page size', pageSize)],
    result: PAGE,
    example: { params: [ALICE, 0, 25], result: PAGE_EXAMPLE },
    handler: ({ search }, [address, block, size]) => pageAfter(search, address, block, size),
  }),
  method({
    name: 'ots_getContractCreator',
    doc: 'The transaction that created a contract, and the account or contract that did it; null without a contract, and for one that the genesis or a test put there.',
    params: [required('address', address)],
    result: orNull(record('creation', { hash: HASH, creator: ADDRESS })),
    errors: {
      [CODE.server]: 'another contract created it, and running that block again took too long',
      [CODE.pruned]: 'another contract created it, at a time whose state is no longer kept',
    },
    example: { params: [CONTRACT], result: { hash: TRANSACTION_HASH, creator: ALICE } },
    handler: ({ chain }, [address]) => creationOf(chain.head.view, address, new Deadline(CREATION_TIME_MS)),
  }),
  traceMethod('ots_getInternalOperations', operations, {
    doc: 'Executes a transaction again and returns the operations of its inner calls: 0 transfer, 1 self-destruction, 2 and 3 creation (CREATE, CREATE2).',
    result: listOf(OPERATION),
    example: [{ type: 0, from: CONTRACT, to: ALICE, value: '0x5' }],
  }),
  computed({
    name: 'ots_getTransactionError',
    doc: 'Executes a transaction again and returns its revert data; `0x` if it did not revert.',
    params: [required('hash', hash)],
    result: BYTES,
    errors: TRACE_ERRORS,
    example: { params: [TRANSACTION_HASH], result: '0x' },
    needs: ({ view }, [transactionHash]) => needsOfRun(view, locateIncluded(view, transactionHash).block),
    compute: (deps, [transactionHash]) => revertData(deps, transactionHash),
  }),
  traceMethod('ots_traceTransaction', callEntries, {
    doc: 'Executes a transaction again and returns its calls as a list, each before its inner calls.',
    result: listOf(ENTRY),
    example: [{ type: 'CALL', depth: 0, from: ALICE, to: CONTRACT, value: '0x0', input: '0x', output: '0x' }],
  }),
]

/** Returns a method that executes a transaction again under a tracer. */
function traceMethod(
  name: string,
  make: TraceFactory,
  { doc, result, example }: Pick<Method, 'doc' | 'result'> & { readonly example: unknown },
): Method {
  return computed({
    name,
    doc,
    params: [required('hash', hash)],
    result,
    errors: TRACE_ERRORS,
    example: { params: [TRANSACTION_HASH], result: example },
    needs: ({ view }, [transactionHash]) => needsOfRun(view, locateIncluded(view, transactionHash).block),
    compute: ({ view, deadline }, [transactionHash]) => {
      const place = locateIncluded(view, transactionHash)
      return withinBudget((budget) => new JsonText(traceAt(view, place, make, budget, deadline(TRACE_TIME_MS))))
    },
  })
}

function revertData({ view, deadline }: ComputeDeps, transactionHash: Hash): Hex {
  const { block, index } = locateIncluded(view, transactionHash)
  return withRun(view, block, deadline(TRACE_TIME_MS), (run) => {
    run.skipTo(index)
    const { outcome, output } = run.next()
    return outcome.kind === 'revert' ? Hex.fromBytes(output) : '0x'
  })
}

/** Adds the fields that Otterscan reads. There are no block rewards. */
function countedBlock(block: Block): Json {
  return { ...blockJson(block, false), totalDifficulty: '0x0', transactionCount: block.transactions.length }
}

function detailsJson(block: Block): Json {
  const { transactions: _, ...rest } = countedBlock(block)
  const fees = block.receipts.reduce((sum, { gasUsed, effectiveGasPrice }) => sum + gasUsed * effectiveGasPrice, 0n)
  return { block: rest, issuance: { blockReward: '0x0', uncleReward: '0x0', issuance: '0x0' }, totalFees: Hex.fromQuantity(fees) }
}

/** Pages are counted from the end of the block, as Otterscan shows them; each is in the block's order. */
function blockPage(block: Block, isPoolBlock: boolean, page: number, size: number): Json {
  const end = Math.max(0, block.transactions.length - page * size)
  const start = Math.max(0, end - size)
  const indices = Array.from({ length: end - start }, (_, i) => start + i)
  return {
    fullblock: { ...countedBlock(block), transactions: indices.map((index) => selectorOnly(block, index)) },
    receipts: isPoolBlock ? [] : indices.map((index) => ({ ...receiptJson({ block, index }), logs: [], logsBloom: null })),
  }
}

function selectorOnly(block: Block, index: number): Json {
  const tx = block.transactions[index]
  if (tx === undefined) throw new RangeError(`block ${block.header.number} has no transaction ${index}`)
  return { ...transactionJson(tx, { block, index }), input: Hex.fromBytes(tx.data.subarray(0, 4)) }
}

/** Sealed or pre-confirmed; null: none. */
export function sentWith(view: View, sender: Address, nonce: bigint): Hash | null {
  const place = view.bySenderAndNonce(sender, nonce)
  if (place !== null) return view.byNumber(place.number)?.transactions[place.index]?.hash ?? null
  return view.pending?.transactions.find((tx) => tx.from === sender && tx.nonce === nonce)?.hash ?? null
}
