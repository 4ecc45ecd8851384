import type { Hash } from '../eth/index.ts'
import { SLOT_CACHE_MAX } from './limits.ts'

const NO_ACCOUNT = 0

/**
 * Cache of slot entries of one account, the last one accessed: each transaction of an OP chain reads the same slots of L1Block, six
 * accesses in all.
 */
export class SlotCache {
  readonly #entries = new Map<Hash, number>()
  #owner = NO_ACCOUNT

  find(account: number, key: Hash): number | undefined {
    return account === this.#owner ? this.#entries.get(key) : undefined
  }

  add(account: number, key: Hash, entry: number): void {
    if (account !== this.#owner || this.#entries.size === SLOT_CACHE_MAX) this.#entries.clear()
    this.#owner = account
    this.#entries.set(key, entry)
  }

  delete(account: number, key: Hash): void {
    if (account === this.#owner) this.#entries.delete(key)
  }

  /** The next `add` clears the entries. */
  clear(): void {
    this.#owner = NO_ACCOUNT
  }
}
