import { Abi, DecodeError, Hex } from '../eth/index.ts'
import { refuse } from './errors.ts'
import { reasonOf, refusalFor } from './failure.ts'
import { ESTIMATE_CALL_GAS, ESTIMATE_PAYMASTER_GAS, ESTIMATE_POST_OP_GAS, ESTIMATE_RUNS, ESTIMATE_VERIFICATION_GAS } from './limits.ts'
import type { Overrides } from './node.ts'
import { atNonce, delegating, funded, together } from './overriding.ts'
import { preVerificationOf } from './preverification.ts'
import type { Stepped } from './steps.ts'
import { assertCode, bundleGas, noncesAhead, validationSteps } from './validation.ts'
import type { Candidate, ValidationDeps } from './validation.ts'

export interface GasEstimate {
  readonly preVerificationGas: bigint
  readonly verificationGasLimit: bigint
  readonly callGasLimit: bigint
  readonly paymasterVerificationGasLimit: bigint
  readonly paymasterPostOpGasLimit: bigint
}

// What is put on top of what was found, in percent: the real signature is checked by other branches than the one that stands in for it.
const VERIFICATION_PERCENT = 130n
const PAYMASTER_PERCENT = 130n
const POST_OP_PERCENT = 120n
const CALL_PERCENT = 110n
const PRE_VERIFICATION_PERCENT = 110n

/** Gas of a verification that ends with a signature that does not fit: as good as any for an estimate. */
const ACCEPTABLE = /^AA(24|34)/

/**
 * Looks for the least limits under which it runs, each by halving what is left, with the payer's purse made full. Then once more with the purse as it
 * is, if the operation names a price. A signature that does not fit is no reason to refuse. Throws RpcError.
 */
export async function estimate(deps: ValidationDeps, candidate: Candidate, given: Overrides): Promise<GasEstimate> {
  const { node } = deps
  const { entryPoint, operation } = candidate
  const ahead = await noncesAhead(node, entryPoint, operation)
  const standing = together(given, delegating(operation), ahead <= 0n ? {} : atNonce(entryPoint, operation))
  await assertCode(node, operation, standing)
  const search = new Search(deps, candidate, standing, together(standing, await funded(node, entryPoint, operation)))
  const limits = await search.limits()
  const now = await node.now()
  const { execution, data } = await preVerificationOf(node, entryPoint, { ...operation, ...limits }, now)
  const preVerificationGas = percent(execution + data, PRE_VERIFICATION_PERCENT)
  const found = { ...limits, preVerificationGas }
  if (operation.maxFeePerGas > 0n) await search.confirm(found)
  return found
}

type Limits = Omit<GasEstimate, 'preVerificationGas'>

const GREATEST: Limits = {
  verificationGasLimit: ESTIMATE_VERIFICATION_GAS,
  callGasLimit: 0n,
  paymasterVerificationGasLimit: ESTIMATE_PAYMASTER_GAS,
  paymasterPostOpGasLimit: 0n,
}

class Search {
  readonly #deps: ValidationDeps
  readonly #candidate: Candidate
  readonly #standing: Overrides
  readonly #funded: Overrides
  readonly #unpacked: boolean

  constructor(deps: ValidationDeps, candidate: Candidate, standing: Overrides, fundedOverrides: Overrides) {
    this.#deps = deps
    this.#unpacked = candidate.entryPoint.version === '0.6'
    const { operation } = candidate
    const fee = operation.maxFeePerGas === 0n ? 1n : operation.maxFeePerGas
    this.#candidate = { ...candidate, operation: { ...operation, maxFeePerGas: fee } }
    this.#standing = standing
    this.#funded = fundedOverrides
  }

