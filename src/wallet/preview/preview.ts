import { Delegation, Hex } from '../../eth/index.ts'
import type { Address } from '../../eth/index.ts'
import { RpcError } from '../../jsonrpc/index.ts'
import { Call } from '../batches/call.ts'
import type { WalletChain } from '../chains/chain.ts'
import { DELEGATE, encodeExecute } from '../delegate.ts'
import { visibleText } from './display.ts'
import { PREVIEW_LINES, PREVIEW_LOGS, PREVIEW_MS, REASON_CHARS } from '../limits.ts'
import type { Fees } from '../batches/fees.ts'
import { intrinsicGas } from '../batches/gas.ts'
import { movementsOf } from './movements.ts'
import { nativeChange, outcomeOf, readsFor } from './outcome.ts'
import type { SimulatedReads, Outcome } from './outcome.ts'
import { orderedMovements } from './precedence.ts'
import type { Preview } from '../question.ts'
import { reasonOf } from './reason.ts'
import { blockOfReads, simulate } from './simulation.ts'
import type { BlockOverrides, Read, SimulatedCall, Simulation, SimulationCall, StateOverrides } from './simulation.ts'
import { withTimeout } from '../approvals/timing.ts'

interface PreviewPlan {
  readonly from: Address
  readonly calls: readonly Call[]
  /** all calls as one, through this code of the account; null: one after the other */
  readonly delegate: Address | null
  /** gas and fees that will be signed; default: the maximum gas at price 0 */
  readonly terms?: Terms
  /** the calls come as a user operation; they need a delegate then */
  readonly operation?: OperationSteps
}

/** The EntryPoint's calls of the paymaster before and after the account's own call. */
export interface OperationSteps {
  readonly entryPoint: Address
  /** to the paymaster, which may take tokens from the account */
  readonly before: SimulationCall
  /** null: the paymaster has no postOp */
  readonly after: SimulationCall | null
}

/**
 * Gas and fees as in the transaction, so that a contract cannot detect the simulation by them. It can by other values: the simulated block
 * follows the pending block, with a later number and time.
 */
export interface Terms {
  /** gas of each call, or of all as one */
  readonly limits: readonly bigint[]
  /** true: chosen by the app, so a failure for lack of gas is reported */
  readonly isChosen: boolean
  readonly fees: Fees | null
}

/** Gas of each call, or of all as one; none when the preview is unavailable. */
type CallsPreview = Preview & {
  readonly gasUsed: readonly bigint[]
  /** tokens of which the paymaster of an operation takes some from the account; absent: none */
  readonly taken?: readonly Address[]
}

/**
 * Effects of the calls on the pending state. One simulation, and two more if tokens are transferred or approved. Ends within PREVIEW_MS and never throws.
 */
export function previewCalls(chain: WalletChain, plan: PreviewPlan): Promise<CallsPreview> {
  const late = (): CallsPreview => prevented(`${nameOf(chain)} did not answer within ${PREVIEW_MS} ms`)
  const failed = (error: unknown): CallsPreview => unavailable(`${nameOf(chain)} gave no answer: ${messageOf(error)}`)
  return withTimeout(PREVIEW_MS, preview(chain, plan).catch(failed), late)
}

async function preview(chain: WalletChain, intended: PreviewPlan): Promise<CallsPreview> {
  const plan = { ...intended, block: await pendingValues(chain) }
  const { script, first } = await firstRun(chain, plan)
  if (first.kind === 'unsupported') return withoutSimulation(chain, plan, script)
  if (first.kind === 'refused') return plan.operation === undefined ? refusal(chain, script, first) : unavailable(plain(first.message))
  const logs = logsOf(first.calls)
  if (logs.length > PREVIEW_LOGS) return prevented(`the calls log more than ${PREVIEW_LOGS} events`)
  const movements = orderedMovements(movementsOf(plan.from, logs), plan.calls)
  const reads = readsFor(plan.from, movements)
  const observed = reads.length === 0 ? null : await observe(chain, script, reads)
  // If the run with the reads fails, the one without is used.
  const { calls } = observed ?? first
  const seen = observed === null ? movements : orderedMovements(movementsOf(plan.from, logsOf(calls)), plan.calls)
  const outcome = outcomeOf(chain, plan.from, seen, reads, observed)
  const verdict = await verdictOf(chain, plan, calls)
  const taken = takenBy(plan, calls)
  return {
    ...verdict,
    ...shown(outcome, seen.requestedCount),
    gasUsed: calls.map(({ gasUsed }) => gasUsed),
    ...(taken.length === 0 ? {} : { taken }),
  }
}

