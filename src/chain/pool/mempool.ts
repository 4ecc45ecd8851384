import type { Address, Hash, Transaction } from '../../eth/index.ts'
import { POOL_TRANSACTIONS, POOL_TRANSACTIONS_PER_SENDER } from '../limits.ts'
import { Selection } from './selection.ts'
import type { Entry, PoolOrder, Run } from './selection.ts'

export type PoolErrorCode = 'already-known' | 'nonce-too-low' | 'replacement-underpriced' | 'pool-full' | 'underpriced' | 'invalid'

/** One sender's transactions by nonce. Executable are those that follow the account's nonce without a gap. */
class Queue extends Map<bigint, Entry> {
  /** no gap from `#first` up to, but not including, `#end`: remembered, or each of n transactions in a row would count all before it */
  #first = 0n
  #end = 0n

  /** The first nonce from `nonce` on that is missing. */
  endOf(nonce: bigint): bigint {
    const known = this.#first <= nonce && nonce <= this.#end
    let end = known ? this.#end : nonce
    while (this.has(end)) end++
    if (!known) this.#first = nonce
    this.#end = end
    return end
  }

  override delete(nonce: bigint): boolean {
    if (nonce === this.#first && nonce < this.#end) this.#first++
    else if (this.#first < nonce && nonce < this.#end) this.#end = nonce
    return super.delete(nonce)
  }
}

/** A transaction replaces one of the same nonce when both its fees are at least 10 % higher. */
const REPLACEMENT_PERCENT = 110n

/** Signed transactions that wait for a block. It knows nonces through `nonceOf`: the account's nonce after all that is pre-confirmed. */
export class Mempool {
  readonly #nonceOf: (address: Address) => bigint
  readonly #order: PoolOrder
  readonly #queues = new Map<Address, Queue>()
  readonly #byHash = new Map<Hash, Entry>()
  readonly #listeners = new Set<(tx: Transaction) => void>()
  #arrivals = 0
  /** arrival numbers below those of everybody else */
  #returned = 0

  constructor(nonceOf: (address: Address) => bigint, order: PoolOrder) {
    this.#nonceOf = nonceOf
    this.#order = order
  }

  get order(): PoolOrder {
    return this.#order
  }

  get size(): number {
    return this.#byHash.size
  }

  has(hash: Hash): boolean {
    return this.#byHash.has(hash)
  }

  get(hash: Hash): Transaction | null {
    return this.#byHash.get(hash)?.tx ?? null
  }

  /** Takes a transaction that is valid by itself. Throws PoolError; the pool is then as before. */
  add(tx: Transaction, isAnnounced = false): void {
    const next = this.assertNew(tx)
    const queue = this.#queues.get(tx.from) ?? new Queue()
    const old = queue.get(tx.nonce)
    if (old !== undefined) assertReplaces(tx, old.tx)
    else this.#assertRoom(queue)
    if (old !== undefined) this.#byHash.delete(old.tx.hash)
    const entry = { tx, arrival: old?.arrival ?? this.#arrivals++, isAnnounced }
    queue.set(tx.nonce, entry)
    this.#queues.set(tx.from, queue)
    this.#byHash.set(tx.hash, entry)
    this.#announce(queue, tx, next)
  }

  /** Throws PoolError for one that is here already or comes too late; answers its account's nonce. */
  assertNew(tx: Transaction): bigint {
    if (this.#byHash.has(tx.hash)) throw new PoolError('already-known', 'already known')
    const next = this.#nonceOf(tx.from)
    if (tx.nonce >= next) return next
    throw new PoolError('nonce-too-low', `nonce too low: next nonce ${next}, tx nonce ${tx.nonce}`)
  }

  /**
   * Takes back what a block had taken that is given up: in front of all that came since, and without a word, because it
   * was announced before. What has lost its place to another one of its nonce stays out.
   */
  putBack(transactions: readonly Transaction[]): void {
    this.#returned -= transactions.length
    for (const [index, tx] of transactions.entries()) {
      const queue = this.#queues.get(tx.from) ?? new Queue()
      if (tx.nonce < this.#nonceOf(tx.from) || queue.has(tx.nonce)) continue
      const entry = { tx, arrival: this.#returned + index, isAnnounced: true }
      queue.set(tx.nonce, entry)
      this.#queues.set(tx.from, queue)
      this.#byHash.set(tx.hash, entry)
    }
  }

  /** Holds exactly these from now on, in this order. Those that waited here all along are not announced again. */
  restore(transactions: readonly Transaction[]): void {
    const told = new Set([...this.#byHash].flatMap(([hash, { isAnnounced }]) => (isAnnounced ? [hash] : [])))
    this.dropAll()
    for (const tx of transactions) this.add(tx, told.has(tx.hash))
  }

  /** The first nonce from `stateNonce` on that no pooled transaction of `address` has. */
  nextNonce(address: Address, stateNonce: bigint): bigint {
    return this.#queues.get(address)?.endOf(stateNonce) ?? stateNonce
  }

  drop(hash: Hash): boolean {
    const entry = this.#byHash.get(hash)
    if (entry === undefined) return false
    this.#remove(entry.tx)
    return true
  }

  dropAll(): void {
    this.#queues.clear()
    this.#byHash.clear()
  }

  /** Answers how many were dropped. */
  dropSender(address: Address): number {
    const queue = this.#queues.get(address)
    if (queue === undefined) return 0
    for (const { tx } of queue.values()) this.#byHash.delete(tx.hash)
    this.#queues.delete(address)
    return queue.size
  }

  /**
   * Forgets what a block included, and whatever can no longer be: nonces below the account's. `written` are the accounts that
   * the block changed: an authorization or a creation by a delegated account takes a nonce without a transaction of that sender.
   */
  prune(included: readonly Transaction[], written: Iterable<Address> = []): void {
    for (const address of new Set([...included.map((tx) => tx.from), ...written])) this.pruneSender(address)
  }

  /** Forgets an account's transactions whose nonces have passed, and announces what thereby became executable. */
  pruneSender(address: Address): void {
    const queue = this.#queues.get(address)
    if (queue === undefined) return
    let next = this.#nonceOf(address)
    for (const [nonce, entry] of queue) if (nonce < next) this.#remove(entry.tx)
    for (let entry = queue.get(next); entry?.isAnnounced === false; entry = queue.get(++next)) this.#tell(entry)
  }

  status(): { pending: number; queued: number } {
    let pending = 0
    for (const address of this.#queues.keys()) {
      const next = this.#nonceOf(address)
      pending += Number(this.nextNonce(address, next) - next)
    }
    return { pending, queued: this.size - pending }
  }

  /** Every pooled transaction by sender and rising nonce, split at the first gap. */
  content(): { pending: Map<Address, Transaction[]>; queued: Map<Address, Transaction[]> } {
    const pending = new Map<Address, Transaction[]>()
    const queued = new Map<Address, Transaction[]>()
    for (const [address, queue] of this.#queues) {
      const end = this.nextNonce(address, this.#nonceOf(address))
      const sorted = [...queue.values()].map((entry) => entry.tx).sort((a, b) => (a.nonce < b.nonce ? -1 : 1))
      const ready = sorted.filter((tx) => tx.nonce < end)
      const waiting = sorted.filter((tx) => tx.nonce >= end)
      if (ready.length > 0) pending.set(address, ready)
      if (waiting.length > 0) queued.set(address, waiting)
    }
    return { pending, queued }
  }

  /** All transactions in the order they came. */
  all(): Transaction[] {
    return [...this.#byHash.values()].sort((a, b) => a.arrival - b.arrival).map((entry) => entry.tx)
  }

  /** Called once for each transaction, when it becomes executable. Listeners do not throw. */
  subscribe(listener: (tx: Transaction) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** The executable transactions, best first. What pays less than `baseFee` stays where it is. */
  selection(baseFee: bigint): Selection {
    const runs: Run[] = []
    for (const [address, queue] of this.#queues) {
      const top = queue.get(this.#nonceOf(address))
      if (top !== undefined && top.tx.maxFeePerGas >= baseFee) runs.push({ queue, top })
    }
    return new Selection(runs, baseFee, this.#order)
  }

  #announce(queue: Queue, tx: Transaction, next: bigint): void {
    const end = this.nextNonce(tx.from, next)
    if (tx.nonce >= end) return
    for (let nonce = tx.nonce, entry = queue.get(nonce); entry !== undefined; entry = queue.get(++nonce)) this.#tell(entry)
  }

  #tell(entry: Entry): void {
    if (entry.isAnnounced) return
    entry.isAnnounced = true
    for (const listener of this.#listeners) listener(entry.tx)
  }

  #assertRoom(queue: Queue): void {
    if (this.size >= POOL_TRANSACTIONS) {
      throw new PoolError('pool-full', `txpool is full: it holds its limit of ${POOL_TRANSACTIONS} transactions`)
    }
    if (queue.size >= POOL_TRANSACTIONS_PER_SENDER) {
      throw new PoolError('pool-full', `txpool is full: this sender has its limit of ${POOL_TRANSACTIONS_PER_SENDER}`)
    }
  }

  #remove(tx: Transaction): void {
    this.#byHash.delete(tx.hash)
    const queue = this.#queues.get(tx.from)
    queue?.delete(tx.nonce)
    if (queue?.size === 0) this.#queues.delete(tx.from)
  }
}

function assertReplaces(tx: Transaction, old: Transaction): void {
  const enough =
    tx.maxFeePerGas * 100n >= old.maxFeePerGas * REPLACEMENT_PERCENT &&
    tx.maxPriorityFeePerGas * 100n >= old.maxPriorityFeePerGas * REPLACEMENT_PERCENT
  if (!enough) throw new PoolError('replacement-underpriced', 'replacement transaction underpriced')
}

/** Why a transaction cannot enter the pool, in the words that clients match. */
export class PoolError extends Error {
  readonly code: PoolErrorCode

  constructor(code: PoolErrorCode, message: string) {
    super(message)
    this.name = 'PoolError'
    this.code = code
  }
}
