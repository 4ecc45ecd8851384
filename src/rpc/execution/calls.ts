import type { View } from '../../chain/index.ts'
import type { Compat } from '../../compat.ts'
import type { Block } from '../../eth/index.ts'
import { executeCall, Deadline, executeTransaction, InvalidTransaction, StateOverlay, tier1, World } from '../../evm/index.ts'
import type { BlockContext, ExecuteOptions, Executed, OnCallResult, StateReader, TraceBudget, TraceFactory } from '../../evm/index.ts'
import { CODE, RpcError } from '../../jsonrpc/index.ts'
import { CALL_GAS, CALL_TIME_MS } from '../limits.ts'
import { overrideBlock, overrideState } from './overrides.ts'
import type { BlockOverrides, StateOverrides } from './overrides.ts'
import { feesOf, messageOf, senderOf } from './request.ts'
import type { CallRequest } from './request.ts'
import { failure } from './revert.ts'

/** Where a call runs: the state after a block and that block's own environment. Pending and sealed alike (law 2). */
export interface Site {
  readonly state: StateReader
  readonly context: BlockContext
}

export function siteOf(view: View, block: Block): Site {
  return { state: view.state(block), context: view.context(block) }
}

export interface CallSetup {
  /** of the request: CALL_TIME_MS from now unless given */
  readonly deadline?: Deadline
  /** somebody will listen: an access list, a tracer */
  readonly traced?: boolean
}

export interface Overrides {
  readonly state?: StateOverrides | undefined
  readonly block?: BlockOverrides | undefined
}

/** Runs `work` with a call, which is there for that long. Throws RpcError for overrides that contradict each other. */
export function withCall<T>(
  site: Site,
  request: CallRequest,
  overrides: Overrides,
  work: (call: Call) => T,
  { deadline = new Deadline(CALL_TIME_MS), traced = false }: CallSetup = {},
): T {
  const world = new World(site.state, { traced })
  try {
    return work(new Call(world, site.context, request, overrides, deadline))
  } finally {
    world.release()
  }
}

/** Has `hear` take what a call answers, and nothing more: most of them pay nothing and change nothing, and that takes two thirds of the time. Throws as `Call.run` does. */
export function answerOf<T>(site: Site, request: CallRequest, overrides: Overrides, deadline: Deadline, hear: OnCallResult<T>): T {
  const { to, gas: asked, data = NO_BYTES } = request
  if (to === undefined || !isPlain(request, overrides)) {
    const { outcome, output } = withCall(site, request, overrides, (call) => call.run(), { deadline })
    return hear(outcome, output, 0, output.length)
  }
  const gas = asked === undefined || asked > CALL_GAS ? MOST_GAS : Number(asked)
  try {
    return executeCall({ from: senderOf(request), to, data, gas }, withoutBaseFee(site.context), site.state, deadline, hear)
  } catch (error) {
    throw error instanceof InvalidTransaction ? refused(error, gas) : error
  }
}

const MOST_GAS = Number(CALL_GAS)

/** No value, no prices, no lists, nothing overridden. With Tier 1, on or compared, calls go the general way. */
function isPlain(request: CallRequest, { state, block }: Overrides): boolean {
  return (
    state === undefined &&
    block === undefined &&
    request.type === undefined &&
    (request.value === undefined || request.value === 0n) &&
    request.gasPrice === undefined &&
    request.maxFeePerGas === undefined &&
    request.maxPriorityFeePerGas === undefined &&
    request.accessList === undefined &&
    request.blobVersionedHashes === undefined &&
    request.authorizationList === undefined &&
    tier1.settings.mode === 'off'
  )
}

function refused({ code, message }: InvalidTransaction, gas: bigint | number): InvalidTransaction {
  return new InvalidTransaction(code, `err: ${message} (supplied gas ${gas})`)
}

