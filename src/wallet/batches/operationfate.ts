import { Abi, Hash, Hex, entryPointVersion } from '../../eth/index.ts'
import type { Address } from '../../eth/index.ts'
import { CODE, RpcError, UserOperationJson } from '../../jsonrpc/index.ts'
import { WAITING } from './batchrecord.ts'
import type { BatchOperation, BatchRecord, Fate } from './batchrecord.ts'
import type { WalletChain } from '../chains/chain.ts'
import { hasBlock, isSame, isSameChain, readReceipt } from './fates.ts'
import type { LookGround, NodeReceipt } from './fates.ts'
import type { SignedOperation } from '../keys/keyring.ts'
import { UNKNOWN_MS } from '../limits.ts'
import { isKnown, isLost } from './sending.ts'
import type { Handed } from './sending.ts'

/** What a sponsored batch is sent as. */
export interface SentOperation extends SignedOperation {
  readonly entryPoint: Address
}

/** As it is kept. */
export function operationRecord({ operation, hash, entryPoint }: SentOperation): BatchOperation {
  const json = UserOperationJson.write(operation, entryPointVersion(entryPoint) ?? '0.8')
  return { hash, entryPoint, nonce: Hex.fromQuantity(operation.nonce), json, fate: WAITING }
}

/** Its authorization makes its sender another account, which nobody counts until its block has come. */
export function isUpgrading({ json, fate }: BatchOperation): boolean {
  return json['eip7702Auth'] !== undefined && fate.kind === 'waiting'
}

/**
 * What has become of a user operation by now: by its bundler, who knows it before and after its block, and by the EntryPoint's nonce. What the bundler has
 * lost is sent once more, and again when the wallet starts: bundlers keep what waits in memory. Throws RpcError when the chain does not answer.
 */
export async function lookAtOperation(chain: WalletChain, record: BatchRecord, ground: LookGround): Promise<BatchOperation> {
  const { operation } = record
  if (operation === null) throw new Error('only a sponsored batch has an operation')
  const fate = await fateOf(chain, record, operation, ground)
  return isSame(fate, operation.fate) ? operation : { ...operation, fate }
}

async function fateOf(chain: WalletChain, record: BatchRecord, operation: BatchOperation, ground: LookGround): Promise<Fate> {
  const { hash, fate } = operation
  if (fate.kind === 'never' && fate.reason !== 'dropped') return fate
  const receipt = await receiptOf(chain, operation)
  if (receipt !== null) return receipt
  if (fate.kind === 'never') return fate
  // Some bundlers forget receipts; nodes forget no blocks.
  if (fate.kind === 'included' && fate.isSealed && (await hasBlock(chain, fate.receipt.blockHash))) return fate
  const isRetracted = fate.kind === 'included' || fate.isRetracted
  const waiting: Waiting = { kind: 'waiting', isRetracted, resent: fate.kind === 'waiting' ? fate.resent : 0 }
  const place = await placeOf(chain, hash)
  if (place.kind !== 'known') return gone(chain, record, operation, waiting, place, ground)
  ground.knownAt.set(hash, ground.now)
  return waiting
}

/** The bundler has it no more, or does not say. */
async function gone(
  chain: WalletChain,
  record: BatchRecord,
  operation: BatchOperation,
  waiting: Waiting,
  place: Place,
  ground: LookGround,
): Promise<Fate> {
  const used = await sequenceAt(chain, record, operation, 'latest')
  // A nonce that had been used by then, and still no receipt, was used by another operation.
  if ((await receiptOf(chain, operation)) !== null) return waiting
  if (used > sequenceOf(operation)) return replaced(record, operation)
  if (place.kind === 'rejected') return dropped(`the bundler dropped it: ${place.reason}`)
  return lost(chain, record, operation, waiting, { ...ground, isTold: place.kind === 'lost' })
}

type Waiting = Extract<Fate, { readonly kind: 'waiting' }>

/** The bundler does not know it, or has no word for it, and its nonce is free. */
async function lost(
  chain: WalletChain,
  record: BatchRecord,
  operation: BatchOperation,
  waiting: Waiting,
  { now, knownAt, isResumed, isTold }: LookGround & { readonly isTold: boolean },
): Promise<Fate> {
  const { hash } = operation
  const isSure = isResumed || chain.isEmbedded || now - (knownAt.get(hash) ?? 0) >= UNKNOWN_MS
  if (!isSure) return waiting
  const next = await sequenceAt(chain, record, operation, 'pending')
  // It may have been included while it was looked for.
  if ((await receiptOf(chain, operation)) !== null) return waiting
  if (next > sequenceOf(operation)) return replaced(record, operation)
  // Our own chain goes back only when it is told to, and what it then loses is to be lost.
  const isTakenBack = chain.isEmbedded && waiting.isRetracted
  const maySend = isResumed || (!isTakenBack && (waiting.resent === 0 || !isTold))
  if (!maySend || !(await isSameChain(chain, record))) return dropped('the bundler has lost it, and nothing has used its nonce')
  const handed = await handOperation(chain, operation)
  if (handed.kind === 'refused') return dropped(`the bundler has lost it and refuses it now: ${handed.error.message}`)
  knownAt.set(hash, now)
  return { ...waiting, resent: waiting.resent + 1 }
}

