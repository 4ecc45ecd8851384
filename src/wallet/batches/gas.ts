import { Delegation, Hex, IntrinsicGas } from '../../eth/index.ts'
import type { AccessListItem, Address } from '../../eth/index.ts'
import { RpcError } from '../../jsonrpc/index.ts'
import { Call } from './call.ts'
import type { CallRequestJson } from './call.ts'
import type { WalletChain } from '../chains/chain.ts'
import { DELEGATE, encodeExecute } from '../delegate.ts'
import { chainUnsupported } from './execution.ts'
import type { Execution, Sponsored, Unsponsored } from './execution.ts'

/** Gas of the transactions of a plan, by nonce. */
export interface GasEstimate {
  readonly limits: readonly bigint[]
  /** expected gas used, in total */
  readonly used: bigint
}

/** Intrinsic gas of a transaction, and of an authorization (EIP-7702). */
export const TRANSACTION_GAS = BigInt(IntrinsicGas.TRANSACTION)
export const AUTHORIZATION_GAS = BigInt(IntrinsicGas.AUTHORIZATION)
/** Gas that a call with value adds for its callee (EIP-150). */
const STIPEND = 2_300n
/** Gas of a call that the node cannot simulate after those before it. */
export const UNKNOWN_GAS = 500_000n

/** Returns the gas before the first opcode, with the floor of EIP-7623. */
export function intrinsicGas({ to, data }: Pick<Call, 'to' | 'data'>): bigint {
  const { TRANSACTION, CREATION, INIT_CODE_WORD, TOKEN, FLOOR_TOKEN } = IntrinsicGas
  const tokens = IntrinsicGas.tokens(data)
  const creation = to === null ? CREATION + INIT_CODE_WORD * Math.ceil(data.length / 32) : 0
  return BigInt(TRANSACTION + Math.max(tokens * TOKEN + creation, tokens * FLOOR_TOKEN))
}

/** Returns the intrinsic gas of an access list (EIP-2930). */
export function accessListGas(list: readonly AccessListItem[]): bigint {
  const { ACCESS_LIST_ADDRESS, ACCESS_LIST_KEY } = IntrinsicGas
  return BigInt(list.reduce((sum, { storageKeys }) => sum + ACCESS_LIST_ADDRESS + storageKeys.length * ACCESS_LIST_KEY, 0))
}

/**
 * Estimates the transactions of `execution` in the pending state. A call that reverts gets the gas that it used. Throws RpcError 5710 if the delegate
 * cannot be deployed.
 */
export function estimateGas(chain: WalletChain, from: Address, calls: readonly Call[], execution: Unsponsored): Promise<GasEstimate> {
  const [only] = calls
  if (execution.kind === 'single' && only !== undefined) return estimateSingle(chain, from, only)
  return execution.kind === 'delegated' ? estimateDelegated(chain, from, calls, execution) : estimateSequence(chain, from, calls)
}

// --- one transaction ----------------------------------------------------------------------------------------------------

/** eth_estimateGas finds the minimum. A call that reverts is simulated instead, since a person may still approve it. */
async function estimateSingle(chain: WalletChain, from: Address, call: Call): Promise<GasEstimate> {
  const used = await nodeEstimate(chain, from, call)
  if (used === null) return estimateSequence(chain, from, [call])
  const limit = requestedLimit(call) ?? (used <= TRANSACTION_GAS ? used : withMargin(used))
  return { limits: [limit], used: used < limit ? used : limit }
}

async function nodeEstimate({ rpc }: WalletChain, from: Address, call: Call): Promise<bigint | null> {
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
  const limits = calls.map((call, i) => requestedLimit(call) ?? limitFor(ran?.[i] ?? null, used[i] ?? UNKNOWN_GAS, intrinsicGas(call)))
  const verified =
    ran === null
      ? limits
      : await verifyLimits(
          chain,
          requests,
          {},
          ran,
          limits,
          calls.map((call) => call.gasLimitOverride !== null),
        )
  return { limits: verified, used: used.reduce((sum, gas, i) => sum + min(gas, verified[i] ?? gas), 0n) }
}

/** Without eth_simulateV1 a call that depends on an earlier one gets UNKNOWN_GAS. */
async function estimateEach(chain: WalletChain, from: Address, calls: readonly Call[]): Promise<readonly bigint[]> {
  return Promise.all(calls.map(async (call) => (await nodeEstimate(chain, from, call)) ?? UNKNOWN_GAS + intrinsicGas(call)))
}

// --- one transaction through the delegate -------------------------------------------------------------------------------

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
  // Without the delegate the account's transaction would succeed without effect. The deployment does not depend on its sender, so one simulation is enough.
  if (deploys && (ran === null || ran[0]?.isSuccess !== true)) throw chainUnsupported(Hex.fromQuantity(chain.chainId), 'no-eip-7702')
  const all = deploys ? [deployCall(), execute] : [execute]
  const likely = all.map((call, i) => {
    const used = ran?.[i]?.used ?? UNKNOWN_GAS * BigInt(calls.length) + intrinsicGas(call)
    return { used, limit: limitFor(ran?.[i] ?? null, used, intrinsicGas(call)) }
  })
  const limits = await verifyLimits(
    chain,
    requests,
    overrides,
    ran,
    likely.map(({ limit }) => limit),
    all.map(() => false),
  )
  const chosen = await overrideGas(chain, from, calls)
  const last = limits.length - 1
  return {
    limits: limits.map((limit, i) => (i === last ? max(limit + authorization + chosen, intrinsicGas(execute) + authorization) : limit)),
    used: likely.reduce((sum, { used }) => sum + used, 0n) + authorization,
  }
}

