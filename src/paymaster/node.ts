import { Abi, Delegation, Hex, Secp256k1, Transaction } from '../eth/index.ts'
import type { Address, Hash, PrivateKey } from '../eth/index.ts'
import { schema } from '../rpc/index.ts'
import type { Rpc } from '../rpc/index.ts'

/** A transaction of the owner, before its nonce and fees are known. */
export interface OwnerCall {
  readonly to: Address
  readonly data: Uint8Array
  /** wei */
  readonly value: bigint
  readonly gas: bigint
}

/** What the sponsor asks the node: always of the block under construction, where what is promised has happened. */
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
    return schema.quantity.parse(await this.ask(method, ...params), method)
  }

  chainId(): Promise<number> {
    this.#chainId ??= this.quantity('eth_chainId').then(Number)
    this.#chainId.catch(() => (this.#chainId = null))
    return this.#chainId
  }

  /** Unix seconds of the block under construction, and its base fee in wei. */
  async now(): Promise<{ readonly timestamp: number; readonly baseFee: bigint }> {
    const block = BLOCK.parse(await this.ask('eth_getBlockByNumber', 'pending', false), 'block')
    return { timestamp: Number(block.timestamp), baseFee: block.baseFeePerGas ?? 0n }
  }

  async code(address: Address): Promise<Hex> {
    const code = await this.ask('eth_getCode', address, 'pending')
    return Hex.isHex(code) ? code : '0x'
  }

  async hasCode(address: Address): Promise<boolean> {
    return (await this.code(address)) !== '0x'
  }

  /** Whom an account delegates to (EIP-7702); null: nobody. */
  async delegate(address: Address): Promise<Address | null> {
    return Delegation.ofText(await this.code(address))
  }

  balance(address: Address): Promise<bigint> {
    return this.quantity('eth_getBalance', address, 'pending')
  }

  /** wei that a paymaster has in its EntryPoint. */
  async deposit(entryPoint: Address, holder: Address): Promise<bigint> {
    const answer = await this.ask('eth_call', { to: entryPoint, data: Hex.fromBytes(Abi.call(BALANCE_OF, [holder])) }, 'pending')
    const word = schema.bytes.parse(answer, 'eth_call').subarray(0, 32)
    // Where there is no EntryPoint there is nothing.
    return word.length === 0 ? 0n : BigInt(Hex.fromBytes(word))
  }

  async isIncluded(transaction: Hash): Promise<boolean> {
    return (await this.ask('eth_getTransactionReceipt', transaction)) !== null
  }

  /** Signs and sends, one after the other. Throws RpcError; then what comes after the refused one was not sent. */
  async send(calls: readonly OwnerCall[], key: PrivateKey): Promise<readonly Hash[]> {
    const from = Secp256k1.address(key)
    const [chainId, nonce, fees] = await Promise.all([
      this.chainId(),
      this.quantity('eth_getTransactionCount', from, 'pending'),
      this.fees(),
    ])
    const hashes: Hash[] = []
    for (const [i, call] of calls.entries()) {
      const transaction = Transaction.sign({ chainId, nonce: nonce + BigInt(i), ...call, ...fees }, key)
      await this.ask('eth_sendRawTransaction', Hex.fromBytes(transaction.raw))
      hashes.push(transaction.hash)
    }
    return hashes
  }

  async fees(): Promise<{ readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint }> {
    const [{ baseFee }, tip] = await Promise.all([this.now(), this.quantity('eth_maxPriorityFeePerGas')])
    return { maxFeePerGas: baseFee * 2n + tip, maxPriorityFeePerGas: tip }
  }
}

const { maybe, object, quantity } = schema
const BLOCK = object({ baseFeePerGas: maybe(quantity), timestamp: quantity })
const BALANCE_OF = Abi.selector('balanceOf(address)')
