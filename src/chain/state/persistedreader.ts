import type { Address, Hash } from '../../eth/index.ts'
import type { Account, StateReader } from '../../evm/index.ts'
import { RewoundState } from './history.ts'

/**
 * Reads a block's persisted state until the chain is rewound to or below that block; afterwards the store may hold another block's state.
 */
export class PersistedStateReader implements StateReader {
  readonly #state: StateReader
  readonly #number: number
  readonly #isTruncated: (number: number) => boolean

  constructor(state: StateReader, number: number, isTruncated: (number: number) => boolean) {
    this.#state = state
    this.#number = number
    this.#isTruncated = isTruncated
  }

  account(address: Address): Account | null {
    return this.#checked().account(address)
  }

  code(codeHash: Hash): Uint8Array {
    return this.#checked().code(codeHash)
  }

  storage(address: Address, slot: Hash): bigint {
    return this.#checked().storage(address, slot)
  }

  *slots(address: Address): Iterable<Hash> {
    for (const slot of this.#checked().slots(address)) {
      yield slot
      this.#checked()
    }
  }

  #checked(): StateReader {
    if (this.#isTruncated(this.#number)) throw new RewoundState(this.#number)
    return this.#state
  }
}
