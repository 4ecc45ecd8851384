import { MissingState } from '../../chain/index.ts'
import type { View, ViewScope } from '../../chain/index.ts'
import type { Compat } from '../../compat.ts'
import type { Block } from '../../eth/index.ts'
import { executeCall, Deadline, executeTransaction, InvalidTransaction, StateOverlay, tier1ModeOf, World } from '../../evm/index.ts'
import type {
  BlockContext,
  ConsoleCalls,
  ExecuteOptions,
  Executed,
  OnCallResult,
  StateReader,
  TraceBudget,
  TraceFactory,
} from '../../evm/index.ts'
import { CODE, RpcError } from '../../jsonrpc/index.ts'
import type { BlockRef } from '../../jsonrpc/schema.ts'
import { CALL_GAS, CALL_TIME_MS, MOST_CALL_GAS } from '../limits.ts'
import { refusalMessage } from '../refusals.ts'
import { NO_PRECOMPILE_OVERRIDES, ReplacedStorage, overrideBlock, overrideState } from './overrides.ts'
import type { BlockOverrides, PrecompileOverrides, StateOverrides } from './overrides.ts'
import { feesOf, messageOf, senderOf } from './request.ts'
import type { CallRequest } from './request.ts'
import { FailedCall, failure } from './revert.ts'

/** The state after a block and the environment of that block, pending or sealed. */
export interface CallEnvironment {
  readonly state: StateReader
  readonly context: BlockContext
  /** true: BASEFEE returns the block's base fee also in a call without a price; otherwise 0, as in geth and reth */
  readonly hasBaseFee?: boolean
  /** moved and overridden precompiles of all calls in it; a call with state overrides has those of the overrides only */
  readonly precompiles?: PrecompileOverrides
}

export function environmentOf(view: View, block: Block): CallEnvironment {
  return { state: view.state(block), context: view.context(block) }
}

/** The environment of a transaction that follows the block: that of the next block after the head, else that of the block itself. */
export function environmentAfter(view: View, block: Block): CallEnvironment {
  return block === view.head ? { state: view.nextState, context: view.nextContext } : environmentOf(view, block)
}

/** The environment of a call at `ref`, which resolved to `block`. While nothing is pending, `pending` is the beginning of the next block. */
export function environmentAt(view: View, block: Block, ref?: BlockRef): CallEnvironment {
  return isPending(ref) ? environmentAfter(view, block) : environmentOf(view, block)
}

/** The block number of `environmentAt`. */
function blockNumberAt(view: View, block: Block, ref?: BlockRef): number {
  return block.header.number + (isPending(ref) && block === view.head ? 1 : 0)
}

/**
 * The environment of a call with these prices under a compatibility profile: a call without a price can read the base fee, and one with a fee
 * cap below it runs without.
 */
export function environmentFor(environment: CallEnvironment, request: CallRequest, { callBelowBaseFee }: Compat): CallEnvironment {
  const { baseFeePerGas } = environment.context.env
  if (callBelowBaseFee === 'refused' || baseFeePerGas === null) return environment
  const { maxFee } = feesOf(request, baseFeePerGas)
  if (maxFee === 0n) return { ...environment, hasBaseFee: true }
  return maxFee < baseFeePerGas ? { ...environment, context: withoutBaseFee(environment.context) } : environment
}

/** What calls in the environment at `ref` read: with an overridden block number the hashes below that. */
export function needsOfCalls(
  view: View,
  block: Block,
  ref: BlockRef | undefined,
  overrides: readonly (BlockOverrides | undefined)[] = NO_OVERRIDES,
): ViewScope {
  const number = blockNumberAt(view, block, ref)
  return { states: [block], blocks: [], hashesBelow: overrides.map((each) => each?.number ?? number) }
}

const NO_OVERRIDES = [undefined]

function isPending(ref?: BlockRef): boolean {
  return ref?.kind === 'tag' && ref.tag === 'pending'
}

interface CallSetup {
  /** deadline of the request, CALL_TIME_MS from now by default */
  readonly deadline?: Deadline
  /** true: the call is executed for an access list or a tracer */
  readonly traced?: boolean
}

