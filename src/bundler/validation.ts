import { Abi, Address, DecodeError, Hex, Secp256k1, UserOperation } from '../eth/index.ts'
import type { EntryPoint, Hash } from '../eth/index.ts'
import type { BlockNow, RpcError } from '../jsonrpc/index.ts'
import { bundleGas, tooMuchGas } from './bundlegas.ts'
import { delegationOf } from './codes.ts'
import type { Codes } from './codes.ts'
import { refuse } from './errors.ts'
import { refusalFor } from './failure.ts'
import type { Failure, ValidationData } from './failure.ts'
import { BUNDLE_BYTES, MIN_SECONDS_LEFT, NONCES_AHEAD } from './limits.ts'
import type { BundlerNode } from './node.ts'
import type { Overrides } from './stateoverrides.ts'
import { delegationOverride, mergeOverrides, nonceOverride } from './stateoverrides.ts'
import { preVerificationOf } from './preverification.ts'
import type { SimulatedCall } from './simulatedcalls.ts'
import { traceValidation, tracedOutputs } from './validationtrace.ts'
import type { ValidationTrace } from './validationtrace.ts'

/** A user operation with its EntryPoint and hash. */
export interface Candidate {
  readonly entryPoint: EntryPoint
  readonly operation: UserOperation
  readonly hash: Hash
}

export interface ValidationDeps {
  readonly node: BundlerNode
  /** the account that sends bundles */
  readonly bundler: Address
  /** checks the rules of ERC-7562; throws RpcError for what is refused. `null` if they are switched off */
  readonly checkRules: ((trace: ValidationTrace, candidate: Candidate) => Promise<Codes>) | null
}

/** The required share of the L1 data fee, which may have risen since the estimate. */
const DATA_FEE_PERCENT = 80n

/**
 * Returns the code that ran, without the rules only an account's delegation. Checks price, size and overhead, authorization, nonce, the EntryPoint's validation,
 * ERC-7562, in this order. Throws RpcError for the first check that fails. `isBoosted`: price and overhead are the bundler's.
 */
export async function validate(deps: ValidationDeps, candidate: Candidate, isBoosted = false): Promise<Codes> {
  const { node } = deps
  const { entryPoint, operation } = candidate
  const [now, ahead] = await Promise.all([node.now(), noncesAhead(node, entryPoint, operation)])
  assertFits(entryPoint, operation, await node.maxBundleGas(now))
  if (!isBoosted) {
    assertPrice(operation, now)
    await assertPreVerification(node, candidate, now)
  }
  await assertAuthorization(node, operation)
  assertNonce(operation, ahead)
  const overrides = mergeOverrides(delegationOverride(operation), ahead === 0n ? {} : nonceOverride(entryPoint, operation))
  await assertCode(node, operation, overrides)
  if (deps.checkRules === null) {
    const failure = await node.handleOps(entryPoint, [operation], deps.bundler, overrides)
    await assertAccepted(candidate, now, failure, () => simulatedOutputs(node, candidate, overrides))
    return delegationOf(node, operation)
  }
  const trace = await traceValidation(node, entryPoint, operation, deps.bundler, overrides)
  await assertAccepted(candidate, now, trace.failure, () => tracedOutputs(trace, operation))
  return deps.checkRules(trace, candidate)
}

/** Returns the distance of the operation's nonce from the account's; negative if it was used. */
export async function noncesAhead(node: BundlerNode, entryPoint: EntryPoint, { sender, nonce }: UserOperation): Promise<bigint> {
  return nonce - (await node.nonce(entryPoint, sender, nonce >> 64n))
}

/** A bundle with only this operation must fit into a transaction. */
function assertFits(entryPoint: EntryPoint, operation: UserOperation, maxGas: bigint): void {
  const sizeBytes = entryPoint.handleOps([operation], Address.zero).length
  if (sizeBytes > BUNDLE_BYTES)
    throw refuse('invalid', `the operation makes a bundle of ${sizeBytes} bytes, at most ${BUNDLE_BYTES} are sent`)
  const gas = bundleGas(entryPoint, [operation], sizeBytes)
  if (gas > maxGas) throw tooMuchGas(gas, maxGas)
}

