import { DecodeError, Hex, UserOperation, entryPoint } from '../../eth/index.ts'
import type { Address } from '../../eth/index.ts'
import { CODE, OPERATION_BYTES, RpcError, UserOperationJson, schema } from '../../jsonrpc/index.ts'
import type { Call } from '../batches/call.ts'
import { assertTransactionSize } from '../batches/callsrequest.ts'
import type { Sponsored } from '../batches/execution.ts'
import { latestBlock, feesFor } from '../batches/fees.ts'
import type { Fees } from '../batches/fees.ts'
import { UNKNOWN_GAS, estimateCallGas, executeCall, intrinsicGas } from '../batches/gas.ts'
import { nextNonce } from '../batches/transactions.ts'
import type { WalletChain } from '../chains/chain.ts'
import { sponsorFailed, unparsableRequest } from '../errors.ts'
import type { Keyring, SignedOperation } from '../keys/keyring.ts'
import { PAYMASTER_GAS, QUOTE_FRESH_MS, SPONSORED_CALL_GAS, SPONSOR_DATA_BYTES } from '../limits.ts'
import { toPaymasterError } from './failure.ts'
import { PaymasterCalls, validatePaymaster } from './paymastervalidation.ts'
import type { OperationSteps } from '../preview/preview.ts'
import type { SponsorView } from '../question.ts'
import type { PaymasterFields, SponsorRequest, SponsorClient, StubReply } from './client.ts'
import { SPONSORED_VERSION } from './availability.ts'

/** The only EntryPoint that the known delegates accept. */
const ENTRY_POINT = entryPoint(SPONSORED_VERSION)

/** A sponsor's signed commitment to pay for an operation. */
export interface Quote {
  /** the operation without the account's signature and authorization */
  readonly operation: UserOperation
  readonly entryPoint: Address
  readonly sponsor: Required<SponsorView>
  readonly fees: Fees
  /** context of the paymaster's postOp; empty: postOp is not called */
  readonly context: Uint8Array
  /** sum of all gas limits, which is paid in advance */
  readonly gas: bigint
  /** Unix time, milliseconds: before the first request to the sponsor */
  readonly quotedAt: number
}

interface QuoteRequest {
  readonly chain: WalletChain
  readonly from: Address
  readonly calls: readonly Call[]
  readonly execution: Sponsored
  readonly service: SponsorClient
  /** JSON of the app for the sponsor */
  readonly context: unknown
  /** nonce of the account at the EntryPoint */
  readonly nonce: bigint
  readonly signal?: AbortSignal | null
}

/**
 * Requests two results from the sponsor (ERC-7677): stub data of the final length, with which gas is estimated, and the final data with its signature.
 * Both must name one paymaster, have one length and keep the limits, and the paymaster's contract must validate the operation. The account signs nothing
 * yet: a dummy signature and authorization take their place. Throws RpcError: 4200 and 4300, 5740, -32602 for a gasLimitOverride that exceeds a bundle, and the refusals of the node and the bundler.
 */
export async function quoteOf(request: QuoteRequest): Promise<Quote> {
  const { chain, from, calls, execution, service } = request
  const quotedAt = Date.now()
  // Runs during the first request to the sponsor.
  const ownEstimate = estimateCallGas(chain, from, calls, execution)
  ownEstimate.catch(() => {})
  const [fees, unsponsored] = await Promise.all([latestBlock(chain).then((block) => feesFor(chain, block)), unsponsoredOperation(request)])
  const { maxFeePerGas, maxPriorityFeePerGas } = fees
  const priced = { ...unsponsored, maxFeePerGas, maxPriorityFeePerGas }
  const stub = await service.stub(sponsorRequest(request, priced))
  const stubbed = withPaymaster(priced, stub)
  assertWithinLimits(stubbed)
  const estimated = { ...stubbed, ...(await limitsOf(request, stubbed, stub, await ownEstimate)) }
  const final = stub.isFinal ? stub : await service.final(sponsorRequest(request, estimated))
  if (!stub.isFinal) assertConsistent(stub, final)
  const operation = withPaymaster(estimated, final)
  assertWithinLimits(operation)
  const context = await validatePaymaster(chain, ENTRY_POINT, operation, execution)
  return {
    operation: { ...operation, signature: EMPTY, authorization: null },
    entryPoint: ENTRY_POINT.address,
    sponsor: { ...stub.sponsor, host: service.host, paymaster: final.paymaster },
    fees,
    context,
    gas: ENTRY_POINT.prefundGas(operation),
    quotedAt,
  }
}

/** Throws RpcError 5740 for calls that leave no room for paymaster data in a bundle. */
export function assertOperationSize(from: Address, calls: readonly Call[], { delegate }: Sponsored): void {
  const callData = executeCall(from, calls, delegate).data
  const bare = UserOperation.of({ sender: from, nonce: 0n, callData, signature: DUMMY_SIGNATURE })
  assertTransactionSize(sizeOf(bare), OPERATION_BYTES - SPONSOR_DATA_BYTES)
}

/** Bytes of the call data of a bundle with this operation only. */
function sizeOf(operation: UserOperation): number {
  return ENTRY_POINT.handleOps([operation], operation.sender).length
}

