import { Hash, isObject } from '../eth/index.ts'
import type { PlacedReceipt } from '../eth/index.ts'
import { BadFrame, decodeMessage } from '../stream/index.ts'
import type { StreamMessage } from '../stream/index.ts'
import type { AnnouncedTransaction, PromiseAudit } from './promises.ts'
import type { Problems } from './problems.ts'
import { hashOf, integer, logFromJson, receiptFromJson, receiptsOfMetadata } from './receiptjson.ts'
import type { JsonObject } from './receiptjson.ts'

interface FeedDeps {
  readonly promises: PromiseAudit
  readonly problems: Problems
  readonly nowMs: () => number
}

/** Reads the notifications of one subscription, or the messages of one stream. */
export interface Feed {
  /** True if the item is about something that is not sealed: nodes without promises announce sealed transactions and logs in these feeds. */
  readonly isPromise: (item: unknown) => boolean
  readonly accept: (item: unknown) => void
  /** Messages were lost: waits for the next block. */
  readonly interrupt: () => void
  /** the part of the receipts that it contains */
  readonly states: () => string
}

/** The flashblock stream. A reader that joins, or rejoins, within a block waits for the next one. */
export class StreamFeed implements Feed {
  readonly #deps: FeedDeps
  #payload: { readonly id: string; readonly number: number; readonly parentHash: Hash; index: number; count: number } | null = null
  #hasReceipts = false

  constructor(deps: FeedDeps) {
    this.#deps = deps
  }

  isPromise(): boolean {
    return true
  }

  accept(item: unknown): void {
    const message = decoded(item, this.#deps.problems)
    if (message !== null) this.#onMessage(message)
  }

  interrupt(): void {
    this.#payload = null
  }

  states(): string {
    return this.#hasReceipts
      ? 'the receipts of its transactions'
      : 'no receipts, only the place of each transaction and the gas used up to each flashblock'
  }

  #onMessage({ flashblock, metadata }: StreamMessage): void {
    const { problems, promises, nowMs } = this.#deps
    const { payloadId: id, index, base, blockNumber: number, diff } = flashblock
    const place = `block ${number}, index ${index}, payload ${id}`
    const isStart = index === 0
    if (isStart) {
      if (base === null || base.blockNumber !== number) return problems.add('a flashblock names two block numbers', place)
      if (this.#payload?.id === id) return problems.add('a flashblock was sent again', place)
      this.#payload = { id, number, parentHash: base.parentHash, index: 0, count: 0 }
    }
    const payload = this.#payload
    if (payload === null) return // the block began before the audit
    if (payload.id !== id || payload.number !== number) {
      problems.add('a flashblock belongs to a payload whose index 0 was not sent', place)
      return
    }
    const hasMissed = index > payload.index + 1
    if (!isStart && index <= payload.index) return problems.add('a flashblock was sent again', place)
    if (hasMissed) problems.add('an index of the stream is missing', `${place} follows index ${payload.index}`)
    const receipts = receiptsOfMetadata(metadata)
    this.#hasReceipts ||= receipts !== null && receipts.size > 0
    const last = diff.transactions.length - 1
    const transactions = diff.transactions.flatMap((raw, i): AnnouncedTransaction[] => {
      if (raw[0] === DEPOSIT_TYPE) return []
      const hash = Hash.keccak(raw)
      // The block's gas up to here is the last transaction's cumulative gas.
      const gas = i === last ? { cumulativeGasUsed: diff.gasUsed } : {}
      return [{ hash, claim: { ...gas, ...receipts?.get(hash), transactionIndex: payload.count + i } }]
    })
    payload.index = index
    payload.count += diff.transactions.length
    const { parentHash, count } = payload
    promises.onAnnouncement({ number, parentHash, isStart, flashblockIndex: index, transactions, count, hasMissed }, nowMs())
  }
}

/** `newFlashblocks`: the open block as it grows. Some nodes send the messages of the stream instead. */
export class FlashblocksFeed implements Feed {
  readonly #deps: FeedDeps
  readonly #stream: StreamFeed
  #block: { readonly number: number; readonly parentHash: Hash; readonly hashes: readonly Hash[]; readonly index: number } | null = null
  #isJoined = false

  constructor(deps: FeedDeps) {
    this.#deps = deps
    this.#stream = new StreamFeed(deps)
  }

  isPromise(item: unknown): boolean {
    return isObject(item)
  }

  accept(item: unknown): void {
    const { problems, promises, nowMs } = this.#deps
    if (isObject(item) && 'payload_id' in item) return this.#stream.accept(JSON.stringify(item))
    const read = pendingBlock(item)
    if (read === null) return problems.add('a notification of newFlashblocks is not a block', textOf(item))
    const { number, parentHash, transactions } = read
    const hashes = transactions.map(({ hash }) => hash)
    const known = this.#block
    const isGrown =
      known !== null &&
      known.number === number &&
      known.parentHash === parentHash &&
      known.hashes.length <= hashes.length &&
      known.hashes.every((hash, i) => hashes[i] === hash)
    const index = isGrown ? known.index + 1 : 0
    this.#block = { number, parentHash, hashes, index }
    // The first block began before the audit.
    if (known === null) return
    this.#isJoined ||= known.number !== number
    if (!this.#isJoined) return
    const added = transactions.slice(isGrown ? known.hashes.length : 0).filter(({ isDeposit }) => !isDeposit)
    promises.onAnnouncement(
      { number, parentHash, isStart: !isGrown, flashblockIndex: index, transactions: added, count: hashes.length, hasMissed: false },
      nowMs(),
    )
  }

  interrupt(): void {
    this.#block = null
    this.#isJoined = false
    this.#stream.interrupt()
  }

  states(): string {
    return 'no receipts, only the place of each transaction'
  }
}

/** `newFlashblockTransactions` with full transactions: promises, or only receipts of promises that another feed announces. */
export class TransactionsFeed implements Feed {
  readonly #deps: FeedDeps
  readonly #isPrimary: () => boolean
  readonly #joining = new JoinedBlock()

