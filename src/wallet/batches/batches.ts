import { Hash, Hex } from '../../eth/index.ts'
import type { Address, Transaction } from '../../eth/index.ts'
import type { Records } from '../../rpc/index.ts'
import { CODE, RpcError } from '../../rpc/index.ts'
import { BatchRecord, WAITING } from './batchrecord.ts'
import type { BatchTransaction, Fate, StatusCode } from './batchrecord.ts'
import type { WalletChain } from '../chains/chain.ts'
import type { Chains } from '../chains/chains.ts'
import { ChainWatch } from './chainwatch.ts'
import { WALLET_CODE } from '../errors.ts'
import { lookAt } from './fates.ts'
import { BATCH_KEPT_MS, OLD_BATCHES, OPEN_BATCHES, STATUS_WAITERS, UPGRADE_LOOK_MS, UPGRADE_WAIT_MS } from '../limits.ts'
import { Turns, hand, isOver, rawOf, turnOf } from './sending.ts'
import { statusOf } from './status.ts'
import type { CallsStatus } from './status.ts'
import { after } from '../approvals/timing.ts'

export type { CallsReceipt, StatusCode } from './batchrecord.ts'
export type { CallsStatus } from './status.ts'

/** A batch as a list shows it. */
export interface BatchSummary {
  readonly id: string
  readonly origin: string
  readonly from: Address
  readonly chainId: Hex
  readonly status: StatusCode
  readonly atomic: boolean
  readonly transactionHashes: readonly Hash[]
  /** Unix time, milliseconds */
  readonly createdAt: number
}

/** Told whenever the status of a batch is another one than before. */
export interface BatchChange {
  readonly origin: string
  readonly id: string
  readonly status: StatusCode
}

export interface BatchesOptions {
  readonly chains: Chains
  readonly records: Records
  /** when a batch counts as done */
  readonly settings: { readonly confirmation: 'preconfirmed' | 'sealed' }
  readonly onError: (error: unknown) => void
  /** Unix time, milliseconds */
  readonly now?: () => number
}

/** What is submitted. */
export interface SignedBatch {
  readonly id: string
  /** the wallet made it: randomBatchId */
  readonly isOwnId: boolean
  readonly origin: string
  readonly from: Address
  readonly chain: WalletChain
  readonly atomic: boolean
  readonly execution: BatchRecord['execution']
  readonly callCount: number
  /** by nonce, signed */
  readonly transactions: readonly { readonly transaction: Transaction; readonly isPreparation: boolean }[]
}

export interface StatusQuery {
  /** null: whoever knows an id that the wallet made */
  readonly origin: string | null
  /** so long a pending batch is waited for */
  readonly waitMs: number
  readonly signal?: AbortSignal | null
}

/**
 * The batches that were submitted, until they are settled and for a day after. Each is kept before its first transaction is sent, and looked for on its
 * chain until its blocks are sealed or nothing will come of it; a wallet that starts goes on with those of the one before.
 */
export class Batches {
  /** for all that takes an account's next nonce */
  readonly turns = new Turns()
  readonly #options: BatchesOptions
  readonly #now: () => number
  /** by BatchRecord.key, oldest first */
  readonly #batches = new Map<string, BatchRecord>()
  /** keys of those whose fate is not settled */
  readonly #open = new Set<string>()
  /** keys by id, oldest first: several origins and accounts may have chosen the same */
  readonly #keys = new Map<string, readonly string[]>()
  readonly #watches = new Map<number, () => void>()
  readonly #looks = new Map<string, Promise<BatchRecord>>()
  /** keys of those from before the start that nobody has looked for yet: the node may have forgotten them with its own restart */
  readonly #resumed = new Set<string>()
  /** keys of those that are being sent: they are not looked for yet */
  readonly #sending = new Set<string>()
  /** when the node was last seen to know a transaction; absent: when it was sent */
  readonly #knownAt = new Map<Hash, number>()
  /** of no batch, but with an authorization of their sender; by `turnOf` */
  readonly #authorizing = new Map<string, Hash>()
  readonly #listeners = new Set<(change: BatchChange) => void>()
  readonly #waiters = new Map<string, Set<() => void>>()
  #waiting = 0
  #isClosed = false

