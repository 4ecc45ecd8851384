import { isObject, receiptDifferences } from '../../eth/index.ts'
import type { Address, Hash, Hex, Receipt, Transaction } from '../../eth/index.ts'
import { InvalidTransaction } from '../../evm/index.ts'
import { DELAY_FLASHBLOCKS, DELAY_MS, HOLDS, MAX_SPEED, MIN_SPEED, STALL_MS } from '../limits.ts'
import type { Mempool } from '../pool/mempool.ts'
import type { BlockTicker, Pace } from '../sequencing/blockticker.ts'
import { BlockFull } from '../sequencing/builder.ts'
import type { Clock } from '../sequencing/clock.ts'
import type { Rewinder } from '../sequencing/rewinder.ts'
import type { Sequencer } from '../sequencing/sequencer.ts'
import type { RewindCause } from '../view/head.ts'
import type { View } from '../view/view.ts'
import { assertKeys, parseFilter, parseHash } from './holds.ts'
import type { TransactionFilter } from './holds.ts'
import type { PromiseLedger, PromisePage, PromiseQuery } from './ledger.ts'
import { PromiseError } from './promiseerror.ts'
import type { PromiseOutcome, PromiseRecord, SettledRecord } from './promiserecord.ts'

interface PromiseControlDeps {
  readonly clock: Clock
  readonly pool: Mempool
  readonly ticker: BlockTicker
  readonly view: () => View
  readonly parts: () => { readonly sequencer: Sequencer; readonly rewinder: Rewinder }
  /** Runs `work` between two ticks; again after a fetch if it misses state. */
  readonly whilePaused: <T>(work: () => Promise<T> | T) => Promise<T>
  readonly ledger: () => PromiseLedger
  readonly onBug: (error: unknown) => void
}

/** The effect of a move on the open block's promises. */
export interface PromiseChange {
  /** Promised now, in block order. */
  readonly promised: readonly Hash[]
  /** No longer promised, and in the pool. */
  readonly returned: readonly Hash[]
  /** No longer promised, and removed. */
  readonly dropped: readonly Hash[]
  /** Promised before and now, with another status, gas, fee, logs or created contract. */
  readonly changed: readonly Hash[]
}

/** The promises that a retraction takes back. */
export type RetractTarget = { readonly hash: Hex } | { readonly fromFlashblock: number } | 'all'

/** Returns the nonce that an account's next transaction needs. */
export type NonceOf = (address: Address) => bigint

/** A place directly before or after a promised transaction. */
export type Place = { readonly before: Hex } | { readonly after: Hex }

/** The length of a delay: a number of flashblocks (blocks under a cadence without flashblocks), or milliseconds of the clock. */
export type Delay = { readonly flashblocks: number } | { readonly milliseconds: number }

/** Records of a page unless the query has a limit. */
const RECORDS_OF_PAGE = 100

/**
 * Control between pool and sequencer: which transactions wait, and which promises are kept, moved or retracted. Each move runs between two ticks, announces every
 * difference, and changes nothing when it throws PromiseError, OutOfRange or UpstreamError.
 */
export class PromiseControl {
  readonly #deps: PromiseControlDeps
  /** The functions that end the holds of delays, by the functions that cancel their timers. */
  readonly #delays = new Map<() => void, () => void>()

  constructor(deps: PromiseControlDeps) {
    this.#deps = deps
  }

  /** The filters that are held, oldest first. */
  get held(): readonly TransactionFilter[] {
    return this.#deps.pool.holds.filters
  }

  /** Keeps the selected transactions, present and future ones, out of blocks until `release`. Later nonces of their senders wait too. */
  hold(filter: TransactionFilter): Promise<void> {
    return this.#deps.whilePaused(() => void this.#hold(filter, null))
  }

