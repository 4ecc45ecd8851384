import { Delegation, Hex, IntrinsicGas } from '../../eth/index.ts'
import type { AccessListItem, Address } from '../../eth/index.ts'
import { RpcError } from '../../jsonrpc/index.ts'
import { Call } from './call.ts'
import type { CallRequestJson } from './call.ts'
import type { WalletChain } from '../chains/chain.ts'
import { DELEGATE, encodeExecute } from '../delegate.ts'
import { chainUnsupported } from './execution.ts'
import type { Execution, Sponsored, Unsponsored } from './execution.ts'

/** Gas of the transactions of a plan, in their order. */
export interface GasEstimate {
  readonly limits: readonly bigint[]
  /** what they will most likely use, in all */
  readonly used: bigint
}

/** Gas of a transaction before its first operation, and of an authorization (EIP-7702). */
export const TRANSACTION_GAS = BigInt(IntrinsicGas.TRANSACTION)
export const AUTHORIZATION_GAS = BigInt(IntrinsicGas.AUTHORIZATION)
/** EIP-150: what a call that sends value adds for its callee. */
const STIPEND = 2_300n
/** Where nobody can say what a call uses: its node cannot run it after those before it. */
export const UNKNOWN_GAS = 500_000n

/** Before the first operation of a transaction, EIP-7623 included. */
export function intrinsicGas({ to, data }: Pick<Call, 'to' | 'data'>): bigint {
  const { TRANSACTION, CREATION, INIT_CODE_WORD, TOKEN, FLOOR_TOKEN } = IntrinsicGas
  const tokens = IntrinsicGas.tokens(data)
  const creation = to === null ? CREATION + INIT_CODE_WORD * Math.ceil(data.length / 32) : 0
  return BigInt(TRANSACTION + Math.max(tokens * TOKEN + creation, tokens * FLOOR_TOKEN))
}

/** EIP-2930: what a list costs before the first operation. */
export function accessListGas(list: readonly AccessListItem[]): bigint {
  const { ACCESS_LIST_ADDRESS, ACCESS_LIST_KEY } = IntrinsicGas
  return BigInt(list.reduce((sum, { storageKeys }) => sum + ACCESS_LIST_ADDRESS + storageKeys.length * ACCESS_LIST_KEY, 0))
}

/** For the transactions of `execution`, on the pending state. Calls that revert get what they used. Throws RpcError: 5710 when our code cannot be put on the chain. */
export function estimateGas(chain: WalletChain, from: Address, calls: readonly Call[], execution: Unsponsored): Promise<GasEstimate> {
  const [only] = calls
  if (execution.kind === 'single' && only !== undefined) return estimateSingle(chain, from, only)
  return execution.kind === 'delegated' ? estimateDelegated(chain, from, calls, execution) : estimateSequence(chain, from, calls)
}

// --- one transaction ----------------------------------------------------------------------------------------------------

/** The node's own search finds the least; one that reverts is simulated, so that it can be sent all the same. */
async function estimateSingle(chain: WalletChain, from: Address, call: Call): Promise<GasEstimate> {
  const used = await askedGas(chain, from, call)
  if (used === null) return estimateSequence(chain, from, [call])
  const limit = overridden(call) ?? (used <= TRANSACTION_GAS ? used : withMargin(used))
  return { limits: [limit], used: used < limit ? used : limit }
}

async function askedGas({ rpc }: WalletChain, from: Address, call: Call): Promise<bigint | null> {
  try {
    const answer = await rpc.request({ method: 'eth_estimateGas', params: [Call.toRequest(call, from), 'pending'] })
    return typeof answer === 'string' ? BigInt(answer) : null
  } catch (error) {
    if (error instanceof RpcError) return null
    throw error
  }
}

// --- one transaction for each call --------------------------------------------------------------------------------------

async function estimateSequence(chain: WalletChain, from: Address, calls: readonly Call[]): Promise<GasEstimate> {
  const requests = calls.map((call) => Call.toRequest(call, from))
  const ran = await simulate(chain, requests, {})
  const used = ran?.map(({ used }) => used) ?? (await estimateEach(chain, from, calls))
  const limits = calls.map((call, i) => overridden(call) ?? limitFor(ran?.[i] ?? null, used[i] ?? UNKNOWN_GAS, intrinsicGas(call)))
  const verified = ran === null ? limits : await underLimits(chain, requests, {}, ran, limits, calls.map(isFixed))
  return { limits: verified, used: used.reduce((sum, gas, i) => sum + least(gas, verified[i] ?? gas), 0n) }
}

