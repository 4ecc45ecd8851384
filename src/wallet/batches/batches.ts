import { ENTRY_POINTS } from '../../eth/index.ts'
import type { Address, Hash, Transaction } from '../../eth/index.ts'
import type { Records } from '../../jsonrpc/index.ts'
import { ChainWatch, CODE, RpcError } from '../../jsonrpc/index.ts'
import { BatchRecord } from './batchrecord.ts'
import type { BatchOperation, BatchTransaction, StatusCode } from './batchrecord.ts'
import { BatchStore } from './batchstore.ts'
import type { BatchSummary } from './batchstore.ts'
import type { WalletChain } from '../chains/chain.ts'
import type { Chains } from '../chains/chains.ts'
import { WALLET_CODE, walletClosed } from '../errors.ts'
import { KeyedMutex } from './keyedmutex.ts'
import { FOLLOWED_TRANSACTIONS, OPEN_BATCHES, POLL_MS, SLOW_POLL_MS, UPGRADE_POLL_MS, UPGRADE_WAIT_MS } from '../limits.ts'
import { withDetails } from './inclusiondetail.ts'
import { isPendingUpgrade, operationNonce, submitOperation, trackOperation } from './operationtracker.ts'
import { toBatchRecord } from './signedbatch.ts'
import type { SignedBatch } from './signedbatch.ts'
import { statusOf } from './status.ts'
import type { CallsStatus } from './status.ts'
import { StatusWaiters } from './statuswaiters.ts'
import { callAfter } from '../approvals/timing.ts'
import { notIncluded, trackTransactions } from './transactiontracker.ts'
import { accountKey, isIncludedOrDropped, submitTransaction } from './transactions.ts'

export type { CallsReceipt, StatusCode } from './batchrecord.ts'
export type { SentOperation } from './operationtracker.ts'
export type { BatchSummary } from './batchstore.ts'
export { randomBatchId } from './signedbatch.ts'
export type { SignedBatch } from './signedbatch.ts'
export type { CallsStatus } from './status.ts'

/** Emitted when the status of a batch has changed. */
export interface BatchChange {
  readonly origin: string
  readonly id: string
  readonly status: StatusCode
}

interface BatchesOptions {
  readonly chains: Chains
  readonly records: Records
  /** when the status of a batch becomes 200 */
  readonly settings: { readonly confirmation: 'preconfirmed' | 'sealed' }
  readonly onError: (error: unknown) => void
  /** Unix time, milliseconds; default: Date.now */
  readonly now?: () => number
}

/** A single transaction that the node has accepted, or may have. */
export interface FollowedTransaction {
  /** id of its activity */
  readonly id: string
  readonly origin: string
  readonly from: Address
  readonly chain: WalletChain
  readonly transaction: Transaction
  /** true: the node's response was lost, which its site knows and may answer with another transaction; so it is not submitted again */
  readonly isUnsure: boolean
}

interface StatusQuery {
  /** null: any batch whose id the wallet made, since that id is a secret */
  readonly origin: string | null
  /** how long to wait for a pending batch to change, milliseconds */
  readonly waitMs: number
  readonly signal?: AbortSignal | null
}

/**
 * The submitted batches. Each is stored before its first transaction is sent, tracked on its chain until its blocks are sealed or it can no longer be
 * included, and kept for a day after. A wallet that restarts over the same records continues to track them.
 */
export class Batches {
  /** serialises, by `accountKey`, every step that uses an account's next nonce */
  readonly mutex = new KeyedMutex()
  readonly #options: BatchesOptions
  readonly #now: () => number
  readonly #store: BatchStore
  readonly #waiters = new StatusWaiters()
  readonly #watches = new Map<number, ChainWatch>()
  /** the update in progress of each batch, by key */
  readonly #updates = new Map<string, Promise<BatchRecord>>()
  /** keys of batches from before the start that have not been updated since: the node may have lost its pool in a restart of its own */
  readonly #resumed = new Set<string>()
  /** keys of batches whose transactions are being sent; they are not updated meanwhile */
  readonly #submitting = new Set<string>()
  /** time when the node last had a transaction, or the bundler an operation; initially the time of sending */
  readonly #lastSeenAt = new Map<Hash, number>()
  /** transactions outside of batches that carry an authorization of their sender, by `accountKey` */
  readonly #authorizations = new Map<string, Hash>()
  readonly #listeners = new Set<(change: BatchChange) => void>()
  readonly #recordListeners = new Set<(record: BatchRecord) => void>()
  #isClosed = false