/** Tokens taken by the paymaster's calls. */
function takenBy({ from, operation }: PreviewPlan, ran: readonly SimulatedCall[]): readonly Address[] {
  if (operation === undefined) return []
  const around = ran.filter((_, at) => at !== OWN_CALL)
  const { assets } = movementsOf(from, logsOf(around))
  return [...new Set(assets.filter(({ amount }) => amount < 0n).map(({ token }) => token))]
}

/** Of an operation: after its paymaster's first. */
const OWN_CALL = 1

// --- the simulation -------------------------------------------------------------------------------------------------------

/** A plan with the values of its block that the node would otherwise set to zero. */
type SimulatedPlan = PreviewPlan & { readonly block: BlockOverrides }

/** Those of the pending block. Random where the node has none: geth's pending block has a zero. */
async function pendingValues({ rpc }: WalletChain): Promise<BlockOverrides> {
  const pending = await rpc.request({ method: 'eth_getBlockByNumber', params: ['pending', false] }).catch(() => null)
  const { mixHash, parentBeaconBlockRoot } = (pending ?? {}) as Readonly<Record<string, unknown>> // any value but null has this shape
  return { prevRandao: nonZero(mixHash), beaconRoot: nonZero(parentBeaconBlockRoot) }
}

function nonZero(word: unknown): Hex {
  return Hex.isHex(word, 64) && BigInt(word) !== 0n ? word : Hex.fromBytes(crypto.getRandomValues(new Uint8Array(32)))
}

interface Script {
  /** calls that run before, such as the deployment of the delegate */
  readonly prelude: readonly SimulationCall[]
  readonly calls: readonly SimulationCall[]
  readonly overrides: StateOverrides
  readonly block: BlockOverrides
}

/** Uses the plan's gas and fees if the node accepts them; the account may lack the ether, or the block the gas. */
async function firstRun(
  chain: WalletChain,
  plan: SimulatedPlan,
): Promise<{ readonly script: Script; readonly first: Awaited<ReturnType<typeof run>> }> {
  const { terms = null } = plan
  const free = terms === null ? null : { ...terms, fees: null }
  const last = scriptOf(plan, terms?.isChosen === true ? free : null)
  for (const each of new Set([terms, free])) {
    const script = scriptOf(plan, each)
    const first = await run(chain, script, [])
    if (first.kind === 'unsupported') return { script: last, first }
    if (first.kind === 'ran') return { script, first }
  }
  return { script: last, first: await run(chain, last, []) }
}

function scriptOf({ from, calls, delegate, operation, block: values }: SimulatedPlan, terms: Terms | null): Script {
  const { fees = null, limits = [] } = terms ?? {}
  const block = { ...values, ...(typeof fees?.baseFee === 'bigint' ? { baseFeePerGas: Hex.fromQuantity(fees.baseFee) } : {}) }
  const termsOf = (at: number) => ({ ...limitOf(limits[at]), ...priceOf(fees) })
  if (delegate === null) {
    return { prelude: [], calls: calls.map((call, at) => ({ ...requestOf(call, from), ...termsOf(at) })), overrides: {}, block }
  }
  const execute = { from: operation?.entryPoint ?? from, to: from, input: Hex.fromBytes(encodeExecute(calls, delegate)), ...termsOf(0) }
  const overrides = { [from]: { code: Delegation.text(delegate) } }
  if (operation !== undefined) {
    const { before, after } = operation
    // The delegate is deployed: an operation cannot deploy it.
    return { prelude: [], calls: [before, execute, ...(after === null ? [] : [after])], overrides, block }
  }
  return { prelude: delegate === DELEGATE.address ? [DEPLOYMENT] : [], calls: [execute], overrides, block }
}

function limitOf(limit: bigint | undefined): Pick<SimulationCall, 'gas'> {
  return limit === undefined ? {} : { gas: Hex.fromQuantity(limit) }
}

function priceOf(fees: Fees | null): Pick<SimulationCall, 'gasPrice' | 'maxFeePerGas' | 'maxPriorityFeePerGas'> {
  if (fees === null) return {}
  const [most, tip] = [Hex.fromQuantity(fees.maxFeePerGas), Hex.fromQuantity(fees.maxPriorityFeePerGas)]
  return fees.type === 2 ? { maxFeePerGas: most, maxPriorityFeePerGas: tip } : { gasPrice: most }
}

