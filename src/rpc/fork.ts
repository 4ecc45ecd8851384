import { FETCH_ROUNDS, MissingState, UpstreamError } from '../chain/index.ts'
import type { Chain, LogFilter, MissingKey, View } from '../chain/index.ts'
import type { Compat } from '../compat.ts'
import { FEE_HISTORY_BLOCKS, PROBED_REQUEST_MS, ROUNDS_ON_NEWEST } from './limits.ts'
import { Hex, isObject } from '../eth/index.ts'
import type { Hash } from '../eth/index.ts'
import { Deadline, OutOfTime } from '../evm/index.ts'
import { CODE, RpcError, parseParams } from '../jsonrpc/index.ts'
import type { Intercept, Param, Route } from '../jsonrpc/index.ts'
import { blockHash, blockNumber, blockRef, hash as transactionHash, integer } from '../jsonrpc/schema.ts'
import type { BlockRef } from '../jsonrpc/schema.ts'
import { BlockIsUpstream, BlockNotFound } from './blocks.ts'
import { jsonOf } from './bodywriter.ts'
import type { Caller } from './context.ts'
import type { ForkPort } from './forkport.ts'
import { numbersInHex } from './jsonnumbers.ts'
import { FORK_SEARCHES, isUpTo } from './forksearch.ts'
import type { Search } from './forksearch.ts'
import type { Filters } from './logs/filters.ts'
import { anyBlock, anyNumber } from './methods/otterscan.ts'
import { STATE_METHODS } from './methods/state.ts'
import { METHODS } from './table.ts'

/**
 * Runs handlers on a forked chain. A handler that reads state which is not local is repeated after a fetch, and a request for the fork block
 * or an older one is forwarded. Handlers read one View, and changes that throw have changed nothing, so a repetition is safe.
 */
export function interceptOnFork(chain: Chain, compat: Compat, upstream: Upstream, filters: Filters): Intercept<Caller> {
  const fork = new ForkRequests(chain, compat, upstream, filters)
  return (route, params, run) => fork.answer(route, params, run)
}

type Upstream = Pick<ForkPort, 'forward'>

class ForkRequests {
  readonly #chain: Chain
  readonly #compat: Compat
  readonly #upstream: Upstream
  readonly #filters: Filters

  constructor(chain: Chain, compat: Compat, upstream: Upstream, filters: Filters) {
    this.#chain = chain
    this.#compat = compat
    this.#upstream = upstream
    this.#filters = filters
  }