/** False: a new quote is needed, because the nonce was used, the fees are too low, or the quote is older than QUOTE_FRESH_MS. */
export function isFresh({ operation, quotedAt }: Quote, nonce: bigint, { baseFee, maxPriorityFeePerGas }: Fees): boolean {
  const price = baseFee === null ? maxPriorityFeePerGas : baseFee + maxPriorityFeePerGas
  return operation.nonce === nonce && operation.maxFeePerGas >= price && Date.now() - quotedAt < QUOTE_FRESH_MS
}

/** Returns the EntryPoint's calls of the paymaster before and after the account's calls, for the preview. */
export function operationSteps(chain: WalletChain, { operation, context }: Quote, delegate: Address): OperationSteps {
  const before = PaymasterCalls.before(chain, ENTRY_POINT, operation, delegate)
  return {
    entryPoint: ENTRY_POINT.address,
    before,
    after: context.length === 0 ? null : PaymasterCalls.after(ENTRY_POINT, operation, context),
  }
}

/** Signs the operation and, for an upgrade, an authorization with the account's current nonce. Throws RpcError 4100, and the refusals of the node. */
export async function signQuote(
  keyring: Keyring,
  chain: WalletChain,
  { operation }: Quote,
  execution: Sponsored,
): Promise<SignedOperation> {
  const { sender } = operation
  const { delegate, upgrade } = execution
  const signed = keyring.userOperation(operation, ENTRY_POINT, delegate, chain)
  if (upgrade === null) return signed
  // EIP-7702: the bundler's transaction carries it, so the account's nonce is not incremented before.
  const fields = { chainId: BigInt(chain.chainId), address: delegate, nonce: await nextNonce(chain, sender) }
  return { ...signed, operation: { ...signed.operation, authorization: keyring.authorization(fields, sender, chain) } }
}

const EMPTY = new Uint8Array()

/** A well-formed signature of another key, so that the account's code takes the same branches as with a valid one. */
const DUMMY_SIGNATURE = Hex.toBytes(
  '0xfffffffffffffffffffffffffffffff0000000000000000000000000000000007aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1c',
)
const DUMMY_R = BigInt(Hex.fromBytes(DUMMY_SIGNATURE.subarray(0, 32)))
const DUMMY_S = BigInt(Hex.fromBytes(DUMMY_SIGNATURE.subarray(32, 64)))

async function unsponsoredOperation({ chain, from, calls, execution, nonce }: QuoteRequest): Promise<UserOperation> {
  const { delegate, upgrade } = execution
  const callData = executeCall(from, calls, delegate).data
  const bare = UserOperation.of({ sender: from, nonce, callData, signature: DUMMY_SIGNATURE })
  if (upgrade === null) return bare
  // For gas estimation bundlers read the delegate from it; they check its signature only on submission.
  const fields = { chainId: BigInt(chain.chainId), address: delegate, nonce: await nextNonce(chain, from) }
  const authorization = { ...fields, yParity: 1, r: DUMMY_R, s: DUMMY_S, authority: null } as const
  return { ...bare, factory: UserOperation.DELEGATION, authorization }
}

function sponsorRequest({ chain, context, signal = null }: QuoteRequest, operation: UserOperation): SponsorRequest {
  return { operation, chainId: chain.chainId, context, signal }
}

/** The sponsor's gas limits, if present, replace those of the operation. */
function withPaymaster(operation: UserOperation, fields: PaymasterFields): UserOperation {
  return {
    ...operation,
    paymaster: fields.paymaster,
    paymasterData: fields.paymasterData,
    paymasterVerificationGasLimit: fields.paymasterVerificationGasLimit ?? operation.paymasterVerificationGasLimit,
    paymasterPostOpGasLimit: fields.paymasterPostOpGasLimit ?? operation.paymasterPostOpGasLimit,
  }
}

// --- gas ------------------------------------------------------------------------------------------------------------------

type Limits = Pick<
  UserOperation,
  'preVerificationGas' | 'verificationGasLimit' | 'callGasLimit' | 'paymasterVerificationGasLimit' | 'paymasterPostOpGasLimit'
>

/** The bundler's estimate. callGasLimit is the greater of it and the wallet's own, which includes gasLimitOverride. */
async function limitsOf(request: QuoteRequest, stubbed: UserOperation, stub: StubReply, ownCallGas: bigint | null): Promise<Limits> {
  const found = (await estimated(request.chain, stubbed)) ?? (await estimatedForReverting(request, stubbed, ownCallGas))
  const callGas = ownCallGas === null || found.callGasLimit > ownCallGas ? found.callGasLimit : ownCallGas
  assertOverridesFit(request.calls, callGas)
  return {
    ...found,
    callGasLimit: callGas < SPONSORED_CALL_GAS ? callGas : SPONSORED_CALL_GAS,
    paymasterVerificationGasLimit: stub.paymasterVerificationGasLimit ?? found.paymasterVerificationGasLimit,
    paymasterPostOpGasLimit: stub.paymasterPostOpGasLimit ?? found.paymasterPostOpGasLimit,
  }
}

