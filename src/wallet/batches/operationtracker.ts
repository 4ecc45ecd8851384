import { Abi, Hash, Hex, entryPointVersion, RevertReason } from '../../eth/index.ts'
import type { Address } from '../../eth/index.ts'
import { CODE, RpcError, UserOperationJson } from '../../jsonrpc/index.ts'
import { WAITING } from './batchrecord.ts'
import type { BatchOperation, BatchRecord, Inclusion } from './batchrecord.ts'
import type { WalletChain } from '../chains/chain.ts'
import { REASON_CHARS } from '../limits.ts'
import { isFinal, isMissingLongEnough, isSameChain, isSameInclusion, notIncluded, readReceipt, waitingFrom } from './transactiontracker.ts'
import type { NodeReceipt, TrackContext, Waiting } from './transactiontracker.ts'
import type { SignedOperation } from '../keys/keyring.ts'
import { isConnectionError, isTransactionKnown } from './transactions.ts'
import type { SubmitResult } from './transactions.ts'

/** The signed operation of a sponsored batch. */
export interface SentOperation extends SignedOperation {
  readonly entryPoint: Address
}

export function operationRecord({ operation, hash, entryPoint }: SentOperation): BatchOperation {
  const json = UserOperationJson.write(operation, entryPointVersion(entryPoint) ?? '0.8')
  return { hash, entryPoint, nonce: Hex.fromQuantity(operation.nonce), json, inclusion: WAITING }
}

/** True if its EIP-7702 authorization waits for a block. */
export function isPendingUpgrade({ json, inclusion }: BatchOperation): boolean {
  return json['eip7702Auth'] !== undefined && inclusion.kind === 'waiting'
}

/**
 * Returns the operation with its current inclusion, from its bundler and the EntryPoint's nonce. An operation that the bundler has lost is submitted
 * again, once, and again when the wallet restarts: bundlers keep pending operations in memory. Throws RpcError if the chain does not respond.
 */
export async function trackOperation(
  chain: WalletChain,
  record: BatchRecord,
  operation: BatchOperation,
  context: TrackContext,
): Promise<BatchOperation> {
  const inclusion = await inclusionOf(chain, record, operation, context)
  return isSameInclusion(inclusion, operation.inclusion) ? operation : { ...operation, inclusion }
}

async function inclusionOf(chain: WalletChain, record: BatchRecord, operation: BatchOperation, context: TrackContext): Promise<Inclusion> {
  const { hash, inclusion } = operation
  if (inclusion.kind === 'never' && inclusion.reason !== 'dropped') return inclusion
  const included = await receiptOf(chain, operation)
  if (included !== null) return included
  if (await isFinal(chain, inclusion)) return inclusion
  const waiting = waitingFrom(inclusion)
  const state = await bundlerStateOf(chain, hash)
  if (state.kind === 'pending') {
    context.lastSeenAt.set(hash, context.now)
    return waiting
  }
  const used = await sequenceAt(chain, record, operation, 'latest')
  // If the nonce was used by then and there is still no receipt, another operation used it.
  if ((await receiptOf(chain, operation)) !== null) return waiting
  if (used > sequenceOf(operation)) return replaced(record, operation)
  if (state.kind === 'rejected') return notIncluded('dropped', `the bundler dropped it: ${state.reason}`)
  return missing(chain, record, operation, waiting, context, state.kind === 'missing')
}

/** The bundler does not have the operation, or does not report pending ones, and its nonce is unused in the latest block. */
async function missing(
  chain: WalletChain,
  record: BatchRecord,
  operation: BatchOperation,
  waiting: Waiting,
  context: TrackContext,
  isReportedMissing: boolean,
): Promise<Inclusion> {
  const { hash } = operation
  if (!isMissingLongEnough(chain, hash, context)) return waiting
  const next = await sequenceAt(chain, record, operation, 'pending')
  // It may have been included in between.
  if ((await receiptOf(chain, operation)) !== null) return waiting
  if (next > sequenceOf(operation)) return replaced(record, operation)
  // The chain in the same process is rewound only on request, and what was included after that point is discarded on purpose.
  const isRewound = chain.isEmbedded && waiting.isRetracted
  const mayResend = context.isResumed || (!isRewound && (waiting.resent === 0 || !isReportedMissing))
  if (!mayResend || !(await isSameChain(chain, record))) return notIncluded('dropped', 'the bundler has lost it, and its nonce is unused')
  const result = await submitOperation(chain, operation)
  if (result.kind === 'rejected') return notIncluded('dropped', `the bundler has lost it and refuses it now: ${result.error.message}`)
  context.lastSeenAt.set(hash, context.now)
  return { ...waiting, resent: waiting.resent + 1 }
}

/** Sends an operation to the chain's bundler. One that the bundler already has counts as accepted. */
export async function submitOperation(chain: WalletChain, { json, entryPoint, hash }: BatchOperation): Promise<SubmitResult> {
  try {
    await chain.rpc.request({ method: 'eth_sendUserOperation', params: [json, entryPoint] })
    return { kind: 'accepted' }
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    if (isConnectionError(error)) return { kind: 'unknown', error }
    const state = await bundlerStateOf(chain, hash).catch(() => null)
    const isKnown = state?.kind === 'pending' || (state?.kind === 'unreported' && ALREADY_KNOWN.test(error.message))
    return isKnown ? { kind: 'accepted' } : { kind: 'rejected', error }
  }
}

