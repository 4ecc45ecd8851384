import { Abi, Address, Hex, UserOperation } from '../eth/index.ts'
import type { EntryPoint, Hash } from '../eth/index.ts'
import type { BlockNow } from '../jsonrpc/index.ts'
import { refuse } from './errors.ts'
import { refusalFor } from './failure.ts'
import type { Failure, ValidationData } from './failure.ts'
import { BUNDLE_BYTES, BUNDLE_GAS, LEAST_SECONDS_LEFT, NONCES_AHEAD } from './limits.ts'
import type { BundlerNode, Overrides } from './node.ts'
import { atNonce, delegating, together } from './overriding.ts'
import { preVerificationOf } from './preverification.ts'
import type { Step, Stepped } from './steps.ts'

/** An operation with what it is checked against. */
export interface Candidate {
  readonly entryPoint: EntryPoint
  readonly operation: UserOperation
  readonly hash: Hash
}

/** The hash of each code that ran in a validation. */
export type Codes = ReadonlyMap<Address, Hash>

export interface ValidationDeps {
  readonly node: BundlerNode
  /** the account that sends bundles */
  readonly bundler: Address
  /** checks the rules of ERC-7562; null: they are switched off */
  readonly assertRules: ((candidate: Candidate, overrides: Overrides) => Promise<Codes>) | null
}

/** The L1 fee moves between an estimate and what comes after it: so many percent of it must be offered. */
const DATA_FEE_PERCENT = 80n

/** Answers what code ran, where the rules are checked. Checks in this order, the first one that fails is told: price, data and overhead, authorization, nonce, then the EntryPoint's own, then ERC-7562. Throws RpcError. */
export async function validate(deps: ValidationDeps, candidate: Candidate): Promise<Codes> {
  const { node } = deps
  const { entryPoint, operation } = candidate
  assertFits(entryPoint, operation)
  const [now, ahead] = await Promise.all([node.now(), noncesAhead(node, entryPoint, operation)])
  assertPrice(operation, now)
  await assertPreVerification(node, candidate, now)
  await assertAuthorization(node, operation)
  assertNonce(operation, ahead)
  const overrides = together(delegating(operation), ahead === 0n ? {} : atNonce(entryPoint, operation))
  await assertAccepted(deps, candidate, overrides, now)
  return (await deps.assertRules?.(candidate, overrides)) ?? new Map()
}

/** How far its nonce is from the account's; negative: it was used. */
export async function noncesAhead(node: BundlerNode, entryPoint: EntryPoint, { sender, nonce }: UserOperation): Promise<bigint> {
  return nonce - (await node.nonce(entryPoint, sender, nonce >> 64n))
}

/** Gas that a bundle needs when each of its operations uses all it may. `sizeBytes`: of the call data, if it is known. */
export function bundleGas(
  entryPoint: EntryPoint,
  operations: readonly UserOperation[],
  sizeBytes: number = entryPoint.handleOps(operations, Address.zero).length,
): bigint {
  const limits = operations.reduce((sum, operation) => sum + entryPoint.gasLimits(operation) + OPERATION_MARGIN, BUNDLE_MARGIN)
  const authorizations = BigInt(operations.filter(({ authorization }) => authorization !== null).length)
  // Calls keep a 64th back, one within the other; a byte of data costs 16, or 40 where little else is done (EIP-7623).
  return (limits * 66n) / 63n + BigInt(sizeBytes) * 40n + authorizations * AUTHORIZATION_GAS
}

const BUNDLE_MARGIN = 60_000n
/** What the EntryPoint does for an operation besides; AA95 wants 10,000 of it. */
const OPERATION_MARGIN = 60_000n
/** EIP-7702 takes 25,000 in advance. */
const AUTHORIZATION_GAS = 40_000n

/** A bundle with nothing else in it must be a transaction that the chain takes. */
function assertFits(entryPoint: EntryPoint, operation: UserOperation): void {
  const sizeBytes = entryPoint.handleOps([operation], Address.zero).length
  if (sizeBytes > BUNDLE_BYTES)
    throw refuse('invalid', `the operation makes a bundle of ${sizeBytes} bytes, at most ${BUNDLE_BYTES} are sent`)
  const gas = bundleGas(entryPoint, [operation], sizeBytes)
  if (gas > BUNDLE_GAS)
    throw refuse('invalid', `with its gas limits a bundle needs ${gas} gas, at most ${BUNDLE_GAS} are accepted; lower them`)
}

