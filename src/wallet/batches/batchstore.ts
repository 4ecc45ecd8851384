import { Hex } from '../../eth/index.ts'
import type { Address, Hash } from '../../eth/index.ts'
import type { Records } from '../../jsonrpc/index.ts'
import { RpcError } from '../../jsonrpc/index.ts'
import { BatchRecord } from './batchrecord.ts'
import type { StatusCode } from './batchrecord.ts'
import { WALLET_CODE } from '../errors.ts'
import { BATCH_KEPT_MS, OLD_BATCHES, SETTLED_BATCHES, SETTLED_TRANSACTIONS } from '../limits.ts'

/** A batch as a list shows it. */
export interface BatchSummary {
  readonly id: string
  readonly origin: string
  readonly from: Address
  readonly chainId: Hex
  readonly status: StatusCode
  readonly atomic: boolean
  /** for a sponsored batch, the hash of its bundle once it is included */
  readonly transactionHashes: readonly Hash[]
  /** null: the batch is not sponsored */
  readonly userOpHash: Hash | null
  /** Unix time, milliseconds */
  readonly createdAt: number
}

/** The batches whose status the wallet reports, in memory and in the records. */
export class BatchStore {
  readonly #records: Records
  /** by BatchRecord.key, oldest first */
  readonly #batches = new Map<string, BatchRecord>()
  /** keys of the batches that are not final */
  readonly #open = new Set<string>()
  /** keys of the final batches and of the final single transactions, in the order in which they became final */
  readonly #settledBatches = new Set<string>()
  readonly #settledTransactions = new Set<string>()
  /** keys by id, oldest first: several origins and accounts may use the same id */
  readonly #keys = new Map<string, readonly string[]>()

  constructor(records: Records, onError: (error: unknown) => void) {
    this.#records = records
    for (const record of BatchRecord.all(records, onError)) this.#index(record)
  }

  find(key: string): BatchRecord | null {
    return this.#batches.get(key) ?? null
  }

  /** Throws RpcError 5730 if there is no such batch. */
  get(key: string): BatchRecord {
    const record = this.#batches.get(key)
    if (record === undefined) throw unknownBatch()
    return record
  }

  /** Returns a copy of the list of batches that are not final, oldest first. */
  open(): readonly BatchRecord[] {
    return [...this.#open].flatMap((key) => this.#batches.get(key) ?? [])
  }

  /** Returns the records with an inclusion in block `number` of the chain or a later one, final ones too. */
  includedFrom(chainId: number, number: bigint): readonly BatchRecord[] {
    const isLater = ({ inclusion }: ReturnType<typeof BatchRecord.parts>[number]) =>
      inclusion.kind === 'included' && BigInt(inclusion.receipt.blockNumber) >= number
    return [...this.#batches.values()].filter((record) => record.chainId === chainId && BatchRecord.parts(record).some(isLater))
  }

  /** Number of batches, or of single transactions, that are not final. */
  openCount(isTransaction: boolean): number {
    return this.open().filter((record) => record.isTransaction === isTransaction).length
  }

  /** Durable when it returns. */
  put(record: BatchRecord): void {
    this.#index(record)
    BatchRecord.put(this.#records, record)
  }

  remove(record: BatchRecord): void {
    const key = BatchRecord.key(record)
    this.#batches.delete(key)
    this.#open.delete(key)
    this.#settledLike(record).delete(key)
    const others = (this.#keys.get(record.id) ?? []).filter((other) => other !== key)
    if (others.length === 0) this.#keys.delete(record.id)
    else this.#keys.set(record.id, others)
    BatchRecord.remove(this.#records, record)
  }

  /**
   * Returns the key of the newest batch with that id: an origin may use one id for several accounts. `origin` null: of a batch whose id the
   * wallet made, which is a secret. Throws RpcError 5730.
   */
  keyOf(id: string, origin: string | null): string {
    const key = this.#keys.get(id)?.findLast((each) => {
      const record = this.get(each)
      if (record.isTransaction) return false
      return origin === null ? record.isOwnId : record.origin === origin
    })
    if (key === undefined) throw unknownBatch()
    return key
  }

  /** Returns the newest batches, the newest first, without single transactions. */
  latest(count: number): readonly BatchSummary[] {
    const batches = [...this.#batches.values()].filter(({ isTransaction }) => !isTransaction)
    return count < 1 ? [] : batches.slice(-count).toReversed().map(summary)
  }

  /**
   * Removes final records older than BATCH_KEPT_MS, except for the newest OLD_BATCHES of them, and of the others the oldest beyond SETTLED_BATCHES and
   * SETTLED_TRANSACTIONS.
   */
  prune(now: number): void {
    this.#removeBeyond(SETTLED_BATCHES, this.#settledBatches)
    this.#removeBeyond(SETTLED_TRANSACTIONS, this.#settledTransactions)
    const old: BatchRecord[] = []
    for (const [key, record] of this.#batches) {
      if (record.createdAt >= now - BATCH_KEPT_MS) break // the map is in order of creation
      if (!this.#open.has(key)) old.push(record)
    }
    for (const record of old.slice(0, Math.max(0, old.length - OLD_BATCHES))) this.remove(record)
  }

  #removeBeyond(limit: number, settled: ReadonlySet<string>): void {
    for (const key of settled) {
      if (settled.size <= limit) return
      this.remove(this.get(key))
    }
  }

  #settledLike({ isTransaction }: BatchRecord): Set<string> {
    return isTransaction ? this.#settledTransactions : this.#settledBatches
  }

  #index(record: BatchRecord): void {
    const key = BatchRecord.key(record)
    if (!this.#batches.has(key)) this.#keys.set(record.id, [...(this.#keys.get(record.id) ?? []), key])
    this.#batches.set(key, record)
    const isOpen = BatchRecord.isOpen(record)
    const [entered, left] = isOpen ? [this.#open, this.#settledLike(record)] : [this.#settledLike(record), this.#open]
    entered.add(key)
    left.delete(key)
  }
}

function summary({ id, origin, from, chainId, status, atomic, transactions, operation, createdAt }: BatchRecord): BatchSummary {
  const own = transactions.filter(({ isPreparation }) => !isPreparation).map(({ hash }) => hash)
  const bundle = operation?.inclusion.kind === 'included' ? [operation.inclusion.receipt.transactionHash] : []
  return {
    id,
    origin,
    from,
    chainId: Hex.fromQuantity(chainId),
    status,
    atomic,
    transactionHashes: operation === null ? own : bundle,
    userOpHash: operation?.hash ?? null,
    createdAt,
  }
}

function unknownBatch(): RpcError {
  const message = 'There is no batch with that ID; the wallet reports those that the same origin has submitted within a day'
  return new RpcError(WALLET_CODE.unknownBatch, message, { reason: 'unknown-batch' })
}