/**
 * Estimates the callGasLimit of a user operation: the account's transaction without intrinsic gas. Null: the node cannot simulate it, and the bundler's
 * estimate is used.
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
  const [ran, chosen] = await Promise.all([simulate(chain, requests, overrides), overrideGas(chain, from, calls)])
  const [only] = ran ?? []
  if (only === undefined) return chosen > 0n ? chosen : null
  const limit = limitFor(only, only.used, intrinsicGas(execute))
  const [enough = limit] = await verifyLimits(chain, requests, overrides, ran, [limit], [false])
  return max(enough + chosen - intrinsicGas(execute), 0n)
}

/** Returns what gasLimitOverride adds to the gas of one transaction: the difference to the estimate of each call. May be negative. */
async function overrideGas(chain: WalletChain, from: Address, calls: readonly Call[]): Promise<bigint> {
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
    // A call gets at most 63/64 of its caller's gas (EIP-150).
    return sum + (call.gasLimitOverride * 64n) / 63n - (inside > 0n ? inside : 0n)
  }, 0n)
}

/** Returns the account's call of itself that executes the batch. */
export function executeCall(from: Address, calls: readonly Call[], delegate: Address): Call {
  return { to: from, value: 0n, data: encodeExecute(calls, delegate), gasLimitOverride: null }
}

/** Returns the call that deploys the wallet's delegate. */
export function deployCall(): Call {
  return { to: DELEGATE.deployer, value: 0n, data: DELEGATE.deployment, gasLimitOverride: null }
}

// --- simulation -----------------------------------------------------------------------------------------------------------

interface CallGas {
  readonly isSuccess: boolean
  readonly used: bigint
  /** before refunds */
  readonly most: bigint
}

type Overrides = Readonly<Record<Address, { readonly code: Hex }>>

/** Simulates the calls one after the other in the pending state. Null: the node lacks the method, or a call is invalid. */
async function simulate(
  { rpc }: WalletChain,
  calls: readonly (CallRequestJson & { readonly gas?: Hex })[],
  stateOverrides: Overrides,
): Promise<readonly CallGas[] | null> {
  try {
    const blocks = await rpc.request({
      method: 'eth_simulateV1',
      params: [{ blockStateCalls: [{ stateOverrides, calls }], validation: false }, 'pending'],
    })
    const [block] = blocks as readonly { readonly calls: readonly SimulatedCall[] }[] // as execution-apis defines it
    return block === undefined || block.calls.length !== calls.length ? null : block.calls.map(callGas)
  } catch (error) {
    if (error instanceof RpcError || error instanceof TypeError) return null
    throw error
  }
}

interface SimulatedCall {
  readonly status: Hex
  readonly gasUsed: Hex
  /** before refunds; absent from some nodes */
  readonly maxUsedGas?: Hex
}

function callGas({ status, gasUsed, maxUsedGas }: SimulatedCall): CallGas {
  const used = BigInt(gasUsed)
  return { isSuccess: BigInt(status) === 1n, used, most: maxUsedGas === undefined ? used + used / 4n : BigInt(maxUsedGas) }
}

/** Simulates the calls with their limits and doubles a limit that fails: deep calls may need more than the 1/64 that is added for EIP-150. */
async function verifyLimits(
  chain: WalletChain,
  requests: readonly CallRequestJson[],
  overrides: Overrides,
  ran: readonly CallGas[] | null,
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

/** Eight doublings reach the block gas limit from any estimate. */
const VERIFICATIONS = 8

/** Gas before refunds, with the 1/64 that a call must retain (EIP-150). `verifyLimits` finds the exceptions. */
function limitFor(ran: CallGas | null, used: bigint, intrinsic: bigint): bigint {
  if (ran === null) return used
  if (ran.most <= intrinsic) return intrinsic
  const enough = withMargin(((ran.most + STIPEND) * 64n) / 63n)
  // A call that fails with all the block's gas also fails with less, which pools accept.
  return ran.isSuccess ? enough : min(enough, MOST_GAS)
}

/** Adds a quarter for changes of the state, up to the gas limit of a transaction. */
function withMargin(gas: bigint): bigint {
  const more = gas + gas / 4n
  return gas <= MOST_GAS && more > MOST_GAS ? MOST_GAS : more
}

/** Gas limit of a transaction (EIP-7825), less an authorization. */
const MOST_GAS = 2n ** 24n - AUTHORIZATION_GAS

function requestedLimit(call: Call): bigint | null {
  return call.gasLimitOverride === null ? null : call.gasLimitOverride + intrinsicGas(call)
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}
