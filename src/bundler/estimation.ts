import { Abi, DecodeError, Hex } from '../eth/index.ts'
import type { EntryPoint, UserOperation } from '../eth/index.ts'
import { refuse } from './errors.ts'
import { isSignatureFailure, reasonOf, refusalFor } from './failure.ts'
import {
  BUNDLE_GAS,
  ESTIMATE_CALL_GAS,
  ESTIMATE_PAYMASTER_GAS,
  ESTIMATE_POST_OP_GAS,
  MAX_ESTIMATE_RUNS,
  ESTIMATE_VERIFICATION_GAS,
} from './limits.ts'
import type { BundlerNode } from './node.ts'
import { delegationOverride, depositSlot, mergeOverrides, nonceOverride } from './stateoverrides.ts'
import type { Overrides } from './stateoverrides.ts'
import { preVerificationOf } from './preverification.ts'
import type { SimulatedCallResult } from './simulatedcalls.ts'
import { assertCode, validationCalls } from './validation.ts'
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
 * Searches the lowest gas limits with which the operation succeeds, to within 1/32, with ample funds for the payer. If the operation has
 * a price, it then runs once with the real funds. An invalid signature is accepted. `ahead`: of the account's nonce. Throws RpcError.
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
    const verificationGasLimit = await searchLeastGas(
      ESTIMATE_VERIFICATION_GAS,
      used.verification + overheadGas(this.#candidate),
      async (gas) => {
        return (await this.#outcome({ ...start, verificationGasLimit: gas })) === outcome
      },
    )
    const verification = percent(verificationGasLimit, VERIFICATION_PERCENT)
    const call = await this.#callGas(used.call)
    const postOp = used.context.length === 0 ? 0n : await this.#postOp(call, used.context)
    if (!sponsored)
      return {
        verificationGasLimit: max(verification, postOp),
        callGasLimit: call,
        paymasterVerificationGasLimit: 0n,
        paymasterPostOpGasLimit: 0n,
      }
    const paymaster = await searchLeastGas(ESTIMATE_PAYMASTER_GAS, used.paymaster + PAYMASTER_OVERHEAD_GAS, async (gas) => {
      return (await this.#outcome({ ...start, paymasterVerificationGasLimit: gas })) === outcome
    })
    return {
      verificationGasLimit: verification,
      callGasLimit: call,
      paymasterVerificationGasLimit: percent(paymaster, PAYMASTER_PERCENT),
      paymasterPostOpGasLimit: postOp,
    }
  }

  /** The EntryPoint makes no call for empty call data. */
  async #callGas(used: bigint): Promise<bigint> {
    if (this.#candidate.operation.callData.length === 0) return 0n
    // An account that tolerates failing calls would succeed with less gas, with its calls failing.
    const least = await searchLeastGas(ESTIMATE_CALL_GAS, used, async (gas) => (await this.#run(gas, 0n)).call.success, used)
    return percent(least, CALL_PERCENT) + COLD_ACCESS_GAS
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

  /** Runs once with maximum gas, as the start of the searches. Throws RpcError -32521 if the account's call reverts. */
  async #measureGasUsed() {
    const { verification, call, paymaster, context } = await this.#run(ESTIMATE_CALL_GAS, 0n)
    if (!call.success) throw reverted(call.output)
    return { verification, call: call.gasUsed, paymaster, context }
  }

  async #postOp(callGas: bigint, context: Uint8Array): Promise<bigint> {
    const first = await this.#run(callGas, ESTIMATE_POST_OP_GAS, context)
    if (first.postOp?.success !== true)
      throw refuse(
        'paymaster',
        `AA50 postOp reverted: ${reasonOf(first.postOp?.output ?? EMPTY) ?? Hex.fromBytes(first.postOp?.output ?? EMPTY)}`,
        {
          paymaster: this.#candidate.operation.paymaster,
        },
      )
    const found = await searchLeastGas(ESTIMATE_POST_OP_GAS, first.postOp.gasUsed, async (gas) => {
      return (await this.#run(callGas, gas, context)).postOp?.success === true
    })
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
  const reason = reasonOf(output)
  const data = Hex.fromBytes(output)
  const message = `UserOperation reverted during simulation with reason: ${reason ?? data}`
  return refuse('reverted', message, { reason: reason ?? data, revertData: data })
}

/**
 * Returns the least sufficient gas, to within 1/32. `greatest` is sufficient. The search moves away from `likely` in growing steps, so it ends after two runs
 * if that is right. Only values above `lowest` are tried.
 */
async function searchLeastGas(greatest: bigint, likely: bigint, fits: (gas: bigint) => Promise<boolean>, lowest = 0n): Promise<bigint> {
  let [fails, works] = [lowest, greatest]
  let step = likely / 128n + 200n
  let next = likely + step
  for (let runs = 0; runs < MAX_ESTIMATE_RUNS && works - fails > works / 32n + 500n; runs++) {
    if (next <= fails || next >= works) next = (fails + works) / 2n
    if (await fits(next)) works = next
    else fails = next
    step *= 2n
    if (works === greatest) next = fails + step
    else if (fails === lowest) next = works - step
    else next = (fails + works) / 2n
  }
  return works
}

// Overhead of the EntryPoint beyond the gas of the calls, by the limit that it counts against; only starting points of the searches.
const FIRST_NONCE_GAS = 28_000n
const NEXT_NONCE_GAS = 10_000n
const FIRST_PREFUND_GAS = 29_000n
const NEXT_PREFUND_GAS = 12_200n
const PAYMASTER_OVERHEAD_GAS = 6_000n

/** The EntryPoint stores the nonce, and what the account pays, while the limit for verification applies. */
function overheadGas({ operation: { nonce, paymaster } }: Candidate): bigint {
  const isFirst = BigInt.asUintN(64, nonce) === 0n
  const prefund = isFirst ? FIRST_PREFUND_GAS : NEXT_PREFUND_GAS
  return (isFirst ? FIRST_NONCE_GAS : NEXT_NONCE_GAS) + (paymaster === null ? prefund : 0n)
}

function percent(gas: bigint, percentage: bigint): bigint {
  return (gas * percentage + 99n) / 100n
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}
