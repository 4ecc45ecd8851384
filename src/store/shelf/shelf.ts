import type { Hash } from '../../eth/index.ts'
import type { StateReader, WriteSet } from '../../evm/index.ts'

/**
 * Where the bytes of a chain rest: sealed blocks, the pages of the log index, small records and, on a disk, the state with its history.
 * What the bytes mean is the business of others. Every call is synchronous; what `commit` was given is safe when it returns.
 */
export interface Shelf {
  /** whose chain it is; null: nothing was ever committed */
  readonly meta: ShelfMeta | null
  /** number of the newest block, -1 when there is none */
  readonly height: number
  /** of the newest block's state with its edits, as it was committed last; null: never */
  readonly stateRoot: Hash | null
  /** the open block's journal as the last `commit` or `journal` left it; null: none */
  readonly promises: Uint8Array | null
  /** null: this shelf keeps no state */
  readonly state: StateShelf | null
  readonly records: Records
  /** true: what is read never left the process, so nothing can have happened to it */
  readonly isVolatile: boolean
  /** The record of a block; null: there is none. The caller may keep it for ever. */
  block(number: number): Uint8Array | null
  /** by rising id */
  sections(): readonly SectionEntry[]
  /** The caller may keep it for ever. Throws ShelfError (corrupt) when there is none. */
  page(section: number, page: number): Uint8Array
  /**
   * All of it is durable when this returns. Throws ShelfError, RangeError for a block that is not the next one or PrunedState for a cut
   * below the state's floor; then everything is as it was.
   */
  commit(change: ShelfChange): void
  /** Replaces the open block's journal, cheaply: the death of the process loses nothing, a power failure may. Throws ShelfError. */
  journal(promises: Uint8Array | null): void
  /** what it takes on the disk, or in memory */
  sizeBytes(): number
  close(): Promise<void>
}

/** Whose chain a shelf holds. */
export interface ShelfMeta {
  /** of everything on the shelf; see SHELF_FORMAT */
  readonly format: number
  readonly genesisHash: Hash
}

/** What this program writes, and everything older. It reads nothing newer. 2: records of format 4. */
export const SHELF_FORMAT = 2

/** One step, taken as a whole or not at all, in the order of the fields. */
export interface ShelfChange {
  readonly meta?: ShelfMeta
  /** Blocks above it go, with what they did to the state. -1: all of them, and all state. */
  readonly truncateTo?: number
  readonly blocks?: readonly ShelfBlock[]
  /** onto the state of the newest block: what a test changed from outside */
  readonly edits?: WriteSet
  readonly stateRoot?: Hash
  readonly sections?: SectionChange
  /** the open block's journal; null: none is open; left out: stays */
  readonly promises?: Uint8Array | null
  /** The state of older blocks may be forgotten. It happens in bounded steps, a few with every commit. */
  readonly floor?: number
}

export interface ShelfBlock {
  readonly number: number
  /** A volatile shelf keeps these bytes; to others they are lent until `commit` returns. */
  readonly record: Uint8Array
  /** from the state of the block before, with its edits, to this one's */
  readonly writes: WriteSet
}

export interface SectionEntry {
  readonly id: number
  readonly head: Uint8Array
}

/** In this order. */
export interface SectionChange {
  /** sections of which the head and all pages go; some may not be there */
  readonly remove: readonly number[]
  /** in place of one with the same number; a section may get pages long before it gets its head */
  readonly pages: readonly { readonly section: number; readonly page: number; readonly bytes: Uint8Array }[]
  readonly heads: readonly SectionEntry[]
}

/** The state of every block from the floor to the newest. */
export interface StateShelf {
  /** the oldest block whose state can be read */
  readonly floor: number
  /** The newest state, in pieces: each account comes before its slots, each code with an account that has it. */
  whole(): Iterable<WriteSet>
  /**
   * State of a block, also when newer ones come. Throws PrunedState below the floor and RangeError above the newest block; its own
   * methods throw PrunedState or RewoundState once the block's state is gone.
   */
  at(number: number): StateReader
  /** What makes the newest state that of `number` again. Throws as `at` does. */
  writesBack(number: number): WriteSet
}

/** Small values that change in place, under text keys. */
export interface Records {
  /** The caller may keep it for ever. */
  get(key: string): Uint8Array | null
  /** Durable when it returns, inside a transaction when that does. Null removes. */
  put(key: string, value: Uint8Array | null): void
  /** in the order of the keys' bytes */
  entries(prefix: string): Iterable<[string, Uint8Array]>
  /** All that `work` puts, or nothing of it if it throws. */
  transaction<T>(work: () => T): T
}

export type ShelfErrorReason =
  /** another process uses the directory */
  | 'locked'
  /** the directory holds something else */
  | 'foreign'
  | 'newer-format'
  | 'truncated'
  | 'corrupt'
  | 'full'
  | 'unreadable'

/** The shelf cannot be used, or a change could not be kept. Nothing was overwritten. The message says what to do. */
export class ShelfError extends Error {
  override readonly name = 'ShelfError'
  readonly reason: ShelfErrorReason

  constructor(reason: ShelfErrorReason, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.reason = reason
  }
}