  /** As `hold`, for a limited time. */
  async delay(filter: TransactionFilter, until: Delay): Promise<void> {
    const { clock, whilePaused, onBug, ticker } = this.#deps
    if (!isObject(until) || 'flashblocks' in until === 'milliseconds' in until)
      throw new PromiseError('a delay needs either { flashblocks } or { milliseconds }')
    if ('flashblocks' in until) {
      assertAmount(until.flashblocks, DELAY_FLASHBLOCKS, 'flashblocks')
      const { kind } = ticker.cadence
      if (kind === 'instant' || kind === 'manual')
        throw new PromiseError(`the ${kind} cadence has no flashblocks to wait for; delay by milliseconds`)
      return whilePaused(() => void this.#hold(filter, until.flashblocks))
    }
    assertAmount(until.milliseconds, DELAY_MS, 'milliseconds')
    // A delay outlasts its hold when the transaction leaves the pool.
    if (this.#delays.size >= HOLDS) throw new PromiseError(`${HOLDS} delays are the limit; wait until some have ended`)
    const end = await whilePaused(() => this.#hold(filter, null))
    const cancel = clock.at(clock.nowMs() + until.milliseconds, () => {
      this.#delays.delete(cancel)
      return whilePaused(end).catch(onBug)
    })
    this.#delays.set(cancel, end)
  }

  /** Cancels the timers of delays by milliseconds, which would keep the process alive, and ends their holds. */
  endDelays(): void {
    for (const [cancel, end] of this.#delays) {
      cancel()
      end()
    }
    this.#delays.clear()
  }

  /** Ends the hold of exactly this filter; of all without one. Returns the number of ended holds. */
  release(filter?: TransactionFilter): Promise<number> {
    const { holds } = this.#deps.pool
    return this.#deps.whilePaused(() => {
      if (filter === undefined) return holds.releaseAll()
      holds.release(parseFilter(filter))
      return 1
    })
  }

  /** Removes a transaction before or after its promise. Refused if later nonces of its sender are promised or in the pool: they would wait for it. */
  drop(hash: Hex): Promise<PromiseChange> {
    return this.#deps.whilePaused(() => {
      const { pool } = this.#deps
      const waiting = pool.get(parseHash(hash))
      const tx = waiting ?? this.#promised(hash)
      const behind = [...this.#promises().filter(({ from, nonce }) => from === tx.from && nonce > tx.nonce), ...pool.laterOf(tx)]
      if (behind.length > 0) {
        const nonces = behind.map(({ nonce }) => nonce).join(', ')
        throw new PromiseError(`without nonce ${tx.nonce}, nonce ${nonces} of ${tx.from} would wait forever; drop the highest nonce first`)
      }
      if (waiting === null) return this.#withdraw('drop', [tx], 'nowhere')
      pool.drop(tx.hash)
      return { promised: this.#order(), returned: [], dropped: [tx.hash], changed: [] }
    })
  }

  /** Takes promises back. Transactions that depended on them are executed again, and may change, or return to the pool. */
  async retract(target: RetractTarget, into: 'pool' | 'nowhere' = 'pool'): Promise<PromiseChange> {
    if (into !== 'pool' && into !== 'nowhere') throw new PromiseError(`promises return to 'pool' or 'nowhere', not ${String(into)}`)
    return this.#deps.whilePaused(() => this.#withdraw('retract', this.#targets(target), into))
  }

  /**
   * Executes the promised transactions in this order. Under a cadence without promises the next block includes these pool transactions first.
   */
  reorder(given: readonly Hex[]): Promise<PromiseChange> {
    return this.#deps.whilePaused(() => {
      if (!Array.isArray(given)) throw new PromiseError(`an order is an array of hashes, not ${String(given)}`)
      const hashes = given.map(parseHash)
      if (this.#promises().length === 0) return this.#prefer(hashes)
      const byHash = new Map(this.#promises().map((tx) => [tx.hash, tx]))
      const order = hashes.map((hash) => byHash.get(hash) ?? this.#promised(hash))
      const missing = [...byHash.keys()].filter((hash) => !hashes.includes(hash))
      if (missing.length > 0) throw new PromiseError(`the order lacks ${missing.join(', ')}, which the open block promises too`)
      assertOrder(order)
      return this.#rebuild('reorder', order)
    })
  }

  /** Executes a transaction before or after a promised one. It need not be in the pool. */
  insert(transaction: Transaction | ((nonceOf: NonceOf) => Transaction), place: Place): Promise<PromiseChange> {
    return this.#deps.whilePaused(() => {
      if (!isObject(place)) throw new PromiseError('an insertion needs a place, { before: hash } or { after: hash }')
      const isBefore = 'before' in place
      const beside = this.#promised(isBefore ? place.before : place.after)
      const order = [...this.#promises()]
      const index = order.indexOf(beside) + (isBefore ? 0 : 1)
      const tx = typeof transaction === 'function' ? transaction(this.#nonceAfter(order.slice(0, index))) : transaction
      if (order.some(({ hash }) => hash === tx.hash))
        throw new PromiseError(`transaction ${tx.hash} is promised already; use pocketchain_reorder`)
      order.splice(index, 0, tx)
      return this.#rebuild('insert', order, { required: tx })
    })
  }

  /** Executes another transaction of the same sender and nonce in the place of a promised one, which is gone. */
  replace(hash: Hex, transaction: Transaction | ((former: Transaction) => Transaction)): Promise<PromiseChange> {
    return this.#deps.whilePaused(() => {
      const former = this.#promised(hash)
      const tx = typeof transaction === 'function' ? transaction(former) : transaction
      if (tx.from !== former.from || tx.nonce !== former.nonce) {
        throw new PromiseError(
          `a replacement needs the sender and nonce of ${hash} (${former.from}, ${former.nonce}), not ${tx.from}, ${tx.nonce}`,
        )
      }
      const order = this.#promises().map((each) => (each === former ? tx : each))
      return this.#rebuild('replace', order, { required: tx, removed: [former] })
    })
  }

