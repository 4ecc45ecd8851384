import { matchesFilter } from '../chain/index.ts'
import type { Chain, HeadEvent, LogFilter } from '../chain/index.ts'
import type { Block, Hash, Transaction } from '../eth/index.ts'
import { transactionJson } from './json.ts'
import type { Json } from './json.ts'
import { newsOf } from './news.ts'
import type { News, Stretch, ToldLog } from './news.ts'

/** Gets the result of each notification: one item. */
export type Sink = (result: unknown) => void

/** Ends a subscription. */
export type End = () => void

/**
 * What a chain tells. Every subscriber hangs on one listener of the head, and what goes to several of them is the same
 * object, so that a session can make it into text once (law 7). A transaction is told when it is promised and not again when it is sealed; a cadence without promises, or a
 * block that was sealed at once, tells it then.
 */
export class Feeds {
  readonly #chain: Chain
  readonly #listeners = new Set<(news: News) => void>()
  readonly #poolObjects = new WeakMap<Transaction, Json>()
  /** how many transactions of which block were told */
  #told: Told = NOTHING_TOLD
  #end: End | null = null

  constructor(chain: Chain) {
    this.#chain = chain
  }

  /** The header of each sealed block. */
  heads(sink: Sink): End {
    return this.#listen((news) => {
      if (news.sealed !== null) sink(news.header())
    })
  }

  /** Logs of sealed blocks; after a rewind those that are gone, with `removed: true`. */
  logs(filter: LogFilter, sink: Sink): End {
    return this.#listen((news) => {
      tell(news.removedLogs(), filter, sink)
      tell(news.sealedLogs(), filter, sink)
    })
  }

  /** Each log once, as soon as its transaction is promised; with `removed: true` when the promise or its block is gone. */
  pendingLogs(filter: LogFilter, sink: Sink): End {
    return this.#listen((news) => {
      tell(news.goneLogs(), filter, sink)
      tell(news.freshLogs(), filter, sink)
    })
  }

  /** The pending block as it has grown, with full transactions, per flashblock. */
  flashblocks(sink: Sink): End {
    return this.#listen((news) => {
      const block = news.flashblock()
      if (block !== null) sink(block)
    })
  }

  /** Each transaction once, as soon as it is promised: its hash, or all of it with what its receipt says. */
  flashblockTransactions(full: boolean, sink: Sink): End {
    return this.#listen((news) => {
      for (const transaction of full ? news.freshTransactions() : news.freshHashes()) sink(transaction)
    })
  }

  /** Receipts of a sealed block that are waited for, in one array; null: all of them. */
  receipts(hashes: ReadonlySet<Hash> | null, sink: Sink): End {
    return this.#listen((news) => {
      const wanted = (news.sealed?.transactions ?? []).flatMap((tx, i) => (hashes === null || hashes.has(tx.hash) ? [i] : []))
      if (wanted.length > 0) sink(wanted.map(news.receipt))
    })
  }

  /** Each transaction of the pool, when it can be executed next. */
  poolTransactions(full: boolean, sink: Sink): End {
    return this.#chain.pool.subscribe((tx) => sink(full ? this.#pooled(tx) : tx.hash))
  }

  #pooled(tx: Transaction): Json {
    const json = this.#poolObjects.get(tx) ?? transactionJson(tx, null)
    this.#poolObjects.set(tx, json)
    return json
  }

  #listen(listener: (news: News) => void): End {
    this.#listeners.add(listener)
    this.#end ??= this.#begin()
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size > 0) return
      this.#end?.()
      this.#end = null
    }
  }

  #begin(): End {
    const { head } = this.#chain
    this.#told = toldOf(head.view.pending)
    return head.subscribe((event) => this.#hear(event))
  }

  #hear(event: HeadEvent): void {
    const fresh = freshIn(event, this.#told)
    const news = newsOf(event, fresh, retractedIn(event, this.#told))
    if (event.kind === 'rewind') this.#told = toldOf(event.view.pending)
    if (fresh !== null) this.#told = { number: fresh.block.header.number, count: fresh.end }
    for (const listener of [...this.#listeners]) listener(news)
  }
}

interface Told {
  readonly number: number
  readonly count: number
}

const NOTHING_TOLD: Told = { number: -1, count: 0 }

const feeds = new WeakMap<Chain, Feeds>()

/** The feeds of a chain, which all its subscribers share. */
export function feedsOf(chain: Chain): Feeds {
  let found = feeds.get(chain)
  if (found === undefined) feeds.set(chain, (found = new Feeds(chain)))
  return found
}

function tell(logs: readonly ToldLog[], filter: LogFilter, sink: Sink): void {
  for (const { log, json } of logs) if (matchesFilter(filter, log)) sink(json())
}

function toldOf(pending: Block | null): Told {
  return pending === null ? NOTHING_TOLD : { number: pending.header.number, count: pending.transactions.length }
}

function freshIn(event: HeadEvent, told: Told): Stretch | null {
  if (event.kind !== 'block') return null
  const { block } = event
  const first = told.number === block.header.number ? told.count : 0
  const end = block.transactions.length
  return first < end ? { block, first, end } : null
}

function retractedIn(event: HeadEvent, told: Told): Stretch | null {
  if (event.kind !== 'rewind' || event.retracted?.header.number !== told.number) return null
  return { block: event.retracted, first: 0, end: Math.min(told.count, event.retracted.transactions.length) }
}
