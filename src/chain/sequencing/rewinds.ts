import type { Block, Transaction } from '../../eth/index.ts'
import { Breath } from '../timeslice.ts'
import type { Head } from '../view/head.ts'
import type { Horizon } from '../view/viewfactory.ts'
import type { Knobs } from './testoverrides.ts'
import { REORG_BLOCKS } from '../limits.ts'
import type { Mempool } from '../pool/mempool.ts'
import type { SealedChain } from '../view/sealedchain.ts'
import type { Sequencer } from './sequencer.ts'
import type { Snapshots } from './snapshots.ts'
import type { ChainTime } from './chaintime.ts'

export interface RewindsParts {
  readonly sealed: SealedChain
  readonly sequencer: Sequencer
  readonly snapshots: Snapshots
  readonly pool: Mempool
  readonly time: ChainTime
  readonly knobs: Knobs
  /** as the chain began with them */
  readonly freshKnobs: Knobs
  readonly head: Head
  readonly horizon: Horizon
}

/** A transaction for one of the blocks of a reorg; `block` counts them from 0. */
export interface Replacement {
  readonly tx: Transaction
  readonly block: number
}

/**
 * The ways back. Each drops the open block and sealed ones on purpose, so that their transactions do not wait again, and
 * announces one rewind. One that the store refuses has changed nothing. Callers take turns, as those of the sequencer do.
 */
export class Rewinds {
  readonly #parts: RewindsParts

  constructor(parts: RewindsParts) {
    this.#parts = parts
  }

  /** To a snapshot; it and all later ones are used up. False: there is no such snapshot. */
  revert(id: string): boolean {
    const { sealed, snapshots, pool, time, knobs } = this.#parts
    const snapshot = snapshots.get(id)
    if (snapshot === null) return false
    this.#goBack(
      () => sealed.rewind(snapshot.number, snapshot.version),
      () => {
        snapshots.use(id)
        time.restore(snapshot.time)
        Object.assign(knobs, snapshot.knobs)
        pool.restore(snapshot.pool)
      },
    )
    return true
  }

  /** By `depth` blocks. Throws RangeError. */
  rollback(depth: number): void {
    this.#assertDepth(depth)
    this.#goBackBy(depth)
  }

  /** By `depth` blocks, and forward again by as many others with the same timestamps. Throws RangeError. */
  async reorg(depth: number, replacements: readonly Replacement[]): Promise<void> {
    this.#assertDepth(depth)
    for (const { block } of replacements) {
      if (block < 0 || block >= depth) throw new RangeError(`block ${block} is outside a reorg of ${depth} blocks`)
    }
    const removed = this.#goBackBy(depth)
    const { knobs, sequencer } = this.#parts
    knobs.salt++
    const breath = new Breath()
    sequencer.hold()
    try {
      for (const [place, old] of [...removed].reverse().entries()) {
        const chosen = replacements.filter(({ block }) => block === place).map(({ tx }) => tx)
        sequencer.replace(old, chosen)
        await sequencer.breathe(breath)
      }
    } finally {
      await sequencer.release(breath)
    }
  }

  /** To block 0, with an empty pool, the clock's own time and fresh settings. */
  reset(): void {
    const { sealed, snapshots, pool, time, knobs, freshKnobs } = this.#parts
    this.#goBack(
      () => sealed.restart(),
      () => {
        snapshots.clear()
        Object.assign(knobs, freshKnobs)
        time.reset()
        pool.dropAll()
      },
    )
  }

  /** Answers the blocks that are gone, newest first. */
  #goBackBy(depth: number): readonly Block[] {
    const { sealed, snapshots } = this.#parts
    const number = sealed.head.header.number - depth
    return this.#goBack(
      () => sealed.rewind(number),
      () => snapshots.dropAbove(number),
    )
  }

  /** `go` takes blocks back and answers them, newest first; `adjust` is for what follows from that. */
  #goBack(go: () => readonly Block[], adjust: () => void): readonly Block[] {
    const { sequencer, head, horizon } = this.#parts
    const removed = go()
    const retracted = sequencer.forget()
    adjust()
    head.announce({ kind: 'rewind', view: horizon.view(), removed, retracted })
    return removed
  }

  #assertDepth(depth: number): void {
    const { sealed } = this.#parts
    const height = sealed.head.header.number
    if (!Number.isSafeInteger(depth) || depth < 1 || depth > height || depth > REORG_BLOCKS) {
      throw new RangeError(`cannot go back ${depth} blocks: the chain has ${height}, the limit is ${REORG_BLOCKS}`)
    }
    if (height - depth < sealed.oldestState()) {
      throw new RangeError(`cannot go back ${depth} blocks: state is kept from block ${sealed.oldestState()} on`)
    }
  }
}
