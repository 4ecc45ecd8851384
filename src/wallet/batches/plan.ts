import type { AccessListItem, Address, TransactionFields } from '../../eth/index.ts'
import type { Call } from './call.ts'
import { chainLabel } from '../chains/chain.ts'
import type { WalletChain } from '../chains/chain.ts'
import type { WalletContext } from '../context.ts'
import { KnownRecipients } from '../preview/knownrecipients.ts'
import { describeCalls } from '../preview/describe.ts'
import type { Execution, Sponsored, Unsponsored } from './execution.ts'
import { blockGround, feeView, feesFor, l1FeeOf, sponsoredFeeView } from './fees.ts'
import type { BlockGround, FeeWish, Fees } from './fees.ts'
import { AUTHORIZATION_GAS, accessListGas, deployCall, estimateGas, executeCall, intrinsicGas } from './gas.ts'
import type { GasEstimate } from './gas.ts'
import { previewCalls } from '../preview/preview.ts'
import type { Terms } from '../preview/preview.ts'
import type { BalanceChange, Allowance, Preview, CallView, ChainLabel, FeeView, Warning } from '../question.ts'
import type { Unsent } from './sending.ts'
import { stepsAround } from '../sponsorship/quote.ts'
import type { Quote } from '../sponsorship/quote.ts'
import { warningsOf } from '../preview/warnings.ts'

/** What is to be sent, before anything is known of it. */
export interface Intent {
  readonly chain: WalletChain
  readonly from: Address
  readonly calls: readonly Call[]
  /** of eth_sendTransaction */
  readonly wish: FeeWish & { readonly gas?: bigint | undefined; readonly accessList?: readonly AccessListItem[] | undefined }
}

/** What is to be sent, on the chain as it is now. All of it is approved together. */
export interface Plan extends Intent {
  readonly execution: Execution
  readonly fees: Fees
  readonly gas: GasEstimate
  readonly preview: Preview
  /** null: the account pays */
  readonly sponsoring: Sponsoring | null
  /** why the sponsor that was asked for does not pay; null: it does, or there is none */
  readonly sponsorFailure: string | null
}

/** What somebody else pays for. */
export interface Sponsoring {
  readonly quote: Quote
  /** tokens of which the sponsor takes some from the account */
  readonly taken: readonly Address[]
  /** tokens that the app has named to the sponsor */
  readonly meant: readonly Address[]
}

/** Throws RpcError when the chain does not answer, or for fees that contradict each other. */
export async function planOf(intent: Intent, execution: Unsponsored, sponsorFailure: string | null = null): Promise<Plan> {
  const { chain, from, calls, wish } = intent
  const ground = await blockGround(chain)
  const delegate = execution.kind === 'delegated' ? execution.delegate : null
  const [fees, estimate] = await Promise.all([feesFor(chain, ground, wish), estimateGas(chain, from, calls, execution)])
  const gas = gasWithin(estimate, wish, ground)
  const { gasUsed: _, ...preview } = await previewCalls(chain, { from, calls, delegate, terms: termsOf(intent, execution, gas, fees) })
  return { ...intent, execution, fees, gas, preview, sponsoring: null, sponsorFailure }
}

/** With what its sponsor has signed. Never throws: a chain that does not answer leaves the preview empty. */
export async function sponsoredPlanOf(intent: Intent, execution: Sponsored, quote: Quote, meant: readonly Address[]): Promise<Plan> {
  const { chain, from, calls } = intent
  const { fees, operation } = quote
  const { delegate } = execution
  const limit = operation.callGasLimit + intrinsicGas(executeCall(from, calls, delegate))
  const terms = { limits: [limit], isChosen: calls.some(({ gasLimitOverride }) => gasLimitOverride !== null), fees }
  const plan = { from, calls, delegate, terms, operation: stepsAround(chain, quote, delegate) }
  const { gasUsed: _, taken = [], ...preview } = await previewCalls(chain, plan)
  const gas = { limits: [quote.gas], used: quote.gas }
  return { ...intent, execution, fees, gas, preview, sponsoring: { quote, taken, meant }, sponsorFailure: null }
}

/** What a preview is told of gas: what is left to the calls themselves, in the transactions that are theirs. */
function termsOf({ calls, wish }: Intent, execution: Unsponsored, { limits }: GasEstimate, fees: Fees): Terms {
  const isChosen = wish.gas !== undefined || calls.some(({ gasLimitOverride }) => gasLimitOverride !== null)
  if (execution.kind !== 'delegated') return { limits, isChosen, fees }
  const authorization = execution.upgrade === null ? 0n : AUTHORIZATION_GAS
  return { limits: [(limits.at(-1) ?? 0n) - authorization], isChosen, fees }
}

