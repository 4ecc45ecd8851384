import type { Address, Block, Hash } from '../eth/index.ts'
import type { Account, WriteSet } from '../evm/index.ts'
import type { BlockStore } from './blocks.ts'
import type { StateHistory } from './state.ts'

/** The sealed blocks, each with the version of the state after it; the two move together or not at all. */
export class SealedChain {
  readonly store: BlockStore
  readonly history: StateHistory
  readonly #historyBlocks: number
  #versions: number[] = []
  #genesisVersion: number
  #head: Block
  #rewinds = 0
  #retractions = 0

  /** `genesis` is block 0; the history holds its state. */
  constructor(store: BlockStore, history: StateHistory, genesis: Block, historyBlocks: number) {
    this.store = store
    this.history = history
    this.#historyBlocks = historyBlocks
    this.#head = genesis
    store.append(genesis)
    this.#versions.push(history.version)
    this.#genesisVersion = history.version
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

  /** Of a sealed block, else null. A value that can be handed on: the BLOCKHASH of a builder. */
  readonly blockHash = (number: number): Hash | null => this.store.byNumber(number)?.hash ?? null

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

  /** Of the state after a sealed block. Throws RangeError for one that is not sealed. */
  versionAfter(number: number): number {
    const version = this.#versions[number]
    if (version === undefined) throw new RangeError(`block ${number} is not sealed`)
    return version
  }

  /** Takes back whatever came after the head. */
  retract(): void {
    this.#retractions++
    this.history.rewind(this.headVersion)
  }

  /** Goes back to block `number` and to `version` of the state after it; answers the blocks that are gone, newest first. */
  rewind(number: number, version: number): readonly Block[] {
    this.#rewinds++
    this.#retractions++
    this.history.rewind(version)
    const removed = this.store.truncate(number)
    this.#versions.length = number + 1
    this.#versions[number] = version
    this.#head = this.store.byNumber(number)!
    return removed
  }

  /** Goes back to block 0 and to the state it began with, even if that version was pruned or edited; answers as `rewind` does. */
  restart(genesis: WriteSet): readonly Block[] {
    if (this.#genesisVersion < this.history.floor) this.#genesisVersion = this.history.apply(anew(this.history, genesis))
    return this.rewind(0, this.#genesisVersion)
  }

  /** Forgets state older than the history allows, but nothing from version `oldestNeeded` on. */
  prune(oldestNeeded: number): void {
    const number = this.#head.header.number - this.#historyBlocks
    if (number <= 0) return
    this.history.prune(Math.min(this.#versions[number]!, oldestNeeded))
  }

  /** The oldest block whose state can be read whatever happened; snapshots may hold older ones. */
  oldestState(): number {
    return Math.max(0, this.#head.header.number - this.#historyBlocks)
  }
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
