import { Abi, DecodeError, Hex, RevertReason } from '../eth/index.ts'
import type { EntryPoint, UserOperation } from '../eth/index.ts'
import { refuse } from './errors.ts'
import { isSignatureFailure, refusalFor } from './failure.ts'
import {
  BUNDLE_GAS,
  ESTIMATE_CALL_GAS,
  ESTIMATE_PAYMASTER_GAS,
  ESTIMATE_POST_OP_GAS,
  MAX_ESTIMATE_RUNS,
  ESTIMATE_VERIFICATION_GAS,
} from './limits.ts'
import { maximum } from './node.ts'
import type { BundlerNode } from './node.ts'
import { delegationOverride, depositSlot, mergeOverrides, nonceOverride } from './stateoverrides.ts'
import type { Overrides } from './stateoverrides.ts'
import { preVerificationOf } from './preverification.ts'
import type { SimulatedCallResult } from './simulatedcalls.ts'
import { assertCode, assertNoAggregator, validationCalls } from './validation.ts'
import type { Candidate, ValidationDeps } from './validation.ts'

export interface GasEstimate {
  readonly preVerificationGas: bigint
  readonly verificationGasLimit: bigint
  readonly callGasLimit: bigint
  readonly paymasterVerificationGasLimit: bigint
  readonly paymasterPostOpGasLimit: bigint
}

// Margins in percent on top of the measured gas: the real signature may take other branches than the stub signature.
const VERIFICATION_PERCENT = 130n
const PAYMASTER_PERCENT = 130n
const POST_OP_PERCENT = 120n
const CALL_PERCENT = 110n
const PRE_VERIFICATION_PERCENT = 110n
/** The gas by which postOp's argument for the cost is computed: paymasters store or transfer that amount, which for 0 takes less gas. */
const POST_OP_COST_GAS = 200_000n
/** A stub signature may warm an address that the real one does not (EIP-2929). */
const COLD_ACCESS_GAS = 2_600n

/**
 * Finds gas limits with which the operation succeeds, with ample funds for the payer: the measured gas with its overhead if one run confirms it, else the
 * lowest to within 1/32. If the operation has a price, it then runs once with the real funds. An invalid signature is accepted. `ahead`: of the account's nonce. Throws RpcError.
 */
export async function estimate(deps: ValidationDeps, candidate: Candidate, ahead: bigint, given: Overrides): Promise<GasEstimate> {
  const { node } = deps
  const { entryPoint, operation } = candidate
  const base = mergeOverrides(given, delegationOverride(operation), ahead <= 0n ? {} : nonceOverride(entryPoint, operation))
  await assertCode(node, operation, base)
  const search = new Search(deps, candidate, base, mergeOverrides(base, await fundedOverride(node, entryPoint, operation)))
  const limits = await search.limits()
  const now = await node.now()
  const { execution, data } = await preVerificationOf(node, entryPoint, { ...operation, ...limits }, now)
  const preVerificationGas = percent(execution + data, PRE_VERIFICATION_PERCENT)
  const found = { ...limits, preVerificationGas }
  if (operation.maxFeePerGas > 0n) await search.confirm(found)
  return found
}

/** In 0.6 the deposit has the lower 112 bits of its slot. */
const DEPOSIT_BITS = 112n
const AMPLE_WEI = 1n << 100n

/**
 * Gives the payer of an operation enough ether for any gas limit. A deposit of the account that does not cover any limit is set to 1 wei: it could cover
 * the low limits that a search tries but not the limit that it finds, so the gas of the transfer from the balance would not be measured.
 */