  get #forkNumber(): number {
    return this.#chain.head.view.firstNumber
  }

  answer(route: Route<Caller>, params: unknown, run: (params?: unknown) => unknown): unknown {
    if (route.name === 'eth_getLogs') return this.#logs(route, params, run)
    if (route.name === 'eth_getFilterLogs') return this.#filterLogs(params, run)
    if (route.name === 'eth_getFilterChanges') return this.#filterChanges(params, run)
    if (route.name === 'eth_feeHistory') return this.#feeHistory(route, params, run)
    // The number of the pending block may need state that is not local.
    if (route.name === 'trace_filter') return this.#answer(route, params, () => this.#traces(route, params, run))
    const search = FORK_SEARCHES.get(route.name)
    return search === undefined ? this.#answer(route, params, run) : this.#search(search, route, params, run)
  }

  #search(search: Search, route: Route<Caller>, params: unknown, run: (params?: unknown) => unknown): Promise<unknown> {
    const local = async (given: unknown) => jsonOf(await this.#answer(route, given, () => run(given)))
    const deps = { forkNumber: this.#forkNumber, forward: this.#upstream.forward, local }
    return search(deps, parseParams(route, params))
  }

  #answer(route: Route<Caller>, params: unknown, run: () => unknown): unknown {
    let result: unknown
    try {
      result = run()
    } catch (error) {
      return this.#recover(route, params, run, error)
    }
    if (result instanceof Promise) return result.catch((error: unknown) => this.#recover(route, params, run, error))
    // trace_transaction has an empty list for an unknown transaction.
    const isUnknown = result === null || (route.name === 'trace_transaction' && Array.isArray(result) && result.length === 0)
    const place = isUnknown ? this.#placeOf(route, params) : null
    return place === null ? result : this.#lookUp(route, params, place).then((found) => found ?? result)
  }

  async #recover(route: Route<Caller>, params: unknown, run: () => unknown, first: unknown): Promise<unknown> {
    let error = first
    let { view } = this.#chain.head
    for (let round = 0; round < FETCH_ROUNDS; round++) {
      if (error instanceof BlockIsUpstream) return this.#forward(route, params)
      if (isNotFound(error)) return this.#lookUpOr(error, route, params)
      if (!(error instanceof MissingState)) throw error
      // What a call reads may depend on the newest block, which changes during the fetch.
      const isOnNewest = round < ROUNDS_ON_NEWEST
      if (isOnNewest) view = this.#chain.head.view
      await this.#chain.fetch(this.#missingKeys(route, params, error, run, view), error.call)
      try {
        return await (isOnNewest ? run() : this.#runOn(view, route, params, run))
      } catch (next) {
        error = next
      }
    }
    throw new RpcError(
      CODE.server,
      `this request reads more of the fork block than ${FETCH_ROUNDS} rounds of fetching make local; repeat it`,
    )
  }

  /** A method that only reads is run again with guesses to find what else it misses: on this thread, for a short time and without console output. */
  #missingKeys(route: Route<Caller>, params: unknown, { keys }: MissingState, run: () => unknown, view: View): readonly MissingKey[] {
    const compute = METHODS.get(route.name)?.computed
    if (compute === undefined) return STATE_READERS.has(route.name) ? [...keys, ...view.missingKeysOf(run)] : keys
    const args = parseParams(route, params)
    const deadline = (limitMs: number) => new Deadline(Math.min(limitMs, PROBED_REQUEST_MS))
    return [...keys, ...view.missingKeysOf(() => compute({ view, compat: this.#compat, deadline }, args))]
  }

  /** A method that takes longer than a probe may, or that computes nothing, runs on the newest View. */
  #runOn(view: View, route: Route<Caller>, params: unknown, run: () => unknown): unknown {
    const compute = METHODS.get(route.name)?.computed
    if (compute === undefined) return run()
    const deadline = (limitMs: number) => new Deadline(Math.min(limitMs, PROBED_REQUEST_MS))
    try {
      return compute({ view, compat: this.#compat, deadline }, parseParams(route, params))
    } catch (error) {
      if (error instanceof OutOfTime) return run()
      throw error
    }
  }

  #forward({ name }: Route<Caller>, params: unknown): Promise<unknown> {
    // Of the table: a profile that accepts JSON numbers wraps the schemas of the route.
    const rows = METHODS.get(name)?.params ?? []
    const given = pinned(rows, this.#compat.jsonNumbers ? numbersInHex(rows, listOf(params)) : listOf(params), this.#forkNumber)
    // Upstream may not be erigon.
    if (name === 'erigon_getHeaderByNumber') return this.#upstream.forward('eth_getBlockByNumber', [given[0], false])
    if (name === 'erigon_getHeaderByHash') return this.#upstream.forward(BLOCK, [given[0], false])
    if (name === 'erigon_getBlockByTimestamp' && this.#isFromForkBlockOn(given[0]))
      return this.#upstream.forward('eth_getBlockByNumber', [Hex.fromQuantity(this.#forkNumber), given[1] ?? false])
    return this.#upstream.forward(name, given)
  }

  /** Upstream has moved on, and may have later blocks up to this time. */
  #isFromForkBlockOn(seconds: unknown): boolean {
    const block = this.#chain.head.view.byNumber(this.#forkNumber)
    return block !== null && integer.parse(seconds, 'argument 0 (timestamp)') >= block.header.timestamp
  }

  /** Upstream's result, unless it belongs to a block after the fork block or to no block. */
  async #lookUp(route: Route<Caller>, params: unknown, { method, hash }: Place): Promise<unknown> {
    const isPlace = method === route.name || SHOWS_BLOCK.has(route.name)
    const [result, place] = await Promise.all([
      this.#forward(route, params),
      isPlace ? null : this.#upstream.forward(method, method === TRANSACTION ? [hash] : [hash, false]),
    ])
    return isUpTo(isPlace ? result : place, this.#forkNumber) ? result : null
  }

  async #lookUpOr(error: BlockNotFound | RpcError, route: Route<Caller>, params: unknown): Promise<unknown> {
    const place = this.#placeOf(route, params)
    const result = place === null ? null : await this.#lookUp(route, params, place)
    if (result === null) throw error
    return result
  }

  /** The hash that the request names, of a block or of a transaction that is not in the pool; null for requests that upstream does not get. */
  #placeOf({ name }: Route<Caller>, params: unknown): Place | null {
    const rows = METHODS.get(name)?.params
    if (rows === undefined || !FORWARDED.test(name)) return null
    for (const [i, value] of listOf(params).entries()) {
      const schema = rows[i]?.schema
      const isBlock = schema === blockRef || schema === anyBlock
      const hash = hashOf(isBlock ? blockHashOf(value) : value)
      if (hash === null) continue
      if (isBlock || schema === blockHash) return { method: BLOCK, hash }
      if (schema === transactionHash && !this.#chain.pool.has(hash)) return { method: TRANSACTION, hash }
    }
    return null
  }

  /** Logs up to the fork block come from upstream, later ones from this chain, as one list. */
  #logs(route: Route<Caller>, params: unknown, run: (params?: unknown) => unknown): unknown {
    const [filter] = listOf(params)
    if (typeof filter !== 'object' || filter === null) return run()
    const { fromBlock, toBlock, blockHash } = filter as Record<string, unknown>
    if ((blockHash ?? null) !== null) return this.#logsOfBlock(route, params, blockHash, run)
    const [from, to] = [this.#numberOf(fromBlock), this.#numberOf(toBlock)]
    if (from === null || to === null || from > this.#forkNumber || to < from) return run()
    const upstream = (last: number) =>
      this.#upstream.forward(route.name, [{ ...filter, fromBlock: Hex.fromQuantity(from), toBlock: Hex.fromQuantity(last) }])
    if (to <= this.#forkNumber) return upstream(to)
    const local = jsonOf(run([{ ...filter, fromBlock: Hex.fromQuantity(this.#forkNumber + 1) }])) as readonly unknown[]
    return upstream(this.#forkNumber).then((logs) => [...listFrom(logs, route.name), ...local])
  }

  #logsOfBlock(route: Route<Caller>, params: unknown, block: unknown, run: () => unknown): unknown {
    const hash = hashOf(block)
    if (hash !== null && this.#chain.head.view.numberOf(hash) === this.#forkNumber) return this.#forward(route, params)
    try {
      return run()
    } catch (error) {
      if (!isNotFound(error) || hash === null) throw error
      return this.#lookUp(route, params, { method: BLOCK, hash }).then((logs) => {
        if (logs === null) throw error
        return logs
      })
    }
  }

  /** As eth_getLogs. */
  #filterLogs(params: unknown, run: () => unknown): unknown {
    const local = run() // throws for an unknown filter
    const [id] = listOf(params)
    const { filter, from, to, blockHash } = this.#filters.query(String(id).toLowerCase())
    if (blockHash !== undefined) return local
    const [first, last] = [this.#numberOf(inJson(from)) ?? 0, this.#numberOf(inJson(to)) ?? 0]
    if (first > this.#forkNumber || last < first) return local
    return this.#upstreamLogs(filter, first, last).then((before) => [...before, ...(jsonOf(local) as readonly unknown[])])
  }

  /** The existing logs with which a filter begins, up to the fork block, are upstream's. */
  #filterChanges(params: unknown, run: () => unknown): unknown {
    const id = String(listOf(params)[0]).toLowerCase()
    const existing = this.#filters.existing(id)
    if (existing === null || existing.from > this.#forkNumber || existing.to < existing.from) return run()
    return this.#upstreamLogs(this.#filters.query(id).filter, existing.from, existing.to).then((before) => {
      // Another poll may have returned them meanwhile.
      const isDue = this.#filters.existing(id) === existing
      const changes = run()
      return isDue ? [...before, ...(jsonOf(changes) as readonly unknown[])] : changes
    })
  }

  /** Upstream's logs of a range, up to the fork block. */
  async #upstreamLogs(filter: LogFilter, first: number, last: number): Promise<readonly unknown[]> {
    const address = filter.addresses === null ? {} : { address: [...filter.addresses] }
    const topics = filter.topics.map((position) => (position === null ? null : [...position]))
    const range = { fromBlock: Hex.fromQuantity(first), toBlock: Hex.fromQuantity(Math.min(last, this.#forkNumber)) }
    return listFrom(await this.#upstream.forward('eth_getLogs', [{ ...address, topics, ...range }]), 'eth_getLogs')
  }

  /** Blocks up to the fork block come from upstream, later ones from this chain, as one history. */
  #feeHistory(route: Route<Caller>, params: unknown, run: (params?: unknown) => unknown): unknown {
    const [count, newest, ...others] = listOf(params)
    const last = this.#numberOf(newest)
    const blocks = Math.min(Number(count), FEE_HISTORY_BLOCKS)
    const head = Math.max(this.#chain.head.view.head.header.number, last ?? 0)
    if (last === null || !(blocks > 0) || last - blocks >= this.#forkNumber || last > head) return run()
    if (last <= this.#forkNumber) return this.#upstream.forward(route.name, [count, Hex.fromQuantity(last), ...others])
    const local = jsonOf(run([Hex.fromQuantity(last - this.#forkNumber), newest, ...others])) as FeeHistory
    // A handler may leave out the oldest blocks, and a history has no gaps.
    if (Number(local.oldestBlock) > this.#forkNumber + 1) return local
    const before = [Hex.fromQuantity(blocks - (last - this.#forkNumber)), Hex.fromQuantity(this.#forkNumber), ...others]
    return this.#upstream.forward(route.name, before).then((history) => joined(feeHistoryFrom(history), local))
  }

  /** As eth_getLogs; `after` and `count` apply to the whole list. */
  #traces(route: Route<Caller>, params: unknown, run: (params?: unknown) => unknown): unknown {
    const [filter] = listOf(params)
    if (!isObject(filter)) return run()
    const { fromBlock, toBlock } = filter
    // The block of the pool has traces, but no logs.
    const numberOf = (value: unknown) => (value === 'pending' ? this.#chain.head.view.pendingWithPool.header.number : this.#numberOf(value))
    const from = fromBlock === undefined ? this.#forkNumber + 1 : numberOf(fromBlock)
    const to = numberOf(toBlock)
    if (from === null || to === null || from > this.#forkNumber || to < from) return this.#answer(route, params, run)
    const last = Math.min(to, this.#forkNumber)
    const upstream = { ...filter, fromBlock: Hex.fromQuantity(from), toBlock: Hex.fromQuantity(last) }
    return to === last ? this.#upstream.forward(route.name, [upstream]) : this.#joinedTraces(route, filter, upstream, run)
  }

  async #joinedTraces(route: Route<Caller>, filter: Traces, upstream: Traces, run: (params?: unknown) => unknown): Promise<unknown> {
    const [after, count] = [Number(filter['after'] ?? 0), Number(filter['count'] ?? Infinity)]
    const first = { after: 0, ...(count === Infinity ? {} : { count: after + count }) }
    const { fromBlock: _, ...sameRange } = filter // by default from the block after the fork block, which may be pending
    const local = [{ ...sameRange, ...first }]
    const ours = jsonOf(await this.#answer(route, local, () => run(local))) as readonly unknown[]
    const before = listFrom(await this.#upstream.forward(route.name, [{ ...upstream, ...first }]), route.name)
    return [...before, ...ours].slice(after, after + count)
  }

  /** null for what the method's own schema rejects. */
  #numberOf(value: unknown): number | null {
    if (value === 'earliest') return 0
    const tag = value ?? 'latest'
    if (isTag(tag)) return this.#chain.head.view.byTag(tag).header.number
    if (typeof value === 'number') return this.#compat.jsonNumbers && Number.isSafeInteger(value) && value >= 0 ? value : null
    return typeof value === 'string' && /^0x[0-9a-f]{1,13}$/i.test(value) ? Number(value) : null
  }
}

/** A hash in a request, and the method that returns its block. */
interface Place {
  readonly method: typeof BLOCK | typeof TRANSACTION
  readonly hash: Hash
}

const BLOCK = 'eth_getBlockByHash'
const TRANSACTION = 'eth_getTransactionByHash'
/** Methods by hash whose results contain the number of the block. */
const SHOWS_BLOCK: ReadonlySet<string> = new Set(['eth_getTransactionReceipt', 'eth_getTransactionByBlockHashAndIndex'])
/** Methods of the node that read blocks and state. */
const FORWARDED = /^(eth_(get|call|estimateGas|createAccessList|simulate)|debug_(get|trace)|ots_|erigon_get|trace_)/

interface FeeHistory {
  readonly oldestBlock: string
  readonly baseFeePerGas: readonly unknown[]
  readonly gasUsedRatio: readonly unknown[]
  readonly baseFeePerBlobGas?: readonly unknown[]
  readonly blobGasUsedRatio?: readonly unknown[]
  readonly reward?: readonly unknown[]
}

type Traces = Readonly<Record<string, unknown>>

function listFrom(result: unknown, method: string): readonly unknown[] {
  if (!Array.isArray(result)) throw new UpstreamError('malformed', `upstream answered ${method} with a value that is not a list`)
  return result as readonly unknown[]
}

function feeHistoryFrom(result: unknown): FeeHistory {
  const { oldestBlock, baseFeePerGas, gasUsedRatio, ...others } = isObject(result) ? result : {}
  const isHistory = typeof oldestBlock === 'string' && Array.isArray(baseFeePerGas) && Array.isArray(gasUsedRatio)
  const isWhole = OPTIONAL_FEES.every((name) => (others[name] ?? null) === null || Array.isArray(others[name]))
  if (!isHistory || !isWhole)
    throw new UpstreamError('malformed', 'upstream answered eth_feeHistory with a value that is not a fee history')
  return result as FeeHistory // its lists were just checked
}

const OPTIONAL_FEES = ['baseFeePerBlobGas', 'blobGasUsedRatio', 'reward']

/** The fees of `before` end with those of the block after it, with which `after` begins. */
function joined(before: FeeHistory, after: FeeHistory): FeeHistory {
  const lists = {
    baseFeePerGas: [...before.baseFeePerGas.slice(0, -1), ...after.baseFeePerGas],
    gasUsedRatio: [...before.gasUsedRatio, ...after.gasUsedRatio],
    baseFeePerBlobGas: before.baseFeePerBlobGas && [...before.baseFeePerBlobGas.slice(0, -1), ...(after.baseFeePerBlobGas ?? [])],
    blobGasUsedRatio: before.blobGasUsedRatio && [...before.blobGasUsedRatio, ...(after.blobGasUsedRatio ?? [])],
    reward: after.reward && [...(before.reward ?? []), ...after.reward],
  }
  const present = Object.entries(lists).filter(([, list]) => list !== undefined)
  return { oldestBlock: before.oldestBlock, ...Object.fromEntries(present) } as FeeHistory // the absent lists are optional
}

function inJson(ref: BlockRef | undefined): string | undefined {
  if (ref === undefined || ref.kind === 'hash') return undefined
  return ref.kind === 'tag' ? ref.tag : Hex.fromQuantity(ref.number)
}

function hashOf(value: unknown): Hash | null {
  return typeof value === 'string' && /^0x[0-9a-fA-F]{64}$/.test(value) ? (value.toLowerCase() as Hash) : null // its pattern was just checked
}

/** Of an EIP-1898 object, or the value itself. */
function blockHashOf(value: unknown): unknown {
  return typeof value === 'object' && value !== null && 'blockHash' in value ? value.blockHash : value
}

const TAGS = ['latest', 'pending', 'safe', 'finalized'] as const

function isTag(value: unknown): value is (typeof TAGS)[number] {
  return TAGS.some((tag) => tag === value)
}

/** Methods that read state, but not for long. */
const STATE_READERS: ReadonlySet<string> = new Set(STATE_METHODS.map(({ name }) => name))

const BLOCK_SCHEMAS: ReadonlySet<unknown> = new Set([blockRef, blockNumber, anyBlock, anyNumber])

/** Returns the params with the fork block's number in place of tags and of an absent block, because upstream has moved on, and numbers in hex. */
function pinned(rows: readonly Param<unknown>[], given: readonly unknown[], forkNumber: number): readonly unknown[] {
  const place = rows.findIndex(({ schema }) => BLOCK_SCHEMAS.has(schema))
  if (place < 0) return given
  const pinnedBlock = (value: unknown) => {
    // Some methods accept them under any profile.
    if (typeof value === 'number') return Hex.fromQuantity(value)
    return isTag(value ?? 'latest') ? Hex.fromQuantity(forkNumber) : value
  }
  return Array.from({ length: Math.max(given.length, place + 1) }, (_, i) => (i === place ? pinnedBlock(given[i]) : given[i]))
}

function isNotFound(error: unknown): error is BlockNotFound | RpcError {
  if (error instanceof BlockNotFound) return true
  return error instanceof RpcError && (error.code === CODE.notFound || (error.code === CODE.server && error.message.endsWith('not found')))
}

function listOf(params: unknown): readonly unknown[] {
  return Array.isArray(params) ? (params as readonly unknown[]) : []
}
