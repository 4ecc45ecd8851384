import { ENTRY_POINTS } from '../../eth/index.ts'
import type { Address, Hash } from '../../eth/index.ts'
import type { Records } from '../../jsonrpc/index.ts'
import { ChainWatch, CODE, RpcError } from '../../jsonrpc/index.ts'
import { BatchRecord } from './batchrecord.ts'
import type { BatchOperation, BatchTransaction, Fate, StatusCode } from './batchrecord.ts'
import type { WalletChain } from '../chains/chain.ts'
import type { Chains } from '../chains/chains.ts'
import { WALLET_CODE } from '../errors.ts'
import { lookAt } from './fates.ts'
import { OPEN_BATCHES, POLL_MS, SLOW_POLL_MS, UPGRADE_LOOK_MS, UPGRADE_WAIT_MS } from '../limits.ts'
import { handOperation, isUpgrading, lookAtOperation, operationNonce } from './operationfate.ts'
import { Turns, hand, isOver, turnOf } from './sending.ts'
import { BatchShelf } from './shelf.ts'
import type { BatchSummary } from './shelf.ts'
import { recordOf } from './signedbatch.ts'
import type { SignedBatch } from './signedbatch.ts'
import { statusOf } from './status.ts'
import type { CallsStatus } from './status.ts'
import { StatusWaits } from './statuswaits.ts'
import { after } from '../approvals/timing.ts'

