import { Abi, Hex, Transaction } from '../../eth/index.ts'
import type { Address, TransactionFields } from '../../eth/index.ts'
import { CODE, RpcError, invalidParams } from '../../jsonrpc/index.ts'
import type { WalletChain } from '../chains/chain.ts'
import type { FeeView, SponsorView } from '../question.ts'

/** Fee fields of a transaction, wei per gas. */
export interface Fees {
  /** 0 or 1 if the app requests that type or a gas price, or the chain has no base fee */
  readonly type: 0 | 1 | 2
  /** base fee of the next block; null before London */
  readonly baseFee: bigint | null
  /** the gas price of types 0 and 1 */
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
}

/** Fee fields of the app's request. */
export interface RequestedFees {
  /** transaction type 0, 1 or 2 */
  readonly type?: number | undefined
  readonly gasPrice?: bigint | undefined
  readonly maxFeePerGas?: bigint | undefined
  readonly maxPriorityFeePerGas?: bigint | undefined
}

/** Fields of the latest block that a plan depends on. */
export interface LatestBlock {
  readonly gasLimit: bigint
  /** wei; null before London */
  readonly baseFee: bigint | null
}

export async function latestBlock({ rpc }: WalletChain): Promise<LatestBlock> {
  const block = await rpc.request({ method: 'eth_getBlockByNumber', params: ['latest', false] })
  if (typeof block !== 'object' || block === null)
    throw new RpcError(CODE.internal, 'the node answered eth_getBlockByNumber without a block')
  const { gasLimit, baseFeePerGas } = block as Readonly<Record<string, unknown>> // any JSON object has this shape
  return { gasLimit: BigInt(gasLimit as string), baseFee: typeof baseFeePerGas === 'string' ? BigInt(baseFeePerGas) : null } // execution-apis: a quantity
}

/**
 * Returns the requested fees, completed. The default fee cap is twice the base fee plus the tip, so that the base fee may double before the transaction
 * gets stuck, and at least the node's gas price. Throws RpcError -32602 for fields that contradict each other, or if the node's gas price is not a quantity.
 */
export async function feesFor(chain: WalletChain, { baseFee: latest }: LatestBlock, requested: RequestedFees = {}): Promise<Fees> {
  const { type, gasPrice, maxFeePerGas: cap } = requested
  if (gasPrice !== undefined && (cap !== undefined || requested.maxPriorityFeePerGas !== undefined)) {
    throw invalidParams('gasPrice is set together with maxFeePerGas or maxPriorityFeePerGas: set either gasPrice or the other two')
  }
  const baseFee = latest === null ? null : await nextBaseFee(chain, latest)
  if (gasPrice !== undefined || type === 0 || type === 1 || baseFee === null) {
    const price = gasPrice ?? cap ?? (await suggestedFee(chain, 'eth_gasPrice', 'gasPrice'))
    return { type: type === 1 ? 1 : 0, baseFee, maxFeePerGas: price, maxPriorityFeePerGas: price }
  }
  const tip = requested.maxPriorityFeePerGas ?? (await suggestedOr(chain, 'eth_maxPriorityFeePerGas', DEFAULT_TIP))
  if (cap === undefined) {
    const [price, least] = [2n * baseFee + tip, await suggestedOr(chain, 'eth_gasPrice', 0n)] // the node may have a minimum price
    return { type: 2, baseFee, maxFeePerGas: price > least ? price : least, maxPriorityFeePerGas: tip }
  }
  if (requested.maxPriorityFeePerGas !== undefined && tip > cap) {
    throw invalidParams(`maxFeePerGas (${cap}) is less than maxPriorityFeePerGas (${tip})`)
  }
  return { type: 2, baseFee, maxFeePerGas: cap, maxPriorityFeePerGas: tip < cap ? tip : cap }
}

