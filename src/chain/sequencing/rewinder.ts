import type { Block, Transaction } from '../../eth/index.ts'
import { MiningEnded } from '../miningended.ts'
import { OutOfRange } from '../outofrange.ts'
import { TimeSlice } from '../timeslice.ts'
import { assertLocal } from '../withfetches.ts'
import type { Head, RewindCause } from '../view/head.ts'
import type { ViewFactory } from '../view/viewfactory.ts'
import type { TestOverrides } from './testoverrides.ts'
import { REORG_BLOCKS } from '../limits.ts'
import type { Mempool } from '../pool/mempool.ts'
import type { Removal, SealedChain } from '../view/sealedchain.ts'
import type { Sequencer } from './sequencer.ts'
import type { Snapshots } from './snapshots.ts'
import type { ChainTime } from './chaintime.ts'

interface RewinderDeps {
  readonly sealed: SealedChain
  readonly sequencer: Sequencer
  readonly snapshots: Snapshots
  readonly pool: Mempool
  readonly time: ChainTime
  readonly overrides: TestOverrides
  /** Settings at chain start; `reset` restores them. */
  readonly initialOverrides: TestOverrides
  readonly head: Head
  readonly viewFactory: ViewFactory
  /** True ends a change of several blocks after its current block. */
  readonly isEnding: () => boolean
}

/** A transaction for block `block` of a reorg, counted from 0. */
export interface Replacement {
  readonly tx: Transaction
  readonly block: number
}

/**
 * Rewinds: revert, rollback, reorg and reset. Each drops the open block and sealed blocks without returning their transactions to the pool,
 * and announces one rewind. If the store refuses, nothing has changed. Callers hold the chain's mutex.
 */
export class Rewinder {
  readonly #deps: RewinderDeps

  constructor(deps: RewinderDeps) {
    this.#deps = deps
  }

