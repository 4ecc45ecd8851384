import type { Address } from '../eth/index.ts'
import type { Account } from '../evm/index.ts'
import { MemoryStorage, Store } from '../store/index.ts'
import type { SectionEntry, StorageBackend, StorageChange, ChainMetadata, StateBackend } from '../store/index.ts'
import type { KeptState } from './blocks.ts'
import { PlainState } from './plainstate.fixture.ts'
import { PrunedState } from './state.ts'

/** The store over a shelf that keeps state, in memory, and that can be opened again as it was after its last commit. */
export class KeptStore extends Store {
  /** its shelf keeps state */
  declare readonly kept: KeptState
  readonly #shelf: KeepingShelf
  flushes = 0
  /** called before a flush; what it throws is what a full disk throws */
  beforeFlush: () => void = () => undefined

  constructor(shelf = new KeepingShelf()) {
    super(shelf)
    this.#shelf = shelf
    shelf.beforeChange = () => {
      this.flushes++
      this.beforeFlush()
    }
  }

  /** As another process finds it when this one is gone. */
  reopened(): KeptStore {
    return new KeptStore(this.#shelf.copy())
  }

  get journal(): Uint8Array | null {
    return this.#shelf.promises
  }

  /** Damage: the newest state is another one than its root says. */
  damaged(address: Address, account: Account): KeptStore {
    const shelf = this.#shelf.copy()
    const writes = { accounts: new Map([[address, account]]), storage: new Map(), codes: new Map() }
    shelf.states.push(shelf.states.pop()!.with(writes))
    return new KeptStore(shelf)
  }

  /** State below `floor` cannot be read any more. */
  prune(floor: number): void {
    this.#shelf.floor = floor
  }
}

/** The shelf in memory, with the state of every block beside it as a plain copy. */
class KeepingShelf implements StorageBackend {
  /** as if it came from a disk: checksums are looked at */
  readonly isVolatile = false
  readonly state: StateBackend
  /** after each block and its edits */
  states: PlainState[] = []
  floor = 0
  beforeChange: () => void = () => undefined
  readonly #memory = new MemoryStorage()
  /** All that is durable: whoever repeats it has it. */
  readonly #changes: StorageChange[] = []

  constructor() {
    this.state = this.#stateShelf()
  }

  copy(): KeepingShelf {
    const copy = new KeepingShelf()
    for (const change of this.#changes) copy.#apply(change)
    copy.floor = this.floor
    return copy
  }

  get meta(): ChainMetadata | null {
    return this.#memory.meta
  }

  get height(): number {
    return this.#memory.height
  }

  get stateRoot() {
    return this.#memory.stateRoot
  }

  get promises(): Uint8Array | null {
    return this.#memory.promises
  }

  get records() {
    return this.#memory.records
  }

  block(number: number): Uint8Array | null {
    return this.#memory.block(number)
  }

  sections(): readonly SectionEntry[] {
    return this.#memory.sections()
  }

  page(section: number, page: number): Uint8Array {
    return this.#memory.page(section, page)
  }

  commit(change: StorageChange): void {
    this.beforeChange()
    const { blocks = [] } = change
    this.#apply({ ...change, blocks: blocks.map((block) => ({ ...block, record: block.record.slice() })) })
  }

  writePromises(promises: Uint8Array | null): void {
    this.beforeChange()
    this.#apply({ promises })
  }

  sizeBytes(): number {
    return this.#memory.sizeBytes()
  }

  close(): Promise<void> {
    return this.#memory.close()
  }

  #apply(change: StorageChange): void {
    const { truncateTo, blocks = [], edits } = change
    if (truncateTo !== undefined && truncateTo >= 0 && truncateTo < this.floor) throw new PrunedState(truncateTo)
    this.#memory.commit(change)
    this.#changes.push(change)
    if (truncateTo !== undefined) this.states.length = truncateTo + 1
    for (const { writes } of blocks) this.states.push((this.states.at(-1) ?? PlainState.empty).with(writes))
    if (edits !== undefined) this.states.push(this.states.pop()!.with(edits))
    this.floor = Math.max(0, Math.min(this.floor, this.states.length - 1))
  }

  #stateShelf(): StateBackend {
    const floor = () => this.floor
    const newest = () => this.states.at(-1)!
    const at = (number: number): PlainState => {
      if (number < this.floor) throw new PrunedState(number)
      return this.states[number]!
    }
    return {
      get floor() {
        return floor()
      },
      at,
      whole: () => newest().whole(),
      writesBack: (number) => at(number).difference(newest()),
    }
  }
}
