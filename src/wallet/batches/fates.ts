import { Address, Hash } from '../../eth/index.ts'
import type { Hex } from '../../eth/index.ts'
import type { BatchRecord, BatchTransaction, CallsReceipt, Fate } from './batchrecord.ts'
import type { WalletChain } from '../chains/chain.ts'
import { UNKNOWN_MS } from '../limits.ts'
import { hand, isKnown } from './sending.ts'

/** What one look at a batch knows beside it. */
export interface LookGround {
  /** Unix time, milliseconds */
  readonly now: number
  /** when each transaction was last seen to be known; kept up to date by the look */
  readonly knownAt: Map<Hash, number>
  /** the first look after the wallet has started */
  readonly isResumed: boolean
}

/** Receipts that are asked for at once. */
const TOGETHER = 16

/**
 * What has become of each transaction of a batch by now. What the chain has lost is sent once more, unless the chain lives in the same process (it
 * loses only what it is told to lose) or went back behind the batch. Throws RpcError when the chain does not answer.
 */
export async function lookAt(chain: WalletChain, record: BatchRecord, ground: LookGround): Promise<readonly BatchTransaction[]> {
  const { transactions } = record
  // Before the receipts: a nonce that had been taken by then, and still no receipt, was taken by another transaction.
  const taken = await nonceAt(chain, record.from, 'latest')
  const looked: BatchTransaction[] = []
  let isGap = false
  for (let at = 0; at < transactions.length; at += TOGETHER) {
    const some = transactions.slice(at, at + TOGETHER)
    const receipts = await Promise.all(some.map((each) => receiptOf(chain, each)))
    for (const [i, transaction] of some.entries()) {
      if (isGap) return [...looked, ...transactions.slice(looked.length)]
      const fate = await fateOf(chain, record, transaction, receipts[i] ?? null, taken, ground)
      looked.push(isSame(fate, transaction.fate) ? transaction : { ...transaction, fate })
      // What comes after one that waits waits as well; asking for each of a hundred would be a burden. But what had to be sent again was not lost alone.
      isGap = fate.kind === 'waiting' && fate.resent === resentOf(transaction.fate)
    }
  }
  return looked
}

function resentOf(fate: Fate): number {
  return fate.kind === 'waiting' ? fate.resent : 0
}

async function fateOf(
  chain: WalletChain,
  record: BatchRecord,
  transaction: BatchTransaction,
  receipt: CallsReceipt | null,
  taken: number,
  ground: LookGround,
): Promise<Fate> {
  const { hash, nonce, fate } = transaction
  if (receipt !== null) return { kind: 'included', isSealed: receipt.blockHash !== Hash.zero, receipt }
  if (fate.kind === 'never') return fate
  // Some nodes forget receipts, but no blocks.
  if (fate.kind === 'included' && fate.isSealed && (await hasBlock(chain, fate.receipt.blockHash))) return fate
  const isRetracted = fate.kind === 'included' || fate.isRetracted
  const resent = resentOf(fate)
  if ((await isKnown(chain, hash)) !== false) {
    ground.knownAt.set(hash, ground.now)
    return { kind: 'waiting', isRetracted, resent }
  }
  if (taken > nonce) return replaced(record, nonce)
  return lost(chain, record, transaction, { kind: 'waiting', isRetracted, resent }, ground)
}

/** The node does not know it, and its nonce is free. */
async function lost(
  chain: WalletChain,
  record: BatchRecord,
  { hash, raw, nonce }: BatchTransaction,
  waiting: Extract<Fate, { kind: 'waiting' }>,
  { now, knownAt, isResumed }: LookGround,
): Promise<Fate> {
  const isSure = isResumed || chain.isEmbedded || now - (knownAt.get(hash) ?? 0) >= UNKNOWN_MS
  if (!isSure) return waiting
  const next = await nonceAt(chain, record.from, 'pending')
  // It may have come back meanwhile, as when a node that has started fills its pool again; and counts itself then.
  if ((await isKnown(chain, hash)) !== false) return waiting
  // Another one waits in its place, or is pre-confirmed.
  if (next > nonce) return replaced(record, nonce)
  const maySend = isResumed || (!chain.isEmbedded && waiting.resent === 0)
  if (!maySend || !(await isSameChain(chain, record))) return dropped('the node has lost it, and nothing has taken its nonce')
  const handed = await hand(chain, raw, hash)
  if (handed.kind === 'refused') return dropped(`the node has lost it and refuses it now: ${handed.error.message}`)
  knownAt.set(hash, now)
  return { ...waiting, resent: waiting.resent + 1 }
}

function replaced({ from }: BatchRecord, nonce: number): Fate {
  return { kind: 'never', reason: 'replaced', message: `another transaction has taken nonce ${nonce} of ${from}` }
}

function dropped(message: string): Fate {
  return { kind: 'never', reason: 'dropped', message }
}

/** False: the block behind which the batch was signed is gone. */
export async function isSameChain(chain: WalletChain, { anchor }: BatchRecord): Promise<boolean> {
  return anchor !== null && (await hasBlock(chain, anchor))
}

export async function hasBlock({ rpc }: WalletChain, hash: Hash): Promise<boolean> {
  return (await rpc.request({ method: 'eth_getBlockByHash', params: [hash, false] })) !== null
}

async function nonceAt({ rpc }: WalletChain, from: Address, block: 'latest' | 'pending'): Promise<number> {
  return Number(await rpc.request({ method: 'eth_getTransactionCount', params: [from, block] }))
}

/** Null: there is none yet, or will never be. */
async function receiptOf({ rpc }: WalletChain, { hash, fate }: BatchTransaction): Promise<CallsReceipt | null> {
  if (fate.kind === 'never' && fate.reason !== 'dropped') return null
  const receipt = await rpc.request({ method: 'eth_getTransactionReceipt', params: [hash] })
  return receipt === null ? null : readReceipt(receipt as NodeReceipt) // as execution-apis defines it
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
    status: status ?? '0x1', // before Byzantium nobody said
    blockHash: blockHash === null ? Hash.zero : Hash.from(blockHash),
    blockNumber,
    gasUsed,
    transactionHash: Hash.from(transactionHash),
  }
}

/** Receipts of one block are one receipt. */
export function isSame(a: Fate, b: Fate): boolean {
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
