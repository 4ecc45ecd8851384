import type { Address } from '../eth/index.ts'
import type { Account } from '../evm/index.ts'
import { MemoryStorage, Store } from '../store/index.ts'
import type { SectionEntry, StorageBackend, StorageChange, ChainMetadata, StateBackend } from '../store/index.ts'
import type { PersistedState } from './view/blockstore.ts'
import { PlainState } from './state/plainstate.fixture.ts'
import { PrunedState } from './state/history.ts'

/** A store over an in-memory backend that persists state, and that can be reopened in the state after its last commit. */
export class PersistentStore extends Store {
  /** Never null: the backend persists state. */
  declare readonly persistedState: PersistedState
  readonly #backend: PersistentBackend
  flushes = 0
  /** Called before each flush; an error it throws acts like a full disk. */
  beforeFlush: () => void = () => undefined

  constructor(backend = new PersistentBackend()) {
    super(backend)
    this.#backend = backend
    backend.beforeChange = () => {
      this.flushes++
      this.beforeFlush()
    }
  }

  /** A second store with the data that a new process would read. */
  reopened(): PersistentStore {
    return new PersistentStore(this.#backend.copy())
  }

  get currentOpenBlockRecord(): Uint8Array | null {
    return this.#backend.openBlockRecord
  }

  /** A reopened store whose newest state does not match its root. */
  damaged(address: Address, account: Account): PersistentStore {
    const backend = this.#backend.copy()
    const writes = { accounts: new Map([[address, account]]), storage: new Map(), codes: new Map() }
    backend.states.push(backend.states.pop()!.with(writes))
    return new PersistentStore(backend)
  }

  /** Makes the state below `floor` unreadable. */
  prune(floor: number): void {
    this.#backend.floor = floor
  }
}

/** The memory backend with a full copy of the state after every block. */
class PersistentBackend implements StorageBackend {
  /** Enables checksum checks, as for records from a disk. */
  readonly isVolatile = false
  readonly firstBlock = 0
  readonly state: StateBackend
  /** After each block and its edits. */
  states: PlainState[] = []
  floor = 0
  beforeChange: () => void = () => undefined
  readonly #memory = new MemoryStorage()
  /** All durable changes, in order. */
  readonly #changes: StorageChange[] = []

  constructor() {
    this.state = this.#stateShelf()
  }

  copy(): PersistentBackend {
    const copy = new PersistentBackend()
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

  get openBlockRecord(): Uint8Array | null {
    return this.#memory.openBlockRecord
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

  writeOpenBlockRecord(openBlockRecord: Uint8Array | null): void {
    this.beforeChange()
    this.#apply({ openBlockRecord })
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