async function fundedOverride(node: BundlerNode, { address }: EntryPoint, operation: UserOperation): Promise<Overrides> {
  const { sender, paymaster, maxFeePerGas } = operation
  const slot = depositSlot(BigInt(paymaster ?? sender))
  const word = await node.quantity('eth_getStorageAt', address, slot, 'pending')
  const rest = (word >> DEPOSIT_BITS) << DEPOSIT_BITS
  const deposit = (wei: bigint) => ({ [address]: { stateDiff: { [slot]: Hex.fromBytes32(rest | wei) } } })
  if (paymaster !== null) return deposit(AMPLE_WEI)
  const isPartial = word > rest && word - rest < BUNDLE_GAS * maxFeePerGas
  return { ...(isPartial ? deposit(1n) : undefined), [sender]: { balance: Hex.fromQuantity(AMPLE_WEI) } }
}

interface GasUsed {
  readonly verification: bigint
  readonly call: bigint
  readonly paymaster: bigint
  /** the paymaster's context for postOp; empty: postOp is not called */
  readonly context: Uint8Array
}

type Limits = Omit<GasEstimate, 'preVerificationGas'>

const INITIAL_LIMITS: Limits = {
  verificationGasLimit: ESTIMATE_VERIFICATION_GAS,
  callGasLimit: 0n,
  paymasterVerificationGasLimit: ESTIMATE_PAYMASTER_GAS,
  paymasterPostOpGasLimit: 0n,
}

class Search {
  readonly #deps: ValidationDeps
  readonly #candidate: Candidate
  readonly #base: Overrides
  readonly #funded: Overrides
  readonly #isUnpacked: boolean

  constructor(deps: ValidationDeps, candidate: Candidate, base: Overrides, funded: Overrides) {
    this.#deps = deps
    this.#isUnpacked = candidate.entryPoint.version === '0.6'
    const { operation } = candidate
    const fee = operation.maxFeePerGas === 0n ? 1n : operation.maxFeePerGas
    this.#candidate = { ...candidate, operation: { ...operation, maxFeePerGas: fee } }
    this.#base = base
    this.#funded = funded
  }

