import type { LogFilter, View } from '../../chain/index.ts'
import type { Compat } from '../../compat.ts'
import { PUBLIC_LOG_RANGE_BLOCKS, PUBLIC_LOG_RESULTS } from '../../compat.ts'
import { Hex } from '../../eth/index.ts'
import type { Hash } from '../../eth/index.ts'
import type { Caller } from '../context.ts'
import { invalidParams } from '../../jsonrpc/index.ts'
import type { RpcError } from '../../jsonrpc/index.ts'
import { BlockNotFound, findTransaction } from '../blocks.ts'
import { logJson, transactionJson } from '../json.ts'
import type { Json } from '../json.ts'
import { logQuery } from '../logs/logfilter.ts'
import type { ExistingLogs } from '../logs/filters.ts'
import type { LogQuery } from '../logs/logfilter.ts'
import { pendingLogItemsJson, sealedLogsJson, appendItems } from '../logsjson.ts'
import { method, optional, required } from '../method.ts'
import { BOOLEAN, HASH, QUANTITY, listOf } from '../../jsonrpc/jsonschema.ts'
import { LOG, TRANSACTION } from '../results.ts'
import { boolean, quantity } from '../../jsonrpc/schema.ts'
import { JsonStream } from '../texts.ts'
import type { Method, Schema } from '../method.ts'
import { WETH } from './examples.ts'

const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
const LOG_EXAMPLE = { address: WETH, topics: [TRANSFER], data: '0x01', blockNumber: '0x1b4', logIndex: '0x0', removed: false }
const ID_EXAMPLE = '0x3a1b5c7d9e0f11223344556677889900'
const FILTER_ERRORS = { [-32000]: 'filter not found: it was never installed, was uninstalled, or was not polled for 5 minutes' }

/** The id of an installed filter. */
const filterId: Schema<string> = {
  json: quantity.json,
  parse: (value, path) => Hex.fromQuantity(quantity.parse(value, path)),
}

export const LOG_METHODS: readonly Method[] = [
  method({
    name: 'eth_getLogs',
    doc: 'Logs by block range (or one block by hash), address and topics. `pending` as end of the range adds pre-confirmed logs.',
    params: [required('filter', logQuery)],
    result: listOf(LOG),
    errors: { [-32001]: 'there is no block of that hash' },
    example: {
      params: [{ fromBlock: '0x1', toBlock: 'pending', address: WETH, topics: [TRANSFER] }],
      result: [LOG_EXAMPLE],
    },
    handler: ({ chain, compat }, [query], { tier }) => logsOf(chain.head.view, query, compat, tier),
  }),
  method({
    name: 'eth_newFilter',
    doc: 'Installs a log filter. With `toBlock: pending` it delivers each log once, when it is pre-confirmed; else when it is sealed.',
    params: [required('filter', logQuery)],
    result: QUANTITY,
    errors: { [-32005]: 'too many filters' },
    example: { params: [{ address: WETH }], result: ID_EXAMPLE },
    handler: ({ chain, filters, compat }, [query], { tier }) => {
      assertOneKind(query, compat)
      const isRange = query.from?.kind === 'number' && query.to?.kind === 'number'
      if (isRange && compat.logRangeBeyondHead === 'refused') assertOrder(query.from.number, query.to.number)
      return filters.install({ kind: 'logs', query }, tier, existingLogs(chain.head.view, query, compat, tier))
    },
  }),
  method({
    name: 'eth_newBlockFilter',
    doc: 'Installs a filter that collects the hashes of sealed blocks.',
    params: [],
    result: QUANTITY,
    errors: { [-32005]: 'too many filters' },
    example: { params: [], result: ID_EXAMPLE },
    handler: ({ filters }, _, { tier }) => filters.install({ kind: 'blocks' }, tier),
  }),
  method({
    name: 'eth_newPendingTransactionFilter',
    doc: 'Installs a filter that collects transactions as they become executable in the pool: their hashes, or with `full` those that still exist.',
    params: [optional('full', boolean)],
    result: QUANTITY,
    errors: { [-32005]: 'too many filters' },
    example: { params: [], result: ID_EXAMPLE },
    handler: ({ filters }, [full = false], { tier }) => {
      // One response could have all the data of the pool.
      if (full && tier === 'public') throw invalidParams('invalid argument 0 (full): this endpoint has the hashes only')
      return filters.install({ kind: 'transactions', full }, tier)
    },
  }),
  method({
    name: 'eth_getFilterChanges',
    doc: 'Returns the items that a filter collected since the last call: logs (with `removed: true` after a reorganisation), hashes or transactions.',
    params: [required('filter id', filterId)],
    result: { oneOf: [listOf(LOG), listOf(HASH), listOf(TRANSACTION)] },
    errors: FILTER_ERRORS,
    example: { params: [ID_EXAMPLE], result: [LOG_EXAMPLE] },
    handler: ({ chain, filters }, [id]) => {
      const existing = filters.takeExisting(id)
      const changes = filters.changes(id)
      if (changes.kind === 'logs') {
        const logs = changes.logs.map(({ placed, removed }) => logJson(placed, removed))
        return existing === null ? logs : withExisting(chain.head.view, filters.query(id).filter, existing, logs)
      }
      if (changes.kind === 'hashes') return changes.hashes
      const found = changes.hashes.flatMap((hash) => findTransaction(chain, hash) ?? [])
      return found.map(({ tx, place }) => transactionJson(tx, place))
    },
  }),
  method({
    name: 'eth_getFilterLogs',
    doc: 'All logs that match a log filter, as eth_getLogs would return them now.',
    params: [required('filter id', filterId)],
    result: listOf(LOG),
    errors: FILTER_ERRORS,
    example: { params: [ID_EXAMPLE], result: [LOG_EXAMPLE] },
    handler: ({ chain, compat, filters }, [id], { tier }) => {
      const { view } = chain.head
      return logsOf(view, withinHead(filters.query(id), view), compat, tier)
    },
  }),
  method({
    name: 'eth_uninstallFilter',
    doc: 'Removes a filter; false for an unknown one.',
    params: [required('filter id', filterId)],
    result: BOOLEAN,
    example: { params: [ID_EXAMPLE], result: true },
    handler: ({ filters }, [id]) => filters.remove(id),
  }),
]

