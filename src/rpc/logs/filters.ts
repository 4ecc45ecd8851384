import { logsOfBlock } from '../../chain/index.ts'
import type { Chain, HeadEvent, LocatedLog, RewindEvent } from '../../chain/index.ts'
import type { Block, Hash, Transaction } from '../../eth/index.ts'
import { CODE, RpcError } from '../../jsonrpc/index.ts'
import {
  FILTER_CHANGES,
  FILTER_CHANGES_PER_TIER,
  FILTER_IDLE_MS,
  FILTERS_PER_TIER,
  FULL_FILTER_BYTES,
  FULL_FILTER_CHANGES,
} from '../limits.ts'
import type { LogQuery } from './logfilter.ts'
import { randomId } from './randomid.ts'

/** A new log, or (`removed`) one that a reorganisation removed. */
interface LogChange {
  readonly placed: LocatedLog
  readonly removed: boolean
}

type FilterChanges =
  | { readonly kind: 'hashes' | 'transactions'; readonly hashes: readonly Hash[] }
  | { readonly kind: 'logs'; readonly logs: readonly LogChange[] }

type FilterKind =
  | { readonly kind: 'logs'; readonly query: LogQuery }
  | { readonly kind: 'blocks' }
  /** full: the client wants transactions, which it looks up by their hashes when it polls */
  | { readonly kind: 'transactions'; readonly full: boolean }

type Tier = 'dedicated' | 'public'

/** Sealed blocks whose logs the next poll returns before the changes. On a fork some of them are upstream's. */
export interface ExistingLogs {
  readonly from: number
  /** becomes lower when the chain rewinds */
  to: number
}

interface Filter {
  readonly what: FilterKind
  readonly tier: Tier
  /** null: none, or the poll that returned them is over */
  existing: ExistingLogs | null
  readonly hashes: Hash[]
  readonly logs: LogChange[]
  /** of the transactions that a full filter returns */
  fullBytes: number
  polledAtMs: number
  overflowed: boolean
}

const TOO_MANY_CHANGES = `it kept more than ${FILTER_CHANGES} changes (${FULL_FILTER_CHANGES} whole transactions, or ${FULL_FILTER_BYTES} bytes of them), or all filters of its endpoint together more than ${FILTER_CHANGES_PER_TIER}`

/** The installed filters. Subscribes to the chain only while there is one. */
export class Filters {
  readonly #chain: Chain
  readonly #now: () => number
  readonly #filters = new Map<string, Filter>()
  readonly #stops: (() => void)[] = []
  /** changes kept for all filters of a tier */
  readonly #kept: Record<Tier, number> = { dedicated: 0, public: 0 }
  /** transactions of the pending block whose logs were delivered */
  #promised = 0

  /** `now`: milliseconds of a monotonic clock; filters expire by it, not by the chain's clock. */
  constructor(chain: Chain, now: () => number = () => performance.now()) {
    this.#chain = chain
    this.#now = now
  }

