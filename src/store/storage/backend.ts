import type { Hash } from '../../eth/index.ts'
import type { StateReader, WriteSet } from '../../evm/index.ts'

/**
 * Stores the bytes of a chain: sealed blocks, index pages, small records and, on disk, the state with its history. The bytes are opaque to
 * it. Every call is synchronous; a commit is durable when it returns.
 */
export interface StorageBackend {
  /** `null` before the first commit */
  readonly meta: ChainMetadata | null
  /** number of the chain's first block: 0, or the fork block */
  readonly firstBlock: number
  /** number of the newest block, `firstBlock` - 1 for none */
  readonly height: number
  /** root of the newest block with its edits, as of the last commit; `null` if none was committed */
  readonly stateRoot: Hash | null
  /** the record of the open block as of the last `commit` or `writeOpenBlockRecord`; `null` if no block is open */
  readonly openBlockRecord: Uint8Array | null
  /** `null` if this backend stores no state */
  readonly state: StateBackend | null
  readonly records: Records
  /** Reads need no checksum: the bytes never leave the process. */
  readonly isVolatile: boolean
  /** Returns a block's record, `null` if there is none. The bytes are immutable. */
  block(number: number): Uint8Array | null
  /** ascending by id */
  sections(): readonly SectionEntry[]
  /** The bytes are immutable. Throws StorageError (corrupt) if the page is missing. */
  page(section: number, page: number): Uint8Array
  /**
   * Atomic, and durable when it returns. Throws StorageError, RangeError for a block that is not the next one, or PrunedState for a
   * truncation below the state's floor; then nothing has changed.
   */
  commit(change: StorageChange): void
  /** Replaces the record of the open block without a commit. Survives a crash of the process, not a power failure. Throws StorageError. */
  writeOpenBlockRecord(openBlockRecord: Uint8Array | null): void
  /** size on disk, or in memory */
  sizeBytes(): number
  close(): Promise<void>
}

/** Identifies the chain in a backend. */
export interface ChainMetadata {
  /** the on-disk format: STORAGE_FORMAT */
  readonly format: number
  readonly genesisHash: Hash
}

/** The format that this version writes. It reads older ones and refuses newer ones. 2: records of format 4. */
export const STORAGE_FORMAT = 2

/** One atomic change, applied in the order of the fields. */
export interface StorageChange {
  readonly meta?: ChainMetadata
  /** Removes the blocks above this number and undoes their state changes. -1: all blocks and all state. */
  readonly truncateTo?: number
  readonly blocks?: readonly StorageBlock[]
  /** applied to the state of the newest block: changes by dev methods */
  readonly edits?: WriteSet
  readonly stateRoot?: Hash
  readonly sections?: SectionChange
  /** the record of the open block; `null`: no block is open; absent: unchanged */
  readonly openBlockRecord?: Uint8Array | null
  /** The state of blocks below may be pruned. Each commit prunes a bounded part. */
  readonly floor?: number
}

export interface StorageBlock {
  readonly number: number
  /** A volatile backend keeps these bytes; others read them only until `commit` returns. */
  readonly record: Uint8Array
  /** changes from the state of the previous block, with its edits, to the state of this block */
  readonly writes: WriteSet
}

export interface SectionEntry {
  readonly id: number
  readonly head: Uint8Array
}

/** Applied in the order of the fields. */
export interface SectionChange {
  /** Sections whose header and pages are deleted; some may not exist. */
  readonly remove: readonly number[]
  /** They replace pages of the same number. A section may get pages before it gets its header. */
  readonly pages: readonly { readonly section: number; readonly page: number; readonly bytes: Uint8Array }[]
  readonly heads: readonly SectionEntry[]
}

/** The state of every block from the floor to the newest. */
export interface StateBackend {
  /** the oldest block whose state is stored */
  readonly floor: number
  /** Yields the newest state in pieces: an account before its slots, a code with an account that has it. */
  whole(): Iterable<WriteSet>
  /**
   * Returns the state of a block, which later commits do not change. Throws PrunedState below the floor and RangeError above the newest
   * block; the reader's methods throw PrunedState or RewoundState once the block's state is gone.
   */
  at(number: number): StateReader
  /** Returns the write set that turns the newest state into that of `number`. Throws as `at` does. */
  writesBack(number: number): WriteSet
}

/** Small mutable values under text keys. */
export interface Records {
  /** The bytes are immutable. */
  get(key: string): Uint8Array | null
  /** Durable when it returns, or when the enclosing transaction does. `null` deletes. */
  put(key: string, value: Uint8Array | null): void
  /** in byte order of the keys */
  entries(prefix: string): Iterable<[string, Uint8Array]>
  /** Applies all puts of `work`, or none if it throws. `work` may run twice. */
  transaction<T>(work: () => T): T
}

export type StorageErrorReason =
  /** LMDB or its native binary is not installed */
  | 'unavailable'
  /** another process holds the directory */
  | 'locked'
  /** the directory holds other files */
  | 'foreign'
  | 'newer-format'
  | 'truncated'
  | 'corrupt'
  | 'full'
  | 'unreadable'

/** The storage is unusable, or a change could not be committed. Nothing was overwritten. The message contains the remedy. */
export class StorageError extends Error {
  override readonly name = 'StorageError'
  readonly reason: StorageErrorReason

  constructor(reason: StorageErrorReason, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.reason = reason
  }
}