/** Hands an operation to the chain's bundler. That it has it already is no refusal; bundlers without a word for what waits tell that by one. */
export async function handOperation(chain: WalletChain, { json, entryPoint, hash }: BatchOperation): Promise<Handed> {
  try {
    await chain.rpc.request({ method: 'eth_sendUserOperation', params: [json, entryPoint] })
    return { kind: 'taken' }
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    if (isLost(error)) return { kind: 'unsure', error }
    const place = await placeOf(chain, hash).catch(() => null)
    const isThere = place?.kind === 'known' || (place?.kind === 'untold' && IS_THERE.test(error.message))
    return isThere ? { kind: 'taken' } : { kind: 'refused', error }
  }
}

const IS_THERE = /already (known|exists|in)|duplicate|replacement|underpriced/i

// --- what the bundler says ------------------------------------------------------------------------------------------------

/** Null: it is in no block, sealed or pre-confirmed. */
async function receiptOf({ rpc }: WalletChain, { hash, entryPoint }: BatchOperation): Promise<Included | null> {
  const answer = await rpc.request({ method: 'eth_getUserOperationReceipt', params: [hash] })
  if (answer === null || answer === undefined) return null
  const { success, reason, logs, receipt: bundle } = answer as OperationReceipt // as ERC-7769 defines it
  // The transaction succeeds also when the operation in it did not.
  const whole = readReceipt({ ...bundle, logs, status: success ? '0x1' : '0x0' })
  // What the EntryPoint says about the operation itself is nothing that the calls have done.
  const own = whole.logs.filter(({ address, topics }) => address !== entryPoint || topics[1] !== hash)
  const receipt = { ...whole, logs: own }
  const isSealed = receipt.blockHash !== Hash.zero
  return { kind: 'included', isSealed, receipt, ...(success || typeof reason !== 'string' ? {} : { reason }) }
}

type Included = Extract<Fate, { readonly kind: 'included' }>

interface OperationReceipt {
  readonly success: boolean
  readonly reason?: string | null
  readonly logs: NodeReceipt['logs']
  readonly receipt: NodeReceipt
}

/** Where an operation without receipt is. `untold`: the bundler tells of it only when it is included. */
type Place = { readonly kind: 'known' | 'lost' | 'untold' } | { readonly kind: 'rejected'; readonly reason: string }

/** ERC-7769 has no method that tells; nearly all bundlers have pimlico's. */
async function placeOf(chain: WalletChain, hash: Hash): Promise<Place> {
  try {
    const answer = await chain.rpc.request({ method: 'pimlico_getUserOperationStatus', params: [hash] })
    const { status, transactionHash, reason } = (answer ?? {}) as PimlicoStatus // any JSON object has this shape
    if (status === 'not_submitted' || status === 'queued' || status === 'submitted') return { kind: 'known' }
    if (status === 'rejected') return { kind: 'rejected', reason: typeof reason === 'string' ? reason : 'it does not say why' }
    // It was included, and its block is gone: its bundle waits again, or is lost.
    const isWaiting = Hex.isHex(transactionHash, 64) && (await isKnown(chain, Hash.from(transactionHash))) === true
    return { kind: isWaiting ? 'known' : 'lost' }
  } catch (error) {
    if (!(error instanceof RpcError) || error.code !== CODE.methodNotFound) throw error
    const found = await chain.rpc.request({ method: 'eth_getUserOperationByHash', params: [hash] })
    return { kind: found === null || found === undefined ? 'untold' : 'known' }
  }
}

interface PimlicoStatus {
  readonly status?: unknown
  readonly transactionHash?: unknown
  readonly reason?: unknown
}

// --- nonces -------------------------------------------------------------------------------------------------------------

const GET_NONCE = Abi.selector('getNonce(address,uint192)')

/** The next nonce of an account at an EntryPoint under a key, with the key in it. */
export async function operationNonce(
  { rpc }: WalletChain,
  account: Address,
  entryPoint: Address,
  key: bigint,
  block: 'latest' | 'pending',
): Promise<bigint> {
  const data = Hex.fromBytes(Abi.call(GET_NONCE, [account, key]))
  const answer = await rpc.request({ method: 'eth_call', params: [{ to: entryPoint, data }, block] })
  // A chain without the EntryPoint answers nothing.
  return Hex.isHex(answer, 64) ? BigInt(answer) : key << 64n
}

function sequenceAt(chain: WalletChain, { from }: BatchRecord, operation: BatchOperation, block: 'latest' | 'pending'): Promise<bigint> {
  const nonce = BigInt(operation.nonce)
  return operationNonce(chain, from, operation.entryPoint, nonce >> 64n, block).then(sequence)
}

function sequenceOf({ nonce }: BatchOperation): bigint {
  return sequence(BigInt(nonce))
}

function sequence(nonce: bigint): bigint {
  return BigInt.asUintN(64, nonce)
}

function replaced({ from }: BatchRecord, operation: BatchOperation): Fate {
  return {
    kind: 'never',
    reason: 'replaced',
    message: `another operation has used nonce ${BigInt(operation.nonce)} of ${from} at the EntryPoint`,
  }
}

function dropped(message: string): Fate {
  return { kind: 'never', reason: 'dropped', message }
}