  constructor(options: BatchesOptions) {
    this.#options = options
    this.#now = options.now ?? Date.now
    this.#store = new BatchStore(options.records, options.onError)
    for (const record of this.#store.open()) this.#resumed.add(BatchRecord.key(record))
    this.#store.prune(this.#now())
    // A microtask later: the caller is still constructing the wallet.
    if (this.#resumed.size > 0) queueMicrotask(() => this.#resume())
  }

  /** True if the app has used this id for this account: 5720. */
  has(key: Pick<BatchRecord, 'origin' | 'from' | 'id'>): boolean {
    return this.#store.find(BatchRecord.key(key)) !== null
  }

  /**
   * Stores the batch, then sends its transactions in order, or its operation. Resolves when the node has accepted the first one; the status reports a
   * refusal of later ones. Throws RpcError if the node has accepted none: the batch is then removed, and its id is free.
   */
  async submit(batch: SignedBatch): Promise<BatchRecord> {
    this.#assertRoom()
    const record = await toBatchRecord(batch, this.#now())
    const key = BatchRecord.key(record)
    if (this.#store.find(key) !== null) throw duplicateId(record.id)
    // Its record might not reach the next wallet, which would send the batch again under the same id.
    if (this.#isClosed) throw walletClosed()
    this.#submitting.add(key)
    this.#put(record)
    try {
      return await (record.operation === null
        ? this.#submitTransactions(record, batch.chain)
        : this.#submitOperation(record, record.operation, batch.chain))
    } finally {
      this.#submitting.delete(key)
      this.#store.prune(this.#now())
      this.#watchOpen()
      // The block may have arrived during the submission, and no further one needs to follow.
      if (this.#store.find(key) !== null) this.#updateInBackground(key)
    }
  }

  /**
   * Keeps and tracks a single transaction, under the id of its activity. Returns false, without an effect, beyond
   * FOLLOWED_TRANSACTIONS that are open, so that a program that sends thousands through the wallet does not pay for each.
   */
  async follow(sent: FollowedTransaction): Promise<boolean> {
    if (this.#isClosed || this.#store.openCount(true) >= FOLLOWED_TRANSACTIONS) return false
    const { transaction, isUnsure, ...rest } = sent
    const batch = { ...rest, isOwnId: false, atomic: true, execution: 'single', callCount: 1, isTransaction: true } as const
    const signed = await toBatchRecord({ ...batch, transactions: [{ transaction, isPreparation: false }] }, this.#now())
    const record = isUnsure ? { ...signed, anchor: null } : signed
    this.#put(record)
    this.#lastSeenAt.set(transaction.hash, this.#now())
    this.#store.prune(this.#now())
    this.#watchOpen()
    this.#updateInBackground(BatchRecord.key(record))
    return true
  }

  /** Returns the record of a batch or single transaction; null: there is none, or it is too old. */
  record(key: Pick<BatchRecord, 'origin' | 'from' | 'id'>): BatchRecord | null {
    return this.#store.find(BatchRecord.key(key))
  }

  /** Calls `listener` with each record that is new or has changed. Returns a function that ends the subscription. */
  subscribeRecords(listener: (record: BatchRecord) => void): () => void {
    this.#recordListeners.add(listener)
    return () => void this.#recordListeners.delete(listener)
  }

  /** Returns the current status, after a request to the chain. Throws RpcError 5730 for a batch that the origin has not submitted. */
  async status(id: string, { origin, waitMs, signal = null }: StatusQuery): Promise<CallsStatus> {
    const key = this.#store.keyOf(id, origin)
    const { confirmation } = this.#options.settings
    const status = statusOf(await this.#update(key, true), confirmation)
    if (status.status !== 100 || waitMs <= 0) return status
    await this.#waiters.wait(key, waitMs, signal)
    return statusOf(this.#store.get(key), confirmation)
  }

  /** Throws RpcError 5730 for a batch that the origin has not submitted. */
  assertKnown(id: string, origin: string | null): void {
    this.#store.keyOf(id, origin)
  }

  /** Calls `listener` after each change of a status. Returns a function that ends the subscription. */
  subscribe(listener: (change: BatchChange) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Returns the newest batches, the newest first. */
  latest(count: number): readonly BatchSummary[] {
    return this.#store.latest(count)
  }

  /**
   * Called when a chain has removed its blocks from `number` on: what they contained was final and is not watched. An update that runs now may have read
   * them. `replaced`: resolves when the chain has the blocks that a reorg puts in their place, which may contain the same transactions.
   */
  recheckFrom(chainId: number, number: number, replaced: Promise<void>): void {
    const keys = new Set([...this.#store.includedFrom(chainId, BigInt(number)).map(BatchRecord.key), ...this.#updates.keys()])
    const recheck = () => {
      for (const key of keys) if (this.#store.find(key) !== null) this.#updateInBackground(key, true)
    }
    void replaced.then(recheck)
  }

  /**
   * Updates the records whose sealed block the chain no longer has. Called at the start, because a process that ended after a reorg may not have updated
   * them; without requests for the others.
   */
  recheckReplaced(chainId: number, hasBlock: (number: number, hash: Hash) => boolean): void {
    const isGone = ({ inclusion }: ReturnType<typeof BatchRecord.parts>[number]) =>
      inclusion.kind === 'included' && inclusion.isSealed && !hasBlock(Number(inclusion.receipt.blockNumber), inclusion.receipt.blockHash)
    const gone = this.#store.includedFrom(chainId, 0n).filter((record) => BatchRecord.parts(record).some(isGone))
    for (const record of gone) this.#updateInBackground(BatchRecord.key(record), true)
  }

  /** Answers pending status requests and stops tracking; the next wallet over the same records continues. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const watch of this.#watches.values()) watch.end()
    this.#watches.clear()
    this.#waiters.close()
    await Promise.allSettled(this.#updates.values())
    this.#listeners.clear()
    this.#recordListeners.clear()
  }

  // --- submission ---------------------------------------------------------------------------------------------------------

  #assertRoom(): void {
    const open = this.#store.openCount(false)
    if (open < OPEN_BATCHES) return
    const message = `${open} batches are pending, the maximum; wait until some of them are final`
    throw new RpcError(CODE.limitExceeded, message, { reason: 'too-many-batches', limit: OPEN_BATCHES })
  }

  async #submitTransactions(record: BatchRecord, chain: WalletChain): Promise<BatchRecord> {
    for (const [at, { raw, hash, isPreparation }] of record.transactions.entries()) {
      const result = await submitTransaction(chain, raw, hash)
      this.#lastSeenAt.set(hash, this.#now())
      // If the result is unknown the tracker finds out, and submits it again if need be.
      if (result.kind !== 'rejected') continue
      const { error } = result
      const isNothingSent = record.transactions.slice(0, at).every((each) => each.isPreparation)
      if (isPreparation || isNothingSent) {
        this.#remove(record)
        throw error
      }
      const transactions = record.transactions.map((each, i) => (i < at ? each : refused(each, i === at ? error.message : NOT_SENT)))
      return this.#replace(record, { transactions })
    }
    return record
  }

  async #submitOperation(record: BatchRecord, operation: BatchOperation, chain: WalletChain): Promise<BatchRecord> {
    const result = await submitOperation(chain, operation)
    this.#lastSeenAt.set(operation.hash, this.#now())
    if (result.kind !== 'rejected') return record
    this.#remove(record)
    throw result.error
  }

  // --- nonces -------------------------------------------------------------------------------------------------------------

  /**
   * Returns the nonce of the account's next user operation under key 0, in the pending state: the first one from `minNonce` that no waiting operation of the
   * wallet has. It therefore fills the gap that a dropped operation leaves. Call it under the account's mutex. Throws RpcError.
   */
  async nextOperationNonce(
    chain: WalletChain,
    account: Address,
    entryPoint: Address = ENTRY_POINTS['0.8'],
    minNonce = 0n,
  ): Promise<bigint> {
    const open = this.#openOf(chain.chainId, account).filter(({ operation }) => operation?.entryPoint === entryPoint)
    const updated = await Promise.all(open.map((record) => this.#update(BatchRecord.key(record), true)))
    const next = await operationNonce(chain, account, entryPoint, 0n, 'pending')
    const used = new Set(updated.flatMap(({ operation }) => (operation?.inclusion.kind === 'waiting' ? [BigInt(operation.nonce)] : [])))
    let nonce = next > minNonce ? next : minNonce
    while (used.has(nonce)) nonce += 1n
    return nonce
  }

  /**
   * Resolves when no authorization of the account waits for its block. An authorization uses the nonce after that of its transaction (EIP-7702), which pools
   * do not count, so a transaction signed meanwhile would be lost. Throws RpcError after UPGRADE_WAIT_MS.
   */
  async waitForUpgrade(chain: WalletChain, account: Address): Promise<void> {
    const end = this.#now() + UPGRADE_WAIT_MS
    for (let hash = await this.#pendingUpgrade(chain, account); hash !== null; hash = await this.#pendingUpgrade(chain, account)) {
      if (this.#isClosed || this.#now() >= end) throw upgradePending(hash)
      await new Promise((resolve) => callAfter(UPGRADE_POLL_MS, () => resolve(null)))
    }
  }

  /** Adds a transaction that `waitForUpgrade` waits for. */
  addAuthorization(chain: WalletChain, account: Address, hash: Hash): void {
    this.#authorizations.set(accountKey(chain, account), hash)
  }

  /** Returns the hash of a transaction or operation whose authorization waits for its block; null: there is none. */
  async #pendingUpgrade(chain: WalletChain, account: Address): Promise<Hash | null> {
    const key = accountKey(chain, account)
    const single = this.#authorizations.get(key)
    if (single !== undefined && !(await isIncludedOrDropped(chain, single))) return single
    this.#authorizations.delete(key)
    for (const upgrade of this.#openOf(chain.chainId, account).filter((record) => pendingUpgradeIn(record) !== null)) {
      const updated = await this.#update(BatchRecord.key(upgrade), true)
      const hash = pendingUpgradeIn(updated)
      if (hash !== null && !(await this.#hasNonceGap(chain, updated))) return hash
    }
    return null
  }

  /** True if an operation before it was dropped: it cannot be included before another one uses that nonce. */
  async #hasNonceGap(chain: WalletChain, { from, operation }: BatchRecord): Promise<boolean> {
    if (operation === null) return false
    return (await this.nextOperationNonce(chain, from, operation.entryPoint)) < BigInt(operation.nonce)
  }

  #openOf(chainId: number, account: Address): readonly BatchRecord[] {
    return this.#store.open().filter((record) => record.chainId === chainId && record.from === account)
  }

  // --- tracking -----------------------------------------------------------------------------------------------------------

  /**
   * Updates a batch from its chain; one update at a time for each batch. `isForced`: also a final batch, and with requests sent after this call.
   */
  async #update(key: string, isForced = false): Promise<BatchRecord> {
    const running = this.#updates.get(key)
    if (running !== undefined) {
      const record = await running
      if (!isForced) return record
      if (this.#updates.has(key)) return this.#update(key, isForced)
    }
    const update = this.#updateNow(key, isForced).finally(() => this.#updates.delete(key))
    this.#updates.set(key, update)
    return update
  }

  #updateInBackground(key: string, isForced = false): void {
    void this.#update(key, isForced).catch(this.#options.onError)
  }

  async #updateNow(key: string, isForced: boolean): Promise<BatchRecord> {
    const record = this.#store.get(key)
    const chain = this.#options.chains.get(record.chainId)
    if (chain === null || this.#submitting.has(key) || this.#isClosed) return record
    if (!isForced && !BatchRecord.isOpen(record)) return record
    try {
      const context = { now: this.#now(), lastSeenAt: this.#lastSeenAt, isResumed: this.#resumed.has(key) }
      const changes =
        record.operation === null
          ? { transactions: await trackTransactions(chain, record, context) }
          : { operation: await trackOperation(chain, record, record.operation, context) }
      this.#resumed.delete(key)
      const detailed = await withDetails(chain, record, changes)
      // It may have been pruned during the update.
      return this.#store.find(key) === null ? record : this.#replace(record, detailed)
    } catch (error) {
      // The next update tries a chain again that does not respond now.
      if (!(error instanceof RpcError)) this.#options.onError(error)
      return record
    }
  }

  #resume(): void {
    if (this.#isClosed) return
    for (const key of this.#resumed) this.#updateInBackground(key)
    this.#watchOpen()
  }

  /** Watches exactly the chains that have open batches. */
  #watchOpen(): void {
    if (this.#isClosed) return
    const open = new Set(this.#store.open().map(({ chainId }) => chainId))
    for (const [chainId, watch] of this.#watches) {
      if (open.has(chainId)) continue
      watch.end()
      this.#watches.delete(chainId)
    }
    for (const chainId of open) {
      const chain = this.#options.chains.get(chainId)
      if (chain === null || this.#watches.has(chainId)) continue
      const feeds = FEEDS.map((name) => ({ params: [name], isComplete: true }))
      const onActivity = () => this.#updateChain(chainId)
      this.#watches.set(chainId, new ChainWatch({ rpc: chain.rpc, feeds, pollMs: POLL_MS, slowPollMs: SLOW_POLL_MS, onActivity }))
    }
  }

  #updateChain(chainId: number): void {
    for (const record of this.#store.open()) {
      if (record.chainId === chainId) this.#updateInBackground(BatchRecord.key(record))
    }
  }

  // --- storage ------------------------------------------------------------------------------------------------------------

  #remove(record: BatchRecord): void {
    this.#forgetLastSeen(record)
    this.#store.remove(record)
  }

  #forgetLastSeen(record: BatchRecord): void {
    for (const { hash } of BatchRecord.parts(record)) this.#lastSeenAt.delete(hash)
  }

  /** Stores the changes, if there are any, and emits an event if they change the status. */
  #replace(record: BatchRecord, changes: Partial<Pick<BatchRecord, 'transactions' | 'operation'>>): BatchRecord {
    const next = { ...record, ...changes }
    const isSame = next.operation === record.operation && next.transactions.every((each, i) => each === record.transactions[i])
    if (isSame) return record
    const { status } = statusOf(next, this.#options.settings.confirmation)
    const changed: BatchRecord = { ...next, status }
    this.#put(changed)
    if (!BatchRecord.isOpen(changed)) this.#forgetLastSeen(changed)
    if (BatchRecord.isOpen(changed) !== BatchRecord.isOpen(record)) this.#watchOpen()
    if (status !== record.status) this.#notify(changed)
    return changed
  }

  #put(record: BatchRecord): void {
    this.#store.put(record)
    this.#call(this.#recordListeners, record)
  }

  #notify(record: BatchRecord): void {
    if (record.isTransaction) return
    const { origin, id, status } = record
    this.#waiters.notify(BatchRecord.key(record))
    this.#call(this.#listeners, { origin, id, status })
  }

  #call<T>(listeners: ReadonlySet<(value: T) => void>, value: T): void {
    for (const listener of [...listeners]) {
      try {
        listener(value)
      } catch (error) {
        this.#options.onError(error)
      }
    }
  }
}

/** The subscriptions of a node that a new block triggers. */
const FEEDS = ['newFlashblocks', 'newHeads']

/** interface 7.3. */
export function duplicateId(id: string): RpcError {
  return new RpcError(WALLET_CODE.duplicateId, 'There is already a batch submitted with the specified batch ID', {
    reason: 'duplicate-id',
    id,
  })
}

/** Returns the hash of the part that waits with an authorization of the account; null: there is none. */
function pendingUpgradeIn({ transactions, operation }: BatchRecord): Hash | null {
  if (operation !== null) return isPendingUpgrade(operation) ? operation.hash : null
  return transactions.find(({ raw, inclusion }) => raw.startsWith(UPGRADE_PREFIX) && inclusion.kind === 'waiting')?.hash ?? null
}

/** Type 4 (EIP-7702): the wallet signs authorizations of the sender only. */
const UPGRADE_PREFIX = '0x04'

function upgradePending(hash: Hash): RpcError {
  const message = `the account is being upgraded or downgraded by ${hash}, which waits for its block: the nonce after it is not known yet; nothing was sent, send it again when the block has come`
  return new RpcError(CODE.server, message, { reason: 'upgrade-waits', hash })
}

const NOT_SENT = 'an earlier transaction of the batch was refused, so this one was not sent'

function refused(transaction: BatchTransaction, message: string): BatchTransaction {
  return { ...transaction, inclusion: notIncluded('refused', message) }
}
