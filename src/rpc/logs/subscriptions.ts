import { matchesFilter } from '../../chain/index.ts'
import type { Chain, HeadEvent, LogFilter } from '../../chain/index.ts'
import type { Hash, Transaction } from '../../eth/index.ts'
import { CODE, RpcError, invalidParams } from '../../jsonrpc/index.ts'
import { transactionJson } from '../json.ts'
import type { Json } from '../json.ts'
import { EventTracker, segmentsOf } from './feedevent.ts'
import type { FeedEvent, Segment } from './feedevent.ts'
import { hashesOf, logsOf, notificationsOf, transactionsOf } from './headnotifications.ts'
import type { HeadNotifications, Item, LogItem } from './headnotifications.ts'
import type { Position } from './position.ts'
import { RecentEvents } from './recentevents.ts'
import type { Place, Unit } from './recentevents.ts'

/** Receives the result of each notification; `item` is its place, for feeds that can continue. */
export type Sink = (result: unknown, item?: Item) => void

/** Ends a subscription. */
export type End = () => void

/** From where a subscription continues, and the pace at which it can. */
export interface Resumption {
  readonly after: Position
  /** Resolves when the notifications so far have left the process; null: they leave synchronously. */
  readonly drained: (() => Promise<void>) | null
  /** Called when the reader is so slow that notifications were dropped; none follows. */
  readonly onLost: () => void
}

/**
 * The notifications of a chain. All subscribers share one listener of the head, and the same object is sent to several of them, so that a session serialises it
 * once. A transaction is announced when it is promised and not again when it is sealed; without promises, or in a block that is sealed immediately, it is announced
 * when it is sealed. The newest events are kept from the start, so that a subscription can continue after a lost connection.
 */
export class Feeds {
  readonly #chain: Chain
  readonly #listeners = new Set<(notifications: HeadNotifications) => void>()
  readonly #poolObjects = new WeakMap<Transaction, Json>()
  readonly #tracker: EventTracker
  readonly #recent = new RecentEvents()
  #newest: FeedEvent | null = null
  #end: End | null = null

  constructor(chain: Chain) {
    this.#chain = chain
    this.#tracker = new EventTracker(chain.head.view.pending)
    chain.head.subscribe((event) => this.#record(event))
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
      sendLogs(notifications.removedLogs(), filter, sink)
      sendLogs(notifications.sealedLogs(), filter, sink)
    })
  }

  /**
   * Each log once, as soon as its transaction is promised; with `removed: true` when the promise or its block is gone. Throws RpcError if it cannot continue
   * from `resumption`.
   */
  pendingLogs(filter: LogFilter, sink: Sink, resumption: Resumption | null = null): End {
    const listen = () => this.#listen((notifications) => sendLogs(notifications.pendingLogs(), filter, sink))
    if (resumption === null) return listen()
    return this.#continue('logs', resumption, listen, (segment, after) => sendLogs(logsOf(segment).filter(isAfter(after)), filter, sink))
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
   * or its block is gone. Throws RpcError if it cannot continue from `resumption`.
   */
  flashblockTransactions(full: boolean, sink: Sink, resumption: Resumption | null = null): End {
    const listen = () => this.#listen((notifications) => send(full ? notifications.transactions() : notifications.freshHashes(), sink))
    if (resumption === null) return listen()
    const itemsOf = full ? transactionsOf : hashesOf
    return this.#continue('transactions', resumption, listen, (segment, after) => send(itemsOf(segment).filter(isAfter(after)), sink))
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

  /** The listener that notifies is the head's last one, so that the flashblock stream precedes subscriptions. */
  #listen(listener: (notifications: HeadNotifications) => void): End {
    this.#listeners.add(listener)
    this.#end ??= this.#chain.head.subscribe(() => this.#notify())
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size > 0) return
      this.#end?.()
      this.#end = null
    }
  }

  /** Sends the kept events after a place at the reader's pace, then listens. `sendFrom` returns the number of notifications. */
  #continue(
    unit: Unit,
    { after, drained, onLost }: Resumption,
    listen: () => End,
    sendFrom: (segment: Segment, after: number | null) => number,
  ): End {
    const recent = this.#recent
    const place = placeOf(recent, unit, after)
    let next = place.sequence
    let end: End | null = null
    let isEnded = false
    const sendEvent = (): number => {
      const event = recent.at(next)
      if (event === null) {
        isEnded = true
        onLost()
        return 0
      }
      const isFirst = next++ === place.sequence
      const segments = segmentsOf(event).slice(isFirst ? place.segment : 0)
      return segments.reduce((sum, segment, i) => sum + sendFrom(segment, isFirst && i === 0 ? place.index : null), 0)
    }
    const proceed = (): void => {
      for (;;) {
        if (isEnded) return
        if (next === recent.end) {
          end = listen()
          return
        }
        if (sendEvent() > 0 && drained !== null) {
          void drained().then(proceed)
          return
        }
      }
    }
    proceed()
    return () => {
      isEnded = true
      end?.()
    }
  }

  #record(event: HeadEvent): void {
    this.#newest = this.#tracker.accept(event)
    if (event.kind === 'rewind' && (event.cause === 'reset' || event.cause === 'restart')) this.#recent.clear()
    this.#recent.add(this.#newest)
  }

  #notify(): void {
    if (this.#newest === null) return
    const notifications = notificationsOf(this.#newest)
    for (const listener of [...this.#listeners]) listener(notifications)
  }
}

const feeds = new WeakMap<Chain, Feeds>()

/** The feeds of a chain, which all its subscribers share. They keep events from the first call on. */
export function feedsOf(chain: Chain): Feeds {
  let found = feeds.get(chain)
  if (found === undefined) feeds.set(chain, (found = new Feeds(chain)))
  return found
}

function sendLogs(logs: readonly LogItem[], filter: LogFilter, sink: Sink): number {
  return send(
    logs.filter(({ log }) => matchesFilter(filter, log)),
    sink,
  )
}

/** Returns their number. */
function send(items: readonly Item[], sink: Sink): number {
  for (const item of items) sink(item.json(), item)
  return items.length
}

function isAfter(index: number | null): (item: Item) => boolean {
  return (item) => index === null || item.index > index
}

/** Throws RpcError. */
function placeOf(recent: RecentEvents, unit: Unit, after: Position): Place {
  const place = recent.find(unit, after)
  if (typeof place !== 'string') return place
  const what = `${unit === 'logs' ? 'log' : 'transaction'} ${after.index} of block ${after.block}`
  if (place === 'ambiguous') {
    const message = `${what} was announced more than once: pass the whole "position" of the last notification as after`
    throw invalidParams(message, { reason: 'ambiguous-position' })
  }
  const method = unit === 'logs' ? 'eth_getLogs' : 'eth_getBlockByNumber'
  throw new RpcError(
    CODE.notFound,
    `the subscription cannot continue after ${what}, which is too old or was never announced here: read ${method} up to pending and subscribe without after`,
    { reason: 'unknown-position' },
  )
}