  /** Stops the production of flashblocks and blocks for `milliseconds`. */
  async stall(milliseconds: number): Promise<void> {
    assertAmount(milliseconds, STALL_MS, 'milliseconds')
    return this.#deps.whilePaused(() => this.#deps.ticker.stall(milliseconds))
  }

  /**
   * Replaces the newest blocks as another sequencer would have built them: with their transactions and timestamps, and other hashes. Promises
   * of the open block return to the pool. 0: only the open block. Throws OutOfRange, and MiningEnded after `endMining`, with the replacements until then
   * sealed.
   */
  failOver(blocks: number): Promise<void> {
    const { whilePaused, parts } = this.#deps
    return whilePaused(() => parts().rewinder.failOver(blocks))
  }

  get pace(): Pace {
    return this.#deps.ticker.pace
  }

  /** Sets the given parts of the pace. Throws PromiseError for a speed or a jitter out of range. */
  async setPace(pace: Partial<Pace>): Promise<void> {
    const { ticker, whilePaused } = this.#deps
    const given = parsePace(pace)
    return whilePaused(() => {
      ticker.pace = { ...ticker.pace, ...given }
    })
  }

  /** Leaves out the next flashblocks: their indices are missing, and their transactions come with the flashblock after them. */
  async missFlashblocks(count: number): Promise<void> {
    this.#assertPreconf()
    assertAmount(count, DELAY_FLASHBLOCKS, 'flashblocks')
    return this.#deps.whilePaused(() => this.#deps.ticker.missFlashblocks(count))
  }

  /** Delays the seal of the open block to `milliseconds` after its last flashblock. */
  async delaySeal(milliseconds: number): Promise<void> {
    this.#assertPreconf()
    assertAmount(milliseconds, STALL_MS, 'milliseconds')
    return this.#deps.whilePaused(() => this.#deps.ticker.delaySeal(milliseconds))
  }

  /** Records of promises and of what became of them, newest first. Throws PromiseError for a query with a wrong value. */
  records(query: Partial<PromiseQuery> = {}): PromisePage {
    assertQuery(query)
    return this.#deps.ledger().page({ limit: RECORDS_OF_PAGE, ...query })
  }

  /** Numbers of outcomes since the start. */
  get totals(): Readonly<Record<PromiseOutcome, number>> {
    return this.#deps.ledger().totals
  }

  /**
   * Resolves when a transaction is sealed, its promise is retracted, or it is dropped; immediately if that has happened. Throws PromiseError for an
   * unknown one, and ChainClosed if the node is closed before.
   */
  async settled(hash: Hex): Promise<SettledRecord> {
    return this.#deps.ledger().settled(parseHash(hash))
  }

  /** Throws PromiseError, with the newest of them, if a promise of this run was retracted or sealed otherwise. */
  expectKept(): void {
    const { changed, retracted } = this.totals
    if (changed + retracted === 0) return
    const [record] = [
      ...this.records({ outcome: 'retracted', limit: 1 }).promises,
      ...this.records({ outcome: 'changed', limit: 1 }).promises,
    ]
    throw new PromiseError(`${retracted} promises were retracted and ${changed} changed; ${record === undefined ? '' : sentenceOf(record)}`)
  }

