import { Hex, Secp256k1, Transaction } from '../eth/index.ts'
import type { Address, Hash, PrivateKey } from '../eth/index.ts'
import { NodeView } from '../jsonrpc/index.ts'

/** A transaction of the owner, before nonce and fees are set. */
export interface OwnerCall {
  readonly to: Address
  readonly data: Uint8Array
  /** wei */
  readonly value: bigint
  readonly gas: bigint
}

/** The sponsor's requests to the node. */
export class SponsorNode extends NodeView {
  async hasCode(address: Address): Promise<boolean> {
    return (await this.code(address)) !== '0x'
  }

  balance(address: Address): Promise<bigint> {
    return this.quantity('eth_getBalance', address, 'pending')
  }

  async isIncluded(transaction: Hash): Promise<boolean> {
    return (await this.ask('eth_getTransactionReceipt', transaction)) !== null
  }

  /** Signs and sends the calls in order. Throws RpcError for the first refused one; later ones are not sent. */
  async send(calls: readonly OwnerCall[], key: PrivateKey): Promise<readonly Hash[]> {
    const from = Secp256k1.address(key)
    const [chainId, nonce, fees] = await Promise.all([
      this.chainId(),
      this.quantity('eth_getTransactionCount', from, 'pending'),
      this.fees(),
    ])
    const hashes: Hash[] = []
    for (const [i, call] of calls.entries()) {
      const transaction = Transaction.sign({ chainId, nonce: nonce + BigInt(i), ...call, ...fees }, key, from)
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
