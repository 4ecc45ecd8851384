import { receiptDifferences } from '../eth/index.ts'
import type { Hash, Log, PlacedReceipt } from '../eth/index.ts'
import { Durations } from './durations.ts'
import {
  ANNOUNCED_WITH_SEAL_MS,
  EARLY_RECEIPTS,
  KEPT_BLOCKS,
  LISTED_PROMISES,
  PROMISES_OF_BLOCK,
  REPROMISE_MS,
  SEEN_TRANSACTIONS,
} from './limits.ts'
import type { Problems } from './problems.ts'

/**
 * `kept`: sealed as promised, in every field that the feed states. `changed`: sealed with differences. `retracted`: announced as removed before or after its
 * seal, or silently missing from the sealed block. `unobserved`: the feed was lost, or the sealed receipts are not available. `open`: the audit ended before
 * the seal.
 */
export type AuditOutcome = 'kept' | 'changed' | 'retracted' | 'unobserved' | 'open'

/** How a promise was broken. `announced`: by the feed. `silent`: its block was sealed without it. `reorg`: its sealed block was replaced. */
export type BreakCause = 'announced' | 'silent' | 'reorg'

/** A promise and its outcome. Times are milliseconds since the epoch. */
export interface AuditedPromise {
  readonly hash: Hash
  readonly blockNumber: number
  readonly flashblockIndex: number | null
  /** time when the feed of the pool showed it */
  readonly seenMs: number | null
  readonly promisedMs: number
  readonly settledMs: number | null
  readonly outcome: AuditOutcome
  readonly cause: BreakCause | null
  readonly differences: readonly string[]
}

/** Transactions that a feed announces together. */
interface Announcement {
  readonly number: number
  /** `null`: the feed does not state it */
  readonly parentHash: Hash | null
  /** A block, or another payload of the open block, begins; it replaces open blocks of the same and of higher numbers. */
  readonly isStart: boolean
  readonly flashblockIndex: number | null
  readonly transactions: readonly AnnouncedTransaction[]
  /** Transactions of the payload up to here, deposits included; `null`: unknown. */
  readonly count: number | null
  /** Messages of this payload are missing. */
  readonly hasMissed: boolean
}

export interface AnnouncedTransaction {
  readonly hash: Hash
  /** what the feed states of the receipt */
  readonly claim: Partial<PlacedReceipt>
}

/** The receipts of a sealed block, in order. */
export interface SealedReceipts {
  /** `null`: the block has no transaction */
  readonly hash: Hash | null
  readonly receipts: ReadonlyMap<Hash, Partial<PlacedReceipt>>
}

/** A block that the feed has shown, in one of its versions. */
export interface WatchedBlock {
  readonly number: number
  readonly parentHash: Hash | null
  /** time of its first flashblock; `null`: the feed has no flashblocks */
  readonly startedMs: number | null
  readonly promises: Map<Hash, Tracked>
  sealedMs: number | null
  sealedHash: Hash | null
  sealed: SealedReceipts | null
  isAnnouncedWithSeal: boolean
  isReplaced: boolean
  isWanted: boolean
  hasMissed: boolean
  count: number | null
}

type Tracked = { -readonly [K in keyof AuditedPromise]: AuditedPromise[K] } & {
  claim: Partial<PlacedReceipt>
  hasReceipt: boolean
  /** logs by their index in the block, from a feed that announces single logs */
  readonly logs: Map<number, Log>
  /** It was retracted once, so further logs do not belong to the promise. */
  hasAllLogs: boolean
  /** time since which it is missing from the newest payload */
  doubtSinceMs: number | null
}

interface PromiseAuditDeps {
  readonly problems: Problems
  /** Requests the receipts of a sealed block, for `settle` or `giveUp`. */
  readonly onWanted: (block: WatchedBlock) => void
}