/** Without eth_simulateV1: what depends on a call before it cannot be known. */
async function estimateEach(chain: WalletChain, from: Address, calls: readonly Call[]): Promise<readonly bigint[]> {
  return Promise.all(calls.map(async (call) => (await askedGas(chain, from, call)) ?? UNKNOWN_GAS + intrinsicGas(call)))
}

// --- one transaction that the account splits -----------------------------------------------------------------------------

async function estimateDelegated(
  chain: WalletChain,
  from: Address,
  calls: readonly Call[],
  { delegate, upgrade }: Extract<Execution, { kind: 'delegated' }>,
): Promise<GasEstimate> {
  const execute = executeCall(from, calls, delegate)
  const deploys = upgrade?.deploys === true
  const requests = [...(deploys ? [Call.toRequest(deployCall(), from)] : []), Call.toRequest(execute, from)]
  const overrides = upgrade === null ? {} : { [from]: { code: Delegation.text(delegate) } }
  const authorization = upgrade === null ? 0n : AUTHORIZATION_GAS
  const ran = await simulate(chain, requests, overrides)
  // Without it the account would run code that is not there, which succeeds and does nothing. Its outcome is the same for everybody, so this is enough.
  if (deploys && (ran === null || ran[0]?.isSuccess !== true)) throw chainUnsupported(Hex.fromQuantity(chain.chainId), 'no-eip-7702')
  const all = deploys ? [deployCall(), execute] : [execute]
  const likely = all.map((call, i) => {
    const used = ran?.[i]?.used ?? UNKNOWN_GAS * BigInt(calls.length) + intrinsicGas(call)
    return { used, limit: limitFor(ran?.[i] ?? null, used, intrinsicGas(call)) }
  })
  const limits = await underLimits(
    chain,
    requests,
    overrides,
    ran,
    likely.map(({ limit }) => limit),
    all.map(() => false),
  )
  const chosen = await chosenGas(chain, from, calls)
  const last = limits.length - 1
  return {
    limits: limits.map((limit, i) => (i === last ? most(limit + authorization + chosen, intrinsicGas(execute) + authorization) : limit)),
    used: likely.reduce((sum, { used }) => sum + used, 0n) + authorization,
  }
}

/**
 * What the account needs to do the calls when the EntryPoint calls it: the same without what a transaction costs before its first operation. Null: the
 * node cannot say, and the bundler's estimate has to do.
 */
export async function estimateCallGas(
  chain: WalletChain,
  from: Address,
  calls: readonly Call[],
  { delegate, upgrade }: Sponsored,
): Promise<bigint | null> {
  const execute = executeCall(from, calls, delegate)
  const requests = [Call.toRequest(execute, from)]
  const overrides = upgrade === null ? {} : { [from]: { code: Delegation.text(delegate) } }
  const [ran, chosen] = await Promise.all([simulate(chain, requests, overrides), chosenGas(chain, from, calls)])
  const [only] = ran ?? []
  if (only === undefined) return chosen > 0n ? chosen : null
  const limit = limitFor(only, only.used, intrinsicGas(execute))
  const [enough = limit] = await underLimits(chain, requests, overrides, ran, [limit], [false])
  return most(enough + chosen - intrinsicGas(execute), 0n)
}

/** What gasLimitOverride adds to a batch in one transaction: what was chosen for a call instead of what it was found to use. May be negative. */
async function chosenGas(chain: WalletChain, from: Address, calls: readonly Call[]): Promise<bigint> {
  if (calls.every((call) => call.gasLimitOverride === null)) return 0n
  const ran = await simulate(
    chain,
    calls.map((call) => Call.toRequest(call, from)),
    {},
  )
  return calls.reduce((sum, call, i) => {
    if (call.gasLimitOverride === null) return sum
    const found = ran?.[i]
    const inside = found === undefined ? 0n : found.most - intrinsicGas(call)
    // A call gets at most 63 of 64 parts of what its caller has (EIP-150).
    return sum + (call.gasLimitOverride * 64n) / 63n - (inside > 0n ? inside : 0n)
  }, 0n)
}

