import { Address, Hash } from '../../eth/index.ts'
import type { Hex } from '../../eth/index.ts'
import type { Records } from '../../jsonrpc/index.ts'
import { JsonRecords } from '../../jsonrpc/index.ts'

/** A submitted batch, or a single transaction. Immutable: an update replaces the record. */
export interface BatchRecord {
  readonly id: string
  /** true: one transaction of eth_sendTransaction or of the wallet itself, which has no batch id; `id` is the id of its activity */
  readonly isTransaction: boolean
  readonly origin: string
  readonly from: Address
  readonly chainId: number
  /** true: the id is the wallet's, 32 random bytes */
  readonly isOwnId: boolean
  readonly atomic: boolean
  readonly execution: 'single' | 'sequential' | 'delegated' | 'sponsored'
  readonly callCount: number
  /** Unix time, milliseconds */
  readonly createdAt: number
  /** latest block when the batch was signed: a chain without that block is another chain, or was rewound beyond the batch. null: the node did not return it, or the transaction must not be submitted again */
  readonly anchor: Hash | null
  /** by nonce; empty if the batch is sponsored */
  readonly transactions: readonly BatchTransaction[]
  /** the user operation of a sponsored batch; null: it has transactions */
  readonly operation: BatchOperation | null
  /** status at the last update */
  readonly status: StatusCode
}

/** EIP-5792: 100 pending, 200 confirmed, 400 failed offchain, 500 reverted, 600 partially reverted. */
export type StatusCode = 100 | 200 | 400 | 500 | 600

export interface BatchTransaction {
  readonly hash: Hash
  readonly raw: Hex
  readonly nonce: number
  /** true: deploys the wallet's delegate, and is not a call of the app */
  readonly isPreparation: boolean
  readonly inclusion: Inclusion
}

/** A signed user operation (ERC-4337). */
export interface BatchOperation {
  /** userOpHash, not the hash of the bundle's transaction */
  readonly hash: Hash
  readonly entryPoint: Address
  /** quantity: key (192 bits) and sequence (64 bits) */
  readonly nonce: Hex
  /** parameter of eth_sendUserOperation */
  readonly json: Readonly<Record<string, unknown>>
  /** if included, `receipt` is the receipt of the bundle with the logs and the success of this operation */
  readonly inclusion: Inclusion
}

/** The state of a transaction or user operation on its way into a block. */
export type Inclusion =
  | {
      readonly kind: 'waiting'
      /** true: it was pre-confirmed, and that was reverted */
      readonly isRetracted: boolean
      /** number of times it was submitted again */
      readonly resent: number
    }
  | {
      readonly kind: 'included'
      readonly isSealed: boolean
      readonly receipt: CallsReceipt
      /** revert reason of an operation as its bundler reports it; absent: it succeeded, or no reason was reported */
      readonly reason?: string
      /** wei that the sponsor paid for an operation, as its bundler reports it; absent: a transaction, or not reported */
      readonly sponsorFee?: Hex
      /** absent: the chain has not answered yet, or an earlier version of the wallet wrote the record */
      readonly detail?: InclusionDetail
    }
  | { readonly kind: 'never'; readonly reason: 'refused' | 'dropped' | 'replaced'; readonly message: string }

/** Facts about an included transaction or user operation, beyond its receipt, that the page shows. */
export interface InclusionDetail {
  /** wei that the account paid, with the fee for data of a rollup; null: a sponsor pays */
  readonly fee: Hex | null
  /** the contract that it created */
  readonly contractAddress: Address | null
  /** null: the chain reports no promises, or this was none */
  readonly promise: PromiseDetail | null
  /** null: it succeeded, or the chain has no trace of it */
  readonly failure: CallFailure | null
}

export interface PromiseDetail {
  readonly flashblockIndex: number
  /** milliseconds from the pool to the pre-confirmation */
  readonly afterMs: number
}

/** The call that made a transaction or an operation revert. */
export interface CallFailure {
  /** index in the batch; null: no single call is the cause */
  readonly call: number | null
  /** a sentence */
  readonly reason: string
  /** what the call returned; `0x` if it reverted without data or ran out of gas */
  readonly data: Hex
}

