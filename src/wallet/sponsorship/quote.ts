import { DecodeError, Hex, UserOperation, entryPoint } from '../../eth/index.ts'
import type { Address, Authorization } from '../../eth/index.ts'
import { CODE, RpcError, UserOperationJson, schema } from '../../jsonrpc/index.ts'
import type { Call } from '../batches/call.ts'
import { assertTransactionSize } from '../batches/callsrequest.ts'
import type { Sponsored } from '../batches/execution.ts'
import { blockGround, feesFor } from '../batches/fees.ts'
import type { Fees } from '../batches/fees.ts'
import { UNKNOWN_GAS, estimateCallGas, executeCall, intrinsicGas } from '../batches/gas.ts'
import { nextNonce } from '../batches/sending.ts'
import type { WalletChain } from '../chains/chain.ts'
import { sponsorFailed } from '../errors.ts'
import type { Keyring, SignedOperation } from '../keys/keyring.ts'
import { OPERATION_BYTES, PAYMASTER_GAS, QUOTE_FRESH_MS, SPONSORED_CALL_GAS, SPONSOR_DATA_BYTES } from '../limits.ts'
import { blamed } from './failure.ts'
import { PaymasterCalls, grantOf } from './grant.ts'
import type { OperationSteps } from '../preview/preview.ts'
import type { PaymasterFields, SponsorRequest, SponsorService, StubReply } from './service.ts'
import { SPONSORED_VERSION } from './standing.ts'

/** Our delegate and Simple7702Account take calls from no other one. */
const ENTRY_POINT = entryPoint(SPONSORED_VERSION)

/** What a sponsor has signed, of calls as they are approved. */
export interface Quote {
  /** all but the account's signature and its authorization */
  readonly operation: UserOperation
  readonly entryPoint: Address
  readonly sponsor: QuoteSponsor
  readonly fees: Fees
  /** what its paymaster will want to be handed after the calls; empty: it wants nothing */
  readonly context: Uint8Array
  /** gas that is paid in advance, all limits together */
  readonly gas: bigint
  /** Unix time, milliseconds: when its making began */
  readonly quotedAt: number
}

export interface QuoteSponsor {
  /** as the sponsor calls itself */
  readonly name: string | null
  /** data: uri */
  readonly icon: string | null
  /** of the url that the app gave */
  readonly host: string
  readonly paymaster: Address
}

export interface QuoteRequest {
  readonly chain: WalletChain
  readonly from: Address
  readonly calls: readonly Call[]
  readonly execution: Sponsored
  readonly service: SponsorService
  /** of the app, for the sponsor: handed on as it is */
  readonly context: unknown
  /** of the account at the EntryPoint */
  readonly nonce: bigint
  readonly signal?: AbortSignal | null
}

/**
 * Asks the sponsor twice: for data of the final length, with which gas is estimated, and for its signature on the rest (ERC-7677). What it answers is
 * looked at before anybody is asked: it must be one paymaster, of one length, within bounds, and its contract must agree. Nothing is signed; where a
 * signature or an authorization counts another stands in. Throws RpcError: 4200 and 4300, 5740, and what the node and the bundler say.
 */
