import { Address, Hex, objectFields } from '../../eth/index.ts'
import { RpcError } from '../../jsonrpc/index.ts'
import type { WalletChain } from '../chains/chain.ts'
import { reasonOf } from '../preview/reason.ts'
import { parts } from './batchrecord.ts'
import type { BatchOperation, BatchRecord, BatchTransaction, CallFailure, InclusionDetail, PromiseDetail } from './batchrecord.ts'

/** Returns the parts with the detail of each inclusion that has none. A chain that does not answer leaves it out; it is then read at the next change. */
export async function withDetails(
  chain: WalletChain,
  record: BatchRecord,
  changes: Partial<Pick<BatchRecord, 'transactions' | 'operation'>>,
): Promise<Partial<Pick<BatchRecord, 'transactions' | 'operation'>>> {
  const { transactions, operation } = changes
  if (transactions !== undefined) return { transactions: await Promise.all(transactions.map((each) => withDetail(chain, record, each))) }
  return operation === undefined || operation === null ? changes : { operation: await withDetail(chain, record, operation) }
}

async function withDetail<T extends BatchTransaction | BatchOperation>(chain: WalletChain, record: BatchRecord, part: T): Promise<T> {
  const { inclusion } = part
  if (inclusion.kind !== 'included' || inclusion.detail !== undefined) return part
  try {
    const detail = await detailOf(chain, record, part, inclusion.receipt.transactionHash, BigInt(inclusion.receipt.status) === 1n)
    return { ...part, inclusion: { ...inclusion, detail } }
  } catch (error) {
    if (error instanceof RpcError || error instanceof TypeError) return part
    throw error
  }
}

async function detailOf(
  chain: WalletChain,
  record: BatchRecord,
  part: BatchTransaction | BatchOperation,
  hash: string,
  isSuccess: boolean,
): Promise<InclusionDetail> {
  const isSponsored = !('raw' in part)
  const [receipt, promise, failure] = await Promise.all([
    chain.rpc.request({ method: 'eth_getTransactionReceipt', params: [hash] }),
    promiseOf(chain, hash),
    isSuccess ? null : failureOf(chain, record, part, hash),
  ])
  const { gasUsed, effectiveGasPrice, l1Fee, contractAddress } = objectFields(receipt)
  const fee = quantityOf(gasUsed) * quantityOf(effectiveGasPrice) + quantityOf(l1Fee)
  return {
    fee: isSponsored ? null : Hex.fromQuantity(fee),
    contractAddress: Address.isAddress(contractAddress) ? Address.from(contractAddress) : null,
    promise,
    failure,
  }
}

/** Only the node of the same process is queried: others rarely have the method. */
async function promiseOf({ rpc, isEmbedded }: WalletChain, hash: string): Promise<PromiseDetail | null> {
  if (!isEmbedded) return null
  const page = objectFields(await rpc.request({ method: 'pocketchain_promises', params: [{ hash, limit: 1 }] }))
  const [newest] = Array.isArray(page['promises']) ? (page['promises'] as readonly unknown[]) : []
  const { flashblockIndex, admittedMs, promisedMs } = objectFields(newest)
  if (typeof flashblockIndex !== 'number' || typeof admittedMs !== 'number' || typeof promisedMs !== 'number') return null
  return { flashblockIndex, afterMs: Math.max(0, promisedMs - admittedMs) }
}

// --- the failing call ---------------------------------------------------------------------------------------------------

/** A call frame of the tracer `callTracer` of geth. */
interface Frame {
  readonly to?: string
  readonly input?: string
  readonly output?: string
  /** absent: it succeeded */
  readonly error?: string
  readonly calls?: readonly Frame[]
}

/** Null: the node cannot trace. */
async function failureOf(
  { rpc }: WalletChain,
  record: BatchRecord,
  part: BatchTransaction | BatchOperation,
  hash: string,
): Promise<CallFailure | null> {
  let root: Frame
  try {
    root = objectFields(await rpc.request({ method: 'debug_traceTransaction', params: [hash, { tracer: 'callTracer' }] }))
  } catch (error) {
    if (error instanceof RpcError) return null
    throw error
  }
  if (record.execution === 'single') return failure(root, 0)
  if (record.execution === 'sequential')
    return failure(
      root,
      parts(record).findIndex((each) => each.hash === part.hash),
    )
  const frame = 'raw' in part ? root : accountFrame(root, record.from, String(part.json['callData']))
  if (frame === null) return null
  // The code of the account makes one call for each of the batch, in order, and stops at the first that fails.
  const calls = frame.calls ?? []
  const last = calls.at(-1)
  return last?.error === undefined ? failure(frame, null) : failure(last, calls.length - 1)
}

/** The call frame of the EntryPoint's call to the account with the call data of the operation. */
function accountFrame(frame: Frame, account: Address, callData: string): Frame | null {
  if (frame.to?.toLowerCase() === account && frame.input === callData) return frame
  for (const call of frame.calls ?? []) {
    const found = accountFrame(call, account, callData)
    if (found !== null) return found
  }
  return null
}

function failure({ error = '', output }: Frame, call: number | null): CallFailure {
  const data = Hex.isHex(output) ? output : '0x'
  return { call, reason: reasonOf({ message: error, data }), data }
}

// --- reading ------------------------------------------------------------------------------------------------------------

/** 0 for a field that the node leaves out. */
function quantityOf(value: unknown): bigint {
  return Hex.isHex(value) ? BigInt(value) : 0n
}