export type { CallsReceipt, StatusCode } from './batchrecord.ts'
export type { SentOperation } from './operationfate.ts'
export type { BatchSummary } from './shelf.ts'
export { randomBatchId } from './signedbatch.ts'
export type { SignedBatch } from './signedbatch.ts'
export type { CallsStatus } from './status.ts'

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
  readonly #shelf: BatchShelf
  readonly #waits = new StatusWaits()
  readonly #watches = new Map<number, ChainWatch>()
  readonly #looks = new Map<string, Promise<BatchRecord>>()
  /** keys of those from before the start that nobody has looked for yet: the node may have forgotten them with its own restart */
  readonly #resumed = new Set<string>()
  /** keys of those that are being sent: they are not looked for yet */
  readonly #sending = new Set<string>()
  /** when the node was last seen to know a transaction, or the bundler an operation; absent: when it was sent */
  readonly #knownAt = new Map<Hash, number>()
  /** of no batch, but with an authorization of their sender; by `turnOf` */
  readonly #authorizing = new Map<string, Hash>()
  readonly #listeners = new Set<(change: BatchChange) => void>()
  #isClosed = false

  constructor(options: BatchesOptions) {
    this.#options = options
    this.#now = options.now ?? Date.now
    this.#shelf = new BatchShelf(options.records, options.onError)
    for (const record of this.#shelf.open()) this.#resumed.add(BatchRecord.key(record))
    this.#shelf.forgetOld(this.#now())
    // Not before the one who makes the wallet has finished.
    if (this.#resumed.size > 0) queueMicrotask(() => this.#resume())
  }

  /** True when the app's id is taken: 5720. */
  has(key: Pick<BatchRecord, 'origin' | 'from' | 'id'>): boolean {
    return this.#shelf.get(BatchRecord.key(key)) !== null
  }

  /**
   * Keeps the batch, then sends its transactions in order, or its operation. Answers when the node has all of them, or the first ones: what became of the
   * rest the status tells. Throws RpcError when it has none: the batch is then none, and its id is free.
   */
  async submit(batch: SignedBatch): Promise<BatchRecord> {
    this.#assertRoom()
    const record = await recordOf(batch, this.#now())
    const key = BatchRecord.key(record)
    if (this.#shelf.get(key) !== null) throw duplicateId(record.id)
    this.#sending.add(key)
    this.#shelf.put(record)
    try {
      return await (record.operation === null
        ? this.#send(record, batch.chain)
        : this.#sendOperation(record, record.operation, batch.chain))
    } finally {
      this.#sending.delete(key)
      this.#shelf.forgetOld(this.#now())
      this.#watchOpen()
      // Its block may have come while it was sent, and no other one need follow.
      if (this.#shelf.get(key) !== null) void this.#look(key).catch(this.#options.onError)
    }
  }

  /** Looks at the chain first. Throws RpcError 5730 for a batch that the asker does not know. */
  async status(id: string, { origin, waitMs, signal = null }: StatusQuery): Promise<CallsStatus> {
    const key = this.#shelf.find(id, origin)
    const { confirmation } = this.#options.settings
    const status = statusOf(await this.#look(key, true), confirmation)
    if (status.status !== 100 || waitMs <= 0) return status
    await this.#waits.wait(key, waitMs, signal)
    return statusOf(this.#shelf.known(key), confirmation)
  }

  /** Throws RpcError 5730 for a batch that the origin does not know. */
  assertKnown(id: string, origin: string | null): void {
    this.#shelf.find(id, origin)
  }

  /** Told after the change. Answers what ends it. */
  subscribe(listener: (change: BatchChange) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** The newest first. */
  latest(count: number): readonly BatchSummary[] {
    return this.#shelf.latest(count)
  }

  /** Gives up all that is not settled: nothing is looked for or sent again. For tests that put a chain back to where it was. */
  abandon(): void {
    for (const record of this.#shelf.open()) {
      const { transactions, operation } = record
      this.#replace(record, { transactions: transactions.map(givenUp), operation: operation === null ? null : givenUp(operation) })
    }
    this.#resumed.clear()
    this.#watchOpen()
  }

  /** Those who wait for a status are answered; what is open goes on with the next wallet over the same records. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const watch of this.#watches.values()) watch.end()
    this.#watches.clear()
    this.#waits.close()
    await Promise.allSettled(this.#looks.values())
    this.#listeners.clear()
  }

  // --- sending ----------------------------------------------------------------------------------------------------------

  #assertRoom(): void {
    if (this.#shelf.openCount < OPEN_BATCHES) return
    const message = `${this.#shelf.openCount} batches are under way, which is all there may be; wait until some are settled`
    throw new RpcError(CODE.limitExceeded, message, { reason: 'too-many-batches', limit: OPEN_BATCHES })
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
      const transactions = record.transactions.map((each, i) => (i < at ? each : refused(each, error, i === at)))
      return this.#replace(record, { transactions })
    }
    return record
  }

  async #sendOperation(record: BatchRecord, operation: BatchOperation, chain: WalletChain): Promise<BatchRecord> {
    const handed = await handOperation(chain, operation)
    this.#knownAt.set(operation.hash, this.#now())
    if (handed.kind !== 'refused') return record
    this.#remove(record)
    throw handed.error
  }

  /**
   * The nonce that the account's next user operation has, under key 0, on the pending state: the first one from `least` on that no operation of the wallet
   * holds which waits. Where one of them was dropped, those behind it wait for what takes its place. To be asked and used under the account's turn. Throws
   * RpcError.
   */
  async nextOperationNonce(chain: WalletChain, account: Address, entryPoint: Address = ENTRY_POINTS['0.8'], least = 0n): Promise<bigint> {
    const open = this.#openOf(chain.chainId, account).filter(({ operation }) => operation?.entryPoint === entryPoint)
    const looked = await Promise.all(open.map((record) => this.#look(BatchRecord.key(record), true)))
    const next = await operationNonce(chain, account, entryPoint, 0n, 'pending')
    const held = new Set(looked.flatMap(({ operation }) => (operation?.fate.kind === 'waiting' ? [BigInt(operation.nonce)] : [])))
    let nonce = next > least ? next : least
    while (held.has(nonce)) nonce += 1n
    return nonce
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
    for (const upgrade of this.#openOf(chain.chainId, account).filter((record) => waitingUpgrade(record) !== null)) {
      const looked = await this.#look(BatchRecord.key(upgrade), true)
      const hash = waitingUpgrade(looked)
      if (hash !== null && !(await this.#isStranded(chain, looked))) return hash
    }
    return null
  }

  /** What came before it was dropped: its block does not come before something else takes that place. */
  async #isStranded(chain: WalletChain, { from, operation }: BatchRecord): Promise<boolean> {
    if (operation === null) return false
    return (await this.nextOperationNonce(chain, from, operation.entryPoint)) < BigInt(operation.nonce)
  }

  #openOf(chainId: number, account: Address): readonly BatchRecord[] {
    return this.#shelf.open().filter((record) => record.chainId === chainId && record.from === account)
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
    const record = this.#shelf.known(key)
    const chain = this.#options.chains.get(record.chainId)
    if (chain === null || this.#sending.has(key) || this.#isClosed) return record
    if (!isAsked && !BatchRecord.isOpen(record)) return record
    try {
      const ground = { now: this.#now(), knownAt: this.#knownAt, isResumed: this.#resumed.has(key) }
      const changes =
        record.operation === null
          ? { transactions: await lookAt(chain, record, ground) }
          : { operation: await lookAtOperation(chain, record, ground) }
      this.#resumed.delete(key)
      // It may have been given up meanwhile.
      const current = this.#shelf.get(key)
      return current === record ? this.#replace(record, changes) : (current ?? record)
    } catch (error) {
      // A chain that cannot be reached now is asked again.
      if (!(error instanceof RpcError)) this.#options.onError(error)
      return record
    }
  }

  #resume(): void {
    if (this.#isClosed) return
    for (const key of [...this.#resumed]) void this.#look(key).catch(this.#options.onError)
    this.#watchOpen()
  }

  /** Listens to the chains that have open batches, and to no others. */
  #watchOpen(): void {
    if (this.#isClosed) return
    const open = new Set(this.#shelf.open().map(({ chainId }) => chainId))
    for (const [chainId, watch] of [...this.#watches]) {
      if (open.has(chainId)) continue
      watch.end()
      this.#watches.delete(chainId)
    }
    for (const chainId of open) {
      const chain = this.#options.chains.get(chainId)
      if (chain === null || this.#watches.has(chainId)) continue
      this.#watches.set(chainId, this.#watchOf(chain))
    }
  }

  #watchOf({ rpc, chainId }: WalletChain): ChainWatch {
    const feeds = FEEDS.map((name) => ({ params: [name], isComplete: true }))
    return new ChainWatch({ rpc, feeds, pollMs: POLL_MS, slowPollMs: SLOW_POLL_MS, onActivity: () => this.#lookAtAll(chainId) })
  }

  #lookAtAll(chainId: number): void {
    for (const record of this.#shelf.open()) {
      if (record.chainId === chainId) void this.#look(BatchRecord.key(record)).catch(this.#options.onError)
    }
  }

  // --- keeping ----------------------------------------------------------------------------------------------------------

  #remove(record: BatchRecord): void {
    this.#forget(record)
    this.#shelf.remove(record)
  }

  #forget(record: BatchRecord): void {
    for (const { hash } of BatchRecord.parts(record)) this.#knownAt.delete(hash)
  }

  /** Writes and tells only what has changed. */
  #replace(record: BatchRecord, changes: Partial<Pick<BatchRecord, 'transactions' | 'operation'>>): BatchRecord {
    const next = { ...record, ...changes }
    const isSame = next.operation === record.operation && next.transactions.every((each, i) => each === record.transactions[i])
    if (isSame) return record
    const { status } = statusOf(next, this.#options.settings.confirmation)
    const changed: BatchRecord = { ...next, status }
    this.#shelf.put(changed)
    if (!BatchRecord.isOpen(changed)) this.#forget(changed)
    if (BatchRecord.isOpen(changed) !== BatchRecord.isOpen(record)) this.#watchOpen()
    if (status !== record.status) this.#tell(changed)
    return changed
  }

  #tell(record: BatchRecord): void {
    const { origin, id, status } = record
    this.#waits.wake(BatchRecord.key(record))
    for (const listener of [...this.#listeners]) {
      try {
        listener({ origin, id, status })
      } catch (error) {
        this.#options.onError(error)
      }
    }
  }
}

/** What a node may tell of its blocks. */
const FEEDS = ['newFlashblocks', 'newHeads']

/** interface 7.3. */
export function duplicateId(id: string): RpcError {
  return new RpcError(WALLET_CODE.duplicateId, 'There is already a batch submitted with the specified batch ID', {
    reason: 'duplicate-id',
    id,
  })
}

/** What is not yet included and has an authorization of the account itself; null: nothing has. */
function waitingUpgrade({ transactions, operation }: BatchRecord): Hash | null {
  if (operation !== null) return isUpgrading(operation) ? operation.hash : null
  return transactions.find(({ raw, fate }) => raw.startsWith(UPGRADE_PREFIX) && fate.kind === 'waiting')?.hash ?? null
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

function givenUp<T extends BatchTransaction | BatchOperation>(part: T): T {
  const { fate } = part
  if (fate.kind === 'included') return fate.isSealed ? part : { ...part, fate: { ...fate, isSealed: true } }
  if (fate.kind === 'never') return part
  return { ...part, fate: { kind: 'never', reason: 'dropped', message: 'the wallet was told to give it up' } }
}