export async function quoteOf(request: QuoteRequest): Promise<Quote> {
  const { chain, from, calls, execution, service } = request
  const quotedAt = Date.now()
  // Wanted when the sponsor has answered for the first time.
  const own = estimateCallGas(chain, from, calls, execution)
  own.catch(() => {})
  const [fees, bare] = await Promise.all([blockGround(chain).then((ground) => feesFor(chain, ground)), bareOperation(request)])
  const { maxFeePerGas, maxPriorityFeePerGas } = fees
  const priced = { ...bare, maxFeePerGas, maxPriorityFeePerGas }
  const stub = await service.stub(sponsorRequest(request, priced))
  const stubbed = withPaymaster(priced, stub)
  assertBounded(stubbed)
  const estimated = { ...stubbed, ...(await limitsOf(request, stubbed, stub, await own)) }
  const final = stub.isFinal ? stub : await service.final(sponsorRequest(request, estimated))
  if (!stub.isFinal) assertSame(stub, final)
  const operation = withPaymaster(estimated, final)
  assertBounded(operation)
  const context = await grantOf(chain, ENTRY_POINT, operation, execution)
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

/** Throws RpcError 5740 for calls that leave a sponsor no room in a bundle. */
export function assertOperationSize(from: Address, calls: readonly Call[], { delegate }: Sponsored): void {
  const callData = executeCall(from, calls, delegate).data
  const bare = UserOperation.of({ sender: from, nonce: 0n, callData, signature: STAND_IN })
  assertTransactionSize(sizeOf(bare), OPERATION_BYTES - SPONSOR_DATA_BYTES)
}

/** Bytes of a bundle of nothing else. */
function sizeOf(operation: UserOperation): number {
  return ENTRY_POINT.handleOps([operation], operation.sender).length
}

/** False: it has to be asked for anew, because the nonce was used, the fees would not do any more, or nobody knows how long the sponsor stands by it. */
export function isFresh({ operation, quotedAt }: Quote, nonce: bigint, { baseFee, maxPriorityFeePerGas }: Fees): boolean {
  const price = baseFee === null ? maxPriorityFeePerGas : baseFee + maxPriorityFeePerGas
  return operation.nonce === nonce && operation.maxFeePerGas >= price && Date.now() - quotedAt < QUOTE_FRESH_MS
}

/** What the EntryPoint asks of the paymaster around the calls, for a preview of all of it. */
export function stepsAround(chain: WalletChain, { operation, context }: Quote, delegate: Address): OperationSteps {
  const before = PaymasterCalls.before(chain, ENTRY_POINT, operation, delegate)
  return {
    entryPoint: ENTRY_POINT.address,
    before,
    after: context.length === 0 ? null : PaymasterCalls.after(ENTRY_POINT, operation, context),
  }
}

/** The account's own signature, and its authorization with the nonce that it has now. Throws RpcError 4100, and what the node says. */
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
  // Somebody else's transaction brings it, so that the account's own nonce has not risen by then (EIP-7702).
  const fields = { chainId: BigInt(chain.chainId), address: delegate, nonce: await nextNonce(chain, sender) }
  return { ...signed, operation: { ...signed.operation, authorization: keyring.authorization(fields, sender, chain) } }
}

const EMPTY = new Uint8Array()

/** 65 bytes that recover to somebody else: no branch of the account's code looks at them otherwise. */
const STAND_IN = Hex.toBytes(
  '0xfffffffffffffffffffffffffffffff0000000000000000000000000000000007aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1c',
)
/** Halves of the same. */
const STAND_IN_R = BigInt(Hex.fromBytes(STAND_IN.subarray(0, 32)))
const STAND_IN_S = BigInt(Hex.fromBytes(STAND_IN.subarray(32, 64)))

async function bareOperation({ chain, from, calls, execution, nonce }: QuoteRequest): Promise<UserOperation> {
  const { delegate, upgrade } = execution
  const callData = executeCall(from, calls, delegate).data
  const bare = UserOperation.of({ sender: from, nonce, callData, signature: STAND_IN })
  if (upgrade === null) return bare
  return { ...bare, factory: UserOperation.DELEGATION, authorization: standInFor(chain, delegate, await nextNonce(chain, from)) }
}

/** Nobody's: bundlers take the code from it while they estimate, and look at who signed it when it is sent. */
function standInFor({ chainId }: WalletChain, delegate: Address, nonce: bigint): Authorization {
  return { chainId: BigInt(chainId), address: delegate, nonce, yParity: 1, r: STAND_IN_R, s: STAND_IN_S, authority: null }
}

function sponsorRequest({ chain, context, signal = null }: QuoteRequest, operation: UserOperation): SponsorRequest {
  return { operation, entryPoint: ENTRY_POINT.address, version: SPONSORED_VERSION, chainId: chain.chainId, context, signal }
}

/** Limits that the sponsor names win over those that are there. */
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