export interface Overrides {
  readonly state?: StateOverrides | undefined
  readonly block?: BlockOverrides | undefined
}

/** Runs `work` with a call, and releases it afterwards. Throws RpcError for overrides that contradict each other. */
export function withCall<T>(
  environment: CallEnvironment,
  request: CallRequest,
  overrides: Overrides,
  work: (call: Call) => T,
  { deadline = new Deadline(CALL_TIME_MS), traced = false }: CallSetup = {},
): T {
  const replaced = ReplacedStorage.of(environment.state, [overrides.state])
  replaced?.replace(overrides.state)
  const state = replaced ?? environment.state
  const world = new World(state, { traced })
  try {
    return work(new Call(world, { ...environment, state }, request, overrides, deadline))
  } finally {
    world.release()
  }
}

/**
 * Passes the output of a call to `onResult`. A plain call pays nothing and changes nothing, and takes two thirds of the time of `Call.run`. Throws as that
 * does.
 */
export function runCall<T>(
  environment: CallEnvironment,
  request: CallRequest,
  overrides: Overrides,
  deadline: Deadline,
  onResult: OnCallResult<T>,
): T {
  const { to, gas: requested, data = NO_BYTES } = request
  if (to === undefined || !isPlain(request, overrides) || tier1ModeOf(environment.context.config) === 'shadow') {
    const { outcome, output, console } = withCall(environment, request, overrides, (call) => call.run(), { deadline })
    return onResult(outcome, output, 0, output.length, console)
  }
  const cap = callGasCap(environment.context.env)
  const gas = Number(requested === undefined ? cap : min(requested, cap))
  try {
    return executeCall(
      { from: senderOf(request), to, data, gas },
      environment.hasBaseFee === true ? environment.context : withoutBaseFee(environment.context),
      environment.state,
      deadline,
      onResult,
    )
  } catch (error) {
    throw error instanceof InvalidTransaction ? refused(error, gas) : withRequest(error, request)
  }
}

/** On a fork, the access list of a call that misses state is requested from upstream. */
function withRequest(error: unknown, request: CallRequest): unknown {
  if (error instanceof MissingState) {
    const { to = null, data = NO_BYTES, value = 0n, gas = null } = request
    error.call = { from: senderOf(request), to, data, value, gas }
  }
  return error
}

/** The gas that one request on this block may use. */
export function callGasCap({ gasLimit }: { readonly gasLimit: bigint }): bigint {
  return gasLimit <= CALL_GAS ? CALL_GAS : min(gasLimit, MOST_CALL_GAS)
}

/** A call without value, prices, lists and overrides. */
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
    request.authorizationList === undefined
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
/** EIP-150: gas that a call with value adds for its callee. */
const CALL_STIPEND = 2_300n

/** A call on its own state, which can run several times. */
export class Call {
  readonly #world: World
  readonly #base: StateReader
  readonly #context: BlockContext
  readonly #request: CallRequest
  readonly #options: ExecuteOptions
  readonly #maxFee: bigint
  readonly #gasCap: bigint

