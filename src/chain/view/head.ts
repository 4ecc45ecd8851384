import type { Block, Flashblock } from '../../eth/index.ts'
import type { WriteSet } from '../../evm/index.ts'
import type { View } from './view.ts'

/** A flashblock joined the pending block. Its new transactions start at `firstTransaction`. */
export interface FlashblockEvent {
  readonly kind: 'block'
  readonly sealed: false
  readonly view: View
  readonly block: Block
  readonly flashblock: Flashblock
  readonly firstTransaction: number
  readonly writes: WriteSet
}

/** A block was sealed. What it holds beyond its flashblocks (usually nothing) is in `writes`. */
export interface SealedEvent {
  readonly kind: 'block'
  readonly sealed: true
  readonly view: View
  readonly block: Block
  readonly writes: WriteSet
}

/** A test set state directly; no block explains it. */
export interface EditEvent {
  readonly kind: 'edit'
  readonly view: View
  readonly writes: WriteSet
}

/** The chain went back. `removed` are sealed blocks, newest first; `retracted` the pending block that is gone. */
export interface RewindEvent {
  readonly kind: 'rewind'
  readonly view: View
  readonly removed: readonly Block[]
  readonly retracted: Block | null
}

export type HeadEvent = FlashblockEvent | SealedEvent | EditEvent | RewindEvent
export type HeadListener = (event: HeadEvent) => void

/** Holds the one View and tells everybody, in order, when it is replaced. */
export class Head {
  #view: View
  readonly #listeners = new Set<HeadListener>()
  readonly #onBug: (error: unknown) => void

  /** `onBug` gets what a listener throws: the others hear of the event all the same. */
  constructor(view: View, onBug: (error: unknown) => void) {
    this.#view = view
    this.#onBug = onBug
  }

  get view(): View {
    return this.#view
  }

  /** Replaces the View, then calls every listener in the order they came. Listeners return quickly. */
  announce(event: HeadEvent): void {
    this.#view = event.view
    for (const listener of this.#listeners) this.#tell(listener, event)
  }

  /** Answers the function that ends the subscription. */
  subscribe(listener: HeadListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #tell(listener: HeadListener, event: HeadEvent): void {
    try {
      listener(event)
    } catch (error) {
      this.#onBug(error)
    }
  }
}
