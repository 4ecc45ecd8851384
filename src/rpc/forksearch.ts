import { Hex, isObject } from '../eth/index.ts'
import { RpcError } from '../jsonrpc/index.ts'
import { UpstreamError } from '../chain/index.ts'

// Searches by account on a fork: transactions of this chain, and those of upstream up to the fork block if upstream has the method.

interface SearchDeps {
  readonly forkNumber: number
  /** Rejects with RpcError, upstream's own, and UpstreamError. */
  readonly forward: (method: string, params: readonly unknown[]) => Promise<unknown>
  /** Searches this chain. */
  readonly local: (params: readonly unknown[]) => Promise<unknown>
}

/** A page of transactions, the newest first. `firstPage`: it reaches the newest block; `lastPage`: the oldest one. */
interface Page {
  readonly txs: readonly unknown[]
  readonly receipts: readonly unknown[]
  readonly firstPage: boolean
  readonly lastPage: boolean
}

export type Search = (deps: SearchDeps, params: readonly unknown[]) => Promise<unknown>

export const FORK_SEARCHES: ReadonlyMap<string, Search> = new Map<string, Search>([
  ['ots_getTransactionBySenderAndNonce', hashBySenderAndNonce],
  ['eth_getTransactionBySenderAndNonce', bySenderAndNonce],
  ['ots_searchTransactionsBefore', pageBefore],
  ['ots_searchTransactionsAfter', pageAfter],
])

async function hashBySenderAndNonce(deps: SearchDeps, params: readonly unknown[]): Promise<unknown> {
  const found = await deps.local(params)
  if (found !== null) return found
  const tx = await upstreamBySenderAndNonce(deps, params)
  return isObject(tx) ? tx['hash'] : null
}

async function bySenderAndNonce(deps: SearchDeps, params: readonly unknown[]): Promise<unknown> {
  const [sender, nonce] = params as readonly [unknown, bigint] // the caller has parsed them
  const found = await deps.local([sender, Hex.fromQuantity(nonce)])
  return found ?? upstreamBySenderAndNonce(deps, [sender, Number(nonce)])
}

/** Upstream's transaction; null for one after the fork block. */
async function upstreamBySenderAndNonce(deps: SearchDeps, params: readonly unknown[]): Promise<unknown> {
  const hash = await nullIfRefused(deps.forward('ots_getTransactionBySenderAndNonce', params))
  if (typeof hash !== 'string') return null
  const tx = await deps.forward('eth_getTransactionByHash', [hash])
  return isUpTo(tx, deps.forkNumber) ? tx : null
}

async function pageBefore(deps: SearchDeps, params: readonly unknown[]): Promise<unknown> {
  const [address, block, size] = params as readonly [unknown, number, number] // the caller has parsed them
  const own = (await deps.local(params)) as Page
  if (!own.lastPage) return own
  const left = size - own.txs.length
  if (left <= 0) return { ...own, lastPage: false }
  const start = block === 0 ? deps.forkNumber + 1 : Math.min(block, deps.forkNumber + 1)
  const older = await upstreamPage(deps, 'ots_searchTransactionsBefore', [address, start, left])
  return older === null ? own : joinPages(own, older)
}

async function pageAfter(deps: SearchDeps, params: readonly unknown[]): Promise<unknown> {
  const { forkNumber, local } = deps
  const [address, block, size] = params as readonly [unknown, number, number] // the caller has parsed them
  if (block >= forkNumber) return local(params)
  const older = await upstreamPage(deps, 'ots_searchTransactionsAfter', [address, block, size])
  if (older === null) return local(params)
  const left = size - older.txs.length
  if (left <= 0 || !older.firstPage) return { ...older, firstPage: false }
  return joinPages((await local([address, forkNumber, left])) as Page, older)
}

/** Upstream's page without the transactions after the fork block, which is its newest block then; null if upstream lacks the method. */
async function upstreamPage(deps: SearchDeps, method: string, params: readonly unknown[]): Promise<Page | null> {
  const page = await nullIfRefused(deps.forward(method, params))
  if (page === null) return null
  const { txs, receipts, firstPage, lastPage } = isObject(page) ? page : {}
  if (!Array.isArray(txs) || !Array.isArray(receipts) || txs.length !== receipts.length)
    throw new UpstreamError('malformed', `upstream answered ${method} with a value that is not a page of transactions`)
  const start = txs.findIndex((tx) => isUpTo(tx, deps.forkNumber))
  const later = start < 0 ? txs.length : start
  return { txs: txs.slice(later), receipts: receipts.slice(later), firstPage: firstPage === true || later > 0, lastPage: lastPage === true }
}

function joinPages(newer: Page, older: Page): Page {
  return {
    txs: [...newer.txs, ...older.txs],
    receipts: [...newer.receipts, ...older.receipts],
    firstPage: newer.firstPage,
    lastPage: older.lastPage,
  }
}

/** True for a block up to the number, and for a transaction or receipt in such a block. */
export function isUpTo(result: unknown, number: number): boolean {
  if (!isObject(result)) return false
  const at = result['blockNumber'] ?? result['number']
  return typeof at === 'string' && Number(at) <= number
}

/** Few providers have these methods, and each refuses an unknown one in its own words: null. */
async function nullIfRefused(answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof RpcError) return null
    throw error
  }
}
