import { Address } from '../../eth/index.ts'
import type { Hash } from '../../eth/index.ts'
import type { Records } from '../../jsonrpc/index.ts'
import { JsonRecords } from '../../jsonrpc/index.ts'
import type { AnsweredBy } from '../approvals/approvals.ts'
import { ACTIVITY_BYTES, ACTIVITY_TEXT_CHARS } from '../limits.ts'
import type { Allowance, BalanceChange, CallView, ChainLabel, Question, QuestionKind, TokenLabel, WatchedAsset } from '../question.ts'

/** Something that the wallet permitted, signed or sent. Immutable. */
export interface Activity {
  /** id of its question; random if the wallet's page requested it */
  readonly id: string
  /** `revoke` and `downgrade` come from the wallet's page, the others are approved questions */
  readonly kind: QuestionKind | 'revoke' | 'downgrade'
  readonly origin: string
  readonly method: string
  /** Unix time of the approval, milliseconds */
  readonly at: number
  readonly by: AnsweredBy
  /** null: of a chain, or of the accounts of a connection */
  readonly account: Address | null
  /** accounts of a connection, the selected one first */
  readonly accounts: readonly Address[]
  readonly chain: ChainLabel | null
  /** the calls; long ones without arguments, longer ones also without data, and the longest only the first */
  readonly calls: readonly CallView[]
  /** number of further calls */
  readonly omittedCalls: number
  /** balance changes as simulated before the approval */
  readonly changes: readonly BalanceChange[]
  readonly allowances: readonly Allowance[]
  /** name or host of the sponsor; null: the account pays */
  readonly sponsor: string | null
  /** id of the record of what was sent, of an upgrade the batch that needs it; null: nothing is sent */
  readonly batchId: string | null
  /** hash of a transaction that was sent and is not tracked; null: it is tracked, or none was sent */
  readonly untrackedHash: Hash | null
  readonly signature: SignatureActivity | null
  /** token of wallet_watchAsset */
  readonly asset: WatchedAsset | null
  /** only for an upgrade: the account's new code */
  readonly delegate: { readonly address: Address; readonly name: string } | null
  /** why it was not sent although it was approved; null: it was, or nothing is to be sent */
  readonly failure: string | null
}

interface SignatureActivity {
  readonly scheme: 'personal_sign' | 'eth_signTypedData_v4'
  readonly digest: Hash
  /** the message, or the primary type of typed data, cut to ACTIVITY_TEXT_CHARS */
  readonly text: string
  /** what was signed; null: a message, or longer than ACTIVITY_BYTES */
  readonly typedData: unknown
  /** as in the question; absent: none */
  readonly tokens?: readonly TokenLabel[]
}

export const Activity = { ofQuestion, ofCall, put, remove, all }

const NOTHING = {
  account: null,
  accounts: [],
  chain: null,
  calls: [],
  omittedCalls: 0,
  changes: [],
  allowances: [],
  sponsor: null,
  batchId: null,
  untrackedHash: null,
  signature: null,
  asset: null,
  delegate: null,
  failure: null,
} as const

/** Returns the activity of an approved question. `accounts`: those chosen in a connect question. */
function ofQuestion(question: Question, accounts: readonly Address[] | null, by: AnsweredBy, at: number): Activity {
  const { id, kind, origin, method } = question
  const base = { ...NOTHING, id, kind, origin, method, at, by }
  switch (question.kind) {
    case 'connect':
      return { ...base, chain: question.chain, accounts: accounts ?? [] }
    case 'sign':
      return { ...base, account: question.account, chain: question.chain, signature: signatureOf(question) }
    case 'send':
    case 'batch': {
      const { account, chain, calls, preview, fee } = question
      const { changes, allowances } = preview
      const sponsor = fee.sponsor === null ? null : (fee.sponsor.name ?? fee.sponsor.host)
      const batchId = question.kind === 'batch' ? question.batchId : id
      return { ...base, account, chain, ...shortened(calls), changes, allowances, sponsor, batchId }
    }
    case 'upgrade': {
      const { account, chain, delegate, delegateName, batchId } = question
      return { ...base, account, chain, delegate: { address: delegate, name: delegateName }, batchId }
    }
    case 'addChain': {
      const { chainId, chainName, nativeCurrency, blockExplorerUrls } = question.proposed
      const { symbol, decimals } = nativeCurrency
      return { ...base, chain: { chainId, name: chainName, symbol, decimals, explorerUrl: blockExplorerUrls[0] ?? null } }
    }
    case 'switchChain':
      return { ...base, chain: question.to }
    case 'watchAsset':
      return { ...base, chain: question.chain, asset: question.asset }
    default:
      return question satisfies never
  }
}