  /** `world`: on the state of the environment */
  constructor(world: World, environment: CallEnvironment, request: CallRequest, overrides: Overrides, deadline: Deadline) {
    const context = overrideBlock(environment.context, overrides.block)
    const precompiles =
      overrides.state === undefined
        ? (environment.precompiles ?? NO_PRECOMPILE_OVERRIDES)
        : overrideState(world, overrides.state, context.rules)
    const { maxFee, maxTip } = feesOf(request, context.env.baseFeePerGas)
    const free = maxFee === 0n && maxTip === 0n
    this.#world = world
    this.#base = environment.state
    this.#maxFee = maxFee
    this.#gasCap = callGasCap(environment.context.env)
    this.#request = request
    this.#context = free && environment.hasBaseFee !== true ? withoutBaseFee(context, overrides.block) : context
    this.#options = {
      movedPrecompiles: precompiles.movedPrecompiles,
      maskedPrecompiles: precompiles.maskedPrecompiles,
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

  /** The gas of eth_call: the requested gas, at most the cap and what the sender can pay for. */
  get gas(): bigint {
    const { gas } = this.#request
    if (gas !== undefined) return min(gas, this.#gasCap)
    const affordable = this.#affordableGas()
    // With less than a transfer's gas the executor names the missing funds better than a small limit would.
    return affordable === null || affordable < TRANSFER_GAS ? this.#gasCap : min(affordable, this.#gasCap)
  }

  /** Runs the call and restores the state. Throws RpcError -32000 for a call that no block could include. */
  run(gas: bigint = this.gas, change: Partial<CallRequest> = NO_CHANGE, more: ExecuteOptions = NO_CHANGE): Executed {
    const result = this.#attempt(gas, change, more)
    if (result instanceof InvalidTransaction) throw refused(result, gas)
    return result
  }

  /** Runs the call under a tracer and returns its JSON; state changes stay. Throws RpcError, or InvalidTransaction under profiles that word it as anvil. */
  trace(make: TraceFactory, budget: TraceBudget, { refusalWording }: Compat): string {
    const before = new StateOverlay(this.#base)
    before.apply(this.#world.writes())
    const nonce = this.#request.nonce ?? this.#world.nonce(senderOf(this.#request))
    const message = messageOf(this.#request, this.gas, nonce, this.#context.env.baseFeePerGas)
    const { tracer, json } = make({ message, context: this.#context, stateBefore: before, state: this.#world, location: null, budget })
    try {
      return json(executeTransaction(message, this.#context, this.#world, { ...this.#options, skipLogs: false, tracer }))
    } catch (error) {
      if (error instanceof InvalidTransaction && refusalWording === 'geth') {
        throw new RpcError(CODE.server, `tracing failed: ${error.message}`)
      }
      throw error
    }
  }

  /** Runs the call; what it changes stays. Throws RpcError -32000 for a call that no block could include. */
  commit(): Executed {
    const { gas } = this
    const message = messageOf(this.#request, gas, this.#request.nonce ?? 0n, this.#context.env.baseFeePerGas)
    try {
      return executeTransaction(message, this.#context, this.#world, this.#options)
    } catch (error) {
      if (error instanceof InvalidTransaction) throw refused(error, gas)
      throw withRequest(error, this.#request)
    }
  }

  /** The changes of the traced and the committed runs, overrides included. */
  writes(): ReturnType<World['writes']> {
    return this.#world.writes()
  }

  /** Returns the least gas limit with which the call succeeds, by geth's search. `onConsole` receives the console calls of one run. Throws RpcError. */
  estimate(compat: Compat, onConsole?: (calls: ConsoleCalls) => void): bigint {
    const maxGas = this.#maxGas()
    if (this.#isPlainTransfer() && (compat.transferEstimate === 'assumed' || this.#succeeds(TRANSFER_GAS, compat))) return TRANSFER_GAS
    const first = this.#attempt(maxGas)
    if (first instanceof InvalidTransaction) throw cannotRun(first, maxGas, compat)
    const error = failure(first, compat)
    // After the search, because a search that runs out of time is repeated in a thread.
    const gas = error === null ? this.#search(first, maxGas, compat) : maxGas
    if (first.console !== null) onConsole?.(first.console)
    if (error === null) return gas
    throw first.outcome.kind === 'halt' && first.outcome.reason.startsWith(OUT_OF_GAS) ? gasExceedsAllowance(maxGas, compat) : error
  }

  #search(first: Executed, maxGas: bigint, compat: Compat): bigint {
    let fails = first.gasUsed - 1n
    let works = maxGas
    // Nearly always sufficient: the gas before refunds, and the 64th that a call leaves to its caller.
    const likely = ((first.gasUsedBeforeRefund + CALL_STIPEND) * 64n) / 63n
    if (likely < works) {
      if (this.#succeeds(likely, compat)) works = likely
      else fails = likely
    }
    while (fails + 1n < works && (works - fails) * 1_000n >= works * ESTIMATE_ERROR_PERMILLE) {
      const middle = min((fails + works) / 2n, fails * 2n)
      if (this.#succeeds(middle, compat)) works = middle
      else fails = middle
    }
    return works
  }

  #attempt(gas: bigint, change: Partial<CallRequest> = NO_CHANGE, more: ExecuteOptions = NO_CHANGE): Executed | InvalidTransaction {
    const mark = this.#world.checkpoint()
    const request = change === NO_CHANGE ? this.#request : { ...this.#request, ...change }
    const options = more === NO_CHANGE ? this.#options : { ...this.#options, ...more }
    // The nonce is not checked.
    const message = messageOf(request, gas, request.nonce ?? 0n, this.#context.env.baseFeePerGas)
    try {
      return executeTransaction(message, this.#context, this.#world, options)
    } catch (error) {
      if (error instanceof InvalidTransaction) return error
      throw withRequest(error, request)
    } finally {
      this.#world.revertTo(mark)
    }
  }

  #succeeds(gas: bigint, compat: Compat): boolean {
    const result = this.#attempt(gas)
    if (!(result instanceof InvalidTransaction)) return result.outcome.kind === 'success'
    if (isAboutGas(result)) return false
    throw cannotRun(result, gas, compat)
  }

  /** Without an access list and authorizations, which cost gas of their own. */
  #isPlainTransfer(): boolean {
    const { to, data, accessList, authorizationList } = this.#request
    if (to === undefined || !isEmpty(data) || !isEmpty(accessList) || !isEmpty(authorizationList)) return false
    return this.#world.codeAt(to).length === 0
  }

  /** The requested gas or the block's limit; at most the cap of a transaction (EIP-7825), what the sender can pay for, and the cap of a call. */
  #maxGas(): bigint {
    const { gas } = this.#request
    let maxGas = gas !== undefined && gas >= TRANSFER_GAS ? gas : this.#context.env.gasLimit
    const { transactionGasCap } = this.#context.config
    if (transactionGasCap !== null && this.#context.rules.has('osaka')) maxGas = min(maxGas, transactionGasCap)
    const affordable = this.#affordableGas()
    if (affordable !== null) maxGas = min(maxGas, affordable)
    return min(maxGas, this.#gasCap)
  }

  /** Null for a free call; 0n if the sender cannot pay the value. */
  #affordableGas(): bigint | null {
    if (this.#maxFee === 0n) return null
    const left = this.#world.balance(senderOf(this.#request)) - (this.#request.value ?? 0n)
    return left <= 0n ? 0n : left / this.#maxFee
  }
}

const OUT_OF_GAS = 'out of gas'

/** A call without a price is free, so BASEFEE is 0 unless the caller or the compatibility profile says otherwise. */
function withoutBaseFee(context: BlockContext, overrides?: BlockOverrides): BlockContext {
  if (context.env.baseFeePerGas === null || overrides?.baseFeePerGas !== undefined) return context
  let free = withoutBaseFees.get(context)
  if (free === undefined) withoutBaseFees.set(context, (free = { ...context, env: { ...context.env, baseFeePerGas: 0n } }))
  return free
}

const withoutBaseFees = new WeakMap<BlockContext, BlockContext>()

/** A higher gas limit avoids the error. */
function isAboutGas(error: InvalidTransaction): boolean {
  return error.code === 'intrinsic-gas' || error.code === 'floor-gas'
}

function cannotRun(error: InvalidTransaction, gas: bigint, compat: Compat): RpcError {
  if (isAboutGas(error)) return gasExceedsAllowance(gas, compat)
  const message = refusalMessage(error.message, compat)
  return new RpcError(compat.estimateRefusalCode, compat.refusalWording === 'anvil' ? message : `failed with ${gas} gas: ${message}`)
}

function gasExceedsAllowance(gas: bigint, { estimateRefusalCode, refusalWording }: Compat): FailedCall {
  const message =
    refusalWording === 'anvil' ? `Out of gas: gas required exceeds allowance: ${gas}` : `gas required exceeds allowance (${gas})`
  return new FailedCall(estimateRefusalCode, message)
}

function isEmpty(list?: { readonly length: number }): boolean {
  return list === undefined || list.length === 0
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
