import { matchesFilter } from '../../chain/index.ts'
import type { Chain, HeadEvent, LogFilter } from '../../chain/index.ts'
import type { Block, Hash, Transaction } from '../../eth/index.ts'
import { transactionJson } from '../json.ts'
import type { Json } from '../json.ts'
import { notificationsOf } from './headnotifications.ts'
import type { HeadNotifications, BlockRange, AnnouncedLog } from './headnotifications.ts'

/** Receives the result of each notification. */
export type Sink = (result: unknown) => void

/** Ends a subscription. */
export type End = () => void

/**
 * The notifications of a chain. All subscribers share one listener of the head, and the same object is sent to several of them, so that a session serialises it
 * once. A transaction is announced when it is promised and not again when it is sealed; without promises, or in a block that is sealed at once, it is announced
 * when it is sealed.
 */
export class Feeds {
  readonly #chain: Chain
  readonly #listeners = new Set<(notifications: HeadNotifications) => void>()
  readonly #poolObjects = new WeakMap<Transaction, Json>()
  /** the announced transactions of the newest block */
  #announced: Announced = NOTHING_ANNOUNCED
  #end: End | null = null

  constructor(chain: Chain) {
    this.#chain = chain
  }

  /** The header of each sealed block. */
  heads(sink: Sink): End {
    return this.#listen((notifications) => {
      if (notifications.sealed !== null) sink(notifications.header())
    })
  }

  /** Logs of sealed blocks; after a rewind the removed ones, with `removed: true`. */
  logs(filter: LogFilter, sink: Sink): End {
    return this.#listen((notifications) => {
      notify(notifications.removedLogs(), filter, sink)
      notify(notifications.sealedLogs(), filter, sink)
    })
  }

  /** Each log once, as soon as its transaction is promised; with `removed: true` when the promise or its block is gone. */
  pendingLogs(filter: LogFilter, sink: Sink): End {
    return this.#listen((notifications) => {
      notify(notifications.goneLogs(), filter, sink)
      notify(notifications.freshLogs(), filter, sink)
    })
  }

  /** The pending block as it has grown, with full transactions, per flashblock. */
  flashblocks(sink: Sink): End {
    return this.#listen((notifications) => {
      const block = notifications.flashblock()
      if (block !== null) sink(block)
    })
  }

  /**
   * Each transaction once, as soon as it is promised: its hash, or the transaction with the fields of its receipt; those with `removed: true` when the promise
   * or its block is gone.
   */
  flashblockTransactions(full: boolean, sink: Sink): End {
    return this.#listen((notifications) => {
      if (full) notifications.goneTransactions().forEach(sink)
      for (const transaction of full ? notifications.freshTransactions() : notifications.freshHashes()) sink(transaction)
    })
  }

  /** The receipts of `hashes` in a sealed block, as one array; null: all receipts. */
  receipts(hashes: ReadonlySet<Hash> | null, sink: Sink): End {
    return this.#listen((notifications) => {
      const matching = (notifications.sealed?.transactions ?? []).flatMap((tx, i) => (hashes === null || hashes.has(tx.hash) ? [i] : []))
      if (matching.length > 0) sink(matching.map(notifications.receipt))
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

  #listen(listener: (notifications: HeadNotifications) => void): End {
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
    this.#announced = announcedOf(head.view.pending)
    return head.subscribe((event) => this.#onHeadEvent(event))
  }

  #onHeadEvent(event: HeadEvent): void {
    const fresh = freshIn(event, this.#announced)
    const notifications = notificationsOf(event, fresh, retractedIn(event, this.#announced))
    if (event.kind === 'rewind') this.#announced = announcedOf(event.view.pending)
    if (fresh !== null) this.#announced = { number: fresh.block.header.number, count: fresh.end }
    for (const listener of [...this.#listeners]) listener(notifications)
  }
}

interface Announced {
  readonly number: number
  readonly count: number
}

const NOTHING_ANNOUNCED: Announced = { number: -1, count: 0 }

const feeds = new WeakMap<Chain, Feeds>()

/** The feeds of a chain, which all its subscribers share. */
export function feedsOf(chain: Chain): Feeds {
  let found = feeds.get(chain)
  if (found === undefined) feeds.set(chain, (found = new Feeds(chain)))
  return found
}

function notify(logs: readonly AnnouncedLog[], filter: LogFilter, sink: Sink): void {
  for (const { log, json } of logs) if (matchesFilter(filter, log)) sink(json())
}

function announcedOf(pending: Block | null): Announced {
  return pending === null ? NOTHING_ANNOUNCED : { number: pending.header.number, count: pending.transactions.length }
}

function freshIn(event: HeadEvent, announced: Announced): BlockRange | null {
  if (event.kind !== 'block') return null
  const { block } = event
  const first = announced.number === block.header.number ? announced.count : 0
  const end = block.transactions.length
  return first < end ? { block, first, end } : null
}

function retractedIn(event: HeadEvent, announced: Announced): BlockRange | null {
  if (event.kind !== 'rewind' || event.retracted?.header.number !== announced.number) return null
  return { block: event.retracted, first: 0, end: Math.min(announced.count, event.retracted.transactions.length) }
}
