import { Address, Hash } from '../../eth/index.ts'
import type { Hex } from '../../eth/index.ts'
import type { BatchRecord, BatchTransaction, CallsReceipt, Inclusion } from './batchrecord.ts'
import type { WalletChain } from '../chains/chain.ts'
import { UNKNOWN_MS } from '../limits.ts'
import { isTransactionKnown, submitTransaction } from './transactions.ts'

export interface TrackContext {
  /** Unix time, milliseconds */
  readonly now: number
  /** time when the node last had each transaction, or the bundler each operation; updated by the tracker */
  readonly lastSeenAt: Map<Hash, number>
  /** true: the first update after the wallet has started; the node may have restarted with it and lost its pool */
  readonly isResumed: boolean
}

export type Waiting = Extract<Inclusion, { readonly kind: 'waiting' }>

/** Receipts that are requested concurrently. */
const CONCURRENT_RECEIPTS = 16

/**
 * Returns the batch's transactions with their current inclusion. A transaction that the node has lost is submitted again, once, unless the chain is in
 * the same process (which loses a transaction only by a rewind) or was rewound beyond the batch. Throws RpcError if the node does not respond.
 */
export async function trackTransactions(
  chain: WalletChain,
  record: BatchRecord,
  context: TrackContext,
): Promise<readonly BatchTransaction[]> {
  const { transactions } = record
  // Read before the receipts: if the nonce was used by then and there is still no receipt, another transaction used it.
  const nonce = await nonceAt(chain, record.from, 'latest')
  const tracked: BatchTransaction[] = []
  let isBlocked = false
  for (let at = 0; at < transactions.length; at += CONCURRENT_RECEIPTS) {
    const some = transactions.slice(at, at + CONCURRENT_RECEIPTS)
    const receipts = await Promise.all(some.map((each) => receiptOf(chain, each)))
    for (const [i, transaction] of some.entries()) {
      if (isBlocked) return [...tracked, ...transactions.slice(tracked.length)]
      const inclusion = await inclusionOf(chain, record, transaction, receipts[i] ?? null, nonce, context)
      tracked.push(isSameInclusion(inclusion, transaction.inclusion) ? transaction : { ...transaction, inclusion })
      // The transactions after a waiting one wait as well, which saves up to 100 requests. If one was resubmitted, later ones may be lost too.
      isBlocked = inclusion.kind === 'waiting' && inclusion.resent === waitingFrom(transaction.inclusion).resent
    }
  }
  return tracked
}

async function inclusionOf(
  chain: WalletChain,
  record: BatchRecord,
  transaction: BatchTransaction,
  receipt: CallsReceipt | null,
  nextNonce: number,
  context: TrackContext,
): Promise<Inclusion> {
  const { hash, nonce, inclusion } = transaction
  if (receipt !== null) return { kind: 'included', isSealed: receipt.blockHash !== Hash.zero, receipt }
  if (await isFinal(chain, inclusion)) return inclusion
  const waiting = waitingFrom(inclusion)
  if ((await isTransactionKnown(chain, hash)) !== false) {
    context.lastSeenAt.set(hash, context.now)
    return waiting
  }
  if (nextNonce > nonce) return replaced(record, nonce)
  return missing(chain, record, transaction, waiting, context)
}

/** The node does not have the transaction, and its nonce is unused in the latest block. */
async function missing(
  chain: WalletChain,
  record: BatchRecord,
  { hash, raw, nonce }: BatchTransaction,
  waiting: Waiting,
  context: TrackContext,
): Promise<Inclusion> {
  if (!isMissingLongEnough(chain, hash, context)) return waiting
  const nextNonce = await nonceAt(chain, record.from, 'pending')
  // A restarted node may have refilled its pool in between; the transaction then counts in the pending nonce itself.
  if ((await isTransactionKnown(chain, hash)) !== false) return waiting
  if (nextNonce > nonce) return replaced(record, nonce)
  const mayResend = context.isResumed || (!chain.isEmbedded && waiting.resent === 0)
  if (!mayResend || !(await isSameChain(chain, record))) return notIncluded('dropped', 'the node has lost it, and its nonce is unused')
  const result = await submitTransaction(chain, raw, hash)
  if (result.kind === 'rejected') return notIncluded('dropped', `the node has lost it and refuses it now: ${result.error.message}`)
  context.lastSeenAt.set(hash, context.now)
  return { ...waiting, resent: waiting.resent + 1 }
}

