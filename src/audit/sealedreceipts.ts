import { setTimeout as pause } from 'node:timers/promises'
import { isObject } from '../eth/index.ts'
import type { Hash, PlacedReceipt } from '../eth/index.ts'
import { RpcError } from '../jsonrpc/index.ts'
import type { RpcRequest } from '../jsonrpc/index.ts'
import { RECEIPT_ATTEMPTS, RECEIPT_QUEUE, RECEIPT_REQUESTS, RECEIPT_RETRY_MS, SETTLE_DELAY_MS, SINGLE_RECEIPTS } from './limits.ts'
import type { PromiseAudit, SealedReceipts, WatchedBlock } from './promises.ts'
import type { Problems } from './problems.ts'
import { hashOf, receiptFromJson } from './receiptjson.ts'
import type { JsonObject } from './receiptjson.ts'

interface ReaderDeps {
  readonly request: (request: RpcRequest) => Promise<unknown>
  readonly problems: Problems
  readonly promises: () => PromiseAudit
}

/** Reads the receipts of sealed blocks, a few blocks at a time. */
export class SealedReceiptsReader {
  readonly #deps: ReaderDeps
  readonly #queue: WatchedBlock[] = []
  #running = 0
  #hasBlockReceipts = true
  #isClosed = false

  constructor(deps: ReaderDeps) {
    this.#deps = deps
  }

  get source(): string {
    return this.#hasBlockReceipts ? 'eth_getBlockReceipts' : 'eth_getTransactionReceipt'
  }

  read(block: WatchedBlock): void {
    this.#queue.push(block)
    if (this.#queue.length > RECEIPT_QUEUE) this.#giveUp(this.#queue.shift()!, 'its node answers too slowly') // it is not empty
    if (this.#running < RECEIPT_REQUESTS) void this.#run()
  }

  close(): void {
    this.#isClosed = true
  }

  async #run(): Promise<void> {
    this.#running++
    for (let block = this.#queue.shift(); block !== undefined; block = this.#queue.shift()) await this.#settle(block)
    this.#running--
  }

  async #settle(block: WatchedBlock): Promise<void> {
    let reason = ''
    await pause(SETTLE_DELAY_MS)
    for (let attempt = 1; attempt <= RECEIPT_ATTEMPTS && !this.#isClosed && !block.isReplaced; attempt++) {
      try {
        const found = await this.#receiptsOf(block)
        // A node that is behind still has the former block; after half of the attempts its answer counts.
        const isOther = found !== null && block.sealedHash !== null && found.hash !== null && found.hash !== block.sealedHash
        if (found !== null && (!isOther || attempt > RECEIPT_ATTEMPTS / 2)) return this.#deps.promises().settle(block, found)
        reason = found === null ? 'the node has no receipts of it' : 'the node has another block'
      } catch (error) {
        reason = error instanceof RpcError ? error.message : String(error)
      }
      await pause(RECEIPT_RETRY_MS)
    }
    if (!block.isReplaced) this.#giveUp(block, reason)
  }

  #giveUp(block: WatchedBlock, reason: string): void {
    const { promises, problems } = this.#deps
    if (!this.#isClosed) problems.add('the receipts of a sealed block are not available', `block ${block.number}: ${reason}`)
    promises().giveUp(block)
  }

  async #receiptsOf(block: WatchedBlock): Promise<SealedReceipts | null> {
    if (!this.#hasBlockReceipts) return this.#singly(block)
    const number = `0x${block.number.toString(16)}`
    try {
      const answer = await this.#deps.request({ method: 'eth_getBlockReceipts', params: [number] })
      return Array.isArray(answer) ? receiptsFrom(answer) : null
    } catch (error) {
      if (!isRefusal(error)) throw error
      const found = await this.#singly(block)
      this.#hasBlockReceipts = found === null
      return found
    }
  }

  /** The receipts of the promised transactions, for nodes without eth_getBlockReceipts. */
  async #singly({ promises, number }: WatchedBlock): Promise<SealedReceipts | null> {
    const { request } = this.#deps
    const block = await request({ method: 'eth_getBlockByNumber', params: [`0x${number.toString(16)}`, false] })
    const hashes = isObject(block) && Array.isArray(block['transactions']) ? block['transactions'].map(hashOf) : null
    if (!isObject(block) || hashes === null) return null
    const wanted = hashes.filter((hash) => hash !== undefined && promises.has(hash)) as Hash[] // none is undefined
    const found = new Map<Hash, Partial<PlacedReceipt>>(
      hashes.flatMap((hash, transactionIndex) => (hash === undefined ? [] : [[hash, { transactionIndex }]])),
    )
    for (let at = 0; at < wanted.length; at += SINGLE_RECEIPTS) {
      const some = wanted.slice(at, at + SINGLE_RECEIPTS)
      const receipts = await Promise.all(some.map((hash) => request({ method: 'eth_getTransactionReceipt', params: [hash] })))
      for (const [i, receipt] of receipts.entries()) {
        if (!isObject(receipt) || hashOf(receipt['blockHash']) !== hashOf(block['hash'])) return null
        found.set(some[i]!, receiptFromJson(receipt))
      }
    }
    return { hash: hashOf(block['hash']) ?? null, receipts: found }
  }
}

/** The node lacks or refuses the method: nodes use various codes, and public endpoints answer HTTP 403. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof RpcError)) return false
  const reason = isObject(error.data) ? error.data['reason'] : undefined
  return reason === undefined || reason === 'malformed'
}

/** Returns `null` for an answer that is not the receipts of one block. */
export function receiptsFrom(answer: readonly unknown[]): SealedReceipts | null {
  const receipts = new Map<Hash, Partial<PlacedReceipt>>()
  let blockHash: Hash | null = null
  for (const [transactionIndex, receipt] of answer.entries()) {
    const hash = isObject(receipt) ? hashOf(receipt['transactionHash']) : undefined
    const own: Hash | undefined = isObject(receipt) ? hashOf(receipt['blockHash']) : undefined
    if (hash === undefined || own === undefined || (blockHash !== null && own !== blockHash)) return null
    blockHash = own
    receipts.set(hash, { ...receiptFromJson(receipt as JsonObject), transactionIndex })
  }
  return { hash: blockHash, receipts }
}
