import { Abi, Delegation, Hex } from '../../eth/index.ts'
import type { Address } from '../../eth/index.ts'
import type { Rpc } from './rpc.ts'
import { bytes, maybe, object, quantity, quantityNumber } from '../schema.ts'

/** The block under construction. */
export interface BlockNow {
  /** wei */
  readonly baseFee: bigint
  readonly gasLimit: bigint
  readonly number: bigint
  /** Unix seconds */
  readonly timestamp: number
}

/** Reads a node at the block under construction, which includes pre-confirmed transactions. Every method throws RpcError. */
export class NodeView {
  readonly #rpc: Rpc
  #chainId: Promise<number> | null = null

  constructor(rpc: Rpc) {
    this.#rpc = rpc
  }

  ask(method: string, ...params: readonly unknown[]): Promise<unknown> {
    return this.#rpc.request({ method, params })
  }

  async quantity(method: string, ...params: readonly unknown[]): Promise<bigint> {
    return quantity.parse(await this.ask(method, ...params), method)
  }

  /** Requested once; after an error it is requested again. */
  chainId(): Promise<number> {
    this.#chainId ??= this.quantity('eth_chainId').then(Number)
    this.#chainId.catch(() => (this.#chainId = null))
    return this.#chainId
  }

  async now(): Promise<BlockNow> {
    const { baseFeePerGas = 0n, ...block } = BLOCK.parse(await this.ask('eth_getBlockByNumber', 'pending', false), 'block')
    return { baseFee: baseFeePerGas, ...block }
  }

  async code(address: Address): Promise<Hex> {
    const code = await this.ask('eth_getCode', address, 'pending')
    return Hex.isHex(code) ? code : '0x'
  }

  /** The delegate of the account (EIP-7702), or null. */
  async delegate(address: Address): Promise<Address | null> {
    return Delegation.ofText(await this.code(address))
  }

  /** Returns the output of a contract call. */
  async read(to: Address, data: Uint8Array): Promise<Uint8Array> {
    return bytes.parse(await this.ask('eth_call', { to, data: Hex.fromBytes(data) }, 'pending'), 'eth_call')
  }

  /** The deposit of `holder` in an EntryPoint, in wei. */
  async deposit(entryPoint: Address, holder: Address): Promise<bigint> {
    const word = (await this.read(entryPoint, Abi.call(BALANCE_OF, [holder]))).subarray(0, 32)
    // Without an EntryPoint the output is empty.
    return word.length === 0 ? 0n : BigInt(Hex.fromBytes(word))
  }
}

const BLOCK = object({ baseFeePerGas: maybe(quantity), gasLimit: quantity, number: quantity, timestamp: quantityNumber })
const BALANCE_OF = Abi.selector('balanceOf(address)')