function assertPrice({ maxFeePerGas }: UserOperation, { baseFee }: BlockNow): void {
  if (maxFeePerGas >= baseFee) return
  throw refuse(
    'invalid',
    `maxFeePerGas is ${maxFeePerGas} wei and must be at least the base fee of ${baseFee} wei; pimlico_getUserOperationGasPrice tells the prices of the moment`,
    { maxFeePerGas: Hex.fromQuantity(maxFeePerGas), baseFeePerGas: Hex.fromQuantity(baseFee) },
  )
}

async function assertPreVerification(node: BundlerNode, { entryPoint, operation }: Candidate, now: BlockNow): Promise<void> {
  const { execution, data } = await preVerificationOf(node, entryPoint, operation, now)
  const least = execution + (data * DATA_FEE_PERCENT) / 100n
  if (operation.preVerificationGas >= least) return
  throw refuse(
    'invalid',
    `preVerificationGas is ${operation.preVerificationGas} and must be at least ${least}: ${execution} for the bundle and ${least - execution} for its data; eth_estimateUserOperationGas tells what to put there`,
    { preVerificationGas: Hex.fromQuantity(operation.preVerificationGas), required: Hex.fromQuantity(least) },
  )
}

async function assertAuthorization(node: BundlerNode, operation: UserOperation): Promise<void> {
  const { authorization, sender, factory } = operation
  if (authorization === null) {
    if (factory !== UserOperation.DELEGATION || (await node.delegate(sender)) !== null) return
    throw refuse('invalid', `the factory is 0x7702, but there is no eip7702Auth and ${sender} delegates to nothing yet`)
  }
  const wrong = await wrongAuthorization(node, operation, authorization)
  if (wrong !== null) throw refuse('invalid', `invalid eip7702Auth: ${wrong}`)
}

async function wrongAuthorization(
  node: BundlerNode,
  { sender, factory }: UserOperation,
  authorization: NonNullable<UserOperation['authorization']>,
): Promise<string | null> {
  const chainId = await node.chainId()
  if (factory !== null && factory !== UserOperation.DELEGATION) return `it needs the factory 0x7702 or none, not ${factory}`
  if (authorization.chainId !== 0n && authorization.chainId !== BigInt(chainId))
    return `it is for chain ${authorization.chainId}, this is ${chainId}`
  if (authorization.authority !== sender) return `it is signed by ${authorization.authority ?? 'nobody'}, not by the sender ${sender}`
  const nonce = await node.quantity('eth_getTransactionCount', sender, 'pending')
  if (authorization.nonce !== nonce) return `its nonce is ${authorization.nonce}, the account's is ${nonce}`
  if ((await node.code(authorization.address)) === '0x') return `there is no code at ${authorization.address}`
  return null
}

/**
 * What has become of an authorization that was right: `good`, or not needed any more; `spent`: the account has used its nonce otherwise, and does not
 * run the code; `early`: a transaction before it is gone, and may come back.
 */
export async function authorizationNow(node: BundlerNode, { sender, authorization }: UserOperation): Promise<'good' | 'spent' | 'early'> {
  if (authorization === null || (await node.delegate(sender)) === authorization.address) return 'good'
  const nonce = await node.quantity('eth_getTransactionCount', sender, 'pending')
  if (authorization.nonce === nonce) return 'good'
  return authorization.nonce < nonce ? 'spent' : 'early'
}

function assertNonce({ nonce, sender }: UserOperation, ahead: bigint): void {
  const account = nonce - ahead
  if (ahead < 0n) throw refuse('account', `AA25 invalid account nonce: ${nonce} was used, ${sender} is at ${account}`, NONCE)
  if (ahead > NONCES_AHEAD)
    throw refuse(
      'account',
      `AA25 invalid account nonce: ${nonce} is more than ${NONCES_AHEAD} ahead of ${account}, where ${sender} is`,
      NONCE,
    )
}

const NONCE = { reason: 'AA25 invalid account nonce' }

/** Throws RpcError unless the EntryPoint would take it, for some seconds yet. */
async function assertAccepted(deps: ValidationDeps, candidate: Candidate, overrides: Overrides, now: BlockNow): Promise<void> {
  const { entryPoint, operation } = candidate
  await assertCode(deps.node, operation, overrides)
  const gas = bundleGas(entryPoint, [operation])
  const failure = await deps.node.handleOps(entryPoint, [operation], deps.bundler, gas, overrides)
  if (failure !== null && !failure.reason.startsWith('AA24')) throw refusalFor(failure, operation)
  const { account, paymaster } = await validations(deps.node, candidate, overrides)
  const aggregator = account?.aggregator ?? null
  if (aggregator !== null)
    throw refuse(
      'aggregator',
      `the account wants its signature checked by the aggregator ${aggregator}, and aggregators are not supported`,
      {
        aggregator,
      },
    )
  if (failure !== null) throw refusalFor(failure, operation)
  assertTime(account, 'AA22 expires too soon', operation, now)
  assertTime(paymaster, 'AA32 paymaster expires too soon', operation, now)
}