/** The account's transaction to itself. */
export function executeCall(from: Address, calls: readonly Call[], delegate: Address): Call {
  return { to: from, value: 0n, data: encodeExecute(calls, delegate), gasLimitOverride: null }
}

/** Puts our delegate's code on the chain. */
export function deployCall(): Call {
  return { to: DELEGATE.deployer, value: 0n, data: DELEGATE.deployment, gasLimitOverride: null }
}

// --- simulation -----------------------------------------------------------------------------------------------------------

interface Ran {
  readonly isSuccess: boolean
  readonly used: bigint
  /** before refunds */
  readonly most: bigint
}

type Overrides = Readonly<Record<Address, { readonly code: Hex }>>

/** The calls one after the other on the pending state. Null: the node cannot, or one of them cannot even begin. */
async function simulate(
  { rpc }: WalletChain,
  calls: readonly (CallRequestJson & { readonly gas?: Hex })[],
  stateOverrides: Overrides,
): Promise<readonly Ran[] | null> {
  try {
    const blocks = await rpc.request({
      method: 'eth_simulateV1',
      params: [{ blockStateCalls: [{ stateOverrides, calls }], validation: false }, 'pending'],
    })
    const [block] = blocks as readonly { readonly calls: readonly SimulatedCall[] }[] // as execution-apis defines it
    return block === undefined || block.calls.length !== calls.length ? null : block.calls.map(readRan)
  } catch (error) {
    if (error instanceof RpcError || error instanceof TypeError) return null
    throw error
  }
}

interface SimulatedCall {
  readonly status: Hex
  readonly gasUsed: Hex
  /** not every node tells it */
  readonly maxUsedGas?: Hex
}

function readRan({ status, gasUsed, maxUsedGas }: SimulatedCall): Ran {
  const used = BigInt(gasUsed)
  return { isSuccess: BigInt(status) === 1n, used, most: maxUsedGas === undefined ? used + used / 4n : BigInt(maxUsedGas) }
}

/** Runs them under their limits: deep calls may need more than the 64th that is added for them. Those that then fail get twice as much. */
async function underLimits(
  chain: WalletChain,
  requests: readonly CallRequestJson[],
  overrides: Overrides,
  ran: readonly Ran[] | null,
  limits: readonly bigint[],
  fixed: readonly boolean[],
): Promise<readonly bigint[]> {
  if (ran === null) return limits
  let tried = limits
  for (let i = 0; i < VERIFICATIONS; i++) {
    const gas = tried
    const again = await simulate(
      chain,
      requests.map((request, at) => ({ ...request, gas: Hex.fromQuantity(gas[at] ?? UNKNOWN_GAS) })),
      overrides,
    )
    const short = requests.findIndex((_, at) => ran[at]?.isSuccess === true && again?.[at]?.isSuccess === false && fixed[at] !== true)
    if (again === null || short === -1) return tried
    tried = gas.map((limit, at) => (at === short ? limit * 2n : limit))
  }
  return tried
}

/** Doubling a limit so often is enough for any. */
const VERIFICATIONS = 8

/** Nearly always enough: what was used before refunds, and the 64th that a call must leave behind. */
function limitFor(ran: Ran | null, used: bigint, intrinsic: bigint): bigint {
  if (ran === null) return used
  if (ran.most <= intrinsic) return intrinsic
  const enough = withMargin(((ran.most + STIPEND) * 64n) / 63n)
  // What fails with all the gas there is fails with less of it, and then nodes take it.
  return ran.isSuccess ? enough : least(enough, MOST_GAS)
}

/** A quarter more, as the state may change; but not beyond what a transaction may have, where it fits. */
function withMargin(gas: bigint): bigint {
  const more = gas + gas / 4n
  return gas <= MOST_GAS && more > MOST_GAS ? MOST_GAS : more
}

/** What a transaction may have (EIP-7825), less an authorization. */
const MOST_GAS = 2n ** 24n - AUTHORIZATION_GAS

function overridden(call: Call): bigint | null {
  return call.gasLimitOverride === null ? null : call.gasLimitOverride + intrinsicGas(call)
}

function isFixed(call: Call): boolean {
  return call.gasLimitOverride !== null
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}

function most(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}