  async limits(): Promise<Limits> {
    const sponsored = this.#candidate.operation.paymaster !== null && !this.#unpacked
    const start: Limits = { ...GREATEST, ...(sponsored ? undefined : { paymasterVerificationGasLimit: 0n }) }
    const outcome = await this.#outcome(start)
    if (outcome !== null && !ACCEPTABLE.test(outcome)) throw await this.#refusal(start)
    const used = await this.#use()
    const verificationGasLimit = await least(ESTIMATE_VERIFICATION_GAS, used.verification, async (gas) => {
      return (await this.#outcome({ ...start, verificationGasLimit: gas })) === outcome
    })
    const verification = percent(verificationGasLimit, VERIFICATION_PERCENT)
    const callGasLimit = await least(ESTIMATE_CALL_GAS, used.call, async (gas) => (await this.#run(gas, 0n)).call.success)
    const call = percent(callGasLimit, CALL_PERCENT)
    const postOp = used.context.length === 0 ? 0n : await this.#postOp(call, used.context)
    if (!sponsored)
      return {
        verificationGasLimit: most(verification, postOp),
        callGasLimit: call,
        paymasterVerificationGasLimit: 0n,
        paymasterPostOpGasLimit: 0n,
      }
    const paymaster = await least(ESTIMATE_PAYMASTER_GAS, used.paymaster, async (gas) => {
      return (await this.#outcome({ ...start, paymasterVerificationGasLimit: gas })) === outcome
    })
    return {
      verificationGasLimit: verification,
      callGasLimit: call,
      paymasterVerificationGasLimit: percent(paymaster, PAYMASTER_PERCENT),
      paymasterPostOpGasLimit: postOp,
    }
  }

  /** With nothing but what the operation says: AA21 and AA31 come out here. Throws RpcError. */
  async confirm(found: GasEstimate): Promise<void> {
    const operation = { ...this.#candidate.operation, ...found }
    const { node, bundler } = this.#deps
    const failure = await node.handleOps(
      this.#candidate.entryPoint,
      [operation],
      bundler,
      bundleGas(this.#candidate.entryPoint, [operation]),
      this.#standing,
    )
    if (failure !== null && !ACCEPTABLE.test(failure.reason)) throw refusalFor(failure, operation)
  }

  /** What the EntryPoint says of these limits; null: nothing against them. */
  async #outcome(limits: Limits): Promise<string | null> {
    return (await this.#handled(limits))?.reason ?? null
  }

  async #refusal(limits: Limits) {
    const failure = await this.#handled(limits)
    return refusalFor(failure ?? { reason: 'the state changed meanwhile; ask again', inner: null }, this.#candidate.operation)
  }

  #handled(limits: Limits) {
    const operation = { ...this.#candidate.operation, ...limits }
    const { node, bundler } = this.#deps
    return node.handleOps(
      this.#candidate.entryPoint,
      [operation],
      bundler,
      bundleGas(this.#candidate.entryPoint, [operation]),
      this.#funded,
    )
  }

  /** One run with all the gas there is: where the searches begin. Throws RpcError -32521 when the account's call reverts. */
  async #use() {
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
    const found = await least(ESTIMATE_POST_OP_GAS, first.postOp.gasUsed, async (gas) => {
      return (await this.#run(callGas, gas, context)).postOp?.success === true
    })
    return percent(found, POST_OP_PERCENT)
  }

  /** Creation, validations, the call with this gas, and what the paymaster does afterwards. */
  async #run(callGas: bigint, postOpGas: bigint, context: Uint8Array = EMPTY) {
    const { entryPoint, operation, hash } = this.#candidate
    const steps = validationSteps(this.#candidate, { account: ESTIMATE_VERIFICATION_GAS, paymaster: ESTIMATE_PAYMASTER_GAS })
    const all = [...steps.all, { to: operation.sender, gas: callGas, data: entryPoint.execute(operation, hash) }]
    if (operation.paymaster !== null && context.length > 0)
      all.push({ to: operation.paymaster, gas: postOpGas, data: entryPoint.postOp(context, 1n, operation.maxFeePerGas) })
    const results = await this.#deps.node.steps(entryPoint, all, this.#funded)
    const paymaster = steps.paymaster === null ? undefined : results[steps.paymaster]
    return {
      verification: results.slice(0, steps.account + 1).reduce((sum, { gasUsed }) => sum + gasUsed, 0n),
      paymaster: paymaster?.gasUsed ?? 0n,
      context: contextOf(paymaster),
      call: results[steps.all.length] as Stepped, // one result for each step
      postOp: results[steps.all.length + 1],
    }
  }
}

const EMPTY = new Uint8Array(0)

function contextOf(paymaster: Stepped | undefined): Uint8Array {
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
  return refuse('reverted', `execution reverted${reason === null ? '' : `: ${reason}`}`, { reason: reason ?? data, revertData: data })
}

/** The least gas that fits, up to a 32nd. `greatest` is known to fit; `likely` is where to look first. */
async function least(greatest: bigint, likely: bigint, fits: (gas: bigint) => Promise<boolean>): Promise<bigint> {
  let [fails, works] = [0n, greatest]
  let next = (likely * 66n) / 63n + 5_000n
  for (let runs = 0; runs < ESTIMATE_RUNS && works - fails > works / 32n + 500n; runs++) {
    if (next <= fails || next >= works) next = (fails + works) / 2n
    if (await fits(next)) works = next
    else fails = next
    // What is near was guessed; far above it there is nothing to look for.
    next = works === greatest ? fails * 2n : fails === 0n ? works - works / 8n : (fails + works) / 2n
  }
  return works
}

function percent(gas: bigint, percentage: bigint): bigint {
  return (gas * percentage + 99n) / 100n
}

function most(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}