function assertPrice({ maxFeePerGas, maxPriorityFeePerGas }: UserOperation, { baseFee }: BlockNow): void {
  if (maxPriorityFeePerGas > maxFeePerGas)
    throw refuse('invalid', `maxPriorityFeePerGas: ${maxPriorityFeePerGas} wei is more than maxFeePerGas (${maxFeePerGas} wei)`)
  if (maxFeePerGas >= baseFee) return
  throw refuse(
    'invalid',
    `maxFeePerGas is ${maxFeePerGas} wei and must be at least the base fee of ${baseFee} wei; pimlico_getUserOperationGasPrice returns current prices`,
    { maxFeePerGas: Hex.fromQuantity(maxFeePerGas), baseFeePerGas: Hex.fromQuantity(baseFee) },
  )
}

async function assertPreVerification(node: BundlerNode, { entryPoint, operation }: Candidate, now: BlockNow): Promise<void> {
  const { execution, data } = await preVerificationOf(node, entryPoint, operation, now)
  const required = execution + (data * DATA_FEE_PERCENT) / 100n
  if (operation.preVerificationGas >= required) return
  throw refuse(
    'invalid',
    `preVerificationGas is ${operation.preVerificationGas} and must be at least ${required}: ${execution} for the bundle and ${required - execution} for its data; eth_estimateUserOperationGas returns a sufficient value`,
    { preVerificationGas: Hex.fromQuantity(operation.preVerificationGas), required: Hex.fromQuantity(required) },
  )
}

async function assertAuthorization(node: BundlerNode, operation: UserOperation): Promise<void> {
  const { authorization, sender, factory } = operation
  if (authorization === null) {
    if (factory !== UserOperation.DELEGATION || (await node.delegate(sender)) !== null) return
    throw missingAuthorization(sender)
  }
  const wrong = await wrongAuthorization(node, operation, authorization)
  if (wrong !== null) throw refuse('invalid', `Invalid EIP-7702 authorization: ${wrong}`)
  // The EntryPoint would find an account without code, so the error code is the one for a refused account.
  const nonce = await node.quantity('eth_getTransactionCount', sender, 'pending')
  if (authorization.nonce !== nonce)
    throw refuse('account', `Invalid EIP-7702 authorization: its nonce is ${authorization.nonce}, the account's is ${nonce}`)
}

/** Returns RpcError -32602. */
export function missingAuthorization(sender: Address): RpcError {
  return refuse('invalid', `factory is 0x7702 but eip7702Auth is not provided, and ${sender} does not delegate yet`)
}

async function wrongAuthorization(
  node: BundlerNode,
  { sender, factory }: UserOperation,
  authorization: NonNullable<UserOperation['authorization']>,
): Promise<string | null> {
  const chainId = await node.chainId()
  if (factory !== null && factory !== UserOperation.DELEGATION) return `it requires the factory 0x7702 or none, not ${factory}`
  if (authorization.chainId !== 0n && authorization.chainId !== BigInt(chainId))
    return `its chainId is ${authorization.chainId}, this chain's is ${chainId}`
  if (authorization.s > Secp256k1.HALF_ORDER) return 'Invalid ECDSA signature: s must be <= secp256k1.n/2'
  if (authorization.authority === null) return 'Invalid ECDSA signature: it names no signer'
  if (authorization.authority !== sender) return `its signer is ${authorization.authority}, not the sender ${sender}`
  if ((await node.code(authorization.address)) === '0x') return `there is no code at ${authorization.address}`
  return null
}

/**
 * Returns the state of an authorization that was accepted: `valid`, also if the account delegates already; `used`: the account used its
 * nonce otherwise and does not delegate; `premature`: an earlier transaction was reverted by a reorg and may be included again.
 */
export async function authorizationState(
  node: BundlerNode,
  { sender, authorization }: UserOperation,
): Promise<'valid' | 'used' | 'premature'> {
  if (authorization === null || (await node.delegate(sender)) === authorization.address) return 'valid'
  const nonce = await node.quantity('eth_getTransactionCount', sender, 'pending')
  if (authorization.nonce === nonce) return 'valid'
  return authorization.nonce < nonce ? 'used' : 'premature'
}

