import type { Block } from '../eth/index.ts'
import type { StateReader } from '../evm/index.ts'
import type { BlockStore } from './blocks.ts'
import type { StateHistory } from './state.ts'

/** The sealed blocks, each with the version of the state after it; the two move together or not at all. */
export class SealedChain {
  readonly store: BlockStore
  readonly history: StateHistory
  readonly #historyBlocks: number
  #versions: number[] = []
  #head: Block

  /** `genesis` is block 0; the history holds its state. */
  constructor(store: BlockStore, history: StateHistory, genesis: Block, historyBlocks: number) {
    this.store = store
    this.history = history
    this.#historyBlocks = historyBlocks
    this.#head = genesis
    store.append(genesis)
    this.#versions.push(history.version)
  }

  get head(): Block {
    return this.#head
  }

  get headVersion(): number {
    return this.#versions[this.#versions.length - 1]!
  }

  /** The history stands at the state after `block`. */
  append(block: Block): void {
    this.store.append(block)
    this.#versions.push(this.history.version)
    this.#head = block
  }

  /** The state after the head was changed without a block. */
  edited(): void {
    this.#versions[this.#versions.length - 1] = this.history.version
  }

  /** The state after a sealed block. Throws PrunedState. */
  stateAfter(number: number): StateReader {
    return this.history.at(this.versionAfter(number))
  }

  /** Throws RangeError for a block that is not sealed. */
  versionAfter(number: number): number {
    const version = this.#versions[number]
    if (version === undefined) throw new RangeError(`block ${number} is not sealed`)
    return version
  }

  /** Goes back to block `number` and to `version` of the state after it; answers the blocks that are gone, newest first. */
  rewind(number: number, version: number): readonly Block[] {
    const removed = this.store.truncate(number)
    this.history.rewind(version)
    this.#versions.length = number + 1
    this.#versions[number] = version
    this.#head = this.store.byNumber(number)!
    return removed
  }

  /** Forgets state older than the history allows, but nothing from `oldestNeeded` (a snapshot's version) on. */
  prune(oldestNeeded: number): void {
    const number = this.#head.header.number - this.#historyBlocks
    if (number <= 0) return
    this.history.prune(Math.min(this.#versions[number]!, oldestNeeded))
  }

  /** The oldest block whose state can be read. */
  oldestState(): number {
    return Math.max(0, this.#head.header.number - this.#historyBlocks)
  }
}
