import { Address, Hex, isObject } from '../../eth/index.ts'
import type { Hash, Transaction } from '../../eth/index.ts'
import { HOLDS } from '../limits.ts'
import { PromiseError } from './promiseerror.ts'

/** Selects transactions: each given field must match. */
export interface TransactionFilter {
  /** in any letter case, as all fields */
  readonly hash?: Hex
  readonly from?: Hex
  /** `null`: creations */
  readonly to?: Hex | null
  /** The first four bytes of the input. */
  readonly selector?: Hex
}

/** A checked filter, in small letters. */
export interface HeldFilter extends TransactionFilter {
  readonly hash?: Hash
  readonly from?: Address
  readonly to?: Address | null
}

interface Hold {
  readonly filter: HeldFilter
  /** Releases after this many further flashblocks, or blocks without flashblocks; `null`: on request or by time. */
  flashblocksLeft: number | null
}

/** Pool transactions that no block may include until they are released. */
export class Holds {
  readonly #byKey = new Map<string, Hold>()
  readonly #hashes = new Set<Hash>()
  readonly #senders = new Set<Address>()
  readonly #others = new Map<string, HeldFilter>()
  readonly #onChange: () => void

  constructor(onChange: () => void) {
    this.#onChange = onChange
  }

  get filters(): readonly HeldFilter[] {
    return [...this.#byKey.values()].map(({ filter }) => filter)
  }

  isHeld(tx: Transaction): boolean {
    if (this.#byKey.size === 0) return false
    if (this.#hashes.has(tx.hash) || this.#senders.has(tx.from)) return true
    for (const filter of this.#others.values()) if (matches(filter, tx)) return true
    return false
  }

  /**
   * Returns the function that ends this hold, and not a later one of the same filter. Throws PromiseError for an empty filter, one that is
   * held already, and above the limit.
   */
  add(filter: HeldFilter, flashblocks: number | null = null): () => void {
    const key = keyOf(filter)
    if (key === '') throw new PromiseError('a hold needs a hash, a sender, a recipient or a selector')
    if (this.#byKey.has(key)) throw new PromiseError(`${describe(filter)} is held already; release it first`)
    if (this.#byKey.size >= HOLDS) throw new PromiseError(`${HOLDS} holds are the limit; release some`)
    const hold = { filter, flashblocksLeft: flashblocks }
    this.#byKey.set(key, hold)
    const { hash, from } = filter
    if (hash !== undefined) this.#hashes.add(hash)
    else if (from !== undefined && filter.to === undefined && filter.selector === undefined) this.#senders.add(from)
    else this.#others.set(key, filter)
    this.#onChange()
    return () => {
      if (this.#byKey.get(key) === hold) this.#remove(filter)
    }
  }

  /** Throws PromiseError unless exactly this filter is held. */
  release(filter: HeldFilter): void {
    if (!this.#byKey.has(keyOf(filter))) throw new PromiseError(`${describe(filter)} is not held`)
    this.#remove(filter)
  }

  /** Ends the hold of a transaction that leaves the pool. */
  onRemoved(hash: Hash): void {
    if (this.#hashes.has(hash)) this.#remove({ hash })
  }

  /** Returns the number of released holds. */
  releaseAll(): number {
    const count = this.#byKey.size
    for (const { filter } of [...this.#byKey.values()]) this.#remove(filter)
    return count
  }

  /** Call before a flashblock, or a block without flashblocks, is filled. */
  onFlashblock(): void {
    for (const hold of [...this.#byKey.values()]) {
      if (hold.flashblocksLeft === null) continue
      if (hold.flashblocksLeft === 0) this.#remove(hold.filter)
      else hold.flashblocksLeft--
    }
  }

  #remove(filter: HeldFilter): void {
    const key = keyOf(filter)
    this.#byKey.delete(key)
    this.#others.delete(key)
    if (filter.hash !== undefined) this.#hashes.delete(filter.hash)
    if (filter.from !== undefined && key === keyOf({ from: filter.from })) this.#senders.delete(filter.from)
    this.#onChange()
  }
}

/** Returns the filter of a caller, whose addresses may have any letter case. Throws PromiseError for a field of the wrong shape. */
export function parseFilter(given: TransactionFilter = {}): HeldFilter {
  assertKeys(given, ['hash', 'from', 'to', 'selector'], 'filter')
  const { hash, from, to, selector } = given
  if (selector !== undefined && !Hex.isHex(selector, 8)) throw malformed('selector', 8, selector)
  return {
    ...(hash === undefined ? undefined : { hash: parseHash(hash) }),
    ...(from === undefined ? undefined : { from: parseAddress('from', from) }),
    ...(to === undefined ? undefined : { to: to === null ? null : parseAddress('to', to) }),
    ...(selector === undefined ? undefined : { selector: selector.toLowerCase() as Hex }),
  }
}

/** Throws PromiseError for another key: misspelt, it would have no effect. */
export function assertKeys(given: object, keys: readonly string[], noun: string): void {
  if (!isObject(given)) throw new PromiseError(`the ${noun} must be an object`)
  const unknown = Object.keys(given).find((key) => !keys.includes(key))
  if (unknown !== undefined) throw new PromiseError(`unknown key ${unknown}; a ${noun} has ${keys.join(', ')}`)
}

/** Returns the hash in small letters. Throws PromiseError unless it has the shape of one: the types do not hold in JavaScript. */
export function parseHash(value: Hex): Hash {
  if (Hex.isHex(value, 64)) return value.toLowerCase() as Hash
  throw malformed('hash', 64, value)
}

function parseAddress(name: string, value: Hex): Address {
  if (Address.isAddress(value)) return Address.from(value)
  throw malformed(name, 40, value)
}

function malformed(name: string, digits: number, value: unknown): PromiseError {
  return new PromiseError(`${name} must be 0x and ${digits} hex digits, not ${String(value)}`)
}

export function matches({ hash, from, to, selector }: HeldFilter, tx: Transaction): boolean {
  if (hash !== undefined && tx.hash !== hash) return false
  if (from !== undefined && tx.from !== from) return false
  if (to !== undefined && tx.to !== to) return false
  return selector === undefined || (tx.data.length >= 4 && Hex.fromBytes(tx.data.subarray(0, 4)) === selector)
}

export function describe({ hash, from, to, selector }: HeldFilter): string {
  if (hash !== undefined) return `transaction ${hash}`
  const parts = [
    from === undefined ? '' : ` from ${from}`,
    to === undefined ? '' : to === null ? ' that create contracts' : ` to ${to}`,
    selector === undefined ? '' : ` with selector ${selector}`,
  ]
  return `the filter for transactions${parts.join('')}`
}

/** A hash selects one transaction, so the other fields are then ignored. */
function keyOf({ hash, from, to, selector }: HeldFilter): string {
  if (hash !== undefined) return hash
  if (from === undefined && to === undefined && selector === undefined) return ''
  return `${from ?? '*'} ${to === undefined ? '*' : (to ?? 'create')} ${selector ?? '*'}`
}
