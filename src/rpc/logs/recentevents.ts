import { RECENT_EVENT_BYTES, RECENT_EVENTS } from '../limits.ts'
import { segmentsOf } from './feedevent.ts'
import type { FeedEvent, Segment } from './feedevent.ts'
import type { Position } from './position.ts'

/** The items that `Position.index` counts. */
export type Unit = 'logs' | 'transactions'

/** A position in the notifications: after item `index` of a segment of an event. */
export interface Place {
  readonly sequence: number
  /** index in the result of `segmentsOf` */
  readonly segment: number
  readonly index: number
}

/** The newest events with notifications, for subscriptions that continue. Each has a sequence number, which is one more than its predecessor's. */
export class RecentEvents {
  readonly #events: { readonly event: FeedEvent; readonly sizeBytes: number }[] = []
  #first = 0
  #sizeBytes = 0

  /** The sequence number of the next event. */
  get end(): number {
    return this.#first + this.#events.length
  }

  /** Events without notifications of transactions or logs are left out. */
  add(event: FeedEvent): void {
    if (event.fresh === null && event.gone.length === 0) return
    const sizeBytes = segmentsOf(event).reduce((sum, segment) => sum + sizeOf(segment), 0)
    this.#events.push({ event, sizeBytes })
    this.#sizeBytes += sizeBytes
    while (this.#events.length > RECENT_EVENTS || this.#sizeBytes > RECENT_EVENT_BYTES) this.#dropOldest()
  }

  /** Returns null for an event that was dropped, or that is not there yet. */
  at(sequence: number): FeedEvent | null {
    return this.#events[sequence - this.#first]?.event ?? null
  }

  /** Forgets all events: another chain follows. */
  clear(): void {
    while (this.#events.length > 0) this.#dropOldest()
  }

  /** `ambiguous`: the position matches, or may have matched, several segments. */
  find(unit: Unit, position: Position): Place | 'unknown' | 'ambiguous' {
    const places: (Place & { readonly found: Segment })[] = []
    for (const [i, { event }] of this.#events.entries()) {
      for (const [segment, found] of segmentsOf(event).entries()) {
        if (isIn(found, unit, position)) places.push({ sequence: this.#first + i, segment, index: position.index, found })
      }
    }
    const [place] = places
    if (place === undefined) return 'unknown'
    const isNamed = position.payloadId !== undefined || position.blockHash !== undefined
    return places.length > 1 || (!isNamed && (place.found.isReplacement || place.found.removed)) ? 'ambiguous' : place
  }

  #dropOldest(): void {
    const oldest = this.#events.shift()
    if (oldest === undefined) return
    this.#sizeBytes -= oldest.sizeBytes
    this.#first++
  }
}

function isIn(segment: Segment, unit: Unit, { block, index, payloadId, blockHash, removed = false }: Position): boolean {
  if (segment.block.header.number !== block || segment.removed !== removed) return false
  if (payloadId !== undefined && segment.payloadId !== payloadId) return false
  if (blockHash !== undefined && segment.blockHash !== blockHash) return false
  return unit === 'transactions'
    ? index >= segment.first && index < segment.end
    : index >= logsBefore(segment, segment.first) && index < logsBefore(segment, segment.end)
}

/** The number of logs before a transaction of the segment's block. */
function logsBefore({ block: { receipts } }: Segment, index: number): number {
  const last = receipts[index - 1]
  return last === undefined ? 0 : last.firstLogIndex + last.logs.length
}

/** Most of its memory: transactions, logs, and the places of the block's lists, which each flashblock copies. */
function sizeOf({ block, first, end }: Segment): number {
  let size = block.transactions.length * LIST_PLACE_BYTES
  for (let i = first; i < end; i++) {
    size += TRANSACTION_OBJECT_BYTES + (block.transactions[i]?.raw.length ?? 0)
    for (const { data } of block.receipts[i]?.logs ?? []) size += LOG_OBJECT_BYTES + data.length
  }
  return size
}

/** A pointer to the transaction and one to its receipt. */
const LIST_PLACE_BYTES = 16
/** Heap of a transaction with its receipt, whose bloom filter has 256 bytes; and of a log with four topics. */
const TRANSACTION_OBJECT_BYTES = 1_500
const LOG_OBJECT_BYTES = 700