  /** Reverts to a snapshot; deletes it and all later ones. Returns false when the id is unknown. */
  revert(id: string): boolean {
    const { sealed, snapshots, pool, time, overrides } = this.#deps
    const snapshot = snapshots.get(id)
    if (snapshot === null) return false
    this.#rewind(
      'revert',
      () => sealed.rewind(snapshot.number, snapshot.version),
      () => {
        snapshots.consume(id)
        time.restore(snapshot.time)
        Object.assign(overrides, snapshot.overrides)
        pool.restore(snapshot.pool)
      },
    )
    return true
  }

  /** Removes the newest `depth` blocks. Throws OutOfRange. */
  rollback(depth: number): void {
    this.#assertDepth(depth)
    this.#rewindBy('rollback', depth)
  }

  /**
   * Removes the newest `depth` blocks and seals as many others with the same timestamps. Throws OutOfRange, and, before a change, MissingState on a
   * fork. Throws MiningEnded when `isEnding`, without a change if a reorg of several blocks has not begun.
   */
  async reorg(depth: number, replacements: readonly Replacement[]): Promise<void> {
    const { isEnding } = this.#deps
    this.#assertDepth(depth)
    for (const { block } of replacements) {
      if (block < 0 || block >= depth) throw new OutOfRange(`block ${block} is outside a reorg of ${depth} blocks`)
    }
    if (depth > 1 && isEnding()) throw new MiningEnded('no block was replaced: repeat the reorg when it runs again')
    const blocks = Array.from({ length: depth }, (_, place) => replacements.filter(({ block }) => block === place).map(({ tx }) => tx))
    this.#assertReplaceable(blocks)
    const removed = this.#rewindBy('reorg', depth)
    await this.#sealReplacements(removed, false, (place) => {
      if (depth > 1 && isEnding())
        throw new MiningEnded(`${place} of ${depth} blocks were replaced, and the others are removed: mine them when it runs again`)
      return blocks[place] ?? []
    })
  }

  /** On a fork: throws MissingState for all that blocks of these transactions, in place of the newest ones, miss. */
  #assertReplaceable(blocks: readonly (readonly Transaction[])[]): void {
    const { sealed, sequencer } = this.#deps
    const first = sealed.head.header.number - blocks.length + 1
    const last = blocks.findLastIndex((transactions) => transactions.length > 0)
    assertLocal(sealed.history, () => sequencer.rehearseReplacements(first, blocks.slice(0, last + 1)))
  }

  /**
   * Replaces the newest `depth` blocks as another sequencer would have built them: with the same timestamps and transactions. The promises of
   * the open block return to the pool, as do transactions that the new blocks cannot hold. Throws OutOfRange, and
   * MiningEnded as `reorg` does.
   */
  async failOver(depth: number): Promise<void> {
    if (depth === 0) return this.#deps.sequencer.discard('failOver')
    this.#assertDepth(depth)
    const { sequencer, pool, sealed, isEnding } = this.#deps
    if (depth > 1 && isEnding()) throw new MiningEnded('no block was replaced: repeat the move when it runs again')
    const promised = sequencer.promised
    const first = sealed.head.header.number - depth + 1
    const transactions = Array.from({ length: depth }, (_, place) =>
      sealed.blockAt(first + place).transactions.filter(({ deposit }) => deposit === null),
    )
    this.#assertReplaceable(transactions)
    // Clients see the rewind before the new blocks, so the transactions are in the pool in between.
    const removed = this.#rewindBy('failOver', depth, () => pool.reinsert([...transactions.flat(), ...promised]))
    await this.#sealReplacements(removed, removed[0]?.timestampMs === null, (place) => {
      if (depth > 1 && isEnding())
        throw new MiningEnded(`${place} of ${depth} blocks were replaced, and the others are removed: send their transactions again`)
      return transactions[place] ?? []
    })
  }

  async #sealReplacements(
    removed: readonly Block[],
    hasFlashblocks: boolean,
    transactionsOf: (place: number) => readonly Transaction[],
  ): Promise<void> {
    const { overrides, sequencer } = this.#deps
    overrides.salt++
    const timeSlice = new TimeSlice()
    sequencer.beginGroupCommit()
    try {
      for (const [place, old] of [...removed].reverse().entries()) {
        sequencer.sealReplacement(old, transactionsOf(place), hasFlashblocks)
        await sequencer.flushIfExpired(timeSlice)
      }
    } finally {
      await sequencer.endGroupCommit(timeSlice)
    }
  }

  /** Returns to block 0, with an empty pool, the clock's time and the initial settings. */
  reset(): void {
    const { sealed, snapshots, pool, time, overrides, initialOverrides } = this.#deps
    this.#rewind(
      'reset',
      () => sealed.resetToGenesis(),
      () => {
        snapshots.clear()
        Object.assign(overrides, initialOverrides)
        time.reset()
        pool.dropAll()
      },
    )
  }

  /** Returns the removed blocks, newest first. */
  #rewindBy(cause: RewindCause, depth: number, afterwards: (removed: readonly Block[]) => void = () => undefined): readonly Block[] {
    const { sealed, snapshots } = this.#deps
    const number = sealed.head.header.number - depth
    return this.#rewind(
      cause,
      () => sealed.rewind(number),
      (removed) => {
        snapshots.dropAbove(number)
        afterwards(removed)
      },
    )
  }

  /** Returns the blocks that `rewind` removed, newest first; `afterwards` adjusts dependent state before the announcement. */
  #rewind(cause: RewindCause, rewind: () => Removal, afterwards: (removed: readonly Block[]) => void): readonly Block[] {
    const { sequencer, pool, head, viewFactory } = this.#deps
    const { removed, writes } = rewind()
    const retracted = sequencer.abandon()
    afterwards(removed)
    // An account has a higher nonce than before if a dev method had lowered it.
    pool.pruneAll()
    head.announce({ kind: 'rewind', cause, view: viewFactory.create(), removed, writes, retracted })
    return removed
  }

  #assertDepth(depth: number): void {
    const { sealed } = this.#deps
    const height = sealed.head.header.number
    const length = height - sealed.store.firstBlock
    if (!Number.isSafeInteger(depth) || depth < 1) throw new OutOfRange(`cannot go back ${depth} blocks: the depth must be at least 1`)
    if (depth > length || depth > REORG_BLOCKS) {
      throw new OutOfRange(`cannot go back ${depth} blocks: the chain has ${length}, the limit is ${REORG_BLOCKS}`)
    }
    if (height - depth < sealed.oldestStateBlock()) {
      throw new OutOfRange(`cannot go back ${depth} blocks: state is kept from block ${sealed.oldestStateBlock()} on`)
    }
  }
}