  /** Throws PromiseError unless the newest promise of this transaction was retracted. */
  expectRetracted(hash: Hex): void {
    const record = this.#deps.ledger().find(parseHash(hash))
    if (record?.outcome === 'retracted') return
    throw new PromiseError(record === null ? `transaction ${hash} was never promised` : `it was not retracted: ${sentenceOf(record)}`)
  }

  /** Returns the function that ends the hold. */
  #hold(given: TransactionFilter, flashblocks: number | null): () => void {
    const { pool } = this.#deps
    const filter = parseFilter(given)
    const { hash } = filter
    if (hash !== undefined && !pool.has(hash)) {
      if (this.#promises().some((tx) => tx.hash === hash))
        throw new PromiseError(`transaction ${hash} is promised already; retract it first`)
      throw this.#notPromised(hash)
    }
    return pool.holds.add(filter, flashblocks)
  }

  #targets(target: RetractTarget): readonly Transaction[] {
    if (target !== 'all' && !(isObject(target) && ('hash' in target || 'fromFlashblock' in target)))
      throw new PromiseError("a retraction needs 'all', { hash } or { fromFlashblock }")
    if (target !== 'all' && 'hash' in target) return [this.#promised(target.hash)]
    const from = target === 'all' ? 0 : target.fromFlashblock
    if (!Number.isSafeInteger(from) || from < 0)
      throw new PromiseError(`fromFlashblock must be a whole number from 0 on, not ${String(from)}`)
    const found = this.#deps.parts().sequencer.promisedFrom(from)
    if (found.length > 0) return found
    throw new PromiseError(target === 'all' ? 'nothing is promised' : `nothing is promised in flashblock ${from} and later ones`)
  }

  #withdraw(cause: RewindCause, targets: readonly Transaction[], into: 'pool' | 'nowhere'): PromiseChange {
    const order = this.#promises().filter((tx) => !targets.includes(tx))
    return this.#rebuild(cause, order, { removed: into === 'nowhere' ? targets : [] })
  }

  #prefer(hashes: readonly Hash[]): PromiseChange {
    const { pool, parts } = this.#deps
    const order = hashes.map((hash) => {
      const tx = pool.get(hash)
      if (tx === null) throw this.#notPromised(hash)
      return tx
    })
    assertOrder(order)
    parts().sequencer.preferNext(order.map((tx) => tx.hash))
    return { promised: [], returned: [], dropped: [], changed: [] }
  }

  #rebuild(
    cause: RewindCause,
    order: readonly Transaction[],
    options: { readonly required?: Transaction; readonly removed?: readonly Transaction[] } = {},
  ): PromiseChange {
    const former = this.#receipts()
    try {
      this.#deps.parts().sequencer.rebuild(cause, order, options)
    } catch (error) {
      if (error instanceof InvalidTransaction || error instanceof BlockFull)
        throw new PromiseError(`transaction ${options.required?.hash} cannot be included there: ${error.message}`)
      throw error
    }
    const present = this.#receipts()
    const gone = [...former.keys()].filter((hash) => !present.has(hash))
    const { pool } = this.#deps
    return {
      promised: [...present.keys()],
      returned: gone.filter((hash) => pool.has(hash)),
      dropped: gone.filter((hash) => !pool.has(hash)),
      changed: [...present].flatMap(([hash, receipt]) => (hasChanged(former.get(hash), receipt) ? [hash] : [])),
    }
  }

  /** Receipts of the promises. */
  #receipts(): ReadonlyMap<Hash, Receipt> {
    const { published } = this.#deps.parts().sequencer
    if (published === null) return new Map()
    const { transactions, receipts } = published
    return new Map(transactions.flatMap(({ hash, deposit }, index) => (deposit === null ? [[hash, receipts[index]!]] : [])))
  }

  /** Returns each account's next nonce after the sealed blocks and these transactions. */
  #nonceAfter(transactions: readonly Transaction[]): NonceOf {
    const view = this.#deps.view()
    return (address) => {
      const last = transactions.findLast(({ from }) => from === address)
      return last === undefined ? (view.state(view.head).account(address)?.nonce ?? 0n) : last.nonce + 1n
    }
  }

  #order(): readonly Hash[] {
    return this.#promises().map(({ hash }) => hash)
  }

  #promises(): readonly Transaction[] {
    return this.#deps.parts().sequencer.promised
  }

  /** Throws PromiseError for a transaction that the open block does not promise. */
  #promised(given: Hex): Transaction {
    const hash = parseHash(given)
    const tx = this.#promises().find((each) => each.hash === hash)
    if (tx === undefined) throw this.#notPromised(hash)
    return tx
  }

  #notPromised(hash: Hash): PromiseError {
    if (this.#deps.pool.has(hash)) return new PromiseError(`transaction ${hash} is in the pool and not promised`)
    const location = this.#deps.view().locate(hash)
    if (location === null) return new PromiseError(`transaction ${hash} is unknown`)
    return new PromiseError(`transaction ${hash} is sealed in block ${location.block.header.number}; use anvil_reorg`)
  }

  #assertPreconf(): void {
    const { kind } = this.#deps.ticker.cadence
    if (kind !== 'preconf') throw new PromiseError(`the ${kind} cadence has no flashblocks`)
  }
}

