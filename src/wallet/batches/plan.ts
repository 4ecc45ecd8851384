import type { AccessListItem, Address, TransactionFields } from '../../eth/index.ts'
import type { Call } from './call.ts'
import { chainLabel } from '../chains/chain.ts'
import type { WalletChain } from '../chains/chain.ts'
import type { WalletContext } from '../context.ts'
import { KnownRecipients } from '../preview/knownrecipients.ts'
import { describeCalls } from '../preview/describe.ts'
import type { Execution, Sponsored, Unsponsored } from './execution.ts'
import { latestBlock, feeView, feesFor, l1FeeOf, sponsoredFeeView } from './fees.ts'
import type { LatestBlock, RequestedFees, Fees } from './fees.ts'
import { AUTHORIZATION_GAS, accessListGas, deployCall, estimateGas, executeCall, intrinsicGas } from './gas.ts'
import type { GasEstimate } from './gas.ts'
import { previewCalls } from '../preview/preview.ts'
import type { Terms } from '../preview/preview.ts'
import type { Allowance, BalanceChange, FeeView, Preview } from '../question.ts'
import type { UnsignedTransaction } from './transactions.ts'
import { operationSteps } from '../sponsorship/quote.ts'
import type { Quote } from '../sponsorship/quote.ts'
import { warningsOf } from '../preview/warnings.ts'

/** Calls to send, before the chain is read. */
export interface Intent {
  readonly chain: WalletChain
  readonly from: Address
  readonly calls: readonly Call[]
  /** fields of eth_sendTransaction; empty for a batch */
  readonly requested: RequestedFees & { readonly gas?: bigint | undefined; readonly accessList?: readonly AccessListItem[] | undefined }
}

/** The transactions or the operation that send the calls in the current state of the chain. A user approves all of them together. */
export interface Plan extends Intent {
  readonly execution: Execution
  readonly fees: Fees
  readonly gas: GasEstimate
  readonly preview: Preview
  /** null: the account pays */
  readonly sponsoring: Sponsoring | null
  /** why the requested sponsor does not pay; null: it does, or none was requested */
  readonly sponsorFailure: string | null
}

/** The sponsor's part of a plan. */
interface Sponsoring {
  readonly quote: Quote
  /** tokens that the sponsor transfers from the account */
  readonly taken: readonly Address[]
  /** tokens that the app names in the sponsor's context */
  readonly meant: readonly Address[]
}

/** Plans calls that the account pays for. Throws RpcError if the chain does not respond, or for fees that contradict each other. */
export async function planOf(intent: Intent, execution: Unsponsored, sponsorFailure: string | null = null): Promise<Plan> {
  const { chain, from, calls, requested } = intent
  const block = await latestBlock(chain)
  const delegate = execution.kind === 'delegated' ? execution.delegate : null
  const [fees, estimate] = await Promise.all([feesFor(chain, block, requested), estimateGas(chain, from, calls, execution)])
  const gas = gasWithin(estimate, requested, block)
  const { gasUsed: _, ...preview } = await previewCalls(chain, { from, calls, delegate, terms: termsOf(intent, execution, gas, fees) })
  return { ...intent, execution, fees, gas, preview, sponsoring: null, sponsorFailure }
}

/** Plans calls that a sponsor pays for. Never throws: if the chain does not respond the preview is empty. */
export async function sponsoredPlanOf(intent: Intent, execution: Sponsored, quote: Quote, meant: readonly Address[]): Promise<Plan> {
  const { chain, from, calls } = intent
  const { fees, operation } = quote
  const { delegate } = execution
  const limit = operation.callGasLimit + intrinsicGas(executeCall(from, calls, delegate))
  const terms = { limits: [limit], isChosen: calls.some(({ gasLimitOverride }) => gasLimitOverride !== null), fees }
  const plan = { from, calls, delegate, terms, operation: operationSteps(chain, quote, delegate) }
  const { gasUsed: _, taken = [], ...preview } = await previewCalls(chain, plan)
  const gas = { limits: [quote.gas], used: quote.gas }
  return { ...intent, execution, fees, gas, preview, sponsoring: { quote, taken, meant }, sponsorFailure: null }
}

/** The preview's gas: the limits of the transactions that execute the calls, without the authorization's part. */
function termsOf({ calls, requested }: Intent, execution: Unsponsored, { limits }: GasEstimate, fees: Fees): Terms {
  const isChosen = requested.gas !== undefined || calls.some(({ gasLimitOverride }) => gasLimitOverride !== null)
  if (execution.kind !== 'delegated') return { limits, isChosen, fees }
  const authorization = execution.upgrade === null ? 0n : AUTHORIZATION_GAS
  return { limits: [(limits.at(-1) ?? 0n) - authorization], isChosen, fees }
}

/** Returns the gas that the app requests, or the estimate with the access list, capped by the block. */
function gasWithin(
  { limits, used }: GasEstimate,
  { gas: wanted, accessList = [] }: Intent['requested'],
  { gasLimit }: LatestBlock,
): GasEstimate {
  if (wanted !== undefined) return { limits: [wanted], used: used < wanted ? used : wanted }
  const listed = accessListGas(accessList)
  const room = gasLimit > 2n * DEPOSIT_GAS ? gasLimit - DEPOSIT_GAS : gasLimit
  return { limits: limits.map((limit) => (limit + listed > room ? room : limit + listed)), used: used + listed }
}

/** OP Stack: gas limit of the deposit that begins each block; other transactions must fit into the rest. */
const DEPOSIT_GAS = 1_000_000n

