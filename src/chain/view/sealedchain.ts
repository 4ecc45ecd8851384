import type { Address, Block, Hash } from '../../eth/index.ts'
import type { Account, WriteSet } from '../../evm/index.ts'
import type { BlockStore, KeptState } from './blockstore.ts'
import { REMOVED_BLOCKS } from '../limits.ts'
import { NO_WRITES, PrunedState, StateHistory } from '../state/history.ts'

/** What happens to the head while it is the head; the next head has another one. */
interface Tenure {
  /** how often its state was changed without a block */
  edits: number
}

/** The time from one way back to the next. */
interface Era {
  /** the block that was gone back to when it ended */
  end: number
  next: Era | null
}

/**
 * The sealed blocks, each with the version of the state after it; the two move together or not at all. What changes here is durable in the
 * store before: a store that throws has changed nothing. Memory holds the newest versions, the store may keep older state.
 */
export class SealedChain {
  readonly store: BlockStore
  readonly history: StateHistory
  readonly #genesis: Block
  readonly #genesisState: WriteSet
  readonly #historyBlocks: number
  /** after each block from `#base` on */
  #versions: number[]
  #base: number
  #genesisVersion: number
  #head: Block
  #staged: Block[] = []
  #tenure: Tenure = { edits: 0 }
  /** of the newest block that is durable */
  #durableTenure = this.#tenure
  #era: Era = { end: 0, next: null }
  #hasJournal: boolean
  #rewinds = 0
  #retractions = 0

  /**
   * `genesis` is block 0 over `genesisState`. The history holds the state of the store's newest block, or of the genesis when the store is
   * empty. `historyBlocks` stay in memory.
   */
  constructor(store: BlockStore, history: StateHistory, genesis: Block, genesisState: WriteSet, historyBlocks: number) {
    this.store = store
    this.history = history
    this.#genesis = genesis
    this.#genesisState = genesisState
    this.#historyBlocks = historyBlocks
    this.#hasJournal = store.promised !== null
    this.#versions = [history.version]
    // Version 0 of a chain that was opened again is not the genesis.
    this.#genesisVersion = store.height < 0 ? history.version : NEVER
    if (store.height < 0) {
      this.#stageGenesis()
      store.flush()
    }
    this.#base = store.height
    this.#head = this.#stored(store.height)
  }

  get head(): Block {
    return this.#head
  }

  /** how often sealed blocks, or edits after one, were taken back */
  get rewinds(): number {
    return this.#rewinds
  }

  /** how often state of any kind was taken back */
  get retractions(): number {
    return this.#retractions
  }

  get headVersion(): number {
    return this.#versions[this.#versions.length - 1]!
  }

  /** what stands beside the blocks; null: nothing */
  get kept(): KeptState | null {
    return this.store.kept
  }

  /** Of a sealed block, else null. A value that can be handed on: the BLOCKHASH of a builder. */
  readonly blockHash = (number: number): Hash | null => this.#stagedBlock(number)?.hash ?? this.store.hashOf(number)

  /** seconds; of a sealed block, else null */
  timestampOf(number: number): number | null {
    return this.#stagedBlock(number)?.header.timestamp ?? this.store.timestampOf(number)
  }