function assertNonce({ nonce, sender }: UserOperation, ahead: bigint): void {
  const account = nonce - ahead
  if (ahead < 0n) throw refuse('account', `AA25 invalid account nonce: ${nonce} was used, the next nonce of ${sender} is ${account}`, NONCE)
  if (ahead > NONCES_AHEAD)
    throw refuse(
      'account',
      `AA25 invalid account nonce: ${nonce} is more than ${NONCES_AHEAD} ahead of ${account}, the next nonce of ${sender}`,
      NONCE,
    )
}

const NO_FACTORY = 'AA13 initCode failed or OOG'
const NONCE = { reason: 'AA25 invalid account nonce' }

/** What account and paymaster returned; `null` without a paymaster, or for a call that reverted. */
interface ValidationOutputs {
  readonly account: Uint8Array | null
  readonly paymaster: Uint8Array | null
}

/** Throws RpcError unless the EntryPoint accepts the operation for at least `MIN_SECONDS_LEFT`. */
async function assertAccepted(
  candidate: Candidate,
  now: BlockNow,
  failure: Failure | null,
  outputs: () => ValidationOutputs | Promise<ValidationOutputs>,
): Promise<void> {
  const { operation } = candidate
  const ofTime = failure === null ? undefined : /^AA([23])[27]/.exec(failure.reason)?.[1]
  const isUnnamed = failure !== null && failure.index === null && failure.isHalt !== true
  if (failure !== null && ofTime === undefined && !isUnnamed && !failure.reason.startsWith('AA24')) throw refusalFor(failure, operation)
  const { account, paymaster } = await outputs()
  if (isUnnamed) throw refusalFor(malformedResult(account, paymaster) ?? failure, operation)
  assertNoAggregator(account)
  const ofAccount = validationDataOf(account)
  // (context, validationData)
  const ofPaymaster = paymaster === null || paymaster.length < 64 ? null : dataOf(paymaster.subarray(32, 64))
  if (failure !== null) throw refusalFor(failure, operation, ofTime === undefined ? null : ofTime === '2' ? ofAccount : ofPaymaster)
  assertTime(ofAccount, 'AA22 expires too soon', candidate, now)
  assertTime(ofPaymaster, 'AA32 paymaster expires too soon', candidate, now)
}

/** EntryPoint 0.6 and 0.7 revert without a reason if the paymaster's result is malformed. Returns the failure that 0.8 reports; `null` for another reason. */
function malformedResult(account: Uint8Array | null, paymaster: Uint8Array | null): Omit<Failure, 'index'> | null {
  if (account === null || account.length < 32) return null
  return paymaster !== null && !isContext(paymaster) ? { reason: 'AA33 reverted', inner: paymaster } : null
}

/** Whether the output is (context, validationData). */
function isContext(output: Uint8Array): boolean {
  try {
    const values = Abi.Reader(output)
    values.bytes(0)
    values.word(1)
    return true
  } catch (error) {
    if (error instanceof DecodeError) return false
    throw error
  }
}

/** `account`: what it returned, `null` if it reverted. Throws RpcError -32506. */
export function assertNoAggregator(account: Uint8Array | null): void {
  const aggregator = validationDataOf(account)?.aggregator ?? null
  if (aggregator === null) return
  throw refuse('aggregator', `the account requires the signature aggregator ${aggregator}, and aggregators are not supported`, {
    aggregator,
  })
}

function validationDataOf(account: Uint8Array | null): ValidationData | null {
  return account === null || account.length < 32 ? null : dataOf(account.subarray(0, 32))
}

/** EntryPoint 0.6 and 0.7 revert without a reason if the called address has no code, and no EntryPoint names the factory. Throws RpcError. */
export async function assertCode(node: BundlerNode, operation: UserOperation, overrides: Overrides): Promise<void> {
  const { sender, factory, paymaster } = operation
  const isEmpty = async (address: Address) => (overrides[address]?.code ?? (await node.code(address))) === '0x'
  if (factory === null && (await isEmpty(sender))) throw refusalFor({ reason: 'AA20 account not deployed', inner: null }, operation)
  const lacksFactory = factory !== null && factory !== UserOperation.DELEGATION && (await isEmpty(factory))
  // For an account that exists the EntryPoint reports AA10, or does not call the factory.
  if (lacksFactory && (await isEmpty(sender)))
    throw refuse('account', `${NO_FACTORY}: there is no code at the factory ${factory}; deploy it first`, { reason: NO_FACTORY, factory })
  if (paymaster !== null && (await isEmpty(paymaster))) throw refusalFor({ reason: 'AA30 paymaster not deployed', inner: null }, operation)
}