function replaced({ from }: BatchRecord, nonce: number): Inclusion {
  return notIncluded('replaced', `another transaction has taken nonce ${nonce} of ${from}`)
}

async function nonceAt({ rpc }: WalletChain, from: Address, block: 'latest' | 'pending'): Promise<number> {
  return Number(await rpc.request({ method: 'eth_getTransactionCount', params: [from, block] }))
}

/** Null: not included, or not to be included any more. */
async function receiptOf({ rpc }: WalletChain, { hash, inclusion }: BatchTransaction): Promise<CallsReceipt | null> {
  if (inclusion.kind === 'never' && inclusion.reason !== 'dropped') return null
  const receipt = await rpc.request({ method: 'eth_getTransactionReceipt', params: [hash] })
  return receipt === null ? null : readReceipt(receipt as NodeReceipt) // as execution-apis defines it
}

// --- of transactions and operations ---------------------------------------------------------------------------------------

export function notIncluded(reason: 'refused' | 'dropped' | 'replaced', message: string): Inclusion {
  return { kind: 'never', reason, message }
}

/** The state of a transaction without a receipt. If it was included before, that inclusion was reverted. */
export function waitingFrom(before: Inclusion): Waiting {
  if (before.kind === 'waiting') return before
  return { kind: 'waiting', isRetracted: before.kind === 'included', resent: 0 }
}

/** True without a receipt if it was given up, or is in a sealed block: some nodes and bundlers prune receipts, but not blocks. */
export async function isFinal(chain: WalletChain, inclusion: Inclusion): Promise<boolean> {
  if (inclusion.kind === 'never') return true
  return inclusion.kind === 'included' && inclusion.isSealed && (await hasBlock(chain, inclusion.receipt.blockHash))
}

export function isMissingLongEnough({ isEmbedded }: WalletChain, hash: Hash, { now, lastSeenAt, isResumed }: TrackContext): boolean {
  return isResumed || isEmbedded || now - (lastSeenAt.get(hash) ?? 0) >= UNKNOWN_MS
}

/** False: the block that was the latest one when the batch was signed is gone. */
export async function isSameChain(chain: WalletChain, { anchor }: BatchRecord): Promise<boolean> {
  return anchor !== null && (await hasBlock(chain, anchor))
}

async function hasBlock({ rpc }: WalletChain, hash: Hash): Promise<boolean> {
  return (await rpc.request({ method: 'eth_getBlockByHash', params: [hash, false] })) !== null
}

export interface NodeReceipt {
  readonly logs: readonly { readonly address: string; readonly data: Hex; readonly topics: readonly string[] }[]
  readonly status?: Hex
  readonly blockHash: string | null
  readonly blockNumber: Hex
  readonly gasUsed: Hex
  readonly transactionHash: string
}

export function readReceipt({ logs, status, blockHash, blockNumber, gasUsed, transactionHash }: NodeReceipt): CallsReceipt {
  return {
    logs: logs.map(({ address, data, topics }) => ({
      address: Address.from(address),
      data,
      topics: topics.map((topic) => Hash.from(topic)),
    })),
    status: status ?? '0x1', // receipts before Byzantium have no status
    blockHash: blockHash === null ? Hash.zero : Hash.from(blockHash),
    blockNumber,
    gasUsed,
    transactionHash: Hash.from(transactionHash),
  }
}

/** Two receipts of one block are the same receipt. */
export function isSameInclusion(a: Inclusion, b: Inclusion): boolean {
  if (a.kind === 'included' && b.kind === 'included') {
    return (
      a.receipt.blockHash === b.receipt.blockHash &&
      a.receipt.blockNumber === b.receipt.blockNumber &&
      a.receipt.status === b.receipt.status &&
      a.receipt.transactionHash === b.receipt.transactionHash
    )
  }
  if (a.kind === 'waiting' && b.kind === 'waiting') return a.isRetracted === b.isRetracted && a.resent === b.resent
  return a === b
}
