import type { Hash } from '../eth/index.ts'
import { KNOWN_SLOTS_MAX } from './limits.ts'

/** No account's entry. */
const NOBODY = 0

/** Where slots of one account lie, the one that was asked for last: each transaction of an OP chain asks for the same ones, six times in all. */
export class KnownSlots {
  readonly #entries = new Map<Hash, number>()
  #owner = NOBODY

  find(account: number, key: Hash): number | undefined {
    return account === this.#owner ? this.#entries.get(key) : undefined
  }

  add(account: number, key: Hash, entry: number): void {
    if (account !== this.#owner || this.#entries.size === KNOWN_SLOTS_MAX) this.#entries.clear()
    this.#owner = account
    this.#entries.set(key, entry)
  }

  forget(account: number, key: Hash): void {
    if (account === this.#owner) this.#entries.delete(key)
  }

  /** The next that is added clears what is left. */
  forgetAll(): void {
    this.#owner = NOBODY
  }
}
