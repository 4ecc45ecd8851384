import type { Block, Hash } from '../../eth/index.ts'
import { NO_WRITES } from '../../evm/index.ts'
import type { WriteSet } from '../../evm/index.ts'
import type { BlockStore, PersistedState } from './blockstore.ts'
import { REMOVED_BLOCKS } from '../limits.ts'
import { PrunedState, StateHistory } from '../state/history.ts'

/** Edits of one head block; the next head has another object. */
interface HeadEdits {
  /** Number of state changes without a block. */
  count: number
}

/** Outcome of a rewind. */
export interface Removal {
  /** Newest first, at most REMOVED_BLOCKS. */
  readonly removed: readonly Block[]
  /** Differences between the state that the new head had when it was last the head, and the current one; empty for a store without state. */
  readonly writes: WriteSet
}

/** Linked list of rewinds: a reader that holds a link sees all later ones. The last link is empty. */
interface RewindLink {
  /** Block number that this rewind returned to. */
  toBlock: number
  next: RewindLink | null
}

/**
 * The sealed blocks, each with its state version; the two change together or not at all. Every change is durable in the store first: if the
 * store throws, nothing has changed. Memory holds the newest versions; the store may hold older state.
 */
export class SealedChain {
  readonly store: BlockStore
  readonly history: StateHistory
  readonly #genesis: Block
  readonly #genesisState: WriteSet | null
  readonly #historyBlocks: number
  /** Versions after each block from `#base` on. */
  #versions: number[]
  #base: number
  #genesisVersion: number
  #head: Block
  #staged: Block[] = []
  #headEdits: HeadEdits = { count: 0 }
  /** Edits of the newest durable block. */
  #durableHeadEdits = this.#headEdits
  #nextRewind: RewindLink = { toBlock: 0, next: null }
  #hasOpenBlockRecord: boolean
  #rewindCount = 0
  #revertCount = 0

  /**
   * `genesis` is the first block over `genesisState`: block 0, or the block that the chain is forked from. `history` holds the state of the store's newest
   * block, or the genesis for an empty store. `genesisState` is null if that state is unknown. `historyBlocks` is the number of blocks whose state stays in
   * memory; `versions` are those after the newest blocks.
   */
  constructor(
    store: BlockStore,
    history: StateHistory,
    genesis: Block,
    genesisState: WriteSet | null,
    historyBlocks: number,
    versions: readonly number[] = [history.version],
  ) {
    this.store = store
    this.history = history
    this.#genesis = genesis
    this.#genesisState = genesisState
    this.#historyBlocks = historyBlocks
    this.#hasOpenBlockRecord = store.openBlockRecord !== null
    this.#versions = [...versions]
    // Version 0 of a reopened chain is the newest persisted state, not the genesis.
    this.#genesisVersion = store.height < store.firstBlock ? history.version : NO_VERSION
    if (store.height < store.firstBlock) {
      this.#stageGenesis()
      store.flush()
    }
    this.#base = store.height + 1 - versions.length
    this.#head = this.blockAt(store.height)
  }

  get hasGenesisState(): boolean {
    return this.#genesisState !== null
  }

