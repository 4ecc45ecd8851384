import { Hex } from '../../eth/index.ts'
import type { Hash } from '../../eth/index.ts'
import type { BatchOperation, BatchRecord, BatchTransaction, CallFailure, CallsReceipt, Inclusion, StatusCode } from './batchrecord.ts'

/** The result of wallet_getCallsStatus (EIP-5792). */
export interface CallsStatus {
  readonly version: '2.0.0'
  readonly id: string
  readonly chainId: Hex
  readonly status: StatusCode
  readonly atomic: boolean
  /** receipts of the included transactions, by nonce; absent: none is included */
  readonly receipts?: readonly CallsReceipt[]
  readonly capabilities: {
    readonly status: StatusDetail
    /** absent: the batch is not sponsored */
    readonly userOperation?: OperationDetail
  }
}

/** The user operation of a sponsored batch. */
interface OperationDetail {
  readonly userOpHash: Hash
  /** whether this operation succeeded, not its bundle; null: it is in no block, sealed or pre-confirmed */
  readonly success: boolean | null
  /** revert reason as the bundler reports it; null: it succeeded, or no reason was reported */
  readonly reason: string | null
}

/** Detail beyond the status code, for programs. */
interface StatusDetail {
  /** state of all included transactions: `sealed` if every one is in a sealed block */
  readonly confirmation: 'none' | 'preconfirmed' | 'sealed'
  /** null: no failure so far */
  readonly reason: StatusReason | null
  /** the reason as a sentence */
  readonly message: string | null
  /** by call, in the order of the request */
  readonly calls: readonly CallOutcome[]
}

/**
 * `reverted`: all included calls failed. `partly`: some calls succeeded, others did not. `retracted`: a pre-confirmation was reverted, and it waits again.
 * `refused`: the node accepted the first transactions of the batch, but not this one. `dropped`: the node has lost it. `replaced`: another transaction
 * has used its nonce.
 */
export type StatusReason = 'reverted' | 'partly' | 'retracted' | 'refused' | 'dropped' | 'replaced'

export interface CallOutcome {
  readonly outcome: 'pending' | 'success' | 'reverted' | 'refused' | 'dropped' | 'replaced'
  /** null: the user operation is in no included bundle yet */
  readonly transactionHash: Hash | null
  /** failure of the call that reverted, or that made the batch revert; absent: it did not fail, or the chain cannot report the reason */
  readonly failure?: Pick<CallFailure, 'reason' | 'data'>
}

/** Returns the status of a batch. `confirmation`: from when on an included batch is 200. */
export function statusOf(record: BatchRecord, confirmation: 'preconfirmed' | 'sealed'): CallsStatus {
  const parts = partsOf(record)
  const isVoid = record.transactions.some(({ isPreparation, inclusion }) => isPreparation && inclusion.kind === 'never')
  const inclusions = parts.map(({ inclusion }) => (isVoid ? asFailed(inclusion) : inclusion))
  const receipts = inclusions.flatMap((inclusion) => (inclusion.kind === 'included' ? [inclusion.receipt] : []))
  const status = codeOf(inclusions, confirmation)
  return {
    version: '2.0.0',
    id: record.id,
    chainId: Hex.fromQuantity(record.chainId),
    status,
    atomic: record.atomic,
    ...(receipts.length === 0 ? {} : { receipts }),
    capabilities: {
      status: {
        confirmation: confirmationOf(inclusions),
        ...reasonOf(status, inclusions),
        calls: outcomes(record, parts, inclusions),
      },
      ...(record.operation === null ? {} : { userOperation: operationDetail(record.operation) }),
    },
  }
}

/** The transactions that execute the calls, or the operation. */
function partsOf({ transactions, operation }: BatchRecord): readonly (BatchTransaction | BatchOperation)[] {
  return operation === null ? transactions.filter(({ isPreparation }) => !isPreparation) : [operation]
}

function operationDetail({ hash, inclusion }: BatchOperation): OperationDetail {
  if (inclusion.kind !== 'included') return { userOpHash: hash, success: null, reason: null }
  return { userOpHash: hash, success: isSuccess(inclusion), reason: inclusion.reason ?? null }
}

