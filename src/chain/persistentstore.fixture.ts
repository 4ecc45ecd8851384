import type { Address } from '../eth/index.ts'
import type { Account } from '../evm/index.ts'
import { MemoryShelf, Store } from '../store/index.ts'
import type { SectionEntry, Shelf, ShelfChange, ShelfMeta, StateShelf } from '../store/index.ts'
import type { PersistedState } from './view/blockstore.ts'
import { PlainState } from './state/plainstate.fixture.ts'
import { PrunedState } from './state/history.ts'

/** The store over a shelf that keeps state, in memory, and that can be opened again as it was after its last commit. */
export class PersistentStore extends Store {
  /** its shelf keeps state */
  declare readonly persistedState: PersistedState
  readonly #shelf: PersistentShelf
  flushes = 0
  /** called before a flush; what it throws is what a full disk throws */
  beforeFlush: () => void = () => undefined

  constructor(shelf = new PersistentShelf()) {
    super(shelf)
    this.#shelf = shelf
    shelf.beforeChange = () => {
      this.flushes++
      this.beforeFlush()
    }
  }

  /** As another process finds it when this one is gone. */
  reopened(): PersistentStore {
    return new PersistentStore(this.#shelf.copy())
  }

  get openBlockRecordBytes(): Uint8Array | null {
    return this.#shelf.promises
  }

  /** Damage: the newest state is another one than its root says. */
  damaged(address: Address, account: Account): PersistentStore {
    const shelf = this.#shelf.copy()
    const writes = { accounts: new Map([[address, account]]), storage: new Map(), codes: new Map() }
    shelf.states.push(shelf.states.pop()!.with(writes))
    return new PersistentStore(shelf)
  }

  /** State below `floor` cannot be read any more. */
  prune(floor: number): void {
    this.#shelf.floor = floor
  }
}

/** The shelf in memory, with the state of every block beside it as a plain copy. */
class PersistentShelf implements Shelf {
  /** as if it came from a disk: checksums are looked at */
  readonly isVolatile = false
  readonly state: StateShelf
  /** after each block and its edits */
  states: PlainState[] = []
  floor = 0
  beforeChange: () => void = () => undefined
  readonly #memory = new MemoryShelf()
  /** All that is durable: whoever repeats it has it. */
  readonly #changes: ShelfChange[] = []

  constructor() {
    this.state = this.#stateShelf()
  }

  copy(): PersistentShelf {
    const copy = new PersistentShelf()
    for (const change of this.#changes) copy.#apply(change)
    copy.floor = this.floor
    return copy
  }

  get meta(): ShelfMeta | null {
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

  commit(change: ShelfChange): void {
    this.beforeChange()
    const { blocks = [] } = change
    this.#apply({ ...change, blocks: blocks.map((block) => ({ ...block, record: block.record.slice() })) })
  }

  journal(promises: Uint8Array | null): void {
    this.beforeChange()
    this.#apply({ promises })
  }

  sizeBytes(): number {
    return this.#memory.sizeBytes()
  }

  close(): Promise<void> {
    return this.#memory.close()
  }

  #apply(change: ShelfChange): void {
    const { truncateTo, blocks = [], edits } = change
    if (truncateTo !== undefined && truncateTo >= 0 && truncateTo < this.floor) throw new PrunedState(truncateTo)
    this.#memory.commit(change)
    this.#changes.push(change)
    if (truncateTo !== undefined) this.states.length = truncateTo + 1
    for (const { writes } of blocks) this.states.push((this.states.at(-1) ?? PlainState.empty).with(writes))
    if (edits !== undefined) this.states.push(this.states.pop()!.with(edits))
    this.floor = Math.max(0, Math.min(this.floor, this.states.length - 1))
  }

  #stateShelf(): StateShelf {
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
