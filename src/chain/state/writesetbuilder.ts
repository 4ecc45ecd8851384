import type { Address, Hash } from '../../eth/index.ts'
import type { Account, WriteSet } from '../../evm/index.ts'

/** A write set under construction. */
export class WriteSetBuilder implements WriteSet {
  readonly accounts = new Map<Address, Account | null>()
  readonly storage = new Map<Address, Map<Hash, bigint>>()
  readonly codes = new Map<Hash, Uint8Array>()
  #slotCount = 0

  /** Number of accounts and slots; each is set once. */
  get size(): number {
    return this.accounts.size + this.#slotCount
  }

  setAccount(address: Address, account: Account | null): void {
    this.accounts.set(address, account)
  }

  setSlot(address: Address, slot: Hash, value: bigint): void {
    let slots = this.storage.get(address)
    if (slots === undefined) this.storage.set(address, (slots = new Map()))
    slots.set(slot, value)
    this.#slotCount++
  }
}

/** Returns the writes of both, those of `later` in place of the others. */
export function mergeWrites(earlier: WriteSet, later: WriteSet): WriteSet {
  const storage = new Map(earlier.storage)
  for (const [address, slots] of later.storage) storage.set(address, new Map([...(storage.get(address) ?? []), ...slots]))
  return {
    accounts: new Map([...earlier.accounts, ...later.accounts]),
    storage,
    codes: new Map([...earlier.codes, ...later.codes]),
  }
}
