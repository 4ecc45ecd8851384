import type { Address, Hash, Hex } from '../../eth/index.ts'
import type { BatchOperation, BatchRecord, BatchTransaction, InclusionDetail, StatusCode } from '../batches/batchrecord.ts'
import { statusOf } from '../batches/status.ts'
import type { CallOutcome, StatusReason } from '../batches/status.ts'
import type { Activity } from './activity.ts'

/** The outcome of approved calls. */
export interface ActivityOutcome {
  /**
   * `signing`: approved, and not accepted by the node yet. `awaiting-batch`: an upgrade whose batch is not sent yet. `sent`: the node has it, or its response was lost.
   * `preconfirmed`, `sealed`: included. `retracted`: was pre-confirmed, and waits again. `not-sent`: the node refused it, or the wallet ended before.
   * `not-included`: it can no longer be. `unknown`: its record was removed for its age, or it is not tracked.
   */
  readonly state: 'signing' | 'awaiting-batch' | 'sent' | 'preconfirmed' | 'sealed' | 'retracted' | 'not-sent' | 'not-included' | 'unknown'
  /** EIP-5792; null without a record */
  readonly status: StatusCode | null
  readonly reason: StatusReason | null
  /** why it failed, as a sentence */
  readonly message: string | null
  /** milliseconds of Unix time; null without a record */
  readonly sentAt: number | null
  /** index of the call that failed; null: none, or no single one */
  readonly failedCall: number | null
  readonly userOpHash: Hash | null
  readonly transactions: readonly SentTransaction[]
  readonly calls: readonly CallOutcome[]
}

/** A transaction, or the bundle of the user operation. */
export interface SentTransaction {
  /** null: the operation is in no bundle */
  readonly hash: Hash | null
  /** null: in no block */
  readonly isSuccess: boolean | null
  readonly blockNumber: Hex | null
  readonly isSealed: boolean
  readonly gasUsed: Hex | null
  /** wei that the account paid; null: a sponsor pays, or it is not known yet */
  readonly fee: Hex | null
  /** wei that the sponsor paid; null: the account pays, or it is not known */
  readonly sponsorFee: Hex | null
  readonly contractAddress: Address | null
  readonly promise: InclusionDetail['promise']
  /** true: deploys the wallet's delegate */
  readonly isPreparation: boolean
}

/** `record`: null without one. `isOld`: the activity is of an earlier process of the wallet. */
export function outcomeOf(
  record: BatchRecord | null,
  { failure, untrackedHash }: Pick<Activity, 'failure' | 'untrackedHash'>,
  isOld: boolean,
): ActivityOutcome {
  if (record === null) {
    if (untrackedHash !== null)
      return {
        ...NOTHING_SENT,
        state: 'unknown',
        message: null,
        transactions: [{ ...NOT_INCLUDED, hash: untrackedHash, isPreparation: false }],
      }
    const state = failure !== null ? 'not-sent' : isOld ? 'unknown' : 'signing'
    return { ...NOTHING_SENT, state, message: failure }
  }
  const { status, capabilities } = statusOf(record, 'preconfirmed')
  const { confirmation, reason, message, calls } = capabilities.status
  const detail = capabilities.userOperation?.reason ?? null
  return {
    state: stateOf(status, confirmation, reason),
    status,
    reason,
    message: failureMessage(record, message) ?? detail,
    sentAt: record.createdAt,
    failedCall: failedCallOf(calls),
    userOpHash: record.operation?.hash ?? null,
    transactions: record.operation === null ? record.transactions.map(sentTransaction) : [sentTransaction(record.operation)],
    calls,
  }
}

/** The outcome of the upgrade that is sent with a batch. An authorization of EIP-7702 takes effect also if the calls revert. */
export function upgradeOutcomeOf(batch: ActivityOutcome): ActivityOutcome {
  if (batch.state === 'signing') return { ...batch, state: 'awaiting-batch' }
  if (batch.status !== 500 && batch.status !== 600) return batch
  return { ...batch, status: 200, reason: null, message: null, failedCall: null, calls: [] }
}

const NOTHING_SENT = {
  status: null,
  reason: null,
  sentAt: null,
  failedCall: null,
  userOpHash: null,
  transactions: [],
  calls: [],
} as const

function stateOf(status: StatusCode, confirmation: 'none' | 'preconfirmed' | 'sealed', reason: StatusReason | null) {
  if (status === 400) return 'not-included'
  if (status === 100) return reason === 'retracted' ? 'retracted' : 'sent'
  return confirmation === 'sealed' ? 'sealed' : 'preconfirmed'
}

/** For a single call the reason is sufficient. */
function failureMessage({ callCount, transactions, operation }: BatchRecord, message: string | null): string | null {
  if (callCount > 1) return message
  const inclusions = [...transactions, ...(operation === null ? [] : [operation])].map(({ inclusion }) => inclusion)
  const failures = inclusions.flatMap((inclusion) => (inclusion.kind === 'included' ? (inclusion.detail?.failure ?? []) : []))
  return failures[0]?.reason ?? message
}

function failedCallOf(calls: readonly CallOutcome[]): number | null {
  const at = calls.findIndex(({ failure }) => failure !== undefined)
  return at === -1 ? null : at
}

function sentTransaction(part: BatchTransaction | BatchOperation): SentTransaction {
  const { inclusion } = part
  const isPreparation = 'raw' in part && part.isPreparation
  if (inclusion.kind !== 'included') {
    const hash = 'raw' in part ? part.hash : null
    return { ...NOT_INCLUDED, hash, isPreparation }
  }
  const { receipt, isSealed, detail, sponsorFee = null } = inclusion
  return {
    hash: receipt.transactionHash,
    isSuccess: BigInt(receipt.status) === 1n,
    blockNumber: receipt.blockNumber,
    isSealed,
    gasUsed: receipt.gasUsed,
    fee: detail?.fee ?? null,
    sponsorFee,
    contractAddress: detail?.contractAddress ?? null,
    promise: detail?.promise ?? null,
    isPreparation,
  }
}

const NOT_INCLUDED = {
  isSuccess: null,
  blockNumber: null,
  isSealed: false,
  gasUsed: null,
  fee: null,
  sponsorFee: null,
  contractAddress: null,
  promise: null,
} as const