/** Returns the transactions of a plan, by nonce; none if it is sponsored. */
export function unsignedTransactions({ chain, from, calls, execution, fees, gas, requested }: Plan): readonly UnsignedTransaction[] {
  if (execution.kind === 'sponsored') return []
  const { maxFeePerGas, maxPriorityFeePerGas } = fees
  const accessList = requested.accessList ?? []
  const type = fees.type === 0 && accessList.length > 0 ? 1 : fees.type
  const fieldsOf = ({ to, value, data }: Call, at: number): TransactionFields => {
    const limit = gas.limits[at] ?? 0n // there is one for each
    return { type, chainId: chain.chainId, to, value, data, gas: limit, accessList, maxFeePerGas, maxPriorityFeePerGas }
  }
  if (execution.kind !== 'delegated') {
    return calls.map((call, at) => ({ fields: fieldsOf(call, at), isUpgrade: false, isPreparation: false }))
  }
  const { delegate, upgrade } = execution
  const preparations = upgrade?.deploys === true ? [{ fields: fieldsOf(deployCall(), 0), isUpgrade: false, isPreparation: true }] : []
  const execute = fieldsOf(executeCall(from, calls, delegate), preparations.length)
  return [...preparations, { fields: execute, isUpgrade: upgrade !== null, isPreparation: false }]
}

/** Returns the part of a plan that its question shows. */
export async function questionView(wallet: WalletContext, plan: Plan) {
  const { chain, from, calls, preview, sponsoring, sponsorFailure } = plan
  const { keyring } = wallet
  const [views, fee] = await Promise.all([describeCalls(chain, from, calls, keyring), feeViewOf(plan)])
  const knownRecipients = KnownRecipients.of(wallet.records, from)
  const { taken = [], meant = [] } = sponsoring ?? {}
  const input = { chain, account: from, calls, views, preview, fee, keyring, knownRecipients, taken, meant, sponsorFailure }
  return { account: from, chain: chainLabel(chain), calls: views, preview, fee, warnings: await warningsOf(input) }
}

/** Returns the cost of the plan for the account, with the L1 data fee of an OP Stack chain. */
export async function feeViewOf(plan: Plan): Promise<FeeView> {
  const { chain, from, fees, gas, sponsoring } = plan
  if (sponsoring !== null) return sponsoredFeeView(fees, sponsoring.quote.gas, sponsoring.quote.sponsor)
  const fields = unsignedTransactions(plan).map((unsent) => unsent.fields)
  const limit = gas.limits.reduce((sum, each) => sum + each, 0n)
  return feeView(fees, limit, gas.used, await l1FeeOf(chain, from, fields))
}

/** True if `now` differs from what was approved as `then`, so that it needs another approval. A limit that was too low before does not count. */
export function hasChanged(then: Plan, now: Plan): boolean {
  if (!isSameExecution(then.execution, now.execution)) return true
  if (then.sponsoring !== null && now.sponsoring !== null) {
    return !isSameSponsor(then.sponsoring, now.sponsoring) || isWorse(then.preview, now.preview)
  }
  const cap = then.fees.maxFeePerGas
  if ((now.fees.baseFee ?? 0n) > cap && (then.fees.baseFee ?? 0n) <= cap) return true
  const limit = then.gas.limits.reduce((sum, each) => sum + each, 0n)
  if (now.gas.used > limit && then.gas.used <= limit) return true
  return isWorse(then.preview, now.preview)
}

function isSameExecution(then: Execution, now: Execution): boolean {
  return JSON.stringify(then) === JSON.stringify(now) // plain values in one order
}

/** Gas prices do not count: the sponsor pays them. */
function isSameSponsor(then: Sponsoring, now: Sponsoring): boolean {
  const [before, after] = [then.quote.sponsor, now.quote.sponsor]
  if (before.host !== after.host || before.paymaster !== after.paymaster || before.name !== after.name) return false
  return now.taken.every((token) => then.taken.includes(token))
}

/**
 * True if the calls now fail though they succeeded, spend or allow more than was shown, receive nothing of an asset that was shown, or can no
 * longer be simulated.
 */
export function isWorse(then: Preview, now: Preview): boolean {
  if (then.status === 'unavailable') return false
  // A contract can prevent its simulation, so `unavailable` counts as a change.
  if (now.status !== 'success') return now.status !== then.status
  if ((now.omitted ?? 0) > (then.omitted ?? 0)) return true
  if (then.changes.some((change) => BigInt(change.amount) > 0n && !now.changes.some((each) => stillReceives(each, change)))) return true
  return now.changes.some((change) => spendsMore(change, then.changes)) || now.allowances.some((each) => allowsMore(each, then.allowances))
}

/** Prices change, so a smaller amount does not count, but none at all does. */
function stillReceives(change: BalanceChange, shown: BalanceChange): boolean {
  return isSameAsset(change, shown) && BigInt(change.amount) > 0n
}

function isSameAsset(a: BalanceChange, b: BalanceChange): boolean {
  return a.asset === b.asset && a.token === b.token && a.tokenId === b.tokenId
}

function spendsMore(change: BalanceChange, shown: readonly BalanceChange[]): boolean {
  const amount = BigInt(change.amount)
  if (amount >= 0n) return false
  const before = shown.find((each) => isSameAsset(each, change))
  return before === undefined || amount < BigInt(before.amount)
}

function allowsMore(allowance: Allowance, shown: readonly Allowance[]): boolean {
  const before = shown.find(
    ({ kind, token, tokenId, spender }) =>
      kind === allowance.kind && token === allowance.token && tokenId === allowance.tokenId && spender === allowance.spender,
  )
  if (before === undefined || (before.isSpent && !allowance.isSpent)) return true
  if (before.amount === null) return false
  return allowance.amount === null || BigInt(allowance.amount) > BigInt(before.amount)
}
