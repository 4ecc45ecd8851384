import { Address } from '../../eth/index.ts'
import type { Hash } from '../../eth/index.ts'
import { NO_WRITES, TrackedOverlay } from '../../evm/index.ts'
import type { StateReader, WriteSet } from '../../evm/index.ts'
import type { StateHistory } from '../state/history.ts'
import { mergeWrites } from '../state/writesetbuilder.ts'
import type { BuilderState } from './builder.ts'

/** A version of the state, for the builder of a block that the chain does not get: its writes stay out of the history. */
export class DetachedState implements BuilderState {
  readonly version: number
  readonly #history: StateHistory
  readonly #reader: TrackedOverlay
  #writes: WriteSet = NO_WRITES

  constructor(history: StateHistory, version: number) {
    this.version = version
    this.#history = history
    this.#reader = new TrackedOverlay(history.at(version))
  }

  get duringSystemCalls(): BuilderState['duringSystemCalls'] {
    return this.#history.duringSystemCalls
  }

  /** all that was applied */
  get writes(): WriteSet {
    return this.#writes
  }

  at(): StateReader {
    return this.#reader
  }

  apply(writes: WriteSet): number {
    this.#reader.apply(writes)
    this.#writes = mergeWrites(this.#writes, writes)
    return this.version
  }

  stateRoot(): Hash {
    return this.#history.rootsWith(this.version, this.#writes, Address.zero).stateRoot
  }

  storageRoot(address: Address): Hash {
    return this.#history.rootsWith(this.version, this.#writes, address).storageRoot
  }
}
