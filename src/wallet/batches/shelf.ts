import { Hex } from '../../eth/index.ts'
import type { Address, Hash } from '../../eth/index.ts'
import type { Records } from '../../jsonrpc/index.ts'
import { RpcError } from '../../jsonrpc/index.ts'
import { BatchRecord } from './batchrecord.ts'
import type { StatusCode } from './batchrecord.ts'
import { WALLET_CODE } from '../errors.ts'
import { BATCH_KEPT_MS, OLD_BATCHES } from '../limits.ts'

/** A batch as a list shows it. */
export interface BatchSummary {
  readonly id: string
  readonly origin: string
  readonly from: Address
  readonly chainId: Hex
  readonly status: StatusCode
  readonly atomic: boolean
  /** of a sponsored batch that of its bundle, once there is one */
  readonly transactionHashes: readonly Hash[]
  /** of a sponsored batch; null: it has transactions of its own */
  readonly userOpHash: Hash | null
  /** Unix time, milliseconds */
  readonly createdAt: number
}

/** All batches that are answered for, in memory and in the records. */
export class BatchShelf {
  readonly #records: Records
  /** by BatchRecord.key, oldest first */
  readonly #batches = new Map<string, BatchRecord>()
  /** keys of those whose fate is not settled */
  readonly #open = new Set<string>()
  /** keys by id, oldest first: several origins and accounts may have chosen the same */
  readonly #keys = new Map<string, readonly string[]>()

  constructor(records: Records, onError: (error: unknown) => void) {
    this.#records = records
    for (const record of BatchRecord.all(records, onError)) this.#hold(record)
  }

  get(key: string): BatchRecord | null {
    return this.#batches.get(key) ?? null
  }

  /** Throws RpcError 5730. */
  known(key: string): BatchRecord {
    const record = this.#batches.get(key)
    if (record === undefined) throw unknownBatch()
    return record
  }

  /** Those whose fate is not settled, oldest first; what is settled meanwhile does not matter. */
  open(): readonly BatchRecord[] {
    return [...this.#open].flatMap((key) => this.#batches.get(key) ?? [])
  }

  get openCount(): number {
    return this.#open.size
  }

  /** Durable when it returns. */
  put(record: BatchRecord): void {
    this.#hold(record)
    BatchRecord.put(this.#records, record)
  }

  remove(record: BatchRecord): void {
    const key = BatchRecord.key(record)
    this.#batches.delete(key)
    this.#open.delete(key)
    const others = (this.#keys.get(record.id) ?? []).filter((other) => other !== key)
    if (others.length === 0) this.#keys.delete(record.id)
    else this.#keys.set(record.id, others)
    BatchRecord.remove(this.#records, record)
  }

  /** The newest of that id: an origin may use one id for several of its accounts. Null origin: whoever knows an id that the wallet made. Throws RpcError 5730. */
  find(id: string, origin: string | null): string {
    const key = this.#keys.get(id)?.findLast((each) => {
      const record = this.known(each)
      return origin === null ? record.isOwnId : record.origin === origin
    })
    if (key === undefined) throw unknownBatch()
    return key
  }

  /** The newest first. */
  latest(count: number): readonly BatchSummary[] {
    return count < 1 ? [] : [...this.#batches.values()].slice(-count).toReversed().map(summary)
  }

  /** Leaves out those that were settled long ago, but for the newest. */
  forgetOld(now: number): void {
    const old: BatchRecord[] = []
    for (const [key, record] of this.#batches) {
      if (record.createdAt >= now - BATCH_KEPT_MS) break // they lie in the order in which they came
      if (!this.#open.has(key)) old.push(record)
    }
    for (const record of old.slice(0, Math.max(0, old.length - OLD_BATCHES))) this.remove(record)
  }

  #hold(record: BatchRecord): void {
    const key = BatchRecord.key(record)
    if (!this.#batches.has(key)) this.#keys.set(record.id, [...(this.#keys.get(record.id) ?? []), key])
    this.#batches.set(key, record)
    if (BatchRecord.isOpen(record)) this.#open.add(key)
    else this.#open.delete(key)
  }
}

function summary({ id, origin, from, chainId, status, atomic, transactions, operation, createdAt }: BatchRecord): BatchSummary {
  const own = transactions.filter(({ isPreparation }) => !isPreparation).map(({ hash }) => hash)
  const bundle = operation?.fate.kind === 'included' ? [operation.fate.receipt.transactionHash] : []
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
  const message = 'The wallet knows no batch with that ID; it answers for those that the same origin has submitted within a day'
  return new RpcError(WALLET_CODE.unknownBatch, message, { reason: 'unknown-batch' })
}