/** The gas that the app has named, or the estimate, as far as a block allows it. */
function gasWithin(
  { limits, used }: GasEstimate,
  { gas: wanted, accessList = [] }: Intent['wish'],
  { gasLimit }: BlockGround,
): GasEstimate {
  if (wanted !== undefined) return { limits: [wanted], used: used < wanted ? used : wanted }
  const listed = accessListGas(accessList)
  const room = gasLimit > 2n * DEPOSIT_GAS ? gasLimit - DEPOSIT_GAS : gasLimit
  return { limits: limits.map((limit) => (limit + listed > room ? room : limit + listed)), used: used + listed }
}

/** The first transaction of every block of an OP Stack chain may take so much, and none behind it more than the rest. */
const DEPOSIT_GAS = 1_000_000n

/** The transactions of a plan, by nonce; none of one that is sponsored. */
export function unsentOf({ chain, from, calls, execution, fees, gas, wish }: Plan): readonly Unsent[] {
  if (execution.kind === 'sponsored') return []
  const { maxFeePerGas, maxPriorityFeePerGas } = fees
  const accessList = wish.accessList ?? []
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

/** What a question about the plan shows. */
export interface PlanView {
  readonly account: Address
  readonly chain: ChainLabel
  readonly calls: readonly CallView[]
  readonly preview: Preview
  readonly fee: FeeView
  readonly warnings: readonly Warning[]
}

export async function viewOf(wallet: WalletContext, plan: Plan): Promise<PlanView> {
  const { chain, from, calls, preview, sponsoring, sponsorFailure } = plan
  const { keyring } = wallet
  const [views, fee] = await Promise.all([describeCalls(chain, calls, keyring), feeOf(plan)])
  const knownRecipients = KnownRecipients.of(wallet.records, from)
  const { taken = [], meant = [] } = sponsoring ?? {}
  const input = { chain, account: from, calls, views, preview, fee, keyring, knownRecipients, taken, meant, sponsorFailure }
  return { account: from, chain: chainLabel(chain), calls: views, preview, fee, warnings: await warningsOf(input) }
}

/** As the account would have to pay it, the data fee of a rollup included. */
export async function feeOf(plan: Plan): Promise<FeeView> {
  const { chain, from, fees, gas, sponsoring } = plan
  if (sponsoring !== null) return sponsoredFeeView(fees, sponsoring.quote.gas, sponsoring.quote.sponsor)
  const fields = unsentOf(plan).map((unsent) => unsent.fields)
  const limit = gas.limits.reduce((sum, each) => sum + each, 0n)
  return feeView(fees, limit, gas.used, await l1FeeOf(chain, from, fields))
}

/** True when `now` is not what was approved as `then`: another question has to be asked. What was too little already is no news. */
export function isOther(then: Plan, now: Plan): boolean {
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

/** What gas costs by now is the sponsor's affair. */
function isSameSponsor(then: Sponsoring, now: Sponsoring): boolean {
  const [before, after] = [then.quote.sponsor, now.quote.sponsor]
  if (before.host !== after.host || before.paymaster !== after.paymaster || before.name !== after.name) return false
  return now.taken.every((token) => then.taken.includes(token))
}

/**
 * True when the calls now fail though they did not, take or permit what was not shown, bring nothing of what they
 * brought, or nobody can say any more.
 */
export function isWorse(then: Preview, now: Preview): boolean {
  if (then.status === 'unavailable') return false
  // What cannot be looked at any more may be anything: contracts can see to that.
  if (now.status !== 'success') return now.status !== then.status
  if ((now.omitted ?? 0) > (then.omitted ?? 0)) return true
  if (then.changes.some((change) => BigInt(change.amount) > 0n && !now.changes.some((each) => comesStill(each, change)))) return true
  return now.changes.some((change) => takesMore(change, then.changes)) || now.allowances.some((each) => permitsMore(each, then.allowances))
}

/** Prices move: less of it is no news, nothing at all is. */
function comesStill(change: BalanceChange, shown: BalanceChange): boolean {
  return isSameAsset(change, shown) && BigInt(change.amount) > 0n
}

function isSameAsset(a: BalanceChange, b: BalanceChange): boolean {
  return a.asset === b.asset && a.token === b.token && a.tokenId === b.tokenId
}

function takesMore(change: BalanceChange, shown: readonly BalanceChange[]): boolean {
  const amount = BigInt(change.amount)
  if (amount >= 0n) return false
  const before = shown.find((each) => isSameAsset(each, change))
  return before === undefined || amount < BigInt(before.amount)
}

function permitsMore(allowance: Allowance, shown: readonly Allowance[]): boolean {
  const before = shown.find(
    ({ kind, token, tokenId, spender }) =>
      kind === allowance.kind && token === allowance.token && tokenId === allowance.tokenId && spender === allowance.spender,
  )
  if (before === undefined || (before.isSpent && !allowance.isSpent)) return true
  if (before.amount === null) return false
  return allowance.amount === null || BigInt(allowance.amount) > BigInt(before.amount)
}
