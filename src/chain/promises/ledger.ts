import { receiptDifferences } from '../../eth/index.ts'
import type { Block, Hash, Receipt, Transaction } from '../../eth/index.ts'
import { LEDGER_RECORDS, LEDGER_SCAN, STORED_PROMISES } from '../limits.ts'
import type { Mempool } from '../pool/mempool.ts'
import type { Clock } from '../sequencing/clock.ts'
import type { FlashblockEvent, Head, HeadEvent, RewindCause, RewindEvent } from '../view/head.ts'
import { Histogram } from './histogram.ts'
import { LedgerRecords } from './ledgerrecords.ts'
import type { LedgerStorage } from './ledgerrecords.ts'
import { PromiseError } from './promiseerror.ts'
import type { PromiseCause, PromiseOutcome, PromiseRecord, SettledRecord } from './promiserecord.ts'

interface LedgerDeps {
  readonly head: Head
  readonly pool: Mempool
  readonly clock: Clock
  /** `null`: records end with the process. */
  readonly storage: LedgerStorage | null
  readonly onBug: (error: unknown) => void
  /** Calls the listener when the chain is closed; returns the function that unsubscribes it. Throws ChainClosed after that. */
  readonly onClose: (listener: (error: Error) => void) => () => void
}

/** Selects records, newest first. */
export interface PromiseQuery {
  readonly hash?: Hash | undefined
  readonly outcome?: PromiseOutcome | undefined
  readonly blockNumber?: number | undefined
  /** Only records with a lower id. */
  readonly before?: number | undefined
  readonly limit: number
}

export interface PromisePage {
  readonly promises: readonly PromiseRecord[]
  /** `before` of the next page; `null` at the end. */
  readonly next: number | null
}

/** A promise that is neither sealed nor retracted. */
interface OpenPromise {
  readonly record: PromiseRecord
  readonly receipt: Receipt
  readonly transactionIndex: number
}

/** Records every promise and compares it with what is sealed. It only reads head events and the pool's changes. */
export class PromiseLedger {
  /** Delays of promises, from admission. */
  readonly promiseDelays = new Histogram()
  /** Delays of seals, from the promise. */
  readonly sealDelays = new Histogram()
  readonly #deps: LedgerDeps
  readonly #stored: LedgerRecords | null
  /** The newest records by id; settled ones beyond LEDGER_RECORDS are only in the storage. */
  readonly #records = new Map<number, PromiseRecord>()
  readonly #idOf = new Map<Hash, number>()
  readonly #open = new Map<Hash, OpenPromise>()
  readonly #admittedMs = new Map<Hash, number>()
  readonly #totals: Record<Exclude<PromiseOutcome, 'open'>, number> = { kept: 0, changed: 0, retracted: 0, dropped: 0 }
  readonly #waiting = new Map<Hash, ((record: SettledRecord) => void)[]>()
  /** Settled since the last write. */
  #unwritten: PromiseRecord[] = []
  #nextId: number