  /** The history stands at the state after `block`. It is the head from now on, but nothing stays unless `flush` comes. */
  append(block: Block): void {
    this.store.append(block, this.#difference(this.headVersion, this.history.version))
    this.#versions.push(this.history.version)
    this.#staged.push(block)
    this.#head = block
    this.#tenure = { edits: 0 }
  }

  /**
   * What was appended is durable. Throws what the store throws, with the head as it was when the last flush ended; the state is for `retract`
   * to take back.
   */
  flush(): void {
    if (this.#staged.length === 0) return
    try {
      if (this.#hasJournal) this.store.promise(null)
      this.store.flush()
    } catch (error) {
      this.#unstage()
      throw error
    }
    this.#hasJournal = false
    this.#staged = []
    this.#durableTenure = this.#tenure
  }

  /** What is promised beyond the head, durable. Throws what the store throws; then what was promised before is. */
  promise(journal: Uint8Array): void {
    if (this.#staged.length > 0) throw new Error('a promise is made beyond blocks that are not durable')
    this.store.promise(journal)
    this.store.flush()
    this.#hasJournal = true
  }

  /** Nothing is promised any more. */
  unpromise(): void {
    if (!this.#hasJournal || this.#staged.length > 0) return
    this.store.promise(null)
    this.store.flush()
    this.#hasJournal = false
  }

  /** Changes the state after the head without a block. Throws InconsistentWrites and what the store throws, with everything as it was. */
  edit(writes: WriteSet): void {
    const before = this.history.version
    const version = this.history.apply(writes)
    this.#orRewind(before, () => {
      this.store.edit(this.#difference(before, version), () => this.history.stateRoot(version))
      this.#flushWithoutJournal()
    })
    this.#versions[this.#versions.length - 1] = version
    this.#tenure.edits++
  }

  /** Of the state after a sealed block; null when memory does not hold it any more. Throws RangeError for a block that is not sealed. */
  versionAfter(number: number): number | null {
    if (number < 0 || number > this.#head.header.number) throw new RangeError(`block ${number} is not sealed`)
    return this.#versions[number - this.#base] ?? null
  }

  /** Takes back whatever came after the head. */
  retract(): void {
    this.#retractions++
    this.history.rewind(this.headVersion)
  }

  /**
   * Goes back to block `number`, to `version` of the state after it or to what that was when the next block came; answers the blocks that are
   * gone, newest first, or the newest of them when they are very many. Throws PrunedState and what the store throws, with everything as it was.
   */
  rewind(number: number, version: number | null = this.versionAfter(number)): readonly Block[] {
    const before = this.history.version
    return this.#orRewind(before, () => {
      const target = version ?? this.#comeTo(number)
      const last = version === null ? null : this.versionAfter(number)
      const removed = this.#newest(number)
      this.store.truncate(number)
      this.store.edit(last === null ? NO_WRITES : this.#difference(last, target), () => this.history.stateRoot(target))
      this.#flushWithoutJournal()
      this.#goTo(number, target)
      return removed
    })
  }

  /** Goes back to block 0 and to the state it began with, whatever became of that version; answers and throws as `rewind` does. */
  restart(): readonly Block[] {
    const before = this.history.version
    return this.#orRewind(before, () => {
      const isHeld = this.#genesisVersion >= this.history.floor
      const target = isHeld ? this.#genesisVersion : this.history.apply(anew(this.history, this.#genesisState))
      const removed = this.#newest(0)
      this.store.truncate(-1)
      this.#stageGenesis()
      this.#flushWithoutJournal()
      this.#genesisVersion = target
      this.#goTo(0, target)
      return removed
    })
  }

  /** Gives up what was appended and is not durable. */
  settleBack(): void {
    this.store.truncate(this.store.height)
    this.#unstage()
    this.retract()
  }

  /** Forgets state older than memory holds, but nothing from version `oldestNeeded` on. */
  prune(oldestNeeded: number): void {
    const version = this.#versions[this.#head.header.number - this.#historyBlocks - this.#base]
    if (version === undefined) return
    this.history.prune(Math.min(version, oldestNeeded))
    const held = this.#versions.findIndex((each) => each >= this.history.floor)
    this.#versions.splice(0, held)
    this.#base += held
  }

  /** The oldest block whose state can be read whatever happened; snapshots may hold older ones. */
  oldestState(): number {
    return this.kept?.floor ?? Math.max(this.#base, this.#head.header.number - this.#historyBlocks)
  }

  /** Answers what says, from now on, whether a block of now may be another one or have another state: the chain went back to it, or behind it. */
  watchCuts(): (number: number) => boolean {
    const now = this.#era
    return (number) => {
      for (let era = now; era.next !== null; era = era.next) if (era.end <= number) return true
      return false
    }
  }

  /** Answers what says, from now on, whether the state after the head of now was changed while that was the head. */
  watchEdits(): () => boolean {
    const tenure = this.#tenure
    const { edits } = tenure
    return () => tenure.edits !== edits
  }

  #stageGenesis(): void {
    this.store.append(this.#genesis, this.kept === null ? NO_WRITES : wholeOf(this.#genesisState))
  }

  #flushWithoutJournal(): void {
    if (this.#hasJournal) this.store.promise(null)
    this.store.flush()
    this.#hasJournal = false
  }

  /** Nobody but a store that keeps state wants to know. */
  #difference(from: number, to: number): WriteSet {
    return this.kept === null ? NO_WRITES : this.history.writesBetween(from, to)
  }

  /** Makes a version of what the store keeps of a block that memory has forgotten. */
  #comeTo(number: number): number {
    if (this.kept === null) throw new PrunedState(number)
    const newest = this.#versions[this.store.height - this.#base]
    if (newest === undefined) throw new Error(`memory does not hold the state after block ${this.store.height}, the newest that is kept`)
    const back = this.kept.writesBack(number)
    if (this.history.version !== newest) this.history.apply(this.history.writesBetween(this.history.version, newest))
    return this.history.apply(back)
  }

  #goTo(number: number, version: number): void {
    const kept = Math.max(0, number - this.#base)
    this.#versions = [...this.#versions.slice(0, kept), version]
    this.#base = number - kept
    this.#staged = []
    this.#head = this.#stored(number)
    this.#tenure = this.#durableTenure = { edits: 0 }
    this.#rewinds++
    this.#retractions++
    this.#era.end = number
    this.#era = this.#era.next = { end: 0, next: null }
    this.history.rewind(version)
  }

  #orRewind<T>(version: number, work: () => T): T {
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
    this.#head = this.#stored(this.store.height)
    this.#tenure = this.#durableTenure
  }

  #stagedBlock(number: number): Block | undefined {
    return this.#staged.length === 0 ? undefined : this.#staged[number - this.store.height - 1]
  }

  /** Durable blocks above `number`, newest first. */
  #newest(number: number): readonly Block[] {
    const { height } = this.store
    const count = Math.min(height - number, REMOVED_BLOCKS)
    return Array.from({ length: Math.max(0, count) }, (_, index) => this.#stored(height - index))
  }

  #stored(number: number): Block {
    if (number === 0) return this.#genesis
    const block = this.store.byNumber(number)
    if (block === null) throw new Error(`block ${number} is missing from the block store`)
    return block
  }
}

/** Before any version. */
const NEVER = -1

/** As a history that begins with it holds it: without what is empty. */
function wholeOf(state: WriteSet): WriteSet {
  const history = new StateHistory(state)
  const [whole = NO_WRITES] = history.whole(history.version, Number.POSITIVE_INFINITY)
  return whole
}

/** The writes that make the newest state this one again, whatever it is now. */
function anew(history: StateHistory, genesis: WriteSet): WriteSet {
  const now = history.at(history.version)
  const accounts = new Map<Address, Account | null>([...history.accounts()].map((address) => [address, null]))
  for (const [address, account] of genesis.accounts) accounts.set(address, account)
  const storage = new Map<Address, Map<Hash, bigint>>()
  for (const [address] of genesis.accounts) {
    const cleared = [...now.slots(address)].map((slot) => [slot, 0n] as const)
    storage.set(address, new Map([...cleared, ...(genesis.storage.get(address) ?? [])]))
  }
  return { accounts, storage, codes: genesis.codes }
}
