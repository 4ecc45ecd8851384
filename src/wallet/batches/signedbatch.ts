import { Hash, Hex } from '../../eth/index.ts'
import type { Address, Transaction } from '../../eth/index.ts'
import { RpcError } from '../../jsonrpc/index.ts'
import { WAITING } from './batchrecord.ts'
import type { BatchRecord, BatchTransaction } from './batchrecord.ts'
import type { WalletChain } from '../chains/chain.ts'
import { operationRecord } from './operationfate.ts'
import type { SentOperation } from './operationfate.ts'
import { rawOf } from './sending.ts'

/** What is submitted. */
export interface SignedBatch {
  readonly id: string
  /** the wallet made it: randomBatchId */
  readonly isOwnId: boolean
  readonly origin: string
  readonly from: Address
  readonly chain: WalletChain
  readonly atomic: boolean
  readonly execution: BatchRecord['execution']
  readonly callCount: number
  /** by nonce, signed; none of a sponsored batch */
  readonly transactions: readonly { readonly transaction: Transaction; readonly isPreparation: boolean }[]
  /** of a sponsored batch */
  readonly operation?: SentOperation | null
}

/** As it is kept before anything of it is sent. */
export async function recordOf(batch: SignedBatch, createdAt: number): Promise<BatchRecord> {
  const { id, isOwnId, origin, from, chain, atomic, execution, callCount, transactions, operation = null } = batch
  return {
    id,
    origin,
    from,
    chainId: chain.chainId,
    isOwnId,
    atomic,
    execution,
    callCount,
    createdAt,
    anchor: await newestBlock(chain),
    transactions: transactions.map(transactionRecord),
    operation: operation === null ? null : operationRecord(operation),
    status: 100,
  }
}

function transactionRecord({ transaction, isPreparation }: SignedBatch['transactions'][number]): BatchTransaction {
  return { hash: transaction.hash, raw: rawOf(transaction), nonce: Number(transaction.nonce), isPreparation, fate: WAITING }
}

/** 32 bytes that nobody can guess: whoever knows such an id may ask for its batch. */
export function randomBatchId(): Hex {
  return Hex.fromBytes(globalThis.crypto.getRandomValues(new Uint8Array(32)))
}

/** Null: it did not say; the batch is then never sent again. */
async function newestBlock({ rpc }: WalletChain): Promise<Hash | null> {
  try {
    const block = await rpc.request({ method: 'eth_getBlockByNumber', params: ['latest', false] })
    const { hash } = (block ?? {}) as { readonly hash?: unknown } // any JSON object has this shape
    return Hex.isHex(hash, 64) ? Hash.from(hash) : null
  } catch (error) {
    if (error instanceof RpcError) return null
    throw error
  }
}
