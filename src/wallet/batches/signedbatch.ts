import { Hash, Hex } from '../../eth/index.ts'
import type { Transaction } from '../../eth/index.ts'
import { RpcError } from '../../jsonrpc/index.ts'
import { WAITING } from './batchrecord.ts'
import type { BatchRecord } from './batchrecord.ts'
import type { WalletChain } from '../chains/chain.ts'
import { operationRecord } from './operationtracker.ts'
import type { SentOperation } from './operationtracker.ts'

/** A batch to submit. */
export interface SignedBatch extends Pick<BatchRecord, 'id' | 'isOwnId' | 'origin' | 'from' | 'atomic' | 'execution' | 'callCount'> {
  readonly chain: WalletChain
  /** signed, by nonce; empty if the batch is sponsored */
  readonly transactions: readonly { readonly transaction: Transaction; readonly isPreparation: boolean }[]
  /** null or absent: the batch is not sponsored */
  readonly operation?: SentOperation | null
  /** see BatchRecord; default: false */
  readonly isTransaction?: boolean
}

/** Returns the record to store before the batch is sent. */
export async function toBatchRecord(batch: SignedBatch, createdAt: number): Promise<BatchRecord> {
  const { chain, transactions, operation = null, isTransaction = false, ...rest } = batch
  return {
    ...rest,
    isTransaction,
    chainId: chain.chainId,
    createdAt,
    anchor: await latestBlockHash(chain),
    transactions: transactions.map(({ transaction: { hash, raw, nonce }, isPreparation }) => ({
      hash,
      raw: Hex.fromBytes(raw),
      nonce: Number(nonce),
      isPreparation,
      inclusion: WAITING,
    })),
    operation: operation === null ? null : operationRecord(operation),
    status: 100,
  }
}

/** Returns 32 random bytes. The id is a secret: any caller that has it may read the status of the batch. */
export function randomBatchId(): Hex {
  return Hex.fromBytes(globalThis.crypto.getRandomValues(new Uint8Array(32)))
}

/** Null: the node refused; the batch is then never submitted again. */
async function latestBlockHash({ rpc }: WalletChain): Promise<Hash | null> {
  try {
    const block = await rpc.request({ method: 'eth_getBlockByNumber', params: ['latest', false] })
    const { hash } = (block ?? {}) as { readonly hash?: unknown } // any JSON object has this shape
    return Hex.isHex(hash, 64) ? Hash.from(hash) : null
  } catch (error) {
    if (error instanceof RpcError) return null
    throw error
  }
}
