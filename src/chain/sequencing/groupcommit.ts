import type { Address, Transaction } from '../../eth/index.ts'
import type { TestOverrides } from './testoverrides.ts'
import type { ChainTime } from './chaintime.ts'
import type { HeadEvent } from '../view/head.ts'

/** Blocks that one flush makes durable: their deferred announcements, and the time and overrides to restore if the flush fails. */
export class GroupCommit {
  /** In block order. */
  readonly announcements: HeadEvent[] = []
  /** Of all blocks; they leave the pool after the last announcement, so that each is always in the pool or in an announced block. */
  readonly included: Transaction[] = []
  /** Those whose senders could not pay; they are dropped at the same time. */
  readonly unpayable: Transaction[] = []
  /** Accounts that the blocks changed. */
  readonly written = new Set<Address>()
  readonly #overrides: TestOverrides
  readonly #overridesBefore: TestOverrides
  readonly #restoreTime: () => void
  /** Numbers of announcements and of included transactions when the open block began. */
  #sealed = { announcements: 0, included: 0 }

  constructor(time: ChainTime, overrides: TestOverrides) {
    this.#overrides = overrides
    this.#overridesBefore = { ...overrides }
    this.#restoreTime = time.checkpoint()
  }

  beginBlock(): void {
    this.#sealed = { announcements: this.announcements.length, included: this.included.length }
  }

  /** Forgets the open block, of which nothing is announced yet. */
  discardBlock(): void {
    this.announcements.length = this.#sealed.announcements
    this.included.length = this.#sealed.included
  }

  /** Restores time and overrides after a failed flush. */
  restore(): void {
    this.#restoreTime()
    Object.assign(this.#overrides, this.#overridesBefore)
  }
}
