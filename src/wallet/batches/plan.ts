import type { AccessListItem, Address, TransactionFields } from '../../eth/index.ts'
import type { Call } from './call.ts'
import { chainLabel } from '../chains/chain.ts'
import type { WalletChain } from '../chains/chain.ts'
import type { WalletContext } from '../context.ts'
import { describeCalls } from '../preview/describe.ts'
import type { Execution } from './execution.ts'
import { blockGround, feeView, feesFor, l1FeeOf } from './fees.ts'
import type { BlockGround, FeeWish, Fees } from './fees.ts'
import { accessListGas, deployCall, estimateGas, executeCall } from './gas.ts'
import type { GasEstimate } from './gas.ts'
import { previewCalls } from '../preview/preview.ts'
import type { BalanceChange, Allowance, Preview, CallView, ChainLabel, FeeView, Warning } from '../question.ts'
import type { Unsent } from './sending.ts'
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
}

/** Throws RpcError when the chain does not answer, or for fees that contradict each other. */
export async function planOf(intent: Intent, execution: Execution): Promise<Plan> {
  const { chain, from, calls, wish } = intent
  const ground = await blockGround(chain)
  const delegate = execution.kind === 'delegated' ? execution.delegate : null
  const [fees, estimate, { gasUsed: _, ...preview }] = await Promise.all([
    feesFor(chain, ground, wish),
    estimateGas(chain, from, calls, execution),
    previewCalls(chain, { from, calls, delegate }),
  ])
  return { ...intent, execution, fees, gas: gasWithin(estimate, wish, ground), preview }
}

/** The gas that the app has named, or the estimate, as far as a block allows it. */
function gasWithin(
  { limits, used }: GasEstimate,
  { gas: wanted, accessList = [] }: Intent['wish'],
  { gasLimit }: BlockGround,
): GasEstimate {
  if (wanted !== undefined) return { limits: [wanted], used: used < wanted ? used : wanted }
  const listed = accessListGas(accessList)
  return { limits: limits.map((limit) => (limit + listed > gasLimit ? gasLimit : limit + listed)), used: used + listed }
}

/** The transactions of a plan, by nonce. */
export function unsentOf({ chain, from, calls, execution, fees, gas, wish }: Plan): readonly Unsent[] {
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
  const { chain, from, calls, preview, fees, gas } = plan
  const fields = unsentOf(plan).map((unsent) => unsent.fields)
  const [views, l1Fee] = await Promise.all([describeCalls(chain, calls, wallet.keyring), l1FeeOf(chain, from, fields)])
  const limit = gas.limits.reduce((sum, each) => sum + each, 0n)
  const fee = feeView(fees, limit, gas.used, l1Fee)
  const warnings = await warningsOf({ chain, account: from, calls, views, preview, fee, keyring: wallet.keyring })
  return { account: from, chain: chainLabel(chain), calls: views, preview, fee, warnings }
}

/** True when `now` is not what was approved as `then`: another question has to be asked. What was too little already is no news. */
export function isOther(then: Plan, now: Plan): boolean {
  if (!isSameExecution(then.execution, now.execution)) return true
  const cap = then.fees.maxFeePerGas
  if ((now.fees.baseFee ?? 0n) > cap && (then.fees.baseFee ?? 0n) <= cap) return true
  const limit = then.gas.limits.reduce((sum, each) => sum + each, 0n)
  if (now.gas.used > limit && then.gas.used <= limit) return true
  return isWorse(then.preview, now.preview)
}

function isSameExecution(then: Execution, now: Execution): boolean {
  return JSON.stringify(then) === JSON.stringify(now) // plain values in one order
}

/** True when the calls now fail though they did not, or take or permit what was not shown. */
export function isWorse(then: Preview, now: Preview): boolean {
  if (then.status === 'success' && now.status === 'reverted') return true
  if (now.status !== 'success' || then.status === 'unavailable') return false
  return now.changes.some((change) => takesMore(change, then.changes)) || now.allowances.some((each) => permitsMore(each, then.allowances))
}

function takesMore(change: BalanceChange, shown: readonly BalanceChange[]): boolean {
  const amount = BigInt(change.amount)
  if (amount >= 0n) return false
  const before = shown.find(({ asset, token, tokenId }) => asset === change.asset && token === change.token && tokenId === change.tokenId)
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