/** From 0.6 to 0.7 the EntryPoint reverts without a word when there is nobody to call. Throws RpcError. */
export async function assertCode(node: BundlerNode, operation: UserOperation, overrides: Overrides): Promise<void> {
  const { sender, factory, paymaster } = operation
  const isEmpty = async (address: Address) => (overrides[address]?.code ?? (await node.code(address))) === '0x'
  if (factory === null && (await isEmpty(sender))) throw refusalFor({ reason: 'AA20 account not deployed', inner: null }, operation)
  if (paymaster !== null && (await isEmpty(paymaster))) throw refusalFor({ reason: 'AA30 paymaster not deployed', inner: null }, operation)
}

function assertTime(validation: ValidationData | null, reason: string, operation: UserOperation, { timestamp }: BlockNow): void {
  const until = validation?.validUntil ?? 0n
  if (until === 0n || until >= BigInt(timestamp) + LEAST_SECONDS_LEFT) return
  const failure: Omit<Failure, 'index'> = { reason: `${reason}: at ${until}, and it is ${timestamp}`, inner: null }
  throw refusalFor(failure, operation)
}

/** What account and paymaster answer; null for who was not asked, or reverted. */
async function validations(
  node: BundlerNode,
  candidate: Candidate,
  overrides: Overrides,
): Promise<{ readonly account: ValidationData | null; readonly paymaster: ValidationData | null }> {
  const steps = validationSteps(candidate, {
    account: candidate.operation.verificationGasLimit,
    paymaster: paymasterGas(candidate.operation),
  })
  const results = await node.steps(candidate.entryPoint, steps.all, overrides)
  return {
    account: accountData(results[steps.account]),
    paymaster: paymasterData(steps.paymaster === null ? undefined : results[steps.paymaster]),
  }
}

function paymasterGas({ paymasterVerificationGasLimit, verificationGasLimit }: UserOperation): bigint {
  return paymasterVerificationGasLimit === 0n ? verificationGasLimit : paymasterVerificationGasLimit
}

/** The calls of a validation, and where in the list they are. */
export interface ValidationSteps {
  readonly all: readonly Step[]
  readonly account: number
  /** null: there is none */
  readonly paymaster: number | null
}

export function validationSteps(
  { entryPoint, operation, hash }: Candidate,
  gas: { readonly account: bigint; readonly paymaster: bigint },
): ValidationSteps {
  const { sender, paymaster } = operation
  const prefund = entryPoint.prefundGas(operation) * operation.maxFeePerGas
  const creation = creationStep(entryPoint, operation, gas.account)
  const account: Step = {
    to: sender,
    gas: gas.account,
    data: entryPoint.validateAccount(operation, hash, paymaster === null ? prefund : 0n),
  }
  const all = [...creation, account]
  if (paymaster === null) return { all, account: all.length - 1, paymaster: null }
  const sponsor: Step = { to: paymaster, gas: gas.paymaster, data: entryPoint.validatePaymaster(operation, hash, prefund) }
  return { all: [...all, sponsor], account: all.length - 1, paymaster: all.length }
}

function creationStep(entryPoint: EntryPoint, operation: UserOperation, gas: bigint): readonly Step[] {
  const { factory, factoryData, sender } = operation
  if (factory === null) return []
  const to = entryPoint.senderCreator
  if (factory !== UserOperation.DELEGATION) return [{ to, gas, data: Abi.call(CREATE_SENDER, [UserOperation.initCode(operation)]) }]
  return factoryData.length === 0 ? [] : [{ to, gas, data: Abi.call(INIT_SENDER, [sender, factoryData]) }]
}

const CREATE_SENDER = Abi.selector('createSender(bytes)')
const INIT_SENDER = Abi.selector('initEip7702Sender(address,bytes)')

function accountData(result: Stepped | undefined): ValidationData | null {
  return result?.success === true && result.output.length >= 32 ? dataOf(result.output.subarray(0, 32)) : null
}

/** (context, validationData) */
function paymasterData(result: Stepped | undefined): ValidationData | null {
  return result?.success === true && result.output.length >= 64 ? dataOf(result.output.subarray(32, 64)) : null
}

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
