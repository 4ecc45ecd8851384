import { Hex } from '../../eth/index.ts'
import type { Hash } from '../../eth/index.ts'
import type { BatchOperation, BatchRecord, BatchTransaction, CallsReceipt, Fate, StatusCode } from './batchrecord.ts'

/** The answer of wallet_getCallsStatus (EIP-5792). */
export interface CallsStatus {
  readonly version: '2.0.0'
  readonly id: string
  readonly chainId: Hex
  readonly status: StatusCode
  readonly atomic: boolean
  /** of what is on chain by now, in its order; absent: nothing is */
  readonly receipts?: readonly CallsReceipt[]
  readonly capabilities: {
    readonly status: StatusDetail
    /** of a sponsored batch */
    readonly userOperation?: OperationDetail
  }
}

/** The user operation that all calls of a sponsored batch are. */
export interface OperationDetail {
  readonly userOpHash: Hash
  /** its own, whatever became of the others in its bundle's transaction; null: it is in no block, sealed or pre-confirmed */
  readonly success: boolean | null
  /** why it failed, in the words of its bundler; null: it did not, or nobody said */
  readonly reason: string | null
}

/** What the code does not say, for programs. */
export interface StatusDetail {
  /** of everything that is on chain by now; sealed blocks stay, pre-confirmed transactions nearly always do */
  readonly confirmation: 'none' | 'preconfirmed' | 'sealed'
  /** null: nothing went wrong so far */
  readonly reason: StatusReason | null
  /** the same as one sentence */
  readonly message: string | null
  /** what became of each call, in the order of the request */
  readonly calls: readonly CallOutcome[]
}

/**
 * `reverted`: what is on chain failed. `partly`: some calls succeeded, others did not. `retracted`: it was pre-confirmed, is no more, and waits again.
 * `refused`: the node took the first transactions of the batch, and not this one. `dropped`: the node has lost it. `replaced`: another transaction has its nonce.
 */
export type StatusReason = 'reverted' | 'partly' | 'retracted' | 'refused' | 'dropped' | 'replaced'

export interface CallOutcome {
  readonly outcome: 'pending' | 'success' | 'reverted' | 'refused' | 'dropped' | 'replaced'
  /** null: the user operation is in no bundle yet */
  readonly transactionHash: Hash | null
}

/** What a batch has come to. `confirmation` is when it counts as done. */
export function statusOf(record: BatchRecord, confirmation: 'preconfirmed' | 'sealed'): CallsStatus {
  const parts = partsOf(record)
  const isVoid = record.transactions.some(({ isPreparation, fate }) => isPreparation && fate.kind === 'never')
  const fates = parts.map(({ fate }) => (isVoid ? undone(fate) : fate))
  const receipts = fates.flatMap((fate) => (fate.kind === 'included' ? [fate.receipt] : []))
  const status = codeOf(fates, confirmation)
  return {
    version: '2.0.0',
    id: record.id,
    chainId: Hex.fromQuantity(record.chainId),
    status,
    atomic: record.atomic,
    ...(receipts.length === 0 ? {} : { receipts }),
    capabilities: {
      status: {
        confirmation: confirmationOf(fates),
        ...reasonOf(status, fates),
        calls: outcomes(record, parts, fates),
      },
      ...(record.operation === null ? {} : { userOperation: operationDetail(record.operation) }),
    },
  }
}

/** What the calls are done by. */
function partsOf({ transactions, operation }: BatchRecord): readonly (BatchTransaction | BatchOperation)[] {
  return operation === null ? transactions.filter(({ isPreparation }) => !isPreparation) : [operation]
}

function operationDetail({ hash, fate }: BatchOperation): OperationDetail {
  if (fate.kind !== 'included') return { userOpHash: hash, success: null, reason: null }
  return { userOpHash: hash, success: isSuccess(fate), reason: fate.reason ?? null }
}

function codeOf(fates: readonly Fate[], confirmation: 'preconfirmed' | 'sealed'): StatusCode {
  const isPending = (fate: Fate) => fate.kind === 'waiting' || (fate.kind === 'included' && !fate.isSealed && confirmation === 'sealed')
  if (fates.some(isPending)) return 100
  const successes = fates.filter(isSuccess).length
  if (successes === fates.length) return 200
  if (successes > 0) return 600
  return fates.some(({ kind }) => kind === 'included') ? 500 : 400
}

function isSuccess(fate: Fate): boolean {
  return fate.kind === 'included' && BigInt(fate.receipt.status) === 1n
}

function confirmationOf(fates: readonly Fate[]): StatusDetail['confirmation'] {
  const included = fates.filter((fate) => fate.kind === 'included')
  if (included.length === 0) return 'none'
  return included.every(({ isSealed }) => isSealed) ? 'sealed' : 'preconfirmed'
}

function reasonOf(status: StatusCode, fates: readonly Fate[]): Pick<StatusDetail, 'reason' | 'message'> {
  const never = fates.find((fate) => fate.kind === 'never')
  if (status === 400 && never !== undefined) return { reason: never.reason, message: never.message }
  if (status === 500) return { reason: 'reverted', message: 'what the calls did was undone, all of it: they reverted or ran out of gas' }
  if (status === 600) {
    const done = fates.filter(isSuccess).length
    const why = never === undefined ? '' : `: ${never.message}`
    return { reason: 'partly', message: `${done} of ${fates.length} calls succeeded${why}` }
  }
  if (status === 100 && fates.some((fate) => fate.kind === 'waiting' && fate.isRetracted)) {
    return { reason: 'retracted', message: 'the chain took back what it had pre-confirmed; the batch waits to be included again' }
  }
  return { reason: null, message: null }
}

/** Without its preparation the account ran code that was not there: the transaction succeeds and does nothing. */
function undone(fate: Fate): Fate {
  return fate.kind === 'included' ? { ...fate, receipt: { ...fate.receipt, status: '0x0' } } : fate
}

/** In one transaction or operation all calls share its fate. */
function outcomes(
  { execution, callCount }: BatchRecord,
  parts: readonly (BatchTransaction | BatchOperation)[],
  fates: readonly Fate[],
): readonly CallOutcome[] {
  const all = parts.flatMap((part, i) => {
    const fate = fates[i]
    return fate === undefined ? [] : [outcomeOf(part, fate)]
  })
  const [only] = all
  return execution === 'sequential' || only === undefined ? all : Array.from({ length: callCount }, () => only)
}

function outcomeOf(part: BatchTransaction | BatchOperation, fate: Fate): CallOutcome {
  if (fate.kind === 'included') return { outcome: isSuccess(fate) ? 'success' : 'reverted', transactionHash: fate.receipt.transactionHash }
  const transactionHash = 'raw' in part ? part.hash : null
  return { outcome: fate.kind === 'waiting' ? 'pending' : fate.reason, transactionHash }
}