/** The delegate may not be deployed yet. If it is, the second deployment fails without effect. */
const DEPLOYMENT: SimulationCall = {
  from: DELEGATE.deployer,
  to: DELEGATE.deployer,
  input: Hex.fromBytes(DELEGATE.deployment),
  gas: Hex.fromQuantity(3_000_000),
}

function requestOf(call: Call, from: Address): SimulationCall {
  const { gasLimitOverride } = call
  return {
    ...Call.toRequest(call, from),
    ...(gasLimitOverride === null ? {} : { gas: Hex.fromQuantity(gasLimitOverride + intrinsicGas(call)) }),
  }
}

/** Runs the calls and reads state before and after them; null if the node refuses. Separately, since contracts could detect reads before the calls. */
async function observe(chain: WalletChain, script: Script, reads: readonly Read[]): Promise<(SimulatedReads & Pick<Ran, 'calls'>) | null> {
  const [before, after] = await Promise.all([run(chain, { ...script, prelude: [], calls: [] }, reads), run(chain, script, reads)])
  return before.kind === 'ran' && after.kind === 'ran' ? { before: before.reads, calls: after.calls, after: after.reads } : null
}

interface Ran {
  readonly kind: 'ran'
  readonly calls: readonly SimulatedCall[]
  readonly reads: readonly SimulatedCall[]
}

/** Returns the calls, and the state reads after them. */
async function run(
  chain: WalletChain,
  { prelude, calls, overrides, block }: Script,
  reads: readonly Read[],
): Promise<Ran | Exclude<Simulation, { kind: 'ran' }>> {
  const script = { calls: [...prelude, ...calls], stateOverrides: overrides, blockOverrides: block }
  const simulation = await simulate(chain.rpc, reads.length === 0 ? [script] : [script, blockOfReads(reads)])
  if (simulation.kind !== 'ran') return simulation
  const end = prelude.length + calls.length
  return { kind: 'ran', calls: simulation.calls.slice(prelude.length, end), reads: simulation.calls.slice(end) }
}

function logsOf(calls: readonly SimulatedCall[]): SimulatedCall['logs'] {
  return calls.flatMap(({ logs }) => logs)
}

// --- what failed ------------------------------------------------------------------------------------------------------------

type Verdict = Pick<Preview, 'status' | 'error' | 'failedCall'>

async function verdictOf(chain: WalletChain, plan: SimulatedPlan, all: readonly SimulatedCall[]): Promise<Verdict> {
  // The paymaster's contract was simulated on its own before; if it fails only together with the calls, the calls have not failed.
  const ran = plan.operation === undefined ? all : all.slice(OWN_CALL, OWN_CALL + 1)
  const failed = ran.findIndex(({ isSuccess }) => !isSuccess)
  const failure = ran[failed]?.failure ?? null
  if (failure === null) return { status: 'success', error: null, failedCall: null }
  if (plan.delegate === null) return { status: 'reverted', error: reasonOf(failure), failedCall: failed }
  return (await alone(chain, plan)) ?? { status: 'reverted', error: reasonOf(failure), failedCall: null }
}

/** A batch returns the revert reason of the failed call but not its index, so the same calls are run one by one. */
async function alone(chain: WalletChain, plan: SimulatedPlan): Promise<Verdict | null> {
  const { from, calls, block } = plan
  const script = { ...scriptOf({ from, calls, delegate: null, block }, null), overrides: scriptOf(plan, null).overrides }
  const simulation = await run(chain, script, [])
  if (simulation.kind === 'refused') return refusal(chain, script, simulation)
  return firstFailure(simulation)
}

/** null if no call failed, or none ran. */
async function firstFailure(simulation: Awaited<ReturnType<typeof run>>): Promise<Verdict | null> {
  const failedCall = simulation.kind === 'ran' ? simulation.calls.findIndex(({ isSuccess }) => !isSuccess) : -1
  const failure = simulation.kind === 'ran' ? (simulation.calls[failedCall]?.failure ?? null) : null
  return failure === null ? null : { status: 'reverted', error: reasonOf(failure), failedCall }
}

