import type { Address, Hash } from '../../eth/index.ts'
import type { Account, StateReader } from '../../evm/index.ts'
import { RewoundState } from './history.ts'

/** Kept state of a block, for as long as the chain has not gone back to it: what is kept there may be something else from then on. */
export class KeptReader implements StateReader {
  readonly #state: StateReader
  readonly #number: number
  readonly #isCut: (number: number) => boolean

  constructor(state: StateReader, number: number, isCut: (number: number) => boolean) {
    this.#state = state
    this.#number = number
    this.#isCut = isCut
  }

  account(address: Address): Account | null {
    return this.#standing().account(address)
  }

  code(codeHash: Hash): Uint8Array {
    return this.#standing().code(codeHash)
  }

  storage(address: Address, slot: Hash): bigint {
    return this.#standing().storage(address, slot)
  }

  *slots(address: Address): Iterable<Hash> {
    for (const slot of this.#standing().slots(address)) {
      yield slot
      this.#standing()
    }
  }

  #standing(): StateReader {
    if (this.#isCut(this.#number)) throw new RewoundState(this.#number)
    return this.#state
  }
}