const NO_BYTES = new Uint8Array()
const NO_CHANGE = {}
/** Gas of a plain transfer. */
const TRANSFER_GAS = 21_000n
/** An estimate may lie this far above the least gas limit: geth's 1.5 %, which saves a third of the executions. */
const ESTIMATE_ERROR_PERMILLE = 15n
/** EIP-150: what a call that sends value adds for its callee. */
const CALL_STIPEND = 2_300n

/** One call on a state of its own, ready to run again and again. */
export class Call {
  readonly #world: World
  readonly #context: BlockContext
  readonly #request: CallRequest
  readonly #options: ExecuteOptions
  readonly #maxFee: bigint

  constructor(world: World, original: BlockContext, request: CallRequest, overrides: Overrides, deadline: Deadline) {
    const context = overrideBlock(original, overrides.block)
    const places = overrideState(world, overrides.state, context.rules)
    const { maxFee, maxTip } = feesOf(request, context.env.baseFeePerGas)
    const free = maxFee === 0n && maxTip === 0n
    this.#world = world
    this.#maxFee = maxFee
    this.#request = request
    this.#context = free ? withoutBaseFee(context, overrides.block) : context
    this.#options = {
      movedPrecompiles: places.movedPrecompiles,
      maskedPrecompiles: places.maskedPrecompiles,
      skipNonce: true,
      skipGasCap: true,
      skipFees: free,
      skipLogs: true,
      deadline,
    }
  }

  get context(): BlockContext {
    return this.#context
  }

  /** The gas of eth_call: what is asked for, at most the cap, and no more than the sender can pay for. */
  get gas(): bigint {
    const { gas } = this.#request
    if (gas !== undefined) return least(gas, CALL_GAS)
    const affordable = this.#affordableGas()
    // With less than a transfer's gas the executor names the missing funds better than a small limit would.
    return affordable === null || affordable < TRANSFER_GAS ? CALL_GAS : least(affordable, CALL_GAS)
  }

  /** Runs it; the state is then as before. Throws RpcError -32000 when it could not be included. */
  run(gas: bigint = this.gas, change: Partial<CallRequest> = NO_CHANGE, more: ExecuteOptions = NO_CHANGE): Executed {
    const result = this.#attempt(gas, change, more)
    if (result instanceof InvalidTransaction) throw refused(result, gas)
    return result
  }

  /** Runs it under a tracer and answers the story; what it did stays. `base`: the state that this call is on top of. Throws RpcError. */
  trace(base: StateReader, make: TraceFactory, budget: TraceBudget): string {
    const before = new StateOverlay(base)
    before.apply(this.#world.writes())
    const nonce = this.#request.nonce ?? this.#world.nonce(senderOf(this.#request))
    const message = messageOf(this.#request, this.gas, nonce, this.#context.env.baseFeePerGas)
    const { tracer, json } = make({ message, context: this.#context, stateBefore: before, state: this.#world, location: null, budget })
    try {
      return json(executeTransaction(message, this.#context, this.#world, { ...this.#options, skipLogs: false, tracer }))
    } catch (error) {
      if (error instanceof InvalidTransaction) throw new RpcError(CODE.server, `tracing failed: ${error.message}`)
      throw error
    }
  }

  /** The least gas limit under which it succeeds, as geth searches it. Throws RpcError. */
  estimate(compat: Compat): bigint {
    const most = this.#mostGas()
    if (this.#isPlainTransfer() && this.#succeeds(TRANSFER_GAS)) return TRANSFER_GAS
    const first = this.#attempt(most)
    if (first instanceof InvalidTransaction) throw cannotRun(first, most)
    const error = failure(first, compat)
    if (error !== null) throw first.outcome.kind === 'halt' && first.outcome.reason.startsWith(OUT_OF_GAS) ? tooLittle(most) : error
    return this.#search(first, most)
  }

  #search(first: Executed, most: bigint): bigint {
    let fails = first.gasUsed - 1n
    let works = most
    // Nearly always enough: what was used before refunds, and the 64th that a call must leave behind.
    const likely = ((first.gasUsedBeforeRefund + CALL_STIPEND) * 64n) / 63n
    if (likely < works) {
      if (this.#succeeds(likely)) works = likely
      else fails = likely
    }
    while (fails + 1n < works && (works - fails) * 1_000n >= works * ESTIMATE_ERROR_PERMILLE) {
      const middle = least((fails + works) / 2n, fails * 2n)
      if (this.#succeeds(middle)) works = middle
      else fails = middle
    }
    return works
  }

  #attempt(gas: bigint, change: Partial<CallRequest> = NO_CHANGE, more: ExecuteOptions = NO_CHANGE): Executed | InvalidTransaction {
    const mark = this.#world.checkpoint()
    const request = change === NO_CHANGE ? this.#request : { ...this.#request, ...change }
    const options = more === NO_CHANGE ? this.#options : { ...this.#options, ...more }
    // Its nonce is not looked at.
    const message = messageOf(request, gas, request.nonce ?? 0n, this.#context.env.baseFeePerGas)
    try {
      return executeTransaction(message, this.#context, this.#world, options)
    } catch (error) {
      if (error instanceof InvalidTransaction) return error
      throw error
    } finally {
      this.#world.revertTo(mark)
    }
  }

  #succeeds(gas: bigint): boolean {
    const result = this.#attempt(gas)
    if (!(result instanceof InvalidTransaction)) return result.outcome.kind === 'success'
    if (isAboutGas(result)) return false
    throw cannotRun(result, gas)
  }

  #isPlainTransfer(): boolean {
    const { to, data } = this.#request
    return to !== undefined && (data === undefined || data.length === 0) && this.#world.codeAt(to).length === 0
  }

  /** Asked for, or the block's limit; at most a transaction's cap (EIP-7825), what the sender can pay for, and our own cap. */
  #mostGas(): bigint {
    const { gas } = this.#request
    let most = gas !== undefined && gas >= TRANSFER_GAS ? gas : this.#context.env.gasLimit
    const { transactionGasCap } = this.#context.config
    if (transactionGasCap !== null && this.#context.rules.has('osaka')) most = least(most, transactionGasCap)
    const affordable = this.#affordableGas()
    if (affordable !== null) most = least(most, affordable)
    return least(most, CALL_GAS)
  }

  /** null: nothing is paid. 0n when not even the value can be. */
  #affordableGas(): bigint | null {
    if (this.#maxFee === 0n) return null
    const left = this.#world.balance(senderOf(this.#request)) - (this.#request.value ?? 0n)
    return left <= 0n ? 0n : left / this.#maxFee
  }
}

const OUT_OF_GAS = 'out of gas'

/** Without a price nothing is paid, and so BASEFEE reads 0 (geth, reth) unless the caller overrode it. */
function withoutBaseFee(context: BlockContext, overrides?: BlockOverrides): BlockContext {
  if (context.env.baseFeePerGas === null || overrides?.baseFeePerGas !== undefined) return context
  let free = withoutBaseFees.get(context)
  if (free === undefined) withoutBaseFees.set(context, (free = { ...context, env: { ...context.env, baseFeePerGas: 0n } }))
  return free
}

const withoutBaseFees = new WeakMap<BlockContext, BlockContext>()

/** A higher gas limit would cure it. */
function isAboutGas(error: InvalidTransaction): boolean {
  return error.code === 'intrinsic-gas' || error.code === 'floor-gas'
}

function cannotRun(error: InvalidTransaction, gas: bigint): RpcError {
  return isAboutGas(error) ? tooLittle(gas) : new RpcError(CODE.server, `failed with ${gas} gas: ${error.message}`)
}

function tooLittle(gas: bigint): RpcError {
  return new RpcError(CODE.server, `gas required exceeds allowance (${gas})`)
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
