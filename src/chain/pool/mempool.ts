import type { Address, Hash, Transaction } from '../../eth/index.ts'
import { POOL_BYTES, POOL_TRANSACTIONS, POOL_TRANSACTIONS_PER_SENDER } from '../limits.ts'
import { Holds } from '../promises/holds.ts'
import { BestTransactions, pays } from './besttransactions.ts'
import type { BlockPrices, PoolEntry, PoolOrder, SenderCursor } from './besttransactions.ts'

export type PoolErrorCode =
  | 'already-known'
  | 'nonce-too-low'
  | 'replacement-underpriced'
  | 'pool-full'
  | 'underpriced'
  | 'insufficient-funds'
  | 'gas-limit'
  | 'invalid'

/** One sender's transactions by nonce. Executable are those that follow the account's nonce without a gap. */
class SenderQueue extends Map<bigint, PoolEntry> {
  /** Cached gap-free range `#first` ≤ nonce < `#end`; without it, adding n consecutive transactions would be quadratic. */
  #first = 0n
  #end = 0n

  /** Returns the first missing nonce at or above `nonce`. */
  firstMissingNonce(nonce: bigint): bigint {
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

/** The replacement rule `tenth`, as in geth. */
const REPLACEMENT_PERCENT = 110n

/** Is notified of every transaction that enters or leaves the pool, other than into a block. Must not throw. */
export interface PoolObserver {
  readonly added: (tx: Transaction) => void
  /** `replaced`: another transaction with its nonce entered the pool or a block. */
  readonly dropped: (tx: Transaction, cause: 'dropped' | 'replaced') => void
}

/** How a transaction replaces one with the same sender and nonce: it raises both fees by at least 10 %, or has a higher fee cap. */
export type ReplacementRule = 'tenth' | 'higher'

/** Transactions waiting for a block. `nonceOf` returns the account's nonce after all pre-confirmed transactions. */
export class Mempool {
  /** No block includes the transactions that they select. */
  readonly holds = new Holds(() => this.#version++)
  /** Set once, by the ledger of promises. */
  observer: PoolObserver | null = null
  readonly #nonceOf: (address: Address) => bigint
  readonly #order: PoolOrder
  readonly #replacement: ReplacementRule
  readonly #queues = new Map<Address, SenderQueue>()
  readonly #byHash = new Map<Hash, PoolEntry>()
  readonly #listeners = new Set<(tx: Transaction) => void>()
  /** Called when the transaction leaves the pool. */
  readonly #leaving = new Map<Hash, (() => void)[]>()
  #arrivals = 0
  /** Negative arrival numbers place reinserted transactions before all others. */
  #reinsertions = 0
  #sizeBytes = 0
  #version = 0

  constructor(nonceOf: (address: Address) => bigint, order: PoolOrder, replacement: ReplacementRule = 'tenth') {
    this.#nonceOf = nonceOf
    this.#order = order
    this.#replacement = replacement
  }

  get order(): PoolOrder {
    return this.#order
  }

  get size(): number {
    return this.#byHash.size
  }

  /** Bytes of the envelopes. Above POOL_BYTES only after discarded blocks returned. */
  get sizeBytes(): number {
    return this.#sizeBytes
  }

  /** Differs after each change of the contents. */
  get version(): number {
    return this.#version
  }

  has(hash: Hash): boolean {
    return this.#byHash.has(hash)
  }

  get(hash: Hash): Transaction | null {
    return this.#byHash.get(hash)?.tx ?? null
  }

  /** Resolves when the transaction has left the pool, also into a block; immediately if it is not in the pool. */
  async left(hash: Hash): Promise<void> {
    if (this.has(hash)) await new Promise<void>((resolve) => this.#leaving.set(hash, [...(this.#leaving.get(hash) ?? []), resolve]))
  }

  /** Adds a transaction that passed validation. Throws PoolError and leaves the pool as it was. */
  add(tx: Transaction): void {
    const next = this.assertNew(tx)
    const queue = this.#queues.get(tx.from) ?? new SenderQueue()
    const old = queue.get(tx.nonce)
    if (old !== undefined) assertReplaces(tx, old.tx, this.#replacement)
    else this.#assertCapacity(queue)
    this.#assertRoom(tx, old?.tx)
    if (old !== undefined) {
      this.#forget(old.tx)
      this.observer?.dropped(old.tx, 'replaced')
    }
    this.#insert(queue, { tx, arrival: old?.arrival ?? this.#arrivals++, isAnnounced: false })
    this.observer?.added(tx)
    this.#announceExecutable(queue, tx, next)
  }

  /** Throws PoolError for a known transaction or a used nonce; returns the account's next nonce. */
  assertNew(tx: Transaction): bigint {
    if (this.#byHash.has(tx.hash)) throw new PoolError('already-known', 'already known')
    const next = this.#nonceOf(tx.from)
    if (tx.nonce >= next) return next
    throw new NonceTooLow(tx, next)
  }

  /**
   * Reinserts the transactions of a discarded block, before all others and without notifying listeners again. A transaction whose nonce has
   * been taken by another one stays out.
   */
  reinsert(transactions: readonly Transaction[]): void {
    this.#reinsertions -= transactions.length
    for (const [index, tx] of transactions.entries()) {
      const queue = this.#queues.get(tx.from) ?? new SenderQueue()
      if (tx.nonce < this.#nonceOf(tx.from) || queue.has(tx.nonce)) continue
      this.#insert(queue, { tx, arrival: this.#reinsertions + index, isAnnounced: true })
    }
  }

  /**
   * Replaces the pool's contents with its former ones, in their order, also above the limits. Transactions already in the pool are not announced again;
   * those whose nonces are used stay out.
   */
  restore(former: readonly Transaction[]): void {
    const transactions = former.filter((tx) => tx.nonce >= this.#nonceOf(tx.from))
    const announced = new Set([...this.#byHash].flatMap(([hash, { isAnnounced }]) => (isAnnounced ? [hash] : [])))
    const kept = new Set(transactions.map(({ hash }) => hash))
    for (const { tx } of [...this.#byHash.values()]) if (!kept.has(tx.hash)) this.drop(tx.hash)
    this.#queues.clear()
    this.#byHash.clear()
    for (const tx of transactions) {
      const queue = this.#queues.get(tx.from) ?? new SenderQueue()
      this.#insert(queue, { tx, arrival: this.#arrivals++, isAnnounced: announced.has(tx.hash) })
      this.#announceExecutable(queue, tx, this.#nonceOf(tx.from))
    }
  }

  /** Returns the first nonce at or above `stateNonce` that no pooled transaction of `address` has. */
  nextNonce(address: Address, stateNonce: bigint): bigint {
    return this.#queues.get(address)?.firstMissingNonce(stateNonce) ?? stateNonce
  }

  drop(hash: Hash): boolean {
    const entry = this.#byHash.get(hash)
    if (entry === undefined) return false
    this.#remove(entry.tx)
    this.observer?.dropped(entry.tx, 'dropped')
    return true
  }

  dropAll(): void {
    for (const { tx } of this.#byHash.values()) {
      this.#forget(tx)
      this.observer?.dropped(tx, 'dropped')
    }
    this.#queues.clear()
    this.#version++
  }

  /** Returns the number of dropped transactions. */
  dropSender(address: Address): number {
    const queue = this.#queues.get(address)
    if (queue === undefined) return 0
    for (const { tx } of queue.values()) {
      this.#forget(tx)
      this.observer?.dropped(tx, 'dropped')
    }
    this.#queues.delete(address)
    this.#version++
    return queue.size
  }

  /**
   * Removes included transactions and those whose nonce is now too low. `written` are the accounts that the block changed: an EIP-7702
   * authorization, or a creation by a delegated account, uses a nonce without a transaction of that sender. `unpayable` are dropped.
   */
  prune(included: readonly Transaction[], written: Iterable<Address> = [], unpayable: readonly Transaction[] = []): void {
    for (const tx of included) {
      const entry = this.#byHash.get(tx.hash)
      if (entry !== undefined) this.#remove(entry.tx)
    }
    // After them: of several blocks a later one may have included what an earlier one refused.
    for (const { hash } of unpayable) this.drop(hash)
    for (const address of new Set([...included.map((tx) => tx.from), ...written])) this.pruneSender(address)
  }

  /** Removes an account's transactions with used nonces and announces those that became executable. */
  pruneSender(address: Address): void {
    const queue = this.#queues.get(address)
    if (queue === undefined) return
    let next = this.#nonceOf(address)
    for (const [nonce, entry] of queue) {
      if (nonce >= next) continue
      this.#remove(entry.tx)
      this.observer?.dropped(entry.tx, 'replaced')
    }
    for (let entry = queue.get(next); entry?.isAnnounced === false; entry = queue.get(++next)) this.#notify(entry)
  }

  /** As `pruneSender`, for all accounts. */
  pruneAll(): void {
    for (const address of [...this.#queues.keys()]) this.pruneSender(address)
  }

  status(): { pending: number; queued: number } {
    let pending = 0
    for (const address of this.#queues.keys()) {
      const next = this.#nonceOf(address)
      pending += Number(this.nextNonce(address, next) - next)
    }
    return { pending, queued: this.size - pending }
  }

  /** Returns all transactions by sender and ascending nonce, split at the first nonce gap. */
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

  bySenderAndNonce(sender: Address, nonce: bigint): Transaction | null {
    return this.#queues.get(sender)?.get(nonce)?.tx ?? null
  }

  /** Returns the transactions that a hold selects, in arrival order. */
  held(): readonly Hash[] {
    return this.all().flatMap((tx) => (this.holds.isHeld(tx) ? [tx.hash] : []))
  }

  /** Returns the transactions of a sender with a higher nonce, in the order of their nonces. */
  laterOf({ from, nonce }: Transaction): readonly Transaction[] {
    const later = [...(this.#queues.get(from)?.values() ?? [])].map(({ tx }) => tx).filter((tx) => tx.nonce > nonce)
    return later.sort((a, b) => (a.nonce < b.nonce ? -1 : 1))
  }

  /** Returns all transactions in arrival order. */
  all(): Transaction[] {
    return [...this.#byHash.values()].sort((a, b) => a.arrival - b.arrival).map((entry) => entry.tx)
  }

  /** Calls `listener` once per transaction, when it becomes executable. Listeners must not throw. Returns the unsubscribe function. */
  subscribe(listener: (tx: Transaction) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Calls the listeners for a transaction that is executable in the pool of another process. */
  announce(tx: Transaction): void {
    for (const listener of this.#listeners) listener(tx)
  }

  /** Iterates over the executable transactions, best first. Held ones, and those that do not pay `prices`, stay in the pool. */
  bestTransactions(prices: BlockPrices): BestTransactions {
    const runs: SenderCursor[] = []
    for (const [address, queue] of this.#queues) {
      const top = queue.get(this.#nonceOf(address))
      if (top !== undefined && pays(top.tx, prices) && !this.holds.isHeld(top.tx)) runs.push({ queue, top })
    }
    return new BestTransactions(runs, prices, this.#order, (tx) => this.holds.isHeld(tx))
  }

  #insert(queue: SenderQueue, entry: PoolEntry): void {
    queue.set(entry.tx.nonce, entry)
    this.#queues.set(entry.tx.from, queue)
    this.#byHash.set(entry.tx.hash, entry)
    this.#sizeBytes += entry.tx.raw.length
    this.#version++
  }

  #announceExecutable(queue: SenderQueue, tx: Transaction, next: bigint): void {
    const end = this.nextNonce(tx.from, next)
    if (tx.nonce >= end) return
    for (let nonce = tx.nonce, entry = queue.get(nonce); entry !== undefined; entry = queue.get(++nonce)) this.#notify(entry)
  }

  #notify(entry: PoolEntry): void {
    if (entry.isAnnounced) return
    entry.isAnnounced = true
    this.announce(entry.tx)
  }

  #assertCapacity(queue: SenderQueue): void {
    if (this.size >= POOL_TRANSACTIONS) {
      throw new PoolError('pool-full', `txpool is full: it holds its limit of ${POOL_TRANSACTIONS} transactions`)
    }
    if (queue.size >= POOL_TRANSACTIONS_PER_SENDER) {
      throw new PoolError('pool-full', `txpool is full: this sender has its limit of ${POOL_TRANSACTIONS_PER_SENDER}`)
    }
  }

  #assertRoom(tx: Transaction, replaced: Transaction | undefined): void {
    if (this.#sizeBytes + tx.raw.length - (replaced?.raw.length ?? 0) <= POOL_BYTES) return
    throw new PoolError('pool-full', `txpool is full: it holds its limit of ${POOL_BYTES} bytes of transactions; mine some or drop some`)
  }

  #forget({ hash, raw }: Transaction): void {
    if (this.#byHash.delete(hash)) this.#sizeBytes -= raw.length
    this.holds.onRemoved(hash)
    for (const leave of this.#leaving.get(hash) ?? []) leave()
    this.#leaving.delete(hash)
  }

  #remove(tx: Transaction): void {
    this.#version++
    this.#forget(tx)
    const queue = this.#queues.get(tx.from)
    queue?.delete(tx.nonce)
    if (queue?.size === 0) this.#queues.delete(tx.from)
  }
}

function assertReplaces(tx: Transaction, old: Transaction, rule: ReplacementRule): void {
  const enough =
    (rule === 'higher' && tx.maxFeePerGas > old.maxFeePerGas) ||
    (tx.maxFeePerGas * 100n >= old.maxFeePerGas * REPLACEMENT_PERCENT &&
      tx.maxPriorityFeePerGas * 100n >= old.maxPriorityFeePerGas * REPLACEMENT_PERCENT)
  if (!enough) throw new PoolError('replacement-underpriced', 'replacement transaction underpriced')
}

/** Refusal of a transaction, with geth's message. */
export class PoolError extends Error {
  readonly code: PoolErrorCode

  constructor(code: PoolErrorCode, message: string) {
    super(message)
    this.name = 'PoolError'
    this.code = code
  }
}

/** Refusal of a nonce that a sealed or pre-confirmed transaction has used. */
export class NonceTooLow extends PoolError {
  readonly from: Address
  readonly nonce: bigint
  /** the sender's nonce after all pre-confirmed transactions */
  readonly nextNonce: bigint

  constructor({ from, nonce }: Transaction, nextNonce: bigint) {
    super('nonce-too-low', `nonce too low: next nonce ${nextNonce}, tx nonce ${nonce}`)
    this.from = from
    this.nonce = nonce
    this.nextNonce = nextNonce
  }
}