  constructor(options: BatchesOptions) {
    this.#options = options
    this.#now = options.now ?? Date.now
    for (const record of BatchRecord.all(options.records, options.onError)) {
      this.#hold(record)
      if (BatchRecord.isOpen(record)) this.#resumed.add(BatchRecord.key(record))
    }
    this.#forgetOld()
    // Not before the one who makes the wallet has finished.
    if (this.#resumed.size > 0) queueMicrotask(() => this.#resume())
  }

  /** True when the app's id is taken: 5720. */
  has(key: Pick<BatchRecord, 'origin' | 'from' | 'id'>): boolean {
    return this.#batches.has(BatchRecord.key(key))
  }

  /**
   * Keeps the batch, then sends its transactions in order. Answers when the node has all of them, or the first ones: what became of the rest the
   * status tells. Throws RpcError when it has none: the batch is then none, and its id is free.
   */
  async submit(batch: SignedBatch): Promise<BatchRecord> {
    this.#assertRoom()
    const record = await this.#recordOf(batch)
    const key = BatchRecord.key(record)
    if (this.#batches.has(key)) throw duplicateId(record.id)
    this.#sending.add(key)
    this.#keep(record)
    try {
      return await this.#send(record, batch.chain)
    } finally {
      this.#sending.delete(key)
      this.#forgetOld()
      this.#watchOpen()
      // Its block may have come while it was sent, and no other one need follow.
      if (this.#batches.has(key)) void this.#look(key).catch(this.#options.onError)
    }
  }

  /** Looks at the chain first. Throws RpcError 5730 for a batch that the asker does not know. */
  async status(id: string, { origin, waitMs, signal = null }: StatusQuery): Promise<CallsStatus> {
    const key = this.#find(id, origin)
    const { confirmation } = this.#options.settings
    const status = statusOf(await this.#look(key, true), confirmation)
    if (status.status !== 100 || waitMs <= 0) return status
    await this.#change(key, waitMs, signal)
    return statusOf(this.#batches.get(key) ?? (await this.#look(key)), confirmation)
  }

  /** Throws RpcError 5730 for a batch that the origin does not know. */
  assertKnown(id: string, origin: string | null): void {
    this.#find(id, origin)
  }

  /** Told after the change. Answers what ends it. */
  subscribe(listener: (change: BatchChange) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** The newest first. */
  latest(count: number): readonly BatchSummary[] {
    return count < 1 ? [] : [...this.#batches.values()].slice(-count).toReversed().map(summary)
  }

  /** Gives up all that is not settled: nothing is looked for or sent again. For tests that put a chain back to where it was. */
  abandon(): void {
    for (const key of [...this.#open]) {
      const record = this.#known(key)
      this.#replace(record, record.transactions.map(givenUp))
    }
    this.#resumed.clear()
    this.#watchOpen()
  }

  /** Those who wait for a status are answered; what is open goes on with the next wallet over the same records. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const end of this.#watches.values()) end()
    this.#watches.clear()
    for (const waiters of [...this.#waiters.values()]) for (const wake of [...waiters]) wake()
    await Promise.allSettled(this.#looks.values())
    this.#listeners.clear()
  }

  // --- sending ----------------------------------------------------------------------------------------------------------

  #assertRoom(): void {
    if (this.#open.size < OPEN_BATCHES) return
    const message = `${this.#open.size} batches are under way, which is all there may be; wait until some are settled`
    throw new RpcError(CODE.limitExceeded, message, { reason: 'too-many-batches', limit: OPEN_BATCHES })
  }

  async #recordOf({ id, isOwnId, origin, from, chain, atomic, execution, callCount, transactions }: SignedBatch): Promise<BatchRecord> {
    return {
      id,
      origin,
      from,
      chainId: chain.chainId,
      isOwnId,
      atomic,
      execution,
      callCount,
      createdAt: this.#now(),
      anchor: await newestBlock(chain),
      transactions: transactions.map(({ transaction, isPreparation }) => ({
        hash: transaction.hash,
        raw: rawOf(transaction),
        nonce: Number(transaction.nonce),
        isPreparation,
        fate: WAITING,
      })),
      status: 100,
    }
  }

  async #send(record: BatchRecord, chain: WalletChain): Promise<BatchRecord> {
    for (const [at, { raw, hash, isPreparation }] of record.transactions.entries()) {
      const handed = await hand(chain, raw, hash)
      this.#knownAt.set(hash, this.#now())
      // Whether the node has it will be seen; if not, it gets it once more.
      if (handed.kind !== 'refused') continue
      const { error } = handed
      const isNothingSent = record.transactions.slice(0, at).every((each) => each.isPreparation)
      if (isPreparation || isNothingSent) {
        this.#remove(record)
        throw error
      }
      return this.#replace(
        record,
        record.transactions.map((each, i) => (i < at ? each : refused(each, error, i === at))),
      )
    }
    return record
  }

  /**
   * Resolves when no authorization of the account waits for its block: it takes a nonce of its own behind that of its transaction (EIP-7702), which
   * pools do not count, so that what was signed meanwhile would be lost. Throws RpcError when it takes too long.
   */
  async upgraded(chain: WalletChain, account: Address): Promise<void> {
    const end = this.#now() + UPGRADE_WAIT_MS
    for (let hash = await this.#upgrading(chain, account); hash !== null; hash = await this.#upgrading(chain, account)) {
      if (this.#isClosed || this.#now() >= end) throw upgradeWaits(hash)
      await new Promise((resolve) => after(UPGRADE_LOOK_MS, () => resolve(null)))
    }
  }

  /** `upgraded` waits for it, too. */
  noteAuthorization(chain: WalletChain, account: Address, hash: Hash): void {
    this.#authorizing.set(turnOf(chain, account), hash)
  }

  /** Of an authorization that waits; null: none does. */
  async #upgrading(chain: WalletChain, account: Address): Promise<Hash | null> {
    const turn = turnOf(chain, account)
    const single = this.#authorizing.get(turn)
    if (single !== undefined && !(await isOver(chain, single))) return single
    this.#authorizing.delete(turn)
    const key = this.#upgradeOf(chain.chainId, account)
    if (key === null) return null
    return waitingUpgrade(await this.#look(key, true))?.hash ?? this.#upgrading(chain, account)
  }

  #upgradeOf(chainId: number, account: Address): string | null {
    for (const key of this.#open) {
      const record = this.#known(key)
      if (record.chainId === chainId && record.from === account && waitingUpgrade(record) !== null) return key
    }
    return null
  }

  // --- looking ----------------------------------------------------------------------------------------------------------

  /** One look at a time for each batch. `isAsked`: also at what is settled, and not before now. */
  async #look(key: string, isAsked = false): Promise<BatchRecord> {
    const running = this.#looks.get(key)
    if (running !== undefined && !isAsked) return running
    if (running !== undefined) await running
    if (running !== undefined && this.#looks.has(key)) return this.#look(key, isAsked)
    const look = this.#lookNow(key, isAsked).finally(() => this.#looks.delete(key))
    this.#looks.set(key, look)
    return look
  }

  async #lookNow(key: string, isAsked: boolean): Promise<BatchRecord> {
    const record = this.#known(key)
    const chain = this.#options.chains.get(record.chainId)
    if (chain === null || this.#sending.has(key) || this.#isClosed) return record
    if (!isAsked && !BatchRecord.isOpen(record)) return record
    try {
      const fates = await lookAt(chain, record, { now: this.#now(), knownAt: this.#knownAt, isResumed: this.#resumed.has(key) })
      this.#resumed.delete(key)
      // It may have been given up meanwhile.
      const current = this.#batches.get(key)
      return current === record ? this.#replace(record, fates) : (current ?? record)
    } catch (error) {
      // A chain that cannot be reached now is asked again.
      if (!(error instanceof RpcError)) this.#options.onError(error)
      return record
    }
  }

  #known(key: string): BatchRecord {
    const record = this.#batches.get(key)
    if (record === undefined) throw unknownBatch()
    return record
  }

  #resume(): void {
    if (this.#isClosed) return
    for (const key of [...this.#resumed]) void this.#look(key).catch(this.#options.onError)
    this.#watchOpen()
  }

  /** Listens to the chains that have open batches, and to no others. */
  #watchOpen(): void {
    if (this.#isClosed) return
    const open = new Set([...this.#open].map((key) => this.#known(key).chainId))
    for (const [chainId, end] of [...this.#watches]) {
      if (open.has(chainId)) continue
      end()
      this.#watches.delete(chainId)
    }
    for (const chainId of open) {
      const chain = this.#options.chains.get(chainId)
      if (chain === null || this.#watches.has(chainId)) continue
      this.#watches.set(
        chainId,
        new ChainWatch(chain).watch(() => this.#lookAtAll(chainId)),
      )
    }
  }

  #lookAtAll(chainId: number): void {
    for (const key of [...this.#open]) {
      if (this.#known(key).chainId === chainId) void this.#look(key).catch(this.#options.onError)
    }
  }

  // --- keeping ----------------------------------------------------------------------------------------------------------

  #hold(record: BatchRecord): void {
    const key = BatchRecord.key(record)
    if (!this.#batches.has(key)) this.#keys.set(record.id, [...(this.#keys.get(record.id) ?? []), key])
    this.#batches.set(key, record)
    if (BatchRecord.isOpen(record)) this.#open.add(key)
    else this.#open.delete(key)
  }

  #keep(record: BatchRecord): void {
    this.#hold(record)
    BatchRecord.put(this.#options.records, record)
  }

  #remove(record: BatchRecord): void {
    const key = BatchRecord.key(record)
    this.#batches.delete(key)
    this.#open.delete(key)
    const others = (this.#keys.get(record.id) ?? []).filter((other) => other !== key)
    if (others.length === 0) this.#keys.delete(record.id)
    else this.#keys.set(record.id, others)
    for (const { hash } of record.transactions) this.#knownAt.delete(hash)
    BatchRecord.remove(this.#options.records, record)
  }

  /** Writes and tells only what has changed. */
  #replace(record: BatchRecord, transactions: readonly BatchTransaction[]): BatchRecord {
    if (transactions.every((each, i) => each === record.transactions[i])) return record
    const next = { ...record, transactions }
    const { status } = statusOf(next, this.#options.settings.confirmation)
    const changed: BatchRecord = { ...next, status }
    this.#keep(changed)
    if (!BatchRecord.isOpen(changed)) for (const { hash } of transactions) this.#knownAt.delete(hash)
    if (BatchRecord.isOpen(changed) !== BatchRecord.isOpen(record)) this.#watchOpen()
    if (status !== record.status) this.#tell(changed)
    return changed
  }

  #tell(record: BatchRecord): void {
    const { origin, id, status } = record
    for (const wake of [...(this.#waiters.get(BatchRecord.key(record)) ?? [])]) wake()
    for (const listener of [...this.#listeners]) {
      try {
        listener({ origin, id, status })
      } catch (error) {
        this.#options.onError(error)
      }
    }
  }

  /** Those that were settled long ago, but for the newest. */
  #forgetOld(): void {
    const before = this.#now() - BATCH_KEPT_MS
    const old: BatchRecord[] = []
    for (const [key, record] of this.#batches) {
      if (record.createdAt >= before) break // they lie in the order in which they came
      if (!this.#open.has(key)) old.push(record)
    }
    for (const record of old.slice(0, Math.max(0, old.length - OLD_BATCHES))) this.#remove(record)
  }

  /** The newest of that id: an origin may use one id for several of its accounts. */
  #find(id: string, origin: string | null): string {
    const key = this.#keys.get(id)?.findLast((each) => {
      const record = this.#known(each)
      return origin === null ? record.isOwnId : record.origin === origin
    })
    if (key === undefined) throw unknownBatch()
    return key
  }

  /** Resolves when the batch's status changes, the time is over, or the asker has gone. */
  #change(key: string, waitMs: number, signal: AbortSignal | null): Promise<void> {
    if (this.#waiting >= STATUS_WAITERS || this.#isClosed || signal?.aborted === true) return Promise.resolve()
    this.#waiting++
    const waiters = this.#waiters.get(key) ?? new Set()
    this.#waiters.set(key, waiters)
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', wake)
        this.#waiting--
        waiters.delete(wake)
        if (waiters.size === 0) this.#waiters.delete(key)
        resolve()
      }
      const timer = setTimeout(wake, waitMs)
      signal?.addEventListener('abort', wake)
      waiters.add(wake)
    })
  }
}

/** interface 7.3. */
export function duplicateId(id: string): RpcError {
  return new RpcError(WALLET_CODE.duplicateId, 'There is already a batch submitted with the specified batch ID', {
    reason: 'duplicate-id',
    id,
  })
}

function unknownBatch(): RpcError {
  const message = 'The wallet knows no batch with that ID; it answers for those that the same origin has submitted within a day'
  return new RpcError(WALLET_CODE.unknownBatch, message, { reason: 'unknown-batch' })
}

/** 32 bytes that nobody can guess: whoever knows such an id may ask for its batch. */
export function randomBatchId(): Hex {
  return Hex.fromBytes(globalThis.crypto.getRandomValues(new Uint8Array(32)))
}

/** Null: it did not say; the batch is then never sent again. */
async function newestBlock({ rpc }: WalletChain): Promise<Hash | null> {
  try {
    const block = await rpc.request({ method: 'eth_getBlockByNumber', params: ['latest', false] })
    const { hash } = (block ?? {}) as { readonly hash?: unknown } // any JSON object has this shape
    return Hex.isHex(hash, 64) ? Hash.from(hash) : null
  } catch (error) {
    if (error instanceof RpcError) return null
    throw error
  }
}

/** Of the account itself, not yet included. */
function waitingUpgrade({ transactions }: BatchRecord): BatchTransaction | null {
  return transactions.find(({ raw, fate }) => raw.startsWith(UPGRADE_PREFIX) && fate.kind === 'waiting') ?? null
}

/** Transactions of type 4 carry authorizations, and the wallet signs no others than of their sender. */
const UPGRADE_PREFIX = '0x04'

function upgradeWaits(hash: Hash): RpcError {
  const message = `the account is being upgraded or downgraded by ${hash}, which waits for its block: nobody knows the nonce after it; nothing was sent, ask again when the block has come`
  return new RpcError(CODE.server, message, { reason: 'upgrade-waits', hash })
}

function refused(transaction: BatchTransaction, refusal: RpcError, isItself: boolean): BatchTransaction {
  const message = isItself ? refusal.message : 'an earlier transaction of the batch was refused, so this one was not sent'
  const fate: Fate = { kind: 'never', reason: 'refused', message }
  return { ...transaction, fate }
}

function givenUp(transaction: BatchTransaction): BatchTransaction {
  const { fate } = transaction
  if (fate.kind === 'included') return fate.isSealed ? transaction : { ...transaction, fate: { ...fate, isSealed: true } }
  if (fate.kind === 'never') return transaction
  return { ...transaction, fate: { kind: 'never', reason: 'dropped', message: 'the wallet was told to give it up' } }
}

function summary({ id, origin, from, chainId, status, atomic, transactions, createdAt }: BatchRecord): BatchSummary {
  const transactionHashes = transactions.filter(({ isPreparation }) => !isPreparation).map(({ hash }) => hash)
  return { id, origin, from, chainId: Hex.fromQuantity(chainId), status, atomic, transactionHashes, createdAt }
}
