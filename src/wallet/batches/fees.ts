import { Hex, Transaction } from '../../eth/index.ts'
import type { Address, TransactionFields } from '../../eth/index.ts'
import { CODE, RpcError, invalidParams } from '../../jsonrpc/index.ts'
import type { WalletChain } from '../chains/chain.ts'
import type { FeeView, SponsorView } from '../question.ts'

/** What a transaction offers, wei per gas. */
export interface Fees {
  /** 2, or 0 and 1 where the app gave a gas price or the chain has no base fee */
  readonly type: 0 | 1 | 2
  /** of the next block; null: the chain has none */
  readonly baseFee: bigint | null
  /** of legacy transactions the gas price */
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
}

/** What the app wants to pay. */
export interface FeeWish {
  readonly gasPrice?: bigint | undefined
  readonly maxFeePerGas?: bigint | undefined
  readonly maxPriorityFeePerGas?: bigint | undefined
}

/** What matters of the newest block. */
export interface BlockGround {
  readonly gasLimit: bigint
  /** wei; null before London */
  readonly baseFee: bigint | null
}

export async function blockGround({ rpc }: WalletChain): Promise<BlockGround> {
  const block = await rpc.request({ method: 'eth_getBlockByNumber', params: ['latest', false] })
  if (typeof block !== 'object' || block === null) throw new RpcError(CODE.internal, 'the node does not know its newest block')
  const { gasLimit, baseFeePerGas } = block as Readonly<Record<string, unknown>> // any JSON object has this shape
  return { gasLimit: BigInt(gasLimit as string), baseFee: typeof baseFeePerGas === 'string' ? BigInt(baseFeePerGas) : null } // the field of every block
}

/** Twice the base fee and the tip, so that the base fee may double before the transaction gets stuck. Throws RpcError: fees that contradict each other. */
export async function feesFor(chain: WalletChain, { baseFee: newest }: BlockGround, wish: FeeWish = {}): Promise<Fees> {
  const { gasPrice, maxFeePerGas: cap } = wish
  if (gasPrice !== undefined && (cap !== undefined || wish.maxPriorityFeePerGas !== undefined)) {
    throw invalidParams('gasPrice stands beside maxFeePerGas or maxPriorityFeePerGas: a transaction has the one or the others')
  }
  const baseFee = newest === null ? null : await nextBaseFee(chain, newest)
  if (gasPrice !== undefined) return { type: 0, baseFee, maxFeePerGas: gasPrice, maxPriorityFeePerGas: gasPrice }
  if (baseFee === null) {
    const price = cap ?? (await quantity(chain, 'eth_gasPrice'))
    return { type: 0, baseFee, maxFeePerGas: price, maxPriorityFeePerGas: price }
  }
  const tip = wish.maxPriorityFeePerGas ?? (await suggestedTip(chain))
  if (cap === undefined) return { type: 2, baseFee, maxFeePerGas: 2n * baseFee + tip, maxPriorityFeePerGas: tip }
  if (wish.maxPriorityFeePerGas !== undefined && tip > cap) {
    throw invalidParams(`maxFeePerGas (${cap}) is less than maxPriorityFeePerGas (${tip})`)
  }
  return { type: 2, baseFee, maxFeePerGas: cap, maxPriorityFeePerGas: tip < cap ? tip : cap }
}

/** What the transactions may cost, as questions show it. `used`: gas that they will most likely use. */
export function feeView(fees: Fees, gas: bigint, used: bigint, l1Fee: bigint): FeeView {
  const { baseFee, maxFeePerGas, maxPriorityFeePerGas } = fees
  const offered = (baseFee ?? 0n) + maxPriorityFeePerGas
  const price = fees.type === 2 && offered < maxFeePerGas ? offered : maxFeePerGas
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

/** The same for what somebody else pays for. */
export function sponsoredFeeView({ maxFeePerGas, maxPriorityFeePerGas }: Fees, gas: bigint, sponsor: SponsorView): FeeView {
  return {
    gas: Hex.fromQuantity(gas),
    maxFeePerGas: Hex.fromQuantity(maxFeePerGas),
    maxPriorityFeePerGas: Hex.fromQuantity(maxPriorityFeePerGas),
    l1Fee: '0x0',
    expected: '0x0',
    most: '0x0',
    sponsor,
  }
}

/** OP Stack: what it costs to put these on L1, wei; 0n elsewhere. */
export async function l1FeeOf(chain: WalletChain, from: Address, transactions: readonly TransactionFields[]): Promise<bigint> {
  try {
    const fees = await Promise.all(transactions.map((fields) => l1Fee(chain, Transaction.unsigned(fields, from).raw)))
    return fees.reduce((sum, fee) => sum + fee, 0n)
  } catch (error) {
    if (error instanceof RpcError) return 0n // no rollup: there is no oracle, or none that answers so
    throw error
  }
}

const GAS_PRICE_ORACLE = '0x420000000000000000000000000000000000000f'
/** getL1Fee(bytes) */
const GET_L1_FEE = '0x49948e0e'

async function l1Fee({ rpc }: WalletChain, raw: Uint8Array): Promise<bigint> {
  const padding = '0'.repeat((64 - ((raw.length * 2) % 64)) % 64)
  const input = `${GET_L1_FEE}${word(32)}${word(raw.length)}${Hex.fromBytes(raw).slice(2)}${padding}`
  const answer = await rpc.request({ method: 'eth_call', params: [{ to: GAS_PRICE_ORACLE, input }, 'latest'] })
  return Hex.isHex(answer, 64) ? BigInt(answer) : 0n
}

function word(value: number): string {
  return value.toString(16).padStart(64, '0')
}

/** That of the coming block. Some nodes have no fee history: an eighth above the newest is the most it can be. */
async function nextBaseFee({ rpc }: WalletChain, newest: bigint): Promise<bigint> {
  try {
    const history = await rpc.request({ method: 'eth_feeHistory', params: ['0x1', 'latest', []] })
    const { baseFeePerGas } = history as { readonly baseFeePerGas: readonly string[] } // as execution-apis defines it
    return BigInt(baseFeePerGas.at(-1) ?? newest)
  } catch (error) {
    if (error instanceof RpcError || error instanceof TypeError) return newest + newest / 8n + 1n
    throw error
  }
}

async function suggestedTip(chain: WalletChain): Promise<bigint> {
  try {
    return await quantity(chain, 'eth_maxPriorityFeePerGas')
  } catch (error) {
    if (error instanceof RpcError) return DEFAULT_TIP
    throw error
  }
}

/** Where the node suggests none. */
const DEFAULT_TIP = 1_000_000_000n

async function quantity({ rpc }: WalletChain, method: string): Promise<bigint> {
  const answer = await rpc.request({ method, params: [] })
  if (typeof answer !== 'string') throw new RpcError(CODE.internal, `the node answered ${method} with no quantity`)
  return BigInt(answer)
}