function codeOf(inclusions: readonly Inclusion[], confirmation: 'preconfirmed' | 'sealed'): StatusCode {
  const isPending = (inclusion: Inclusion) =>
    inclusion.kind === 'waiting' || (inclusion.kind === 'included' && !inclusion.isSealed && confirmation === 'sealed')
  if (inclusions.some(isPending)) return 100
  const successes = inclusions.filter(isSuccess).length
  if (successes === inclusions.length) return 200
  if (successes > 0) return 600
  return inclusions.some(({ kind }) => kind === 'included') ? 500 : 400
}

function isSuccess(inclusion: Inclusion): boolean {
  return inclusion.kind === 'included' && BigInt(inclusion.receipt.status) === 1n
}

function confirmationOf(inclusions: readonly Inclusion[]): StatusDetail['confirmation'] {
  const included = inclusions.filter((inclusion) => inclusion.kind === 'included')
  if (included.length === 0) return 'none'
  return included.every(({ isSealed }) => isSealed) ? 'sealed' : 'preconfirmed'
}

function reasonOf(status: StatusCode, inclusions: readonly Inclusion[]): Pick<StatusDetail, 'reason' | 'message'> {
  const never = inclusions.find((inclusion) => inclusion.kind === 'never')
  if (status === 400 && never !== undefined) return { reason: never.reason, message: never.message }
  if (status === 500) return { reason: 'reverted', message: revertedMessage(inclusions) }
  if (status === 600) {
    const done = inclusions.filter(isSuccess).length
    const why = never === undefined ? '' : `: ${never.message}`
    return { reason: 'partly', message: `${done} of ${inclusions.length} calls succeeded${why}` }
  }
  if (status === 100 && inclusions.some((inclusion) => inclusion.kind === 'waiting' && inclusion.isRetracted)) {
    return { reason: 'retracted', message: 'the chain reverted its pre-confirmation; the batch waits to be included again' }
  }
  return { reason: null, message: null }
}

/** Names the failing call of an atomic batch, in the count of a person. */
function revertedMessage(inclusions: readonly Inclusion[]): string {
  const [only] = inclusions
  const failure = inclusions.length === 1 && only?.kind === 'included' ? only.detail?.failure : null
  if (failure === null || failure === undefined) return 'all calls reverted or ran out of gas, and had no effect'
  if (failure.call === null) return `no call had an effect: ${failure.reason}`
  return `call ${failure.call + 1} failed, so that none had an effect: ${failure.reason}`
}

/** If the delegate was not deployed, the account's transaction succeeds without any effect: report it as failed. */
function asFailed(inclusion: Inclusion): Inclusion {
  return inclusion.kind === 'included' ? { ...inclusion, receipt: { ...inclusion.receipt, status: '0x0' } } : inclusion
}

/** The calls of one transaction or operation share its outcome. */
function outcomes(
  { execution, callCount }: BatchRecord,
  parts: readonly (BatchTransaction | BatchOperation)[],
  inclusions: readonly Inclusion[],
): readonly CallOutcome[] {
  const all = parts.flatMap((part, i) => {
    const inclusion = inclusions[i]
    return inclusion === undefined ? [] : [outcomeOf(part, inclusion)]
  })
  const [only] = all
  if (execution === 'sequential' || only === undefined) return all
  const { failure = null, ...shared } = only
  const [inclusion] = inclusions
  const at = inclusion?.kind === 'included' ? (inclusion.detail?.failure?.call ?? null) : null
  return Array.from({ length: callCount }, (_, i) => (failure !== null && at === i ? only : shared))
}

function outcomeOf(part: BatchTransaction | BatchOperation, inclusion: Inclusion): CallOutcome {
  if (inclusion.kind === 'included') {
    const { receipt, detail } = inclusion
    const { failure = null } = detail ?? {}
    const outcome = { outcome: isSuccess(inclusion) ? 'success' : 'reverted', transactionHash: receipt.transactionHash } as const
    return failure === null ? outcome : { ...outcome, failure: { reason: failure.reason, data: failure.data } }
  }
  const transactionHash = 'raw' in part ? part.hash : null
  return { outcome: inclusion.kind === 'waiting' ? 'pending' : inclusion.reason, transactionHash }
}