function assertTime(validation: ValidationData | null, reason: string, candidate: Candidate, { timestamp }: BlockNow): void {
  const { entryPoint, operation } = candidate
  const { validUntil: until, validAfter: after } = validation ?? ALWAYS
  // Only the EntryPoint compares blocks.
  if (entryPoint.version === '0.9' && until >= BLOCK_RANGE && after >= BLOCK_RANGE) return
  if (until === 0n || until >= BigInt(timestamp) + MIN_SECONDS_LEFT) return
  const failure: Omit<Failure, 'index'> = { reason: `${reason}: at ${until}, and it is ${timestamp}`, inner: null }
  throw refusalFor(failure, operation, validation)
}

const ALWAYS = { validUntil: 0n, validAfter: 0n }
/** Since 0.9: both ends of the period are block numbers if both have this bit. */
const BLOCK_RANGE = 1n << 47n

async function simulatedOutputs(node: BundlerNode, candidate: Candidate, overrides: Overrides): Promise<ValidationOutputs> {
  const calls = validationCalls(candidate, {
    account: candidate.operation.verificationGasLimit,
    paymaster: paymasterGas(candidate.operation),
  })
  const results = await node.simulateCalls(candidate.entryPoint, calls.all, overrides)
  const outputAt = (index: number | null) => {
    const result = index === null ? undefined : results[index]
    return result?.success === true ? result.output : null
  }
  return { account: outputAt(calls.account), paymaster: outputAt(calls.paymaster) }
}

/** In 0.6 the verification gas covers the paymaster too. */
export function paymasterGas({ paymasterVerificationGasLimit, verificationGasLimit }: UserOperation): bigint {
  return paymasterVerificationGasLimit === 0n ? verificationGasLimit : paymasterVerificationGasLimit
}

/** The calls of a validation, with the indices of the account's and the paymaster's. */
export interface ValidationCalls {
  readonly all: readonly SimulatedCall[]
  readonly account: number
  /** `null` without a paymaster */
  readonly paymaster: number | null
}

export function validationCalls(
  { entryPoint, operation, hash }: Candidate,
  gas: { readonly account: bigint; readonly paymaster: bigint },
): ValidationCalls {
  const { sender, paymaster } = operation
  const prefund = entryPoint.prefundGas(operation) * operation.maxFeePerGas
  const creation = creationCall(entryPoint, operation, gas.account)
  const account: SimulatedCall = {
    to: sender,
    gas: gas.account,
    data: entryPoint.validateAccount(operation, hash, paymaster === null ? prefund : 0n),
  }
  const all = [...creation, account]
  if (paymaster === null) return { all, account: all.length - 1, paymaster: null }
  const paymasterCall: SimulatedCall = { to: paymaster, gas: gas.paymaster, data: entryPoint.validatePaymaster(operation, hash, prefund) }
  return { all: [...all, paymasterCall], account: all.length - 1, paymaster: all.length }
}

function creationCall(entryPoint: EntryPoint, operation: UserOperation, gas: bigint): readonly SimulatedCall[] {
  const { factory, factoryData, sender } = operation
  if (factory === null) return []
  const to = entryPoint.senderCreator
  if (factory !== UserOperation.DELEGATION) return [{ to, gas, data: Abi.call(CREATE_SENDER, [UserOperation.initCode(operation)]) }]
  return factoryData.length === 0 ? [] : [{ to, gas, data: Abi.call(INIT_SENDER, [sender, factoryData]) }]
}

const CREATE_SENDER = Abi.selector('createSender(bytes)')
const INIT_SENDER = Abi.selector('initEip7702Sender(address,bytes)')

function dataOf(word: Uint8Array): ValidationData {
  const value = BigInt(Hex.fromBytes(word))
  const authorizer = BigInt.asUintN(160, value)
  return {
    aggregator: authorizer > 1n ? Address.fromBigint(authorizer) : null,
    signatureFailed: authorizer === 1n,
    validUntil: BigInt.asUintN(48, value >> 160n),
    validAfter: value >> 208n,
  }
}