/** Follows the promises of a feed to their seal. All times are arguments, so that equal events give equal results. */
export class PromiseAudit {
  /** from the first sight in the pool to the promise */
  readonly promiseDelays = new Durations()
  /** from the promise to the seal */
  readonly sealDelays = new Durations()
  readonly totals: Record<AuditOutcome, number> = { kept: 0, changed: 0, retracted: 0, unobserved: 0, open: 0 }
  readonly causes: Record<BreakCause, number> = { announced: 0, silent: 0, reorg: 0 }
  /** Transactions of blocks that were announced together with their seal. */
  atOnce = 0
  firstBlock: number | null = null
  lastBlock: number | null = null
  readonly #deps: PromiseAuditDeps
  readonly #blocks: WatchedBlock[] = []
  #current: WatchedBlock | null = null
  readonly #doubtful = new Set<Tracked>()
  readonly #seen = new Map<Hash, number>()
  readonly #early = new Map<Hash, Partial<PlacedReceipt>>()
  readonly #heads = new Map<number, number>()
  readonly #broken: Tracked[] = []
  #isClosed = false

  constructor(deps: PromiseAuditDeps) {
    this.#deps = deps
  }

  /** Broken and unobserved promises, oldest first. */
  get broken(): readonly AuditedPromise[] {
    return this.#broken
  }