/** Throws RpcError -32602 for a gasLimitOverride with which the calls have more gas than fits a bundle: with less, the account could not give a call its limit. */
function assertOverridesFit(calls: readonly Call[], callGas: bigint): void {
  if (callGas <= SPONSORED_CALL_GAS || calls.every(({ gasLimitOverride }) => gasLimitOverride === null)) return
  throw unparsableRequest(
    `gasLimitOverride: the calls would have ${callGas} gas, and the calls of a sponsored batch have at most ${SPONSORED_CALL_GAS}; lower it, or leave paymasterService out`,
  )
}

/** Null: the calls revert. Throws RpcError, 4300 for a fault of the paymaster. */
async function estimated({ rpc }: WalletChain, operation: UserOperation): Promise<Limits | null> {
  try {
    const params = [UserOperationJson.write(operation, SPONSORED_VERSION), ENTRY_POINT.address]
    return readLimits(await rpc.request({ method: 'eth_estimateUserOperationGas', params }))
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    if (error.code === CALLS_REVERT) return null
    throw toPaymasterError(error)
  }
}

/** ERC-7769. */
const CALLS_REVERT = -32_521

/**
 * A user may approve calls that revert, so their operation needs limits too: estimated with the same call data to an address without code. Throws
 * RpcError.
 */
async function estimatedForReverting(
  { chain, from, calls, execution }: QuoteRequest,
  stubbed: UserOperation,
  ownCallGas: bigint | null,
): Promise<Limits> {
  const withoutEffect = executeCall(
    from,
    calls.map((call) => ({ ...call, to: CODELESS, value: 0n })),
    execution.delegate,
  )
  const found = await estimated(chain, { ...stubbed, callData: withoutEffect.data })
  if (found === null)
    throw new RpcError(CODE.server, 'the bundler reports a revert of calls to an address without code', { reason: 'bundler' })
  const more = intrinsicGas({ to: from, data: stubbed.callData }) - intrinsicGas(withoutEffect)
  const callGasLimit = ownCallGas ?? UNKNOWN_GAS * BigInt(calls.length)
  return { ...found, callGasLimit, preVerificationGas: found.preVerificationGas + (more > 0n ? more + more / 4n : 0n) }
}

/** An address without code and without a known key. */
const CODELESS = '0x7702beef7702beef7702beef7702beef7702beef' as Address // 20 bytes

const limits = schema.object({
  preVerificationGas: schema.uint64,
  verificationGasLimit: schema.uint64,
  callGasLimit: schema.uint64,
  paymasterVerificationGasLimit: schema.maybe(schema.uint64),
  paymasterPostOpGasLimit: schema.maybe(schema.uint64),
})

function readLimits(answer: unknown): Limits {
  try {
    const { paymasterVerificationGasLimit = 0n, paymasterPostOpGasLimit = 0n, ...rest } = limits.parse(answer, 'estimate')
    return { ...rest, paymasterVerificationGasLimit, paymasterPostOpGasLimit }
  } catch (error) {
    if (!(error instanceof RpcError || error instanceof DecodeError)) throw error
    throw new RpcError(CODE.server, `the bundler's answer is no estimate: ${error.message}`, { reason: 'bundler' })
  }
}

// --- checks of the sponsor's data -----------------------------------------------------------------------------------------

/** ERC-7677: gas was estimated with the stub, so the final data must have its length and its paymaster. Throws RpcError 4300. */
function assertConsistent(stub: PaymasterFields, final: PaymasterFields): void {
  if (final.paymaster !== stub.paymaster) {
    const detail = `the sponsor named the paymaster ${stub.paymaster} first and ${final.paymaster} in the end`
    throw sponsorFailed('paymaster-changed', detail, { stub: stub.paymaster, final: final.paymaster })
  }
  const [expected, got] = [stub.paymasterData.length, final.paymasterData.length]
  if (got === expected) return
  const detail = `the sponsor's stub has ${expected} bytes of paymaster data and its final answer ${got}: gas was estimated for the former`
  throw sponsorFailed('length-changed', detail, { stubBytes: expected, finalBytes: got })
}

/** Throws RpcError 4300 for data that exceeds a bundle, or gas limits above PAYMASTER_GAS. */
function assertWithinLimits(operation: UserOperation): void {
  const sizeBytes = sizeOf(operation)
  if (sizeBytes > OPERATION_BYTES) {
    const detail = `with the sponsor's ${operation.paymasterData.length} bytes of paymaster data a bundle has ${sizeBytes}, at most ${OPERATION_BYTES} are sent`
    throw sponsorFailed('too-much-data', detail, { limit: OPERATION_BYTES, got: sizeBytes })
  }
  for (const field of ['paymasterVerificationGasLimit', 'paymasterPostOpGasLimit'] as const) {
    if (operation[field] <= PAYMASTER_GAS) continue
    const detail = `the sponsor requests ${operation[field]} gas as ${field}, at most ${PAYMASTER_GAS} are accepted`
    throw sponsorFailed('too-much-gas', detail, { field, gas: Hex.fromQuantity(operation[field]), limit: Hex.fromQuantity(PAYMASTER_GAS) })
  }
}
