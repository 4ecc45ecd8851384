import type { Block, Flashblock, Hash } from '../../eth/index.ts'
import type { WriteSet } from '../../evm/index.ts'
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

/** A block was sealed. `writes` are those after its last flashblock, usually none. */
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
  readonly retracted: Block | null
  /** Retracted transactions that the next flashblocks promise again, announced together with this event; absent: none. */
  readonly repromised?: ReadonlySet<Hash>
}

export type HeadEvent = FlashblockEvent | SealedEvent | EditEvent | RewindEvent
export type HeadListener = (event: HeadEvent) => void

/** Holds the current View, and notifies listeners when it is replaced. */
export class Head {
  #view: View
  readonly #listeners = new Set<HeadListener>()
  readonly #onBug: (error: unknown) => void

  /** `onBug` is called with errors of listeners; the other listeners are still notified. */
  constructor(view: View, onBug: (error: unknown) => void) {
    this.#view = view
    this.#onBug = onBug
  }

  get view(): View {
    return this.#view
  }

  /** Replaces the View, then calls the listeners in subscription order. Listeners must return quickly. */
  announce(event: HeadEvent): void {
    this.#view = event.view
    for (const listener of this.#listeners) this.#notify(listener, event)
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
