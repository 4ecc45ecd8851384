import { Address, Hash } from '../../eth/index.ts'
import type { Hex } from '../../eth/index.ts'
import type { Records } from '../../jsonrpc/index.ts'
import { JsonRecords } from '../../jsonrpc/index.ts'

/** A batch that was submitted, as it is kept: JSON as it stands. Never changed, only replaced. */
export interface BatchRecord {
  readonly id: string
  readonly origin: string
  readonly from: Address
  readonly chainId: number
  /** the wallet made the id, and nobody can guess it */
  readonly isOwnId: boolean
  readonly atomic: boolean
  readonly execution: 'single' | 'sequential' | 'delegated' | 'sponsored'
  readonly callCount: number
  /** Unix time, milliseconds */
  readonly createdAt: number
  /** the newest sealed block when it was signed: a chain without it is another one, or went back behind the batch */
  readonly anchor: Hash | null
  /** by nonce; of a sponsored batch there are none: a bundler sends its operation */
  readonly transactions: readonly BatchTransaction[]
  /** what all calls of a sponsored batch are; null: it has transactions */
  readonly operation: BatchOperation | null
  /** as it was told last */
  readonly status: StatusCode
}

/** 100 pending, 200 done, 400 will never be on chain, 500 reverted, 600 done in part (EIP-5792). */
export type StatusCode = 100 | 200 | 400 | 500 | 600

export interface BatchTransaction {
  readonly hash: Hash
  readonly raw: Hex
  readonly nonce: number
  /** true: puts our delegate's code on the chain, and is no part of what the app asked for */
  readonly isPreparation: boolean
  readonly fate: Fate
}

/** A user operation (ERC-4337), signed. */
export interface BatchOperation {
  /** its own, of which no block knows: its bundle's transaction has another one */
  readonly hash: Hash
  readonly entryPoint: Address
  /** quantity: key and sequence */
  readonly nonce: Hex
  /** as eth_sendUserOperation takes it */
  readonly json: Readonly<Record<string, unknown>>
  /** of an included one: `receipt` is its bundle's, with the operation's own logs and success */
  readonly fate: Fate
}

/** What became of a transaction or an operation. */
export type Fate =
  | {
      readonly kind: 'waiting'
      /** it was pre-confirmed before, and that was taken back */
      readonly isRetracted: boolean
      /** how often it was sent once more */
      readonly resent: number
    }
  | {
      readonly kind: 'included'
      readonly isSealed: boolean
      readonly receipt: CallsReceipt
      /** why an operation failed, in the words of its bundler; absent: it did not, or nobody said */
      readonly reason?: string
    }
  | { readonly kind: 'never'; readonly reason: 'refused' | 'dropped' | 'replaced'; readonly message: string }

/** EIP-5792: exactly these fields. */
export interface CallsReceipt {
  readonly logs: readonly { readonly address: Address; readonly data: Hex; readonly topics: readonly Hash[] }[]
  readonly status: Hex
  /** 32 zero bytes until the block is sealed */
  readonly blockHash: Hash
  readonly blockNumber: Hex
  readonly gasUsed: Hex
  readonly transactionHash: Hash
}

export const BatchRecord = { isOpen, parts, key, put, remove, all }

export const WAITING: Fate = { kind: 'waiting', isRetracted: false, resent: 0 }

/** True while something can still become of it. */
function isOpen(record: BatchRecord): boolean {
  return parts(record).some(({ fate }) => fate.kind === 'waiting' || (fate.kind === 'included' && !fate.isSealed))
}

/** Everything that has a fate. */
function parts({ transactions, operation }: BatchRecord): readonly (BatchTransaction | BatchOperation)[] {
  return operation === null ? transactions : [...transactions, operation]
}

/** EIP-5792: an id is unique per sender and app. */
function key({ origin, from, id }: Pick<BatchRecord, 'origin' | 'from' | 'id'>): string {
  return JSON.stringify([origin, from, id])
}

const PREFIX = 'wallet/batch/'

/** Ids may be long; the record's name is not. Beginning with the time, they lie in their order. */
function place(record: BatchRecord): string {
  return `${PREFIX}${String(record.createdAt).padStart(15, '0')}/${Hash.ofText(key(record)).slice(2, 34)}`
}

function put(records: Records, record: BatchRecord): void {
  JsonRecords.put(records, place(record), record)
}

function remove(records: Records, record: BatchRecord): void {
  JsonRecords.put(records, place(record), null)
}

/** Oldest first. What is not readable is told to `onError` and left out. */
function all(records: Records, onError: (error: unknown) => void): readonly BatchRecord[] {
  return JsonRecords.entries(records, PREFIX).flatMap(([name, value]) => {
    // Those from before there were sponsors say nothing of an operation.
    if (isRecord(value)) return [{ ...value, operation: value.operation ?? null }]
    onError(new Error(`the record ${name} is no batch and is left out`))
    return []
  })
}

/** Only this file writes such records: what tells that one is whole is enough. */
function isRecord(value: unknown): value is BatchRecord {
  if (typeof value !== 'object' || value === null) return false
  const { id, origin, from, chainId, transactions } = value as Readonly<Record<string, unknown>> // any JSON object has this shape
  const isNamed = typeof id === 'string' && typeof origin === 'string' && Address.isAddress(from)
  return isNamed && typeof chainId === 'number' && Array.isArray(transactions)
}