// --- the range (interface 2.1) --------------------------------------------------------------------------------------

/** Logs are read while they are sent, so their number is not limited on the dedicated tier. */
function logsOf(view: View, query: LogQuery, compat: Compat, tier: Caller['tier']): JsonStream | readonly never[] {
  assertOneKind(query, compat)
  const { filter } = query
  const range = query.blockHash === undefined ? rangeOf(view, query, compat) : blockOf(view, query.blockHash)
  if (range === null) return []
  if (tier === 'public') {
    assertShort(view, filter, range.from, range.to)
    assertFew(view, filter, range.from, range.to)
  }
  const sealed = sealedLogsJson(view, filter, range.from, range.to)
  const pending = range.withPending ? pendingLogItemsJson(view, filter) : ''
  return new JsonStream(pending === '' ? sealed : appendItems(sealed, pending))
}

/** Null if the filter begins with new logs. On a fork `earliest` is the first block of the forked chain. */
function existingLogs(view: View, query: LogQuery, compat: Compat, tier: Caller['tier']): ExistingLogs | null {
  const { from, blockHash, filter } = query
  if (compat.filterBegins === 'with-new-logs' || from === undefined || blockHash !== undefined) return null
  const range = rangeOf(view, query, compat)
  if (range === null) return null
  if (tier === 'public') {
    assertShort(view, filter, range.from, range.to)
    assertFew(view, filter, range.from, range.to)
  }
  const isEarliest = from.kind === 'tag' && from.tag === 'earliest'
  return { from: isEarliest ? 0 : range.from, to: Math.min(range.to, view.head.header.number) }
}

/** The logs of the fork block and older ones are upstream's. */
function withExisting(view: View, filter: LogFilter, { from, to }: ExistingLogs, logs: readonly Json[]): JsonStream | readonly Json[] {
  const first = Math.max(from, (view.forkNumber ?? -1) + 1)
  if (first > to) return logs
  const sealed = sealedLogsJson(view, filter, first, to)
  return new JsonStream(logs.length === 0 ? sealed : appendItems(sealed, logs.map((log) => JSON.stringify(log)).join(',')))
}

interface Range {
  readonly from: number
  readonly to: number
  readonly withPending: boolean
}

