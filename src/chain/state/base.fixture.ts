import { EMPTY_ROOT, Hash } from '../../eth/index.ts'
import type { Address } from '../../eth/index.ts'
import type { Account } from '../../evm/index.ts'
import { MissingState } from './basestate.ts'
import type { BaseState, MissingKey } from './basestate.ts'
import type { PlainState } from './plainstate.fixture.ts'

/** A base state whose values become local by `fetch`. */
export class FetchedState implements BaseState {
  readonly origin = { chainId: 1, number: 0, hash: Hash.zero }
  readonly stateRoot: Hash
  rounds = 0
  readonly #all: PlainState
  readonly #local = new Set<string>()

  constructor(all: PlainState, stateRoot: Hash) {
    this.#all = all
    this.stateRoot = stateRoot
  }

  storageRoot(): Hash {
    return EMPTY_ROOT
  }

  account(address: Address): Account | null {
    this.#assertLocal({ kind: 'account', address })
    return this.#all.account(address)
  }

  code(codeHash: Hash): Uint8Array {
    return this.#all.code(codeHash)
  }

  storage(address: Address, slot: Hash): bigint {
    this.#assertLocal({ kind: 'slot', address, slot })
    return this.#all.storage(address, slot)
  }

  blockHash(): Hash | null {
    return null
  }

  fetch(keys: readonly MissingKey[]): Promise<void> {
    this.rounds++
    for (const key of keys) this.#local.add(JSON.stringify(key))
    return Promise.resolve()
  }

  #assertLocal(key: MissingKey): void {
    if (!this.#local.has(JSON.stringify(key))) throw new MissingState([key])
  }
}
