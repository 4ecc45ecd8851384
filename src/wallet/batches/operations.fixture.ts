import { Delegation, ENTRY_POINTS, UserOperation, entryPoint } from '../../eth/index.ts'
import type { Address, Hex } from '../../eth/index.ts'
import type { Pocketchain } from '../../index.ts'
import type { Rpc } from '../../jsonrpc/index.ts'
import type { WalletChain } from '../chains/chain.ts'
import { DELEGATE, encodeExecute } from '../delegate.ts'
import { Keyring } from '../keys/keyring.ts'
import { ORIGIN } from '../wallet.fixture.ts'
import { randomBatchId } from './batches.ts'
import type { Batches, SentOperation } from './batches.ts'
import type { BatchRecord } from './batchrecord.ts'
import type { Call } from './call.ts'
import { nextNonce } from './transactions.ts'

export interface Wanted {
  readonly calls: readonly Call[]
  /** nonce at the EntryPoint; default: 0 */
  readonly nonce?: bigint
  /** multiplies the fees, to replace another operation */
  readonly feeFactor?: bigint
}

/** Signs a user operation of an account of the node that pays itself: a paymaster makes no difference to tracking. */
export async function operationOf(
  node: Pocketchain,
  chain: WalletChain,
  from: Address,
  { calls, nonce = 0n, feeFactor = 1n }: Wanted,
): Promise<SentOperation> {
  const keyring = Keyring.of({ dev: node.accounts.map(({ privateKey }) => privateKey) })
  const ask = (method: string, ...params: readonly unknown[]) => node.request({ method, params })
  const isUpgraded = Delegation.ofText((await ask('eth_getCode', from, 'pending')) as Hex) !== null // a code
  const fields = { chainId: BigInt(chain.chainId), address: DELEGATE.address, nonce: await nextNonce(chain, from) }
  const authorization = isUpgraded ? null : keyring.authorization(fields, from, chain)
  const price = 2n * BigInt((await ask('eth_gasPrice')) as Hex) * feeFactor // a quantity
  const operation = UserOperation.of({
    sender: from,
    nonce,
    factory: isUpgraded ? null : UserOperation.DELEGATION,
    callData: encodeExecute(calls),
    callGasLimit: 300_000n,
    verificationGasLimit: 200_000n,
    preVerificationGas: 200_000n,
    maxFeePerGas: price,
    maxPriorityFeePerGas: price / 2n,
    authorization,
  })
  return { ...keyring.userOperation(operation, entryPoint('0.8'), DELEGATE.address, chain), entryPoint: ENTRY_POINTS['0.8'] }
}

/** Returns the stored record. */
export async function submit(
  batches: Batches,
  chain: WalletChain,
  sent: SentOperation,
  given: { readonly id?: string; readonly callCount?: number } = {},
): Promise<BatchRecord> {
  const { id = randomBatchId(), callCount = 1 } = given
  const { sender } = sent.operation
  const rest = { isOwnId: false, origin: ORIGIN, from: sender, chain, atomic: true, execution: 'sponsored', transactions: [] } as const
  return batches.submit({ ...rest, id, callCount, operation: sent })
}

/** A node whose results `answer` may replace; undefined: the node's own result. */
export function answering(node: Rpc, answer: (method: string, params: readonly unknown[]) => unknown): Rpc {
  return {
    subscribe: node.subscribe,
    request: async (request) => {
      const own = await answer(request.method, request.params ?? [])
      return own === undefined ? node.request(request) : own
    },
  }
}