function blockOf(view: View, hash: Hash): Range {
  const number = view.numberOf(hash)
  if (number === null) throw new BlockNotFound('logs', { kind: 'hash', hash, requireCanonical: false }, view)
  return { from: number, to: number, withPending: false }
}

/** Both ends default to latest. Null for an open range that starts above the head, as polling clients send; anvil refuses it. */
function rangeOf(view: View, { from, to }: LogQuery, { logRangeBeyondHead }: Compat): Range | null {
  const head = view.head.header.number
  const first = placeOf(view, from)
  const last = placeOf(view, to)
  const upToPending = to?.kind === 'tag' && to.tag === 'pending'
  const openEnded = to === undefined || upToPending || (to.kind === 'tag' && to.tag === 'latest')
  const withPending = upToPending && view.pending !== null
  if (logRangeBeyondHead === 'clipped' && first > (withPending ? last : head)) throw new BlockNotFound('state', from, view)
  if (openEnded && first > last) return null
  if (logRangeBeyondHead === 'clipped') {
    const end = withPending ? last : Math.min(last, head)
    return first > end ? null : { from: first, to: end, withPending }
  }
  assertOrder(first, last)
  if (last > head && !withPending) {
    throw invalidParams(
      `block range extends beyond current head block: requested ${Hex.fromQuantity(last)}, head ${Hex.fromQuantity(head)}`,
    )
  }
  return { from: first, to: last, withPending }
}

/** `pending` is the block under construction, or the latest one if there is none. */
function placeOf(view: View, end: LogQuery['from']): number {
  if (end === undefined) return view.head.header.number
  return end.kind === 'number' ? end.number : view.byTag(end.tag).header.number
}

/** A filter may end at a block that does not exist yet. */
function withinHead(query: LogQuery, view: View): LogQuery {
  const head = view.head.header.number
  return query.to?.kind === 'number' && query.to.number > head ? { ...query, to: { kind: 'tag', tag: 'latest' } } : query
}

function assertOneKind({ blockHash, from, to }: LogQuery, compat: Compat): void {
  if (blockHash === undefined || compat.blockHashWithRange === 'ignored' || (from === undefined && to === undefined)) return
  throw invalidParams('cannot specify both BlockHash and FromBlock/ToBlock, choose one or the other')
}

function assertOrder(from: number, to: number): void {
  if (from <= to) return
  const [first, last] = [Hex.fromQuantity(from), Hex.fromQuantity(to)]
  throw invalidParams(`invalid block range params: fromBlock ${first} is above toBlock ${last}`)
}

/** The refusal gives a range that works, in the text that ponder and others parse and as data. */
function assertShort(view: View, filter: LogFilter, from: number, to: number): void {
  if (to - from <= PUBLIC_LOG_RANGE_BLOCKS) return
  throw tooMuch(
    `block range too large: toBlock - fromBlock is ${to - from}, at most ${PUBLIC_LOG_RANGE_BLOCKS} is answered here`,
    from,
    lastWithFew(view, filter, from, from + PUBLIC_LOG_RANGE_BLOCKS),
  )
}

/** Counts before reading. One block is always answered, because no range is shorter. */
function assertFew(view: View, filter: LogFilter, from: number, to: number): void {
  const few = lastWithFew(view, filter, from, to)
  if (few < to) throw tooMuch(`query may have more than ${PUBLIC_LOG_RESULTS} results`, from, few)
}

/** Returns the last block up to `to` until which at most PUBLIC_LOG_RESULTS logs can match, at least `from`. */
function lastWithFew(view: View, filter: LogFilter, from: number, to: number): number {
  const exceeds = (last: number) => view.countLogs(filter, from, last) > PUBLIC_LOG_RESULTS
  if (from >= to || !exceeds(to)) return to
  let [few, many] = [from, to]
  while (many - few > 1) {
    const middle = (few + many) >> 1
    if (exceeds(middle)) many = middle
    else few = middle
  }
  return few
}

function tooMuch(why: string, from: number, to: number): RpcError {
  const works = { from: Hex.fromQuantity(from), to: Hex.fromQuantity(to) }
  return invalidParams(
    `invalid argument 0 (filter): ${why}. Based on your parameters, this block range should work: [${works.from}, ${works.to}]`,
    works,
  )
}