/** Returns the cost of the transactions as questions show it. `used`: gas that they are expected to use; `l1Fee`: wei. */
export function feeView(fees: Fees, gas: bigint, used: bigint, l1Fee: bigint): FeeView {
  const { maxFeePerGas, maxPriorityFeePerGas } = fees
  const price = priceOf(fees)
  return {
    gas: Hex.fromQuantity(gas),
    maxFeePerGas: Hex.fromQuantity(maxFeePerGas),
    maxPriorityFeePerGas: Hex.fromQuantity(maxPriorityFeePerGas),
    l1Fee: Hex.fromQuantity(l1Fee),
    expected: Hex.fromQuantity(used * price + l1Fee),
    most: Hex.fromQuantity(gas * maxFeePerGas + l1Fee),
    sponsor: null,
  }
}

/** Returns the price per gas that is paid at the next block's base fee, wei. */
export function priceOf({ type, baseFee, maxFeePerGas, maxPriorityFeePerGas }: Fees): bigint {
  const offered = (baseFee ?? 0n) + maxPriorityFeePerGas
  return type === 2 && offered < maxFeePerGas ? offered : maxFeePerGas
}

/** Returns the gas price that the node suggests, wei; null: it suggests none. */
export async function gasPriceOf(chain: WalletChain): Promise<bigint | null> {
  const price = await suggestedOr(chain, 'eth_gasPrice', 0n)
  return price === 0n ? null : price
}

/** Returns the cost of a sponsored batch, which is 0 for the account. */
export function sponsoredFeeView(fees: Fees, gas: bigint, sponsor: SponsorView): FeeView {
  return { ...feeView(fees, gas, 0n, 0n), most: '0x0', sponsor }
}

/** Returns the L1 data fee of the transactions on an OP Stack chain, wei; 0n on other chains. */
export async function l1FeeOf(chain: WalletChain, from: Address, transactions: readonly TransactionFields[]): Promise<bigint> {
  try {
    const fees = await Promise.all(transactions.map((fields) => l1Fee(chain, Transaction.unsigned(fields, from).raw)))
    return fees.reduce((sum, fee) => sum + fee, 0n)
  } catch (error) {
    if (error instanceof RpcError) return 0n // no OP Stack chain: the oracle is missing
    throw error
  }
}

const GAS_PRICE_ORACLE = '0x420000000000000000000000000000000000000f'
const GET_L1_FEE = Abi.selector('getL1Fee(bytes)')

async function l1Fee({ rpc }: WalletChain, raw: Uint8Array): Promise<bigint> {
  const input = Hex.fromBytes(Abi.call(GET_L1_FEE, [raw]))
  const answer = await rpc.request({ method: 'eth_call', params: [{ to: GAS_PRICE_ORACLE, input }, 'latest'] })
  return Hex.isHex(answer, 64) ? BigInt(answer) : 0n
}

/** Returns the base fee of the next block. Without eth_feeHistory, the maximum: an eighth above the latest (EIP-1559). */
async function nextBaseFee({ rpc }: WalletChain, latest: bigint): Promise<bigint> {
  try {
    const history = await rpc.request({ method: 'eth_feeHistory', params: ['0x1', 'latest', []] })
    const { baseFeePerGas } = history as { readonly baseFeePerGas: readonly string[] } // as execution-apis defines it
    return BigInt(baseFeePerGas.at(-1) ?? latest)
  } catch (error) {
    if (error instanceof RpcError || error instanceof TypeError) return latest + latest / 8n + 1n
    throw error
  }
}

async function suggestedOr(chain: WalletChain, method: string, fallback: bigint): Promise<bigint> {
  try {
    return await suggestedFee(chain, method, method)
  } catch (error) {
    if (error instanceof RpcError) return fallback
    throw error
  }
}

/** wei per gas, if the node suggests none */
const DEFAULT_TIP = 1_000_000_000n

/** Throws RpcError -32602 if the result is not a quantity: the app can set the field itself. */
async function suggestedFee({ rpc }: WalletChain, method: string, field: string): Promise<bigint> {
  const answer = await rpc.request({ method, params: [] })
  if (typeof answer === 'string' && QUANTITY.test(answer)) return BigInt(answer)
  const got = JSON.stringify(answer ?? null).slice(0, 80)
  throw invalidParams(`${field}: the node answered ${method} with ${got}, which is not a quantity; set ${field} in the request`, {
    reason: 'fees',
  })
}

const QUANTITY = /^0x[0-9a-f]{1,64}$/i