/** Returns the activity of a transaction that the wallet's page requested. */
function ofCall(
  sent: Pick<Activity, 'id' | 'kind' | 'origin' | 'method' | 'at'> & {
    readonly account: Address
    readonly chain: ChainLabel
    readonly calls: readonly CallView[]
  },
): Activity {
  return { ...NOTHING, ...sent, by: 'manual', batchId: sent.id }
}

function signatureOf({
  scheme,
  digest,
  text,
  message,
  typedData,
  tokens,
}: Extract<Question, { readonly kind: 'sign' }>): SignatureActivity {
  const { primaryType } = (typedData ?? {}) as { readonly primaryType?: unknown } // any value but null has this shape
  const shown = scheme === 'personal_sign' ? (text ?? message ?? '') : String(primaryType)
  const isShort = typedData !== null && JSON.stringify([typedData, tokens]).length <= ACTIVITY_BYTES
  const named = isShort && tokens !== undefined ? { tokens } : {}
  return { scheme, digest, text: shown.slice(0, ACTIVITY_TEXT_CHARS), typedData: isShort ? typedData : null, ...named }
}

/** Leaves out what makes the calls longer than ACTIVITY_BYTES: first arguments, then data, then the last calls. */
function shortened(calls: readonly CallView[]): Pick<Activity, 'calls' | 'omittedCalls'> {
  const withoutData: readonly CallView[] = calls.map((call) => ({ ...call, args: null, data: '0x' }))
  const steps = [calls, calls.map((call) => ({ ...call, args: null })), ...calls.map((_, i) => withoutData.slice(0, calls.length - i))]
  const kept = steps.find((step) => JSON.stringify(step).length <= ACTIVITY_BYTES) ?? []
  return { calls: kept, omittedCalls: calls.length - kept.length }
}

// --- storage --------------------------------------------------------------------------------------------------------------

const PREFIX = 'wallet/activity/'

/** Sorts by time. */
function storageKey({ at, id }: Activity): string {
  return `${PREFIX}${String(at).padStart(15, '0')}/${id}`
}

function put(records: Records, activity: Activity): void {
  JsonRecords.put(records, storageKey(activity), activity)
}

function remove(records: Records, activity: Activity): void {
  JsonRecords.put(records, storageKey(activity), null)
}

/** Returns all, oldest first. Reports an unreadable one to `onError` and leaves it out. */
function all(records: Records, onError: (error: unknown) => void): readonly Activity[] {
  return JsonRecords.entries(records, PREFIX).flatMap(([name, value]) => {
    if (isActivity(value)) return [{ ...NOTHING, ...value }]
    onError(new Error(`the record ${name} is no activity and is left out`))
    return []
  })
}

/** Only this file writes these records, so a few fields identify a complete one. */
function isActivity(value: unknown): value is Activity {
  if (typeof value !== 'object' || value === null) return false
  const { id, kind, origin, at, account } = value as Readonly<Record<string, unknown>> // any JSON object has this shape
  const isNamed = typeof id === 'string' && typeof kind === 'string' && typeof origin === 'string' && typeof at === 'number'
  return isNamed && (account === null || Address.isAddress(account))
}