  /**
   * Returns the filter's id. It is random, because nothing else protects a filter on the public tier. `existing`: a log filter begins with these logs
   * and, with `toBlock: pending`, with the promised ones.
   */
  install(what: FilterKind, tier: Tier, existing: ExistingLogs | null = null): string {
    this.#sweep()
    const count = [...this.#filters.values()].filter((filter) => filter.tier === tier).length
    if (count >= FILTERS_PER_TIER) {
      throw new RpcError(CODE.limitExceeded, `too many filters: ${count} are installed, uninstall some or wait`)
    }
    if (this.#filters.size === 0) this.#listen()
    const id = randomId()
    const filter: Filter = { what, tier, existing, hashes: [], logs: [], fullBytes: 0, polledAtMs: this.#now(), overflowed: false }
    this.#filters.set(id, filter)
    const { pending } = this.#chain.head.view
    if (existing !== null && pending !== null && what.kind === 'logs' && endsAtPending(what.query))
      this.#keep(filter, filter.logs, changesOf(pending, what.query, false))
    return id
  }

  /** Returns the changes since the last call. Throws RpcError -32000 for an unknown, expired or overflowed filter. */
  changes(id: string): FilterChanges {
    const filter = this.#alive(id)
    if (filter.overflowed) {
      this.remove(id)
      throw new RpcError(CODE.server, `filter not found: ${id} was dropped, because ${TOO_MANY_CHANGES}; poll it more often`)
    }
    const { logs, hashes } = this.#take(filter)
    if (filter.what.kind === 'logs') return { kind: 'logs', logs }
    return { kind: isFull(filter) ? 'transactions' : 'hashes', hashes }
  }

  /** Returns what the next poll has to begin with; null also for an unknown filter. */
  existing(id: string): ExistingLogs | null {
    return this.#filters.get(id)?.existing ?? null
  }

  /** As `existing`, which is null afterwards. */
  takeExisting(id: string): ExistingLogs | null {
    const existing = this.existing(id)
    if (existing !== null) this.#alive(id).existing = null
    return existing
  }

  /** Throws RpcError -32000 for an unknown filter or one that is not a log filter. */
  query(id: string): LogQuery {
    const { what } = this.#alive(id)
    if (what.kind !== 'logs') throw new RpcError(CODE.server, `filter not found: ${id} is not a log filter`)
    return what.query
  }

  /** Returns false for an unknown filter. */
  remove(id: string): boolean {
    const filter = this.#filters.get(id)
    if (filter === undefined) return false
    this.#take(filter)
    this.#filters.delete(id)
    if (this.#filters.size === 0) this.close()
    return true
  }

  /** Removes all filters and the subscriptions to the chain. */
  close(): void {
    for (const stop of this.#stops.splice(0)) stop()
    for (const filter of this.#filters.values()) this.#take(filter)
    this.#filters.clear()
  }

  #alive(id: string): Filter {
    this.#sweep()
    const filter = this.#filters.get(id)
    if (filter === undefined) throw new RpcError(CODE.server, `filter not found: ${id}`)
    filter.polledAtMs = this.#now()
    return filter
  }

  #sweep(): void {
    const deadline = this.#now() - FILTER_IDLE_MS
    for (const [id, filter] of this.#filters) if (filter.polledAtMs < deadline) this.remove(id)
  }

  #listen(): void {
    this.#promised = this.#chain.head.view.pending?.transactions.length ?? 0
    this.#stops.push(this.#chain.head.subscribe((event) => this.#onHead(event)))
    this.#stops.push(this.#chain.pool.subscribe((tx) => this.#onTransaction(tx)))
  }

  #onTransaction({ hash, raw }: Transaction): void {
    for (const filter of this.#filters.values()) {
      if (filter.what.kind !== 'transactions') continue
      if (isFull(filter) && (filter.fullBytes += raw.length) > FULL_FILTER_BYTES) this.#overflow(filter)
      this.#keep(filter, filter.hashes, [hash])
    }
  }

  #onHead(event: HeadEvent): void {
    if (event.kind === 'edit') return
    this.#sweep()
    for (const filter of this.#filters.values()) {
      if (filter.what.kind === 'logs') this.#keep(filter, filter.logs, this.#logChanges(event, filter.what.query, filter.existing))
      if (event.kind === 'rewind') shorten(filter, event)
      if (filter.what.kind === 'blocks' && event.kind === 'block' && event.sealed) this.#keep(filter, filter.hashes, [event.block.hash])
    }
    this.#promised = event.kind === 'block' && !event.sealed ? event.block.transactions.length : 0
  }

  #keep<T>(filter: Filter, kept: T[], changes: Iterable<T>): void {
    const most = isFull(filter) ? FULL_FILTER_CHANGES : FILTER_CHANGES
    for (const change of changes) {
      if (kept.length >= most) this.#overflow(filter)
      if (filter.overflowed) return
      kept.push(change)
      if (++this.#kept[filter.tier] > FILTER_CHANGES_PER_TIER) this.#overflow(this.#longestIdle(filter))
    }
  }

  /** Returns the filter of the same tier with changes that was not polled for the longest time. */
  #longestIdle(filter: Filter): Filter {
    let found = filter
    for (const each of this.#filters.values())
      if (each.tier === filter.tier && each.polledAtMs < found.polledAtMs && each.hashes.length + each.logs.length > 0) found = each
    return found
  }

  #overflow(filter: Filter): void {
    filter.overflowed = true
    this.#take(filter)
  }

  /** Returns the kept changes and removes them from the filter. */
  #take(filter: Filter): Pick<Filter, 'hashes' | 'logs'> {
    const { tier, hashes, logs } = filter
    filter.fullBytes = 0
    this.#kept[tier] -= hashes.length + logs.length
    return { hashes: hashes.splice(0), logs: logs.splice(0) }
  }

  /** With `toBlock: pending` each log is delivered once, when it is promised; otherwise when its block is sealed. */
  *#logChanges(event: Exclude<HeadEvent, { kind: 'edit' }>, query: LogQuery, existing: ExistingLogs | null): Iterable<LogChange> {
    const withPending = endsAtPending(query)
    if (event.kind === 'rewind') {
      const delivered = event.removed.filter(({ header }) => existing === null || header.number > existing.to)
      // Oldest first, like the notifications.
      for (const block of delivered.reverse()) yield* changesOf(block, query, true)
      if (withPending && event.retracted !== null) yield* changesOf(event.retracted, query, true)
    } else if (event.sealed) {
      yield* changesOf(event.block, query, false, withPending ? this.#promised : 0)
    } else if (withPending) {
      yield* changesOf(event.block, query, false, event.firstTransaction)
    }
  }
}

function isFull({ what }: Filter): boolean {
  return what.kind === 'transactions' && what.full
}

function endsAtPending({ to }: LogQuery): boolean {
  return to?.kind === 'tag' && to.tag === 'pending'
}

/** Removed blocks have no existing logs, and neither has another chain. */
function shorten(filter: Filter, { cause, removed }: RewindEvent): void {
  const { existing } = filter
  if (cause === 'restart') filter.existing = null
  else if (existing !== null) for (const { header } of removed) existing.to = Math.min(existing.to, header.number - 1)
}

function* changesOf(block: Block, query: LogQuery, removed: boolean, first = 0): Iterable<LogChange> {
  if (!covers(query, block.header.number)) return
  for (const placed of logsOfBlock(block, query.filter, first)) yield { placed, removed }
}

/** Numbers limit the delivered blocks, tags do not. A filter of one block hash has no changes. */
function covers({ from, to, blockHash }: LogQuery, number: number): boolean {
  if (blockHash !== undefined) return false
  if (from?.kind === 'number' && number < from.number) return false
  return to?.kind !== 'number' || number <= to.number
}
