import { EMPTY_CODE_HASH } from '../../eth/index.ts'
import type { Address, Hash } from '../../eth/index.ts'
import type { Account, StateReader, WriteSet } from '../../evm/index.ts'
import { WriteSetBuilder } from './writesetbuilder.ts'

/** An immutable state. */
export class PlainState implements StateReader {
  static readonly empty = new PlainState(new Map(), new Map(), new Map())
  readonly #accounts: ReadonlyMap<Address, Account>
  readonly #storage: ReadonlyMap<Address, ReadonlyMap<Hash, bigint>>
  readonly #codes: ReadonlyMap<Hash, Uint8Array>

  constructor(
    accounts: ReadonlyMap<Address, Account>,
    storage: ReadonlyMap<Address, ReadonlyMap<Hash, bigint>>,
    codes: ReadonlyMap<Hash, Uint8Array>,
  ) {
    this.#accounts = accounts
    this.#storage = storage
    this.#codes = codes
  }

  account(address: Address): Account | null {
    return this.#accounts.get(address) ?? null
  }

  code(codeHash: Hash): Uint8Array {
    const code = codeHash === EMPTY_CODE_HASH ? new Uint8Array() : this.#codes.get(codeHash)
    if (code === undefined) throw new Error(`the code ${codeHash} is not kept`)
    return code
  }

  storage(address: Address, slot: Hash): bigint {
    return this.#storage.get(address)?.get(slot) ?? 0n
  }

  *slots(address: Address): Iterable<Hash> {
    yield* this.#storage.get(address)?.keys() ?? []
  }

  with({ accounts, storage, codes }: WriteSet): PlainState {
    const newAccounts = new Map(this.#accounts)
    const newStorage = new Map(this.#storage)
    for (const [address, account] of accounts) {
      if (account === null) newAccounts.delete(address)
      else newAccounts.set(address, account)
      if (account === null) newStorage.delete(address)
    }
    for (const [address, slots] of storage) {
      if (!newAccounts.has(address)) continue
      const values = new Map(newStorage.get(address))
      for (const [slot, value] of slots) {
        if (value === 0n) values.delete(slot)
        else values.set(slot, value)
      }
      newStorage.set(address, values)
    }
    return new PlainState(newAccounts, newStorage, new Map([...this.#codes, ...codes]))
  }

  /** One account per chunk. */
  *whole(): Iterable<WriteSet> {
    for (const [address] of this.#accounts) {
      const writes = new WriteSetBuilder()
      this.#copy(address, writes)
      yield writes
    }
  }

  /** Returns the writes that turn `other` into this state. */
  difference(other: PlainState): WriteSet {
    const writes = new WriteSetBuilder()
    for (const address of other.#accounts.keys()) if (!this.#accounts.has(address)) writes.setAccount(address, null)
    for (const address of this.#accounts.keys()) {
      this.#copy(address, writes)
      for (const slot of other.slots(address)) if (this.storage(address, slot) === 0n) writes.setSlot(address, slot, 0n)
    }
    return writes
  }

  #copy(address: Address, writes: WriteSetBuilder): void {
    const account = this.account(address)!
    writes.setAccount(address, account)
    writes.codes.set(account.codeHash, this.code(account.codeHash))
    for (const [slot, value] of this.#storage.get(address) ?? []) writes.setSlot(address, slot, value)
  }
}