/** EIP-5792 allows exactly these fields. */
export interface CallsReceipt {
  readonly logs: readonly { readonly address: Address; readonly data: Hex; readonly topics: readonly Hash[] }[]
  readonly status: Hex
  /** zero until the block is sealed */
  readonly blockHash: Hash
  readonly blockNumber: Hex
  readonly gasUsed: Hex
  readonly transactionHash: Hash
}

export const BatchRecord = { isOpen, parts, key, put, remove, all }

export const WAITING: Inclusion = { kind: 'waiting', isRetracted: false, resent: 0 }

/** True while a transaction waits, or its block is not sealed. */
function isOpen(record: BatchRecord): boolean {
  return parts(record).some(({ inclusion }) => inclusion.kind === 'waiting' || (inclusion.kind === 'included' && !inclusion.isSealed))
}

/** Returns the transactions and the operation. */
export function parts({ transactions, operation }: BatchRecord): readonly (BatchTransaction | BatchOperation)[] {
  return operation === null ? transactions : [...transactions, operation]
}

/** EIP-5792: an id is unique per sender and app. */
function key({ origin, from, id }: Pick<BatchRecord, 'origin' | 'from' | 'id'>): string {
  return JSON.stringify([origin, from, id])
}

const PREFIX = 'wallet/batch/'

/** The key is short, though an id may have 8,194 characters, and sorts by time. */
function storageKey(record: BatchRecord): string {
  return `${PREFIX}${String(record.createdAt).padStart(15, '0')}/${Hash.ofText(key(record)).slice(2, 34)}`
}

function put(records: Records, record: BatchRecord): void {
  const { transactions, operation } = record
  const stored = { ...record, transactions: transactions.map(toStored), operation: operation === null ? null : toStored(operation) }
  JsonRecords.put(records, storageKey(record), stored)
}

function remove(records: Records, record: BatchRecord): void {
  JsonRecords.put(records, storageKey(record), null)
}

/** Returns all records, oldest first. Reports an unreadable one to `onError` and leaves it out. */
function all(records: Records, onError: (error: unknown) => void): readonly BatchRecord[] {
  return JsonRecords.entries(records, PREFIX).flatMap(([name, value]) => {
    if (isStoredRecord(value)) {
      const { transactions, operation = null, isTransaction = false } = value
      return [
        {
          ...value,
          isTransaction,
          transactions: transactions.map(fromStored),
          operation: operation === null ? null : fromStored(operation),
        },
      ]
    }
    onError(new Error(`the record ${name} is no batch and is left out`))
    return []
  })
}

// --- storage format -----------------------------------------------------------------------------------------------------

/** The stored JSON names `inclusion` `fate`. */
type Stored<T> = Omit<T, 'inclusion'> & { readonly fate: Inclusion }

type StoredRecord = Omit<BatchRecord, 'transactions' | 'operation' | 'isTransaction'> & {
  /** absent in records written before single transactions were kept */
  readonly isTransaction?: boolean
  readonly transactions: readonly Stored<BatchTransaction>[]
  /** absent in records written before batches could be sponsored */
  readonly operation?: Stored<BatchOperation> | null
}

function toStored<T extends { readonly inclusion: Inclusion }>({ inclusion, ...rest }: T) {
  return { ...rest, fate: inclusion }
}

function fromStored<T extends { readonly fate: Inclusion }>({ fate, ...rest }: T) {
  return { ...rest, inclusion: fate }
}

/** Only this file writes these records, so a few fields identify a complete one. */
function isStoredRecord(value: unknown): value is StoredRecord {
  if (typeof value !== 'object' || value === null) return false
  const { id, origin, from, chainId, transactions } = value as Readonly<Record<string, unknown>> // any JSON object has this shape
  const isNamed = typeof id === 'string' && typeof origin === 'string' && Address.isAddress(from)
  return isNamed && typeof chainId === 'number' && Array.isArray(transactions)
}