  constructor(deps: FeedDeps, isPrimary: () => boolean) {
    this.#deps = deps
    this.#isPrimary = isPrimary
  }

  isPromise(item: unknown): boolean {
    return isObject(item) && !isSealed(item)
  }

  accept(item: unknown): void {
    const { problems, promises, nowMs } = this.#deps
    if (typeof item === 'string')
      return problems.add('newFlashblockTransactions sends hashes without their block, which cannot be followed', item)
    const hash = isObject(item) ? hashOf(item['hash']) : undefined
    const number = isObject(item) ? integer(item['blockNumber']) : undefined
    if (!isObject(item) || hash === undefined || number === undefined)
      return problems.add('a notification of newFlashblockTransactions is not a transaction', textOf(item))
    if (item['type'] === '0x7e' || isSealed(item)) return
    const claim = receiptFromJson(item)
    if (!this.#isPrimary()) {
      if (item['removed'] !== true) promises.onReceipt(hash, number, claim)
      return
    }
    if (!this.#joining.accepts(number)) return
    if (item['removed'] === true) return promises.onRemoved(hash, number, nowMs())
    promises.onAnnouncement(singly(number, hash, claim), nowMs())
    promises.onReceipt(hash, number, claim)
  }

  interrupt(): void {
    this.#joining.reset()
  }

  states(): string {
    return 'the receipts of its transactions'
  }
}

/** `pendingLogs`: only transactions that emit logs are visible. */
export class LogsFeed implements Feed {
  readonly #deps: FeedDeps
  readonly #joining = new JoinedBlock()

  constructor(deps: FeedDeps) {
    this.#deps = deps
  }

  isPromise(item: unknown): boolean {
    return isObject(item) && !isSealed(item)
  }

  accept(item: unknown): void {
    const { problems, promises, nowMs } = this.#deps
    const hash = isObject(item) ? hashOf(item['transactionHash']) : undefined
    const number = isObject(item) ? integer(item['blockNumber']) : undefined
    const logIndex = isObject(item) ? integer(item['logIndex']) : undefined
    const log = logFromJson(item)
    if (!isObject(item) || hash === undefined || number === undefined || log === null)
      return problems.add('a notification of pendingLogs is not a log', textOf(item))
    if (isSealed(item) || !this.#joining.accepts(number)) return
    if (item['removed'] === true) return promises.onRemoved(hash, number, nowMs())
    const transactionIndex = integer(item['transactionIndex'])
    promises.onAnnouncement(singly(number, hash, transactionIndex === undefined ? {} : { transactionIndex }), nowMs())
    if (logIndex !== undefined) promises.onLog(hash, logIndex, log)
  }

  interrupt(): void {
    this.#joining.reset()
  }

  states(): string {
    return 'only transactions that emit logs, and of their receipts only the logs'
  }
}

/** A feed without starts of blocks: the block within which it is joined is left out. */
class JoinedBlock {
  #first: number | null = null
  #isJoined = false

  accepts(number: number): boolean {
    this.#first ??= number
    return (this.#isJoined ||= number !== this.#first)
  }

  reset(): void {
    this.#first = null
    this.#isJoined = false
  }
}

const DEPOSIT_TYPE = 0x7e

function singly(number: number, hash: Hash, claim: Partial<PlacedReceipt>) {
  const rest = { parentHash: null, isStart: false, flashblockIndex: null, count: null, hasMissed: false } as const
  return { number, transactions: [{ hash, claim }], ...rest }
}

/** Returns `null` for a message that is not a flashblock. */
function decoded(item: unknown, problems: Problems): StreamMessage | null {
  try {
    return decodeMessage(item as string | Uint8Array) // other values are not messages
  } catch (error) {
    if (!(error instanceof BadFrame)) throw error
    problems.add('a message of the stream is not a flashblock', error.message)
    return null
  }
}

function pendingBlock(item: unknown) {
  if (!isObject(item) || !Array.isArray(item['transactions'])) return null
  const [number, parentHash] = [integer(item['number']), hashOf(item['parentHash'])]
  if (number === undefined || parentHash === undefined) return null
  const transactions = item['transactions'].map((tx: unknown, transactionIndex) => {
    const hash = hashOf(isObject(tx) ? tx['hash'] : tx)
    // The first transaction of an OP block is a deposit; its type is not known from a hash.
    const isDeposit = isObject(tx) ? tx['type'] === '0x7e' : false
    return hash === undefined ? null : { hash, isDeposit, claim: { transactionIndex } }
  })
  return transactions.includes(null) ? null : { number, parentHash, transactions: transactions.filter((tx) => tx !== null) }
}

/** Promised transactions and logs have no block hash, or zeros. */
function isSealed(item: JsonObject): boolean {
  const hash = hashOf(item['blockHash'])
  return hash !== undefined && hash !== Hash.zero && item['removed'] !== true
}

function textOf(item: unknown): string {
  return JSON.stringify(item)?.slice(0, 200) ?? String(item)
}