  async limits(): Promise<Limits> {
    const sponsored = this.#candidate.operation.paymaster !== null && !this.#isUnpacked
    const start: Limits = { ...INITIAL_LIMITS, ...(sponsored ? undefined : { paymasterVerificationGasLimit: 0n }) }
    const outcome = await this.#outcome(start)
    // The gas of a failed signature check is representative.
    if (outcome !== null && !isSignatureFailure({ reason: outcome })) throw await this.#refusal(start)
    const used = await this.#measureGasUsed()
    const isSame = async (limits: Partial<Limits>) => (await this.#outcome({ ...start, ...limits })) === outcome
    const { verification, paymaster } = await this.#verificationGas(used, sponsored, isSame)
    const { call, postOp } = await this.#callGas(used)
    if (!sponsored)
      return {
        verificationGasLimit: maximum(verification, postOp),
        callGasLimit: call,
        paymasterVerificationGasLimit: 0n,
        paymasterPostOpGasLimit: 0n,
      }
    return {
      verificationGasLimit: verification,
      callGasLimit: call,
      paymasterVerificationGasLimit: paymaster,
      paymasterPostOpGasLimit: postOp,
    }
  }

  /** One run confirms both limits if the estimate of the overhead is right. */
  async #verificationGas(used: GasUsed, sponsored: boolean, isSame: (limits: Partial<Limits>) => Promise<boolean>) {
    const ofPaymaster = used.paymaster > 0n ? used.paymaster + PAYMASTER_OVERHEAD_GAS : 0n
    const likely = withStep(used.verification + overheadGas(this.#candidate) + (this.#isUnpacked ? ofPaymaster : 0n))
    const likelyPaymaster = withStep(ofPaymaster)
    const both = { verificationGasLimit: likely, ...(sponsored ? { paymasterVerificationGasLimit: likelyPaymaster } : undefined) }
    let [account, paymaster] = [likely, likelyPaymaster]
    if (!(await isSame(both))) {
      account = await searchLeastGas(ESTIMATE_VERIFICATION_GAS, likely, (gas) => isSame({ verificationGasLimit: gas }))
      if (sponsored)
        paymaster = await searchLeastGas(ESTIMATE_PAYMASTER_GAS, likelyPaymaster, (gas) => isSame({ paymasterVerificationGasLimit: gas }))
    }
    return { verification: percent(account, VERIFICATION_PERCENT), paymaster: percent(paymaster, PAYMASTER_PERCENT) }
  }

  /**
   * The limits of the account's call and of postOp, which run one after the other. The EntryPoint makes no call for empty call data. The search begins at
   * the measured gas: an account that tolerates failing calls would succeed with less gas, with its calls failing.
   */
  async #callGas({ call: used, context }: GasUsed): Promise<{ readonly call: bigint; readonly postOp: bigint }> {
    const hasCall = this.#candidate.operation.callData.length > 0
    if (!hasCall && context.length === 0) return { call: 0n, postOp: 0n }
    const likely = withStep(used)
    const first = await this.#run(likely, ESTIMATE_POST_OP_GAS, context)
    const fits = async (gas: bigint) => (await this.#run(gas, 0n)).call.success
    const isSufficient = first.call.success || !hasCall
    const least = isSufficient ? likely : await searchLeastGas(ESTIMATE_CALL_GAS, likely, fits)
    const call = hasCall ? percent(least, CALL_PERCENT) + COLD_ACCESS_GAS : 0n
    if (context.length === 0) return { call, postOp: 0n }
    // After a call that failed postOp would find another state.
    const { postOp } = isSufficient ? first : await this.#run(least, ESTIMATE_POST_OP_GAS, context)
    return { call, postOp: await this.#postOpGas(postOp, least, context) }
  }

  /** Simulates with the real funds, which reveals AA21 and AA31. Throws RpcError. */
  async confirm(found: GasEstimate): Promise<void> {
    const operation = { ...this.#candidate.operation, ...found }
    const { node, bundler } = this.#deps
    const failure = await node.handleOps(this.#candidate.entryPoint, [operation], bundler, this.#base)
    if (failure !== null && !isSignatureFailure(failure)) throw refusalFor(failure, operation)
  }

  /** Returns the EntryPoint's error with these limits; `null` if it accepts them. */
  async #outcome(limits: Limits): Promise<string | null> {
    return (await this.#handleOps(limits))?.reason ?? null
  }

  async #refusal(limits: Limits) {
    const failure = await this.#handleOps(limits)
    return refusalFor(
      failure ?? { reason: 'the state changed during the estimate; send the request again', inner: null },
      this.#candidate.operation,
    )
  }

  #handleOps(limits: Limits) {
    const operation = { ...this.#candidate.operation, ...limits }
    const { node, bundler } = this.#deps
    return node.handleOps(this.#candidate.entryPoint, [operation], bundler, this.#funded)
  }

  /** Runs once with maximum gas. Throws RpcError: -32506 if the account requires an aggregator, -32521 if its call reverts. */
  async #measureGasUsed(): Promise<GasUsed> {
    const { account, verification, call, paymaster, context } = await this.#run(ESTIMATE_CALL_GAS, 0n)
    assertNoAggregator(account?.success === true ? account.output : null)
    if (!call.success) throw reverted(call.output)
    return { verification, call: call.gasUsed, paymaster, context }
  }

  async #postOpGas(first: SimulatedCallResult | undefined, callGas: bigint, context: Uint8Array): Promise<bigint> {
    if (first?.success !== true) {
      const { paymaster } = this.#candidate.operation
      const output = first?.output ?? EMPTY
      throw refuse('paymaster', `AA50 postOp reverted: ${RevertReason.text(output) ?? Hex.fromBytes(output)}`, { paymaster })
    }
    const fits = async (gas: bigint) => (await this.#run(callGas, gas, context)).postOp?.success === true
    const likely = withStep(first.gasUsed)
    const found = (await fits(likely)) ? likely : await searchLeastGas(ESTIMATE_POST_OP_GAS, likely, fits)
    return percent(found, POST_OP_PERCENT)
  }

  /** Runs account creation, validations, the account's call and postOp. */
  async #run(callGas: bigint, postOpGas: bigint, context: Uint8Array = EMPTY) {
    const { entryPoint, operation, hash } = this.#candidate
    const calls = validationCalls(this.#candidate, { account: ESTIMATE_VERIFICATION_GAS, paymaster: ESTIMATE_PAYMASTER_GAS })
    const all = [...calls.all, { to: operation.sender, gas: callGas, data: entryPoint.execute(operation, hash) }]
    if (operation.paymaster !== null && context.length > 0)
      all.push({
        to: operation.paymaster,
        gas: postOpGas,
        data: entryPoint.postOp(context, POST_OP_COST_GAS * operation.maxFeePerGas, operation.maxFeePerGas),
      })
    const results = await this.#deps.node.simulateCalls(entryPoint, all, this.#base)
    const paymaster = calls.paymaster === null ? undefined : results[calls.paymaster]
    return {
      account: results[calls.account],
      verification: results.slice(0, calls.account + 1).reduce((sum, { gasUsed }) => sum + gasUsed, 0n),
      paymaster: paymaster?.gasUsed ?? 0n,
      context: contextOf(paymaster),
      call: results[calls.all.length] as SimulatedCallResult, // one result for each call
      postOp: results[calls.all.length + 1],
    }
  }
}

const EMPTY = new Uint8Array(0)

function contextOf(paymaster: SimulatedCallResult | undefined): Uint8Array {
  if (paymaster?.success !== true) return EMPTY
  try {
    return Abi.Reader(paymaster.output).bytes(0)
  } catch (error) {
    if (error instanceof DecodeError) return EMPTY
    throw error
  }
}

function reverted(output: Uint8Array) {
  const reason = RevertReason.text(output)
  const data = Hex.fromBytes(output)
  const message = `UserOperation reverted during simulation with reason: ${reason ?? data}`
  return refuse('reverted', message, { reason: reason ?? data, revertData: data })
}

/**
 * Returns sufficient gas that is little more than the least, for a need that is above the measured gas: a call forwards at most 63/64 of its gas, and code
 * may read the gas that is left. `greatest` is sufficient, `fails` is not tried. The search moves up in growing steps, then halves the interval to within 1/32.
 */
async function searchLeastGas(greatest: bigint, fails: bigint, fits: (gas: bigint) => Promise<boolean>): Promise<bigint> {
  let [low, high] = [fails, greatest]
  let step = fails / 64n + 400n
  for (let runs = 0; runs < MAX_ESTIMATE_RUNS && high - low > high / 32n + 500n; runs++) {
    const next = high === greatest && low + step < high ? low + step : (low + high) / 2n
    if (await fits(next)) high = next
    else low = next
    step *= 2n
  }
  return high
}

/** The measured gas with a margin for the next run. */
function withStep(used: bigint): bigint {
  return used + used / 128n + 200n
}

// Overhead of the EntryPoint beyond the gas of the calls, by the limit that it counts against, rounded up.
const FIRST_NONCE_GAS = 28_000n
const NEXT_NONCE_GAS = 10_000n
const FIRST_PREFUND_GAS = 29_000n
const NEXT_PREFUND_GAS = 12_200n
const PAYMASTER_OVERHEAD_GAS = 8_000n

/** The EntryPoint stores the nonce, and what the account pays, while the limit for verification applies. */
function overheadGas({ operation: { nonce, paymaster } }: Candidate): bigint {
  const isFirst = BigInt.asUintN(64, nonce) === 0n
  const prefund = isFirst ? FIRST_PREFUND_GAS : NEXT_PREFUND_GAS
  return (isFirst ? FIRST_NONCE_GAS : NEXT_NONCE_GAS) + (paymaster === null ? prefund : 0n)
}

function percent(gas: bigint, percentage: bigint): bigint {
  return (gas * percentage + 99n) / 100n
}