/** True if the transaction itself had another outcome; the cumulative gas and the state root depend on those before it. */
function hasChanged(former: Receipt | undefined, present: Receipt): boolean {
  if (former === undefined) return false
  const { cumulativeGasUsed, root } = former
  return receiptDifferences(former, { ...present, cumulativeGasUsed, root }).length > 0
}

function sentenceOf({ hash, blockNumber, flashblockIndex, outcome, cause, differences }: PromiseRecord): string {
  const place =
    blockNumber === null ? '' : `, promised in block ${blockNumber}${flashblockIndex === null ? '' : `, flashblock ${flashblockIndex}`},`
  const details = [
    cause === null ? [] : [`cause: ${cause}`],
    differences.length === 0 ? [] : [`differences: ${differences.join(', ')}`],
  ].flat()
  return `transaction ${hash}${place} is ${outcome}${details.length === 0 ? '' : ` (${details.join('; ')})`}`
}

/** Returns the parts that are set. Throws PromiseError for a value out of range and for another key. */
function parsePace(given: Partial<Pace>): Partial<Pace> {
  assertKeys(given, ['speed', 'jitter'], 'pace')
  const { speed, jitter } = given
  assertBetween('speed', speed, MIN_SPEED, MAX_SPEED)
  assertBetween('jitter', jitter, 0, 1)
  return { ...(speed === undefined ? undefined : { speed }), ...(jitter === undefined ? undefined : { jitter }) }
}

function assertBetween(name: string, value: number | undefined, min: number, max: number): void {
  if (value === undefined || (typeof value === 'number' && value >= min && value <= max)) return
  throw new PromiseError(`${name} must be a number from ${min} to ${max}, not ${String(value)}`)
}

const OUTCOMES: readonly unknown[] = ['open', 'kept', 'changed', 'retracted', 'dropped'] satisfies PromiseOutcome[]

function assertQuery(query: Partial<PromiseQuery>): void {
  assertKeys(query, ['hash', 'outcome', 'blockNumber', 'before', 'limit'], 'query')
  const { hash, outcome, blockNumber, before, limit } = query
  if (hash !== undefined) parseHash(hash)
  if (outcome !== undefined && !OUTCOMES.includes(outcome))
    throw new PromiseError(`outcome must be one of ${OUTCOMES.join(', ')}, not ${outcome}`)
  for (const [name, value] of Object.entries({ blockNumber, before })) {
    if (value !== undefined && !(Number.isSafeInteger(value) && value >= 0))
      throw new PromiseError(`${name} must be a whole number, not ${String(value)}`)
  }
  if (limit !== undefined && !(Number.isSafeInteger(limit) && limit >= 1))
    throw new PromiseError(`limit must be a whole number from 1 on, not ${String(limit)}`)
}

/** Throws PromiseError for a number that is negative, too large or not whole. */
function assertAmount(amount: number, max: number, unit: string): void {
  if (Number.isSafeInteger(amount) && amount >= 0 && amount <= max) return
  throw new PromiseError(`it takes 0 to ${max} ${unit}, not ${String(amount)}`)
}

/** Throws PromiseError for a hash that occurs twice, and where a sender's nonces do not ascend. */
function assertOrder(order: readonly Transaction[]): void {
  const last = new Map<string, Transaction>()
  for (const tx of order) {
    const former = last.get(tx.from)
    if (former === tx) throw new PromiseError(`transaction ${tx.hash} occurs twice in the order`)
    if (former !== undefined && former.nonce > tx.nonce)
      throw new PromiseError(`nonce ${tx.nonce} of ${tx.from} cannot come after nonce ${former.nonce}`)
    last.set(tx.from, tx)
  }
}
