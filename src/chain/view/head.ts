import type { Block, Flashblock, Hash } from '../../eth/index.ts'
import type { WriteSet } from '../../evm/index.ts'
import { HELD_EVENTS } from '../limits.ts'
import type { View } from './view.ts'

/** A flashblock was added to the pending block. Its transactions start at `firstTransaction`. */
export interface FlashblockEvent {
  readonly kind: 'block'
  readonly sealed: false
  /** False if the block is sealed before anything of it is announced, as under the instant cadence. */
  readonly isPromise: boolean
  readonly view: View
  readonly block: Block
  readonly flashblock: Flashblock
  readonly firstTransaction: number
  readonly writes: WriteSet
}

/** A block was sealed. `writes` are those after its last flashblock, usually none; for a block that was promised by another process or before a restart, all. */
export interface SealedEvent {
  readonly kind: 'block'
  readonly sealed: true
  readonly view: View
  readonly block: Block
  readonly writes: WriteSet
}

/** A dev method changed the state without a block. */
export interface EditEvent {
  readonly kind: 'edit'
  readonly view: View
  readonly writes: WriteSet
}

/** Why promises were retracted or blocks removed. `discard`: the chain's settings changed, or a block could not be built. */
export type RewindCause =
  | 'discard'
  | 'revert'
  | 'rollback'
  | 'reorg'
  | 'reset'
  | 'restart'
  | 'import'
  | 'retract'
  | 'drop'
  | 'reorder'
  | 'insert'
  | 'replace'
  | 'failOver'

/** The chain was rewound. `removed` are sealed blocks, newest first; `retracted` is the dropped pending block. */
export interface RewindEvent {
  readonly kind: 'rewind'
  readonly cause: RewindCause
  readonly view: View
  readonly removed: readonly Block[]
  /** Differences between the state that the new head had when it was last the head, edits included, and the current one; absent: none. */
  readonly writes?: WriteSet
  readonly retracted: Block | null
  /** Retracted transactions that the next flashblocks promise again, announced together with this event; absent: none. */
  readonly repromised?: ReadonlySet<Hash>
}

export type HeadEvent = FlashblockEvent | SealedEvent | EditEvent | RewindEvent
export type HeadListener = (event: HeadEvent) => void

/** Commits the store's flushed changes to the database of a fleet before they become visible. */
export interface CommitPort {
  /** True while the store has flushed changes that are not committed. */
  readonly isPending: boolean
  /** `promises`: no block can be committed, so the open block stays open and takes more transactions; `nothing`: nor is anything promised. */
  readonly allowed: 'blocks' | 'promises' | 'nothing'
  /** Resolves when they are committed. Rejects when they never will be: another process is the sequencer. */
  commit(): Promise<void>
}

/** Holds the current View, and notifies listeners when it is replaced. */
export class Head {
  #view: View
  readonly #listeners = new Set<HeadListener>()
  readonly #onBug: (error: unknown) => void
  readonly #commits: CommitPort | null
  /** Events that wait for a commit, and those after them. */
  readonly #held: (() => void)[] = []

  /** `onBug` is called with errors of listeners; the other listeners are still notified. `commits`, if any, precede announcements. */
  constructor(view: View, onBug: (error: unknown) => void, commits: CommitPort | null = null) {
    this.#view = view
    this.#onBug = onBug
    this.#commits = commits
  }

  get view(): View {
    return this.#view
  }

  /**
   * Replaces the View, then calls the listeners in subscription order. Listeners must return quickly. While a commit is pending the event is held
   * until `release`. `before` is called directly before its delivery.
   */
  announce(event: HeadEvent, before: () => void = () => undefined): void {
    const deliver = () => {
      before()
      this.#view = event.view
      for (const listener of this.#listeners) this.#notify(listener, event)
    }
    if (this.#held.length > 0 || this.#commits?.isPending === true) this.#held.push(deliver)
    else deliver()
  }

  /** Calls `work` after the events that are held now; immediately if none is. */
  afterHeld(work: () => void): void {
    if (this.#held.length > 0) this.#held.push(work)
    else work()
  }

  /** As `release` once many events are held, so that a commit is not made for a few blocks each. */
  releaseMany(): Promise<void> | null {
    return this.#held.length < HELD_EVENTS ? null : this.release()
  }

  /** Commits what the store has flushed, then delivers the held events. Null: nothing is held. Rejects as CommitPort.commit does. */
  release(): Promise<void> | null {
    return this.#commits !== null && (this.#held.length > 0 || this.#commits.isPending) ? this.#release(this.#commits) : null
  }

  /**
   * Announces the pending block as retracted, immediately: another process builds the blocks now, and may not have its promises. Events that wait for a commit
   * are never announced.
   */
  retractPending(): void {
    this.#held.length = 0
    const { pending } = this.#view
    if (pending === null) return
    this.#view = this.#view.withoutPending()
    for (const listener of this.#listeners)
      this.#notify(listener, { kind: 'rewind', cause: 'failOver', view: this.#view, removed: [], retracted: pending })
  }

  async #release(commits: CommitPort): Promise<void> {
    while (this.#held.length > 0 || commits.isPending) {
      const events = this.#held.length
      try {
        await commits.commit()
      } catch (error) {
        // Uncommitted changes are never visible.
        this.#held.length = 0
        throw error
      }
      for (const deliver of this.#held.splice(0, events)) deliver()
    }
  }

  /** Returns the unsubscribe function. */
  subscribe(listener: HeadListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #notify(listener: HeadListener, event: HeadEvent): void {
    try {
      listener(event)
    } catch (error) {
      this.#onBug(error)
    }
  }
}