  /** Throws PrunedState if it is unknown. */
  get genesisState(): WriteSet {
    if (this.#genesisState === null) throw new PrunedState(0)
    return this.#genesisState
  }

  get head(): Block {
    return this.#head
  }

  /** Number of rewinds of sealed blocks or edits. */
  get rewindCount(): number {
    return this.#rewindCount
  }

  /** Number of times that any state was reverted, the open block's included. */
  get revertCount(): number {
    return this.#revertCount
  }

  get headVersion(): number {
    return this.#versions[this.#versions.length - 1]!
  }

  /** State persisted with the blocks, or `null`. */
  get persistedState(): PersistedState | null {
    return this.store.persistedState
  }

  /** Hash of a sealed block or of an ancestor of the fork block, else `null`. A bound function, used for BLOCKHASH. Throws MissingState. */
  readonly blockHash = (number: number): Hash | null =>
    this.#stagedBlock(number)?.hash ?? this.store.hashOf(number) ?? this.history.base?.blockHash(number) ?? null

  /** Timestamp of a sealed block in seconds, else `null`. */
  timestampOf(number: number): number | null {
    return this.#stagedBlock(number)?.header.timestamp ?? this.store.timestampOf(number)
  }

  /** Appends a block whose state is the history's newest version. It becomes the head, but is not durable before `flush`. */
  append(block: Block): void {
    this.store.append(block, this.#writesBetween(this.headVersion, this.history.version))
    this.#versions.push(this.history.version)
    this.#staged.push(block)
    this.#head = block
    this.#headEdits = { count: 0 }
  }

  /**
   * Makes the appended blocks durable. Throws store errors and resets the head to the last durable block; the caller reverts the
   * state with `revertOpenState`.
   */
  flush(): void {
    if (this.#staged.length === 0) return
    try {
      if (this.#hasOpenBlockRecord) this.store.putOpenBlockRecord(null)
      this.store.flush()
    } catch (error) {
      this.#unstage()
      throw error
    }
    this.#hasOpenBlockRecord = false
    this.#staged = []
    this.#durableHeadEdits = this.#headEdits
  }

  /**
   * Stores the record of the open block's promises, replacing the previous one. Throws store errors; the previous record then
   * stays.
   */
  putOpenBlockRecord(record: Uint8Array): void {
    if (this.#staged.length > 0) throw new Error('a promise is made beyond blocks that are not durable')
    this.store.putOpenBlockRecord(record)
    this.store.flush()
    this.#hasOpenBlockRecord = true
  }

  /** Removes the record of the open block's promises. */
  clearOpenBlockRecord(): void {
    if (!this.#hasOpenBlockRecord || this.#staged.length > 0) return
    this.store.putOpenBlockRecord(null)
    this.store.flush()
    this.#hasOpenBlockRecord = false
  }

  /**
   * Changes the state after the head without a block. Throws InconsistentWrites and store errors, and leaves everything as it was.
   */
  edit(writes: WriteSet): void {
    const before = this.history.version
    const version = this.history.apply(writes)
    this.#rewindOnError(before, () => {
      this.store.edit(this.#writesBetween(before, version), () => this.history.stateRoot(version))
      this.#flushAndClearRecord()
    })
    this.#versions[this.#versions.length - 1] = version
    this.#headEdits.count++
  }

  /** Returns a durable block. */
  blockAt(number: number): Block {
    if (number === this.store.firstBlock) return this.#genesis
    const block = this.store.byNumber(number)
    if (block === null) throw new Error(`block ${number} is missing from the block store`)
    return block
  }

  /** Returns the state version after a sealed block; `null` if it is not in memory. Throws RangeError for a block that is not sealed. */
  versionAfter(number: number): number | null {
    if (number < this.store.firstBlock || number > this.#head.header.number) throw new RangeError(`block ${number} is not sealed`)
    return this.#versions[number - this.#base] ?? null
  }

  /** Reverts the history to the head's state. */
  revertOpenState(): void {
    this.#revertCount++
    this.history.rewind(this.headVersion)
  }

  /**
   * Rewinds to block `number` and to `version` of the state after it, by default the last one. Throws PrunedState and store errors, and leaves
   * everything as it was.
   */
  rewind(number: number, version: number | null = this.versionAfter(number)): Removal {
    const before = this.history.version
    return this.#rewindOnError(before, () => {
      const target = version ?? this.#loadVersion(number)
      const last = version === null ? null : this.versionAfter(number)
      const removed = this.#durableBlocksAbove(number)
      const writes = last === null ? NO_WRITES : this.#writesBetween(last, target)
      this.store.truncate(number)
      this.store.edit(writes, () => this.history.stateRoot(target))
      this.#flushAndClearRecord()
      this.#setHead(number, target)
      return { removed, writes }
    })
  }

  /**
   * Rewinds to the first block and the genesis state, even if that version was pruned. Returns and throws as `rewind` does, and PrunedState for an unknown
   * genesis state.
   */
  resetToGenesis(): Removal {
    const { genesisState } = this
    const removed = this.blocksAboveGenesis()
    this.store.truncate(this.store.firstBlock - 1)
    this.#stageGenesis()
    this.#flushAndClearRecord()
    if (this.#genesisVersion < this.history.oldestVersion) this.#genesisVersion = this.history.restart(genesisState)
    this.#setHead(this.store.firstBlock, this.#genesisVersion)
    return { removed, writes: NO_WRITES }
  }

  /** Blocks after the first one, newest first, at most REMOVED_BLOCKS. */
  blocksAboveGenesis(): readonly Block[] {
    return this.#durableBlocksAbove(this.store.firstBlock)
  }

  /** Drops the appended blocks that are not durable. */
  discardStaged(): void {
    this.store.truncate(this.store.height)
    this.#unstage()
    this.revertOpenState()
  }

  /** Prunes state beyond the memory limit, but nothing from version `oldestNeeded` on. */
  prune(oldestNeeded: number): void {
    const version = this.#versions[this.#head.header.number - this.#historyBlocks - this.#base]
    if (version === undefined) return
    this.history.prune(Math.min(version, oldestNeeded))
    const held = this.#versions.findIndex((each) => each >= this.history.oldestVersion)
    this.#versions.splice(0, held)
    this.#base += held
  }

  /** The oldest block whose state is readable independent of snapshots. */
  oldestStateBlock(): number {
    return this.persistedState?.oldestBlock ?? this.#oldestBlockInMemory
  }

  /** The oldest block whose state can be proven: persisted state has no tries. */
  oldestProvenBlock(): number {
    return Math.max(this.oldestStateBlock(), this.#oldestBlockInMemory)
  }

  get #oldestBlockInMemory(): number {
    return Math.max(this.#base, this.#head.header.number - this.#historyBlocks)
  }

  /**
   * Returns a function that is true once the chain was rewound to or below a given block since this call: the block or its state may be
   * another one.
   */
  watchTruncation(): (number: number) => boolean {
    const now = this.#nextRewind
    return (number) => {
      for (let link = now; link.next !== null; link = link.next) if (link.toBlock <= number) return true
      return false
    }
  }

  /** Returns a function that is true once the state after the current head was edited while it was the head. */
  watchEdits(): () => boolean {
    const headEdits = this.#headEdits
    const { count } = headEdits
    return () => headEdits.count !== count
  }

  #stageGenesis(): void {
    this.store.append(this.#genesis, this.persistedState === null ? NO_WRITES : normalized(this.genesisState))
  }

  #flushAndClearRecord(): void {
    if (this.#hasOpenBlockRecord) this.store.putOpenBlockRecord(null)
    this.store.flush()
    this.#hasOpenBlockRecord = false
  }

  /** Empty for a store without state, which ignores write sets. */
  #writesBetween(from: number, to: number): WriteSet {
    return this.persistedState === null ? NO_WRITES : this.history.writesBetween(from, to)
  }

  /** Applies the persisted state of a block that memory no longer holds as a new version. */
  #loadVersion(number: number): number {
    if (this.persistedState === null) throw new PrunedState(number)
    const newest = this.#versions[this.store.height - this.#base]
    if (newest === undefined) throw new Error(`memory does not hold the state after block ${this.store.height}, the newest that is kept`)
    const back = this.persistedState.writesToRevertTo(number)
    if (this.history.version !== newest) this.history.apply(this.history.writesBetween(this.history.version, newest))
    return this.history.apply(back)
  }

  #setHead(number: number, version: number): void {
    const keptCount = Math.max(0, number - this.#base)
    this.#versions = [...this.#versions.slice(0, keptCount), version]
    this.#base = number - keptCount
    this.#staged = []
    this.#head = this.blockAt(number)
    this.#headEdits = this.#durableHeadEdits = { count: 0 }
    this.#rewindCount++
    this.#revertCount++
    this.#nextRewind.toBlock = number
    this.#nextRewind = this.#nextRewind.next = { toBlock: 0, next: null }
    this.history.rewind(version)
  }

  #rewindOnError<T>(version: number, work: () => T): T {
    try {
      return work()
    } catch (error) {
      this.history.rewind(version)
      throw error
    }
  }

  #unstage(): void {
    this.#versions.length -= this.#staged.length
    this.#staged = []
    this.#head = this.blockAt(this.store.height)
    this.#headEdits = this.#durableHeadEdits
  }

  #stagedBlock(number: number): Block | undefined {
    return this.#staged.length === 0 ? undefined : this.#staged[number - this.store.height - 1]
  }

  /** Durable blocks above `number`, newest first. */
  #durableBlocksAbove(number: number): readonly Block[] {
    const { height } = this.store
    const count = Math.min(height - number, REMOVED_BLOCKS)
    return Array.from({ length: Math.max(0, count) }, (_, index) => this.blockAt(height - index))
  }
}

/** Below every version. */
const NO_VERSION = -1

/** Removes empty entries, by a round trip through a history. */
function normalized(state: WriteSet): WriteSet {
  const history = new StateHistory(state)
  const [whole = NO_WRITES] = history.dump(history.version, Number.POSITIVE_INFINITY)
  return whole
}