/** Messages of bundlers that do not report pending operations. */
const ALREADY_KNOWN = /already (known|exists|in)|duplicate|replacement|underpriced/i

// --- bundler --------------------------------------------------------------------------------------------------------------

/** Null: in no block, sealed or pre-confirmed. */
async function receiptOf({ rpc }: WalletChain, { hash, entryPoint }: BatchOperation): Promise<Inclusion | null> {
  const answer = await rpc.request({ method: 'eth_getUserOperationReceipt', params: [hash] })
  if (answer === null || answer === undefined) return null
  const { success, reason, actualGasCost, logs, receipt: bundle } = answer as OperationReceipt // as ERC-7769 defines it
  // The bundle's transaction succeeds also if an operation in it failed.
  const whole = readReceipt({ ...bundle, logs, status: success ? '0x1' : '0x0' })
  // The EntryPoint's own events about the operation are not results of its calls.
  const receipt = { ...whole, logs: whole.logs.filter(({ address, topics }) => address !== entryPoint || topics[1] !== hash) }
  const isSealed = receipt.blockHash !== Hash.zero
  return {
    kind: 'included',
    isSealed,
    receipt,
    ...(success || typeof reason !== 'string' ? {} : { reason: reasonText(reason).slice(0, REASON_CHARS) }),
    // The sponsor pays for its operation, not for the bundle, which may contain others.
    ...(typeof actualGasCost === 'string' && QUANTITY.test(actualGasCost) ? { sponsorFee: Hex.fromQuantity(BigInt(actualGasCost)) } : {}),
  }
}

const QUANTITY = /^0x[0-9a-f]{1,64}$/i

/** `reason`: revert data, or the text of a bundler that decodes them. */
function reasonText(reason: string): string {
  const data = Hex.isHex(reason) && reason.length % 2 === 0 ? Hex.toBytes(reason) : null
  return (data === null ? null : RevertReason.text(data)) ?? reason
}

interface OperationReceipt {
  readonly success: boolean
  readonly reason?: string | null
  readonly actualGasCost?: unknown
  readonly logs: NodeReceipt['logs']
  readonly receipt: NodeReceipt
}

/** The bundler's state of an operation without receipt. `unreported`: this bundler reports included operations only. */
type BundlerState = { readonly kind: 'pending' | 'missing' | 'unreported' } | { readonly kind: 'rejected'; readonly reason: string }

/** ERC-7769 has no method for pending operations. Most bundlers implement Pimlico's. */
async function bundlerStateOf(chain: WalletChain, hash: Hash): Promise<BundlerState> {
  try {
    const answer = await chain.rpc.request({ method: 'pimlico_getUserOperationStatus', params: [hash] })
    const { status, transactionHash, reason } = (answer ?? {}) as Readonly<Record<string, unknown>> // any JSON object has this shape
    if (status === 'not_submitted' || status === 'queued' || status === 'submitted') return { kind: 'pending' }
    if (status === 'rejected') return { kind: 'rejected', reason: typeof reason === 'string' ? reason : 'it does not say why' }
    // It was included and its block was removed: the bundle is back in the pool, or lost.
    const isPending = Hex.isHex(transactionHash, 64) && (await isTransactionKnown(chain, Hash.from(transactionHash))) === true
    return { kind: isPending ? 'pending' : 'missing' }
  } catch (error) {
    if (!(error instanceof RpcError) || error.code !== CODE.methodNotFound) throw error
    const found = await chain.rpc.request({ method: 'eth_getUserOperationByHash', params: [hash] })
    return { kind: found === null || found === undefined ? 'unreported' : 'pending' }
  }
}

// --- nonces ---------------------------------------------------------------------------------------------------------------

const GET_NONCE = Abi.selector('getNonce(address,uint192)')

/** Returns the account's next nonce (key and sequence) at an EntryPoint under `key`. */
export async function operationNonce(
  { rpc }: WalletChain,
  account: Address,
  entryPoint: Address,
  key: bigint,
  block: 'latest' | 'pending',
): Promise<bigint> {
  const data = Hex.fromBytes(Abi.call(GET_NONCE, [account, key]))
  const answer = await rpc.request({ method: 'eth_call', params: [{ to: entryPoint, data }, block] })
  // On a chain without the EntryPoint the result is empty.
  return Hex.isHex(answer, 64) ? BigInt(answer) : key << 64n
}

async function sequenceAt(
  chain: WalletChain,
  { from }: BatchRecord,
  operation: BatchOperation,
  block: 'latest' | 'pending',
): Promise<bigint> {
  const key = BigInt(operation.nonce) >> 64n
  return BigInt.asUintN(64, await operationNonce(chain, from, operation.entryPoint, key, block))
}

function sequenceOf({ nonce }: BatchOperation): bigint {
  return BigInt.asUintN(64, BigInt(nonce))
}

function replaced({ from }: BatchRecord, { nonce }: BatchOperation): Inclusion {
  return notIncluded('replaced', `another operation has used nonce ${BigInt(nonce)} of ${from} at the EntryPoint`)
}
