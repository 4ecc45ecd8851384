import type { HeadEvent } from '../../chain/index.ts'
import type { Block, Hash, Hex } from '../../eth/index.ts'

/** Part of a block that was announced or removed in one event: its transactions from `first` on, up to but without `end`. */
export interface Segment {
  readonly block: Block
  readonly first: number
  readonly end: number
  readonly removed: boolean
  /** payload id of the flashblock that promised it; null: it was announced when its block was sealed, or the promise is older than the feeds */
  readonly payloadId: Hex | null
  /** hash of the sealed block; null: it was promised */
  readonly blockHash: Hash | null
  /** True if transactions of another block of this number were announced before. */
  readonly isReplacement: boolean
}

/** A head event as the feeds announce it. */
export interface FeedEvent {
  /** the block that was sealed, or null */
  readonly sealed: Block | null
  /** the pending block as a flashblock left it, or null */
  readonly pending: Block | null
  /** announced transactions that no longer exist: of sealed blocks, oldest first like geth, then of the retracted one */
  readonly gone: readonly Segment[]
  /** transactions that were not announced before, or null */
  readonly fresh: Segment | null
}

/** The segments of an event in the order of their notifications. */
export function segmentsOf({ gone, fresh }: FeedEvent): readonly Segment[] {
  return fresh === null ? gone : [...gone, fresh]
}

/** Finds in each head event what was not announced before. It sees every event, in their order. */
export class EventTracker {
  /** the announced part of the newest block */
  #announced: { readonly number: number; readonly count: number }
  /** the block that grows; null after a rewind */
  #build: { readonly number: number; readonly isReplacement: boolean; payloadId: Hex | null } | null = null
  #highestBlock = -1

  constructor(pending: Block | null) {
    this.#announced = announcedOf(pending)
  }

  accept(event: HeadEvent): FeedEvent {
    if (event.kind === 'edit') return NOTHING
    if (event.kind === 'rewind') {
      const gone = [...event.removed].reverse().map((block) => removedSegment(block, block.transactions.length, { blockHash: block.hash }))
      const { retracted } = event
      if (retracted !== null && retracted.header.number === this.#announced.number) {
        const count = Math.min(this.#announced.count, retracted.transactions.length)
        gone.push(removedSegment(retracted, count, { payloadId: this.#build?.payloadId ?? null }))
      }
      this.#announced = announcedOf(event.view.pending)
      this.#build = null
      return { ...NOTHING, gone }
    }
    const { block, sealed } = event
    const { number } = block.header
    const known = this.#build
    const build = known?.number === number ? known : { number, isReplacement: number <= this.#highestBlock, payloadId: null }
    if (!sealed) build.payloadId = event.flashblock.payloadId
    this.#build = build
    this.#highestBlock = Math.max(this.#highestBlock, number)
    return { sealed: sealed ? block : null, pending: sealed ? null : block, gone: [], fresh: this.#freshIn(block, sealed, build) }
  }

  #freshIn(
    block: Block,
    sealed: boolean,
    { number, isReplacement, payloadId }: { number: number; isReplacement: boolean; payloadId: Hex | null },
  ) {
    const first = this.#announced.number === number ? this.#announced.count : 0
    const end = block.transactions.length
    if (first >= end) return null
    this.#announced = { number, count: end }
    return { block, first, end, removed: false, payloadId: sealed ? null : payloadId, blockHash: sealed ? block.hash : null, isReplacement }
  }
}

const NOTHING: FeedEvent = { sealed: null, pending: null, gone: [], fresh: null }

function removedSegment(block: Block, end: number, id: { readonly payloadId?: Hex | null; readonly blockHash?: Hash }): Segment {
  return { block, first: 0, end, removed: true, payloadId: null, blockHash: null, isReplacement: false, ...id }
}

function announcedOf(pending: Block | null) {
  return pending === null ? { number: -1, count: 0 } : { number: pending.header.number, count: pending.transactions.length }
}