  constructor(deps: LedgerDeps) {
    this.#deps = deps
    this.#stored = deps.storage === null ? null : new LedgerRecords(deps.storage, deps.onBug)
    this.#nextId = this.#stored?.nextId ?? 0
    deps.pool.observer = {
      added: ({ hash }) => this.#admittedMs.set(hash, this.#now()),
      dropped: (tx, cause) => this.#onDropped(tx, cause),
    }
    deps.head.subscribe((event) => this.#onHeadEvent(event))
  }

  /** Numbers of outcomes since the start. A promise that is retracted after its seal counts under both. */
  get totals(): Readonly<Record<PromiseOutcome, number>> {
    return { open: this.#open.size, ...this.#totals }
  }

  /** Records the promises that an earlier run made and did not seal, and their outcomes. */
  recover({ kept, retracted }: { readonly kept: readonly Hash[]; readonly retracted: readonly Hash[] }, blockNumber: number): void {
    const recovered = (hash: Hash, outcome: 'kept' | 'retracted') => {
      const place = { ...UNKNOWN, hash, blockNumber }
      this.#settle(this.#create(place), outcome, outcome === 'kept' ? null : 'crash')
    }
    for (const hash of kept) recovered(hash, 'kept')
    for (const hash of retracted) recovered(hash, 'retracted')
    this.#write()
  }

  /** Returns the newest record of a transaction; `null` if it was neither promised nor dropped. */
  find(hash: Hash): PromiseRecord | null {
    const id = this.#idOf.get(hash)
    return id === undefined ? (this.#stored?.find(hash) ?? null) : this.#at(id)
  }

  /** Reads at most LEDGER_SCAN records; a page may hold fewer than `limit` and still have a next one. */
  page({ hash, outcome, blockNumber, before = this.#nextId, limit }: PromiseQuery): PromisePage {
    const promises: PromiseRecord[] = []
    const first = Math.min(before, this.#nextId) - 1
    const oldest = Math.max(0, this.#nextId - (this.#stored === null ? LEDGER_RECORDS : STORED_PROMISES))
    const last = Math.max(oldest, first + 1 - LEDGER_SCAN)
    for (let id = first; id >= last; id--) {
      const record = this.#at(id)
      // Damaged; or open when the process was killed, so that it was never written.
      if (record === null) continue
      if (hash !== undefined && record.hash !== hash) continue
      if (outcome !== undefined && record.outcome !== outcome) continue
      if (blockNumber !== undefined && record.blockNumber !== blockNumber) continue
      promises.push(record)
      if (promises.length === limit) return { promises, next: id <= oldest ? null : id }
    }
    return { promises, next: last <= oldest ? null : last }
  }

  /**
   * Resolves with the next settled record of a transaction, or its seal without a promise; immediately if that has happened. Throws PromiseError for an
   * unknown one, and ChainClosed if the chain is closed before.
   */
  async settled(hash: Hash): Promise<SettledRecord> {
    const { head, pool } = this.#deps
    const record = this.find(hash)
    const isWaiting = pool.has(hash) || record?.outcome === 'open'
    if (!isWaiting && (record?.outcome === 'kept' || record?.outcome === 'changed')) return record
    const location = head.view.locate(hash)
    const isSealed = location !== null && location.block.header.number <= head.view.head.header.number
    if (isSealed) return sealedWithoutPromise(location.block.transactions[location.index]!, location.block)
    if (!isWaiting && location === null) {
      if (record !== null) return record
      throw new PromiseError(`transaction ${hash} is unknown: it was neither promised nor sealed here`)
    }
    return new Promise((resolve, reject) => {
      const ignoreClose = this.#deps.onClose(reject)
      const waiter = (settled: SettledRecord) => {
        ignoreClose()
        resolve(settled)
      }
      this.#waiting.set(hash, [...(this.#waiting.get(hash) ?? []), waiter])
    })
  }

  #at(id: number): PromiseRecord | null {
    return this.#records.get(id) ?? this.#stored?.get(id) ?? null
  }

  /**
   * One change may drop thousands, and each commit takes a millisecond: all are written together at its end. No response or waiter is earlier, because both
   * follow in later microtasks.
   */
  #onDropped(tx: Transaction, cause: 'dropped' | 'replaced'): void {
    if (this.#unwritten.length === 0) queueMicrotask(() => this.#write())
    const admittedMs = this.#admittedMs.get(tx.hash) ?? null
    this.#settle(this.#create({ ...UNKNOWN, hash: tx.hash, from: tx.from, admittedMs }), 'dropped', cause)
  }

  #onHeadEvent(event: HeadEvent): void {
    if (event.kind === 'rewind') this.#onRewind(event)
    else if (event.kind === 'block' && event.sealed) this.#onSealed(event.block)
    else if (event.kind === 'block' && !event.sealed && event.isPromise) this.#onFlashblock(event)
    this.#write()
  }

  #onFlashblock({ block, firstTransaction, flashblock }: FlashblockEvent): void {
    const promisedMs = this.#now()
    for (let index = firstTransaction; index < block.transactions.length; index++) {
      const tx = block.transactions[index]!
      if (tx.deposit !== null || this.#open.has(tx.hash)) continue
      const admittedMs = this.#admittedMs.get(tx.hash) ?? null
      this.#admittedMs.delete(tx.hash)
      if (admittedMs !== null) this.promiseDelays.add(promisedMs - admittedMs)
      const record = this.#create({
        hash: tx.hash,
        from: tx.from,
        blockNumber: block.header.number,
        flashblockIndex: flashblock.index,
        admittedMs,
        promisedMs,
      })
      this.#open.set(tx.hash, { record, receipt: block.receipts[index]!, transactionIndex: index })
    }
  }

  #onSealed(block: Block): void {
    const settledMs = this.#now()
    for (const [index, tx] of block.transactions.entries()) {
      this.#admittedMs.delete(tx.hash)
      const promise = this.#open.get(tx.hash)
      if (promise === undefined) {
        if (this.#waiting.has(tx.hash)) this.#resolve(sealedWithoutPromise(tx, block))
        continue
      }
      const differences = differencesOf(promise, block.receipts[index]!, index)
      this.sealDelays.add(settledMs - (promise.record.promisedMs ?? settledMs))
      this.#settle(promise.record, differences.length === 0 ? 'kept' : 'changed', null, differences)
    }
    // Without a rewind the sealed block holds every promise.
    for (const { record } of [...this.#open.values()])
      if (record.blockNumber === block.header.number) this.#settle(record, 'retracted', 'discard')
  }

  #onRewind({ cause, removed, retracted, repromised }: RewindEvent): void {
    for (const { hash } of retracted?.transactions ?? []) {
      const promise = this.#open.get(hash)
      if (promise === undefined || repromised?.has(hash) === true) continue
      this.#settle(promise.record, 'retracted', cause)
      if (promise.record.admittedMs !== null && this.#deps.pool.has(hash)) this.#admittedMs.set(hash, promise.record.admittedMs)
    }
    for (const { header, transactions } of removed) for (const { hash } of transactions) this.#unseal(hash, header.number, cause)
  }

  /** A sealed block was removed. */
  #unseal(hash: Hash, blockNumber: number, cause: RewindCause): void {
    const record = this.find(hash)
    if (record === null || record.blockNumber !== blockNumber || (record.outcome !== 'kept' && record.outcome !== 'changed')) return
    this.#settle(record, 'retracted', cause, record.differences)
  }

  #create(place: Omit<PromiseRecord, 'id' | 'settledMs' | 'outcome' | 'cause' | 'differences'>): PromiseRecord {
    const record = frozen({ id: this.#nextId++, ...place, settledMs: null, outcome: 'open', cause: null, differences: [] })
    this.#records.set(record.id, record)
    this.#idOf.set(record.hash, record.id)
    if (this.#records.size > LEDGER_RECORDS) this.#evict()
    return record
  }

  #settle(
    open: PromiseRecord,
    outcome: Exclude<PromiseOutcome, 'open'>,
    cause: PromiseCause | null,
    differences: readonly string[] = [],
  ): void {
    const record = frozen({ ...open, outcome, cause, differences, settledMs: this.#now() })
    if (this.#records.has(record.id)) this.#records.set(record.id, record)
    this.#open.delete(record.hash)
    this.#admittedMs.delete(record.hash)
    this.#totals[outcome]++
    this.#unwritten.push(record)
    this.#resolve(record)
  }

  #resolve(record: SettledRecord): void {
    for (const resolve of this.#waiting.get(record.hash) ?? []) resolve(record)
    this.#waiting.delete(record.hash)
  }

  /** Removes the oldest settled record from memory. Open ones are few: they fit in a block. */
  #evict(): void {
    for (const [id, { hash, outcome }] of this.#records) {
      if (outcome === 'open') continue
      this.#records.delete(id)
      if (this.#idOf.get(hash) === id) this.#idOf.delete(hash)
      return
    }
  }

  #write(): void {
    const records = this.#unwritten
    if (records.length === 0) return
    this.#unwritten = []
    try {
      this.#stored?.write(records, this.#nextId)
    } catch (error) {
      this.#deps.onBug(error)
    }
  }

  #now(): number {
    return this.#deps.clock.nowMs()
  }
}

const UNKNOWN = { from: null, blockNumber: null, flashblockIndex: null, admittedMs: null, promisedMs: null } as const

/** The ledger gives out the records that it keeps. */
function frozen(record: PromiseRecord): PromiseRecord {
  Object.freeze(record.differences)
  return Object.freeze(record)
}

function sealedWithoutPromise({ hash, from }: Transaction, { header }: Block): SettledRecord {
  return { id: null, ...UNKNOWN, hash, from, blockNumber: header.number, settledMs: null, outcome: 'kept', cause: null, differences: [] }
}

function differencesOf({ receipt, transactionIndex }: OpenPromise, sealed: Receipt, index: number): readonly string[] {
  if (receipt === sealed && transactionIndex === index) return []
  return receiptDifferences({ ...receipt, transactionIndex }, { ...sealed, transactionIndex: index })
}
