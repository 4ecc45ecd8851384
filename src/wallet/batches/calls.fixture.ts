import { encodeDeployData, encodeFunctionData, getContractAddress } from 'viem'
import type { Hex as ViemHex } from 'viem'
import { Address, Hex } from '../../eth/index.ts'
import { RpcError } from '../../jsonrpc/index.ts'
import type { Rpc } from '../../jsonrpc/index.ts'
import type { Call } from './call.ts'
import { contracts } from '../preview/contracts.fixture.ts'
import type { ContractName } from '../preview/contracts.fixture.ts'

const built = contracts()

/** The deployed contracts of the fixture, and calls to them. */
export class Deployed {
  readonly at: Readonly<Record<ContractName, Address>>

  private constructor(at: Readonly<Record<ContractName, Address>>) {
    this.at = at
  }

  /** Deploys the contracts. `from` gets all coins, card 7 and ten of thing 3, at least in the pending state. */
  static async on(node: Rpc, from: Address): Promise<Deployed> {
    const create = async (name: ContractName, args: readonly unknown[]): Promise<Address> => {
      const nonce = BigInt((await node.request({ method: 'eth_getTransactionCount', params: [from, 'pending'] })) as Hex) // a quantity
      const { abi, bytecode } = built[name]
      await node.request({ method: 'eth_sendTransaction', params: [{ from, data: encodeDeployData({ abi, bytecode, args }) }] })
      return Address.from(getContractAddress({ from, nonce }))
    }
    const deployed = new Deployed({
      Coin: await create('Coin', ['Coin', 'COIN', 6]),
      Card: await create('Card', []),
      Thing: await create('Thing', []),
      Taker: await create('Taker', []),
      Faults: await create('Faults', []),
      Liar: await create('Liar', []),
      Watcher: await create('Watcher', []),
      Mute: await create('Mute', []),
      Trap: await create('Trap', []),
    })
    for (const { to, data } of [deployed.call('Card', 'mint', [from, 7n]), deployed.call('Thing', 'mint', [from, 3n, 10n])]) {
      await node.request({ method: 'eth_sendTransaction', params: [{ from, to, data: Hex.fromBytes(data) }] })
    }
    return deployed
  }

  call(name: ContractName, functionName: string, args: readonly unknown[], value = 0n): Call {
    return raw(this.at[name], encodeFunctionData({ abi: built[name].abi, functionName, args }), value)
  }
}

export function send(to: Address, value: bigint): Call {
  return { to, value, data: new Uint8Array(), gasLimitOverride: null }
}

export function raw(to: Address, input: ViemHex, value = 0n): Call {
  return { to, value, data: Hex.toBytes(input), gasLimitOverride: null }
}

/** A node that lacks a method. */
export function without(rpc: Rpc, method: string): Rpc {
  const request: Rpc['request'] = (sent) =>
    sent.method === method ? Promise.reject(new RpcError(-32_601, `the method ${method} does not exist`)) : rpc.request(sent)
  return { request, subscribe: rpc.subscribe }
}
