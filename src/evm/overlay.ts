import type { Address, Hash } from '../eth/index.ts'
import type { Account, StateKey, StateReader, WriteSet } from './state.ts'

/** Write sets applied on top of a state, such as a block between two of its transactions. */
export class StateOverlay implements StateReader {
  readonly #base: StateReader
  readonly #accounts = new Map<Address, Account | null>()
  readonly #storage = new Map<Address, Map<Hash, bigint>>()
  readonly #codes = new Map<Hash, Uint8Array>()

  constructor(base: StateReader) {
    this.#base = base
  }

  /** `writes`: of an execution on this overlay */
  apply({ accounts, storage, codes }: WriteSet): void {
    for (const [address, account] of accounts) this.#accounts.set(address, account)
    for (const [codeHash, code] of codes) this.#codes.set(codeHash, code)
    for (const [address, slots] of storage) {
      const own = this.#storage.get(address) ?? new Map<Hash, bigint>()
      for (const [slot, value] of slots) own.set(slot, value)
      this.#storage.set(address, own)
    }
  }

  account(address: Address): Account | null {
    const own = this.#accounts.get(address)
    return own === undefined ? this.#base.account(address) : own
  }

  code(codeHash: Hash, owner?: Address): Uint8Array {
    return this.#codes.get(codeHash) ?? this.#base.code(codeHash, owner)
  }

  storage(address: Address, slot: Hash): bigint {
    return this.#storage.get(address)?.get(slot) ?? this.#base.storage(address, slot)
  }

  *slots(address: Address): Iterable<Hash> {
    const own = this.#storage.get(address)
    for (const slot of this.#base.slots(address)) if (own?.has(slot) !== true) yield slot
    if (own !== undefined) for (const [slot, value] of own) if (value !== 0n) yield slot
  }
}

/** An overlay that knows what it changes, so that an engine instance keeps what it has read of the state below. */
export class TrackedOverlay extends StateOverlay {
  readonly #base: StateReader
  readonly #keys: StateKey[] = []
  /** a removed account loses slots that its write set need not list */
  #hasRemoved = false

  constructor(base: StateReader) {
    super(base)
    this.#base = base
  }

  override apply(writes: WriteSet): void {
    super.apply(writes)
    for (const [address, account] of writes.accounts) {
      this.#keys.push({ address, slot: null })
      this.#hasRemoved ||= account === null
    }
    for (const [address, slots] of writes.storage) for (const slot of slots.keys()) this.#keys.push({ address, slot })
  }

  changedSince(other: StateReader, limit: number): readonly StateKey[] | null {
    const { base, keys, hasRemoved } = other instanceof TrackedOverlay ? other.#parts : { base: other, keys: NO_KEYS, hasRemoved: false }
    if (this.#hasRemoved || hasRemoved) return null
    const changed = this.#base.changedSince?.(base, limit) ?? null
    return changed === null ? null : [...changed, ...keys, ...this.#keys]
  }

  get #parts() {
    return { base: this.#base, keys: this.#keys, hasRemoved: this.#hasRemoved }
  }
}

const NO_KEYS: readonly StateKey[] = []
