import { Delegation, Hex, IntrinsicGas } from '../../eth/index.ts'
import type { AccessListItem, Address } from '../../eth/index.ts'
import { RpcError } from '../../jsonrpc/index.ts'
import { Call } from './call.ts'
import type { CallRequestJson } from './call.ts'
import type { WalletChain } from '../chains/chain.ts'
import { DELEGATE, encodeExecute } from '../delegate.ts'
import { chainUnsupported } from './execution.ts'
import type { Execution, Sponsored, Unsponsored, Upgrade } from './execution.ts'
import { isConnectionError } from './transactions.ts'

/** Gas of the transactions of a plan, by nonce. */
export interface GasEstimate {
  readonly limits: readonly bigint[]
  /** expected gas used, in total */
  readonly used: bigint
}

/** Intrinsic gas of a transaction, and of an authorization (EIP-7702). */
export const TRANSACTION_GAS = BigInt(IntrinsicGas.TRANSACTION)
export const AUTHORIZATION_GAS = BigInt(IntrinsicGas.AUTHORIZATION)
/** Gas limit of a transaction on chains with EIP-7825. */
export const TRANSACTION_GAS_CAP = 2n ** 24n
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

/** eth_estimateGas finds the minimum. A call that reverts is simulated instead, since a user may still approve it. */
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

/** Without eth_simulateV1 a call that depends on an earlier one gets UNKNOWN_GAS. */
async function estimateSequence(chain: WalletChain, from: Address, calls: readonly Call[]): Promise<GasEstimate> {
  const estimateAlone = async (call: Call) => {
    const used = (await nodeEstimate(chain, from, call)) ?? UNKNOWN_GAS + intrinsicGas(call)
    return { used, limit: requestedLimit(call) ?? used }
  }
  const estimates = (await simulateLimits(chain, from, calls, {})) ?? (await Promise.all(calls.map(estimateAlone)))
  return { limits: estimates.map(({ limit }) => limit), used: estimates.reduce((sum, { used, limit }) => sum + min(used, limit), 0n) }
}

// --- one transaction through the delegate -------------------------------------------------------------------------------

async function estimateDelegated(
  chain: WalletChain,
  from: Address,
  calls: readonly Call[],
  { delegate, upgrade }: Extract<Execution, { kind: 'delegated' }>,
): Promise<GasEstimate> {
  const execute = executeCall(from, calls, delegate)
  const all = upgrade?.deploys === true ? [deployCall(), execute] : [execute]
  const simulated = await simulateLimits(chain, from, all, codeOverride(from, delegate, upgrade))
  // Without the delegate the account's transaction would succeed without effect. The deployment does not depend on its sender, so one simulation is enough.
  if (all.length > 1 && simulated?.[0]?.isSuccess !== true) throw chainUnsupported(Hex.fromQuantity(chain.chainId), 'no-eip-7702')
  const estimates =
    simulated ??
    all.map((call) => {
      const used = UNKNOWN_GAS * BigInt(calls.length) + intrinsicGas(call)
      return { used, limit: used }
    })
  const authorization = upgrade === null ? 0n : AUTHORIZATION_GAS
  const added = authorization + (await overrideGas(chain, from, calls))
  const limits = estimates.map(({ limit }, i) => (all[i] === execute ? max(limit + added, intrinsicGas(execute) + authorization) : limit))
  return { limits, used: estimates.reduce((sum, { used }) => sum + used, authorization) }
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
  const [simulated, added] = await Promise.all([
    simulateLimits(chain, from, [execute], codeOverride(from, delegate, upgrade)),
    overrideGas(chain, from, calls),
  ])
  const [only] = simulated ?? []
  if (only === undefined) return added > 0n ? added : null
  return max(only.limit + added - intrinsicGas(execute), 0n)
}

/** The account's code after its upgrade. */
function codeOverride(from: Address, delegate: Address, upgrade: Upgrade | null): Overrides {
  return upgrade === null ? {} : { [from]: { code: Delegation.text(delegate) } }
}

/** Returns what gasLimitOverride adds to the gas of one transaction: for each call the part of its limit that it is not expected to use. */
async function overrideGas(chain: WalletChain, from: Address, calls: readonly Call[]): Promise<bigint> {
  if (calls.every((call) => call.gasLimitOverride === null)) return 0n
  const requests = calls.map((call) => Call.toRequest(call, from))
  const simulated = await simulate(chain, requests, {})
  return calls.reduce((sum, call, i) => {
    if (call.gasLimitOverride === null) return sum
    const found = simulated?.[i]
    const inside = found === undefined ? 0n : min(max(found.maxGas - intrinsicGas(call), 0n), call.gasLimitOverride)
    // A call gets at most 63/64 of its caller's gas (EIP-150).
    return sum + (call.gasLimitOverride * 64n) / 63n - inside
  }, 0n)
}

