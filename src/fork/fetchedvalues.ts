import type { Address, Hash } from '../eth/index.ts'
import type { Account } from '../evm/index.ts'

/** Values of the fork block that one request brought. Zeros and nulls are values. */
export class FetchedValues {
  readonly accounts = new Map<Address, Account | null>()
  readonly codes = new Map<Hash, Uint8Array>()
  readonly slots = new Map<Address, Map<Hash, bigint>>()
  readonly blockHashes = new Map<number, Hash>()

  /** Number of keys; a code belongs to its account. */
  get keys(): number {
    let keys = this.accounts.size + this.blockHashes.size
    for (const slots of this.slots.values()) keys += slots.size
    return keys
  }

  setSlot(address: Address, slot: Hash, value: bigint): void {
    const slots = this.slots.get(address)
    if (slots === undefined) this.slots.set(address, new Map([[slot, value]]))
    else slots.set(slot, value)
  }
}
