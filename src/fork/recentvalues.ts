import type { Address, Hash } from '../eth/index.ts'

/**
 * A Map with a bounded weight in two generations: reads move an entry into the young one; when that holds half of the limit, it becomes the old
 * one, and the entries of the former old one are dropped. Approximates least recently used without a list.
 */
export class RecentValues<K, V> {
  readonly #halfWeight: number
  readonly #weigh: (value: V) => number
  #young = new Map<K, V>()
  #old = new Map<K, V>()
  #weight = 0
  #isOldFromDisk = false
  #diskHits = 0

  constructor(maxWeight: number, weigh: (value: V) => number = () => 1) {
    this.#halfWeight = maxWeight / 2
    this.#weigh = weigh
  }

  /** Entries that were loaded before `endLoading`, counted at their first read. */
  get diskHits(): number {
    return this.#diskHits
  }

  get(key: K): V | undefined {
    const value = this.#young.get(key)
    if (value !== undefined) return value
    const old = this.#old.get(key)
    if (old === undefined) return undefined
    if (this.#isOldFromDisk) this.#diskHits += 1
    this.#old.delete(key)
    this.set(key, old)
    return old
  }

  /** Does not count as a read. */
  has(key: K): boolean {
    return this.#young.has(key) || this.#old.has(key)
  }

  set(key: K, value: V): void {
    if (!this.#young.has(key)) this.#weight += this.#weigh(value)
    this.#young.set(key, value)
    if (this.#weight >= this.#halfWeight) this.#rotate()
  }

  /** The present entries came from the disk. */
  endLoading(): void {
    if (this.#old.size > 0) return // more than half of the limit: no longer distinguishable from the entries to come
    this.#rotate()
    this.#isOldFromDisk = true
  }

  #rotate(): void {
    this.#old = this.#young
    this.#young = new Map()
    this.#weight = 0
    this.#isOldFromDisk = false
  }
}

/** The same for storage slots, in two levels: a joined key would cost more than the lookup. */
export class RecentSlots {
  readonly #half: number
  #young = new Map<Address, Map<Hash, bigint>>()
  #old = new Map<Address, Map<Hash, bigint>>()
  #count = 0
  #isOldFromDisk = false
  #diskHits = 0

  constructor(limit: number) {
    this.#half = limit / 2
  }

  get diskHits(): number {
    return this.#diskHits
  }

  get(address: Address, slot: Hash): bigint | undefined {
    const value = this.#young.get(address)?.get(slot)
    if (value !== undefined) return value
    const slots = this.#old.get(address)
    const old = slots?.get(slot)
    if (old === undefined) return undefined
    if (this.#isOldFromDisk) this.#diskHits += 1
    slots?.delete(slot)
    this.set(address, slot, old)
    return old
  }

  has(address: Address, slot: Hash): boolean {
    return this.#young.get(address)?.has(slot) === true || this.#old.get(address)?.has(slot) === true
  }

  set(address: Address, slot: Hash, value: bigint): void {
    const slots = this.#young.get(address)
    if (slots === undefined) this.#young.set(address, new Map([[slot, value]]))
    else if (slots.has(slot)) return
    else slots.set(slot, value)
    this.#count += 1
    if (this.#count >= this.#half) this.#rotate()
  }

  endLoading(): void {
    if (this.#old.size > 0) return
    this.#rotate()
    this.#isOldFromDisk = true
  }

  #rotate(): void {
    this.#old = this.#young
    this.#young = new Map()
    this.#count = 0
    this.#isOldFromDisk = false
  }
}