/** Returns the account's call to itself that executes the batch. */
export function executeCall(from: Address, calls: readonly Call[], delegate: Address): Call {
  return { to: from, value: 0n, data: encodeExecute(calls, delegate), gasLimitOverride: null }
}

/** Returns the call that deploys the wallet's delegate. */
export function deployCall(): Call {
  return { to: DELEGATE.deployer, value: 0n, data: DELEGATE.deployment, gasLimitOverride: null }
}

// --- the cap of a transaction ---------------------------------------------------------------------------------------------

/**
 * Returns whether the chain has EIP-7825, which no method of a node reports. An estimate is limited to the cap, so one of code that needs more fails. False if
 * the node does not respond.
 */
export async function hasTransactionGasCap({ rpc }: WalletChain): Promise<boolean> {
  try {
    await rpc.request({ method: 'eth_estimateGas', params: [{ data: FAILS_BELOW_CAP }] })
    return false
  } catch (error) {
    if (error instanceof RpcError) return !isConnectionError(error)
    throw error
  }
}

/** Init code, PUSH4 2^24 GAS LT PUSH1 11 JUMPI STOP JUMPDEST INVALID: fails with less than TRANSACTION_GAS_CAP after the intrinsic gas. */
const FAILS_BELOW_CAP = '0x63010000005a10600b57005bfe'

// --- simulation -----------------------------------------------------------------------------------------------------------

interface CallGas {
  readonly isSuccess: boolean
  readonly used: bigint
  /** gas before refunds */
  readonly maxGas: bigint
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
  /** gas before refunds; some nodes omit it */
  readonly maxUsedGas?: Hex
}

function callGas({ status, gasUsed, maxUsedGas }: SimulatedCall): CallGas {
  const used = BigInt(gasUsed)
  return { isSuccess: BigInt(status) === 1n, used, maxGas: maxUsedGas === undefined ? used + used / 4n : BigInt(maxUsedGas) }
}

/**
 * Simulates the calls and determines their limits, then simulates them with these and doubles a limit that fails: deep calls may need more than the 1/64
 * that is added for EIP-150. Null: the node cannot simulate them.
 */
async function simulateLimits(
  chain: WalletChain,
  from: Address,
  calls: readonly Call[],
  overrides: Overrides,
): Promise<readonly { readonly isSuccess: boolean; readonly used: bigint; readonly limit: bigint }[] | null> {
  const requests = calls.map((call) => Call.toRequest(call, from))
  const simulated = await simulate(chain, requests, overrides)
  if (simulated === null) return null
  let estimates = calls.map((call, i) => limitOf(call, simulated[i] as CallGas)) // simulate returns one for each call
  for (let i = 0; i < VERIFICATIONS; i++) {
    const limited = requests.map((request, at) => ({ ...request, gas: Hex.fromQuantity(estimates[at]?.limit ?? UNKNOWN_GAS) }))
    const again = await simulate(chain, limited, overrides)
    const short = estimates.findIndex(
      ({ isSuccess }, at) => isSuccess && again?.[at]?.isSuccess === false && calls[at]?.gasLimitOverride === null,
    )
    if (short === -1) return estimates
    estimates = estimates.map((each, at) => (at === short ? { ...each, limit: each.limit * 2n } : each))
  }
  return estimates
}

/** Eight doublings reach the block gas limit from any estimate. */
const VERIFICATIONS = 8

/** The requested limit, or gas before refunds with the 1/64 that a call must retain (EIP-150). */
function limitOf(call: Call, { isSuccess, used, maxGas }: CallGas) {
  const requested = requestedLimit(call)
  const intrinsic = intrinsicGas(call)
  const enough = maxGas <= intrinsic ? intrinsic : withMargin(((maxGas + STIPEND) * 64n) / 63n)
  // A call that fails with all the block's gas also fails with less, which pools accept.
  return { isSuccess, used, limit: requested ?? (isSuccess ? enough : min(enough, MAX_CALL_GAS)) }
}

/** Adds a quarter for changes of the state, up to the gas limit of a transaction. */
function withMargin(gas: bigint): bigint {
  const more = gas + gas / 4n
  return gas <= MAX_CALL_GAS && more > MAX_CALL_GAS ? MAX_CALL_GAS : more
}

/** The largest estimate: an authorization still fits into the transaction. */
const MAX_CALL_GAS = TRANSACTION_GAS_CAP - AUTHORIZATION_GAS

function requestedLimit(call: Call): bigint | null {
  return call.gasLimitOverride === null ? null : call.gasLimitOverride + intrinsicGas(call)
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}