/** Finds the first call that no block can include: the node refuses the whole simulation because of it, so shorter ones are tried. */
async function refusal(
  chain: WalletChain,
  script: Script,
  { code, message }: Extract<Simulation, { kind: 'refused' }>,
): Promise<CallsPreview> {
  let [possible, refused] = [0, script.calls.length]
  while (refused - possible > 1) {
    const middle = (possible + refused) >> 1
    const shorter = await run(chain, { ...script, calls: script.calls.slice(0, middle) }, [])
    if (shorter.kind === 'refused') refused = middle
    else possible = middle
  }
  // A call that uses all gas leaves none for the following calls.
  const burnt = possible === 0 ? null : await firstFailure(await run(chain, { ...script, calls: script.calls.slice(0, possible) }, []))
  if (burnt !== null) return { ...burnt, changes: [], allowances: [], gasUsed: [] }
  const reason =
    code === INSUFFICIENT_FUNDS || /insufficient funds/i.test(message)
      ? `the account has less ${chain.nativeCurrency.symbol} than the call sends`
      : plain(message)
  return { status: 'reverted', error: reason, failedCall: refused - 1, changes: [], allowances: [], gasUsed: [] }
}

/** Of eth_simulateV1 (execution-apis). */
const INSUFFICIENT_FUNDS = -38_014

// --- without eth_simulateV1 -------------------------------------------------------------------------------------------------

/** `eth_call` returns whether a call reverts, which suffices for a plain transfer to an account without code. */
async function withoutSimulation(chain: WalletChain, { from, calls, operation }: PreviewPlan, script: Script): Promise<CallsPreview> {
  const cannot = `${nameOf(chain)} cannot simulate calls: it lacks eth_simulateV1`
  const [call] = calls
  const own = operation === undefined ? script.calls : script.calls.slice(OWN_CALL, OWN_CALL + 1)
  const [request] = own
  if (own.length !== 1 || request === undefined || script.prelude.length > 0) return unavailable(cannot)
  const refused = await callAlone(chain, request, script.overrides)
  if (refused !== null)
    return { status: 'reverted', error: refused, failedCall: calls.length === 1 ? 0 : null, changes: [], allowances: [], gasUsed: [] }
  if (calls.length !== 1 || call === undefined || call.to === null || call.data.length > 0 || (await hasCode(chain, call.to)))
    return unavailable(cannot)
  const outcome = { changes: call.to === from || call.value === 0n ? [] : [nativeChange(chain, -call.value)], allowances: [] }
  return { status: 'success', error: null, failedCall: null, ...outcome, gasUsed: [] }
}

/** Returns the reason for which the call fails; null: it succeeds. */
async function callAlone({ rpc }: WalletChain, request: SimulationCall, overrides: StateOverrides): Promise<string | null> {
  const params = Object.keys(overrides).length === 0 ? [request, 'pending'] : [request, 'pending', overrides]
  try {
    await rpc.request({ method: 'eth_call', params })
    return null
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    return reasonOf({ message: error.message, data: Hex.isHex(error.data) ? error.data : null })
  }
}

async function hasCode({ rpc }: WalletChain, address: Address): Promise<boolean> {
  return (await rpc.request({ method: 'eth_getCode', params: [address, 'pending'] })) !== '0x'
}

// --- result -----------------------------------------------------------------------------------------------------------

/** Remaining allowances come first, so that consumed ones cannot push them over the limit. `requestedCount`: of allowances that the calls themselves request. */
function shown({ changes, allowances }: Outcome, requestedCount: number): Pick<Preview, 'changes' | 'allowances' | 'omitted'> {
  const lines = Math.max(PREVIEW_LINES, requestedCount)
  const omitted = Math.max(0, changes.length - PREVIEW_LINES) + Math.max(0, allowances.length - lines)
  const remainingFirst = allowances.toSorted((a, b) => Number(a.isSpent) - Number(b.isSpent))
  const cut = { changes: changes.slice(0, PREVIEW_LINES), allowances: remainingFirst.slice(0, lines) }
  return omitted === 0 ? cut : { ...cut, omitted }
}

function unavailable(error: string): CallsPreview {
  return { status: 'unavailable', error, failedCall: null, changes: [], allowances: [], gasUsed: [] }
}

function prevented(error: string): CallsPreview {
  return { ...unavailable(error), isPrevented: true }
}

function nameOf({ name }: WalletChain): string {
  return `the node of ${visibleText(name, 40)}`
}

function messageOf(error: unknown): string {
  return plain(error instanceof Error ? error.message : String(error))
}

function plain(message: string): string {
  return visibleText(message.replace(/^err: /, ''), REASON_CHARS)
}