/** The bundler's; for the calls the greater of its and our own estimate, which counts what the app has chosen. */
async function limitsOf(request: QuoteRequest, stubbed: UserOperation, stub: StubReply, own: bigint | null): Promise<Limits> {
  const found = (await estimated(request.chain, stubbed)) ?? (await estimatedForFailing(request, stubbed, own))
  const callGas = own === null || found.callGasLimit > own ? found.callGasLimit : own
  return {
    ...found,
    callGasLimit: callGas < SPONSORED_CALL_GAS ? callGas : SPONSORED_CALL_GAS,
    paymasterVerificationGasLimit: stub.paymasterVerificationGasLimit ?? found.paymasterVerificationGasLimit,
    paymasterPostOpGasLimit: stub.paymasterPostOpGasLimit ?? found.paymasterPostOpGasLimit,
  }
}

/** Null: the calls revert. Throws RpcError, 4300 when the paymaster would not go along. */
async function estimated({ rpc }: WalletChain, operation: UserOperation): Promise<Limits | null> {
  try {
    const params = [UserOperationJson.write(operation, SPONSORED_VERSION), ENTRY_POINT.address]
    return readLimits(await rpc.request({ method: 'eth_estimateUserOperationGas', params }))
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    if (error.code === CALLS_REVERT) return null
    throw blamed(error)
  }
}

/** ERC-7769. */
const CALLS_REVERT = -32_521

/**
 * Calls that revert are asked about all the same, so what is around them has to be known: found with calls of the same data that go where no code is.
 * Throws RpcError.
 */
async function estimatedForFailing(
  { chain, from, calls, execution }: QuoteRequest,
  stubbed: UserOperation,
  own: bigint | null,
): Promise<Limits> {
  const harmless = executeCall(
    from,
    calls.map((call) => ({ ...call, to: NOBODY, value: 0n })),
    execution.delegate,
  )
  const found = await estimated(chain, { ...stubbed, callData: harmless.data })
  if (found === null) throw new RpcError(CODE.server, 'the bundler says that calls revert which do nothing', { reason: 'bundler' })
  const more = intrinsicGas({ to: from, data: stubbed.callData }) - intrinsicGas(harmless)
  const callGasLimit = own ?? UNKNOWN_GAS * BigInt(calls.length)
  return { ...found, callGasLimit, preVerificationGas: found.preVerificationGas + (more > 0n ? more + more / 4n : 0n) }
}

/** Nobody has a key for it. */
const NOBODY = '0x7702beef7702beef7702beef7702beef7702beef' as Address // 20 bytes, as it stands here

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

// --- what the sponsor may not do --------------------------------------------------------------------------------------------

/** ERC-7677: gas was estimated with the stub, so the final data is as long, and for the same contract. Throws RpcError 4300. */
function assertSame(stub: PaymasterFields, final: PaymasterFields): void {
  if (final.paymaster !== stub.paymaster) {
    const detail = `the sponsor named the paymaster ${stub.paymaster} first and ${final.paymaster} in the end`
    throw sponsorFailed('paymaster-changed', detail, { stub: stub.paymaster, final: final.paymaster })
  }
  const [expected, got] = [stub.paymasterData.length, final.paymasterData.length]
  if (got === expected) return
  const detail = `the sponsor's stub has ${expected} bytes of paymaster data and its final answer ${got}: gas was estimated for the former`
  throw sponsorFailed('length-changed', detail, { stubBytes: expected, finalBytes: got })
}

/** Throws RpcError 4300 for data that no bundle has room for, and for gas that no paymaster needs. */
function assertBounded(operation: UserOperation): void {
  const sizeBytes = sizeOf(operation)
  if (sizeBytes > OPERATION_BYTES) {
    const detail = `with the sponsor's ${operation.paymasterData.length} bytes of paymaster data a bundle has ${sizeBytes}, at most ${OPERATION_BYTES} are sent`
    throw sponsorFailed('too-much-data', detail, { limit: OPERATION_BYTES, got: sizeBytes })
  }
  for (const field of ['paymasterVerificationGasLimit', 'paymasterPostOpGasLimit'] as const) {
    if (operation[field] <= PAYMASTER_GAS) continue
    const detail = `the sponsor wants ${operation[field]} gas as ${field}, at most ${PAYMASTER_GAS} are accepted`
    throw sponsorFailed('too-much-gas', detail, { field, gas: Hex.fromQuantity(operation[field]), limit: Hex.fromQuantity(PAYMASTER_GAS) })
  }
}