  /** Transactions of the pool's feed that were neither promised nor found in a sealed block. */
  get waiting(): readonly Hash[] {
    return [...this.#seen.keys()]
  }

  onPool(hash: Hash, nowMs: number): void {
    if (this.#isClosed || this.#seen.has(hash) || this.#find(hash) !== null) return
    this.#seen.set(hash, nowMs)
    if (this.#seen.size > SEEN_TRANSACTIONS) this.#seen.delete(this.#seen.keys().next().value!) // it is not empty
  }

  onAnnouncement(announcement: Announcement, nowMs: number): void {
    this.advance(nowMs)
    const block = this.#blockOf(announcement, nowMs)
    block.hasMissed ||= announcement.hasMissed
    block.count = announcement.count
    for (const tx of announcement.transactions) this.#onTransaction(block, tx, announcement.flashblockIndex, nowMs)
    if (block.sealedMs !== null) this.#want(block)
  }

  /** A receipt from another connection than the promise. */
  onReceipt(hash: Hash, number: number, receipt: Partial<PlacedReceipt>): void {
    const promise = this.#current?.number === number ? this.#current.promises.get(hash) : undefined
    if (promise !== undefined && promise.outcome === 'open') return addReceipt(promise, receipt)
    this.#early.set(hash, receipt)
    if (this.#early.size > EARLY_RECEIPTS) this.#early.delete(this.#early.keys().next().value!) // it is not empty
  }

  /** Adds one log of a promised transaction. The logs of a later execution of the transaction do not belong to the promise. */
  onLog(hash: Hash, logIndex: number, log: Log): void {
    const promise = this.#find(hash)
    if (promise?.outcome === 'open' && !promise.hasAllLogs) promise.logs.set(logIndex, log)
  }

  /** A feed without payloads retracts a promise. It may announce it again immediately. */
  onRemoved(hash: Hash, number: number, nowMs: number): void {
    const promise = this.#blocks.findLast((block) => block.number === number && !block.isReplaced)?.promises.get(hash)
    if (promise === undefined || promise.outcome === 'retracted' || promise.outcome === 'unobserved') return
    this.#doubt(promise, nowMs)
  }

  /** A block was sealed: by its head, or because the feed has begun its successor. */
  onSealed(number: number, hash: Hash, nowMs: number): void {
    this.#heads.set(number, nowMs)
    if (this.#heads.size > KEPT_BLOCKS) this.#heads.delete(this.#heads.keys().next().value!) // it is not empty
    const block = this.#blocks.findLast((each) => each.number === number)
    if (block === undefined || block.isReplaced || block.sealedMs !== null) return
    block.sealedMs = nowMs
    block.sealedHash = hash
    if (block.startedMs !== null && nowMs - block.startedMs < ANNOUNCED_WITH_SEAL_MS) this.#markAnnouncedWithSeal(block)
    else this.#want(block)
  }

  /** Sealed blocks were replaced. */
  onReplaced(hashes: ReadonlySet<Hash>, nowMs: number): void {
    for (const block of this.#blocks) {
      const own = [block.parentHash, block.sealedHash, block.sealed?.hash ?? null]
      if (own.some((hash) => hash !== null && hashes.has(hash))) this.#replace(block, nowMs)
    }
  }

  settle(block: WatchedBlock, sealed: SealedReceipts): void {
    if (block.sealedHash !== null && sealed.hash !== null && sealed.hash !== block.sealedHash && !block.isReplaced)
      this.#deps.problems.add(
        'a sealed block has another hash than the feed said',
        `block ${block.number}: ${sealed.hash}, not ${block.sealedHash}`,
      )
    block.sealed = sealed
    for (const hash of sealed.receipts.keys()) this.#seen.delete(hash)
    for (const promise of block.promises.values()) if (promise.outcome === 'open') this.#settleOne(block, promise, sealed)
  }

  /** The sealed receipts of a block are not available. */
  giveUp(block: WatchedBlock): void {
    for (const promise of block.promises.values()) if (promise.outcome === 'open') this.#end(promise, 'unobserved', null, null)
  }

  /** The feed was lost: what happened to open blocks is unknown. */
  interrupt(nowMs: number): void {
    this.advance(nowMs)
    this.#current = null
    for (const block of this.#blocks) if (block.sealedMs === null) this.giveUp(block)
  }

  /** Retracts the promises that were missing for too long. Call often. */
  advance(nowMs: number): void {
    for (const promise of this.#doubtful) {
      if (nowMs - (promise.doubtSinceMs ?? nowMs) < REPROMISE_MS) continue
      this.#end(promise, 'retracted', 'announced', promise.doubtSinceMs)
    }
  }

  /** Records no further promises. */
  close(): void {
    this.#isClosed = true
  }

  #blockOf({ number, parentHash, isStart }: Announcement, nowMs: number): WatchedBlock {
    const current = this.#current
    const isSame = current !== null && current.number === number && !current.isReplaced
    if (isSame && !isStart) return current
    if (isSame && current.parentHash === parentHash && current.sealedMs === null) {
      for (const promise of current.promises.values()) if (promise.outcome === 'open') this.#doubt(promise, nowMs)
      return current
    }
    for (const block of this.#blocks) if (block.number >= number) this.#replace(block, nowMs)
    if (parentHash !== null) this.onSealed(number - 1, parentHash, nowMs)
    return this.#begin(number, parentHash, isStart ? nowMs : null, nowMs)
  }

  #begin(number: number, parentHash: Hash | null, startedMs: number | null, nowMs: number): WatchedBlock {
    const headMs = this.#heads.get(number)
    const block: WatchedBlock = {
      number,
      parentHash,
      startedMs,
      promises: new Map(),
      sealedMs: null,
      sealedHash: null,
      sealed: null,
      // Its head arrived before, on another connection.
      isAnnouncedWithSeal: startedMs !== null && headMs !== undefined && nowMs - headMs < ANNOUNCED_WITH_SEAL_MS,
      isReplaced: false,
      isWanted: false,
      hasMissed: false,
      count: null,
    }
    this.#blocks.push(block)
    if (this.#blocks.length > KEPT_BLOCKS) this.giveUp(this.#blocks.shift()!) // it is not empty
    this.#current = block
    if (this.#isClosed) return block
    this.firstBlock ??= number
    this.lastBlock = Math.max(this.lastBlock ?? 0, number)
    return block
  }

  #onTransaction(block: WatchedBlock, { hash, claim }: AnnouncedTransaction, flashblockIndex: number | null, nowMs: number): void {
    const known = block.promises.get(hash)
    if (known !== undefined && known.outcome !== 'retracted') {
      known.doubtSinceMs = null
      this.#doubtful.delete(known)
      return
    }
    if (this.#isClosed) return
    if (block.isAnnouncedWithSeal) {
      this.atOnce++
      this.#seen.delete(hash)
      return
    }
    if (block.promises.size >= PROMISES_OF_BLOCK)
      return this.#deps.problems.add('a block has more promises than are followed', `block ${block.number}: ${PROMISES_OF_BLOCK}`)
    const promise: Tracked = {
      hash,
      blockNumber: block.number,
      flashblockIndex,
      seenMs: this.#seen.get(hash) ?? known?.seenMs ?? null,
      promisedMs: nowMs,
      settledMs: null,
      outcome: 'open',
      cause: null,
      differences: [],
      claim,
      hasReceipt: false,
      logs: new Map(),
      hasAllLogs: false,
      doubtSinceMs: null,
    }
    const early = this.#early.get(hash)
    if (early !== undefined) addReceipt(promise, early)
    this.#early.delete(hash)
    this.#seen.delete(hash)
    block.promises.set(hash, promise)
    this.totals.open++
    if (block.sealed !== null) this.#settleOne(block, promise, block.sealed)
  }

  #settleOne(block: WatchedBlock, promise: Tracked, sealed: SealedReceipts): void {
    const receipt = sealed.receipts.get(promise.hash)
    if (receipt === undefined) return this.#end(promise, 'retracted', 'silent', block.sealedMs)
    const differences = receiptDifferences(claimOf(block, promise, sealed), receipt)
    this.#end(promise, differences.length === 0 ? 'kept' : 'changed', null, block.sealedMs, differences)
  }

  #doubt(promise: Tracked, nowMs: number): void {
    promise.doubtSinceMs ??= nowMs
    promise.hasAllLogs = true
    this.#doubtful.add(promise)
  }

  #replace(block: WatchedBlock, nowMs: number): void {
    if (block.isReplaced) return
    block.isReplaced = true
    for (const promise of block.promises.values()) {
      if (promise.outcome === 'retracted' || promise.outcome === 'unobserved') continue
      this.#end(promise, 'retracted', block.sealedMs === null ? 'announced' : 'reorg', promise.settledMs ?? nowMs)
    }
  }

  /** Its transactions were not promised before the seal. */
  #markAnnouncedWithSeal(block: WatchedBlock): void {
    block.isAnnouncedWithSeal = true
    for (const [hash, promise] of block.promises) {
      if (promise.outcome !== 'open') continue
      this.#doubtful.delete(promise)
      block.promises.delete(hash)
      this.totals.open--
      this.atOnce++
    }
  }

  #want(block: WatchedBlock): void {
    if (block.isWanted || block.promises.size === 0) return
    block.isWanted = true
    this.#deps.onWanted(block)
  }

  #end(
    promise: Tracked,
    outcome: Exclude<AuditOutcome, 'open'>,
    cause: BreakCause | null,
    settledMs: number | null,
    differences: readonly string[] = promise.differences,
  ): void {
    const former = promise.outcome
    this.totals[former]--
    this.totals[outcome]++
    if (cause !== null) this.causes[cause]++
    this.#doubtful.delete(promise)
    Object.assign(promise, { outcome, cause, settledMs, differences, doubtSinceMs: null })
    if (former === 'open') {
      if (promise.seenMs !== null) this.promiseDelays.add(promise.promisedMs - promise.seenMs)
      if (settledMs !== null && (outcome === 'kept' || outcome === 'changed')) this.sealDelays.add(settledMs - promise.promisedMs)
    }
    if (outcome !== 'kept' && former !== 'changed' && this.#broken.length < LISTED_PROMISES) this.#broken.push(promise)
  }

  #find(hash: Hash): Tracked | null {
    return this.#blocks.findLast(({ promises }) => promises.has(hash))?.promises.get(hash) ?? null
  }
}

/** The first receipt belongs to the promise; later ones belong to blocks that were built again. */
function addReceipt(promise: Tracked, receipt: Partial<PlacedReceipt>): void {
  if (promise.hasReceipt) return
  promise.hasReceipt = true
  promise.claim = { ...promise.claim, ...receipt }
}

function claimOf(block: WatchedBlock, { claim, logs }: Tracked, sealed: SealedReceipts): Partial<PlacedReceipt> {
  const stated = logs.size === 0 ? claim : { ...claim, logs: [...logs].toSorted(([a], [b]) => a - b).map(([, log]) => log) }
  // Missing messages shift the places of later transactions if they held any.
  if (!block.hasMissed || block.count === sealed.receipts.size) return stated
  const { transactionIndex: _, ...others } = stated
  return others
}
