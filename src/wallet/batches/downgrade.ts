import { Address, Hex } from '../../eth/index.ts'
import type { Hash } from '../../eth/index.ts'
import { invalidParams } from '../../jsonrpc/index.ts'
import type { WalletChain } from '../chains/chain.ts'
import type { WalletContext } from '../context.ts'
import { delegationStatus } from './execution.ts'
import { latestBlock, feesFor } from './fees.ts'
import { AUTHORIZATION_GAS, TRANSACTION_GAS } from './gas.ts'
import { accountKey, nextNonce, submitTransaction } from './transactions.ts'

/**
 * Removes the code of an account (EIP-7702) by a transaction to itself with an authorization for the zero address. It requires the control credential
 * and therefore no approval. Returns the transaction's hash. Throws RpcError 4100 for an account that may not sign on the chain, -32602 for one
 * without code, and the refusals of the node.
 */
export async function downgrade({ keyring, batches }: WalletContext, chain: WalletChain, account: Address): Promise<Hash> {
  keyring.assertMaySign(account, chain)
  return batches.mutex.runExclusive(accountKey(chain, account), async () => {
    await batches.waitForUpgrade(chain, account)
    if (!(await hasDelegation(chain, account))) throw notUpgraded(chain, account)
    const { maxFeePerGas, maxPriorityFeePerGas } = await feesFor(chain, await latestBlock(chain))
    const nonce = await nextNonce(chain, account)
    // EIP-7702: the sender's nonce is incremented before its authorization is processed.
    const removal = keyring.authorization({ chainId: BigInt(chain.chainId), address: Address.zero, nonce: nonce + 1n }, account, chain)
    const fields = { type: 4, to: account, value: 0n, data: new Uint8Array(), gas: GAS, nonce, authorizationList: [removal] } as const
    const signed = keyring.transaction({ ...fields, maxFeePerGas, maxPriorityFeePerGas }, account, chain)
    const result = await submitTransaction(chain, Hex.fromBytes(signed.raw), signed.hash)
    if (result.kind === 'rejected') throw result.error
    batches.addAuthorization(chain, account, signed.hash)
    return signed.hash
  })
}

/** The code is removed before the call, which therefore executes nothing. */
const GAS = TRANSACTION_GAS + AUTHORIZATION_GAS

/** True for any delegation, also to an unknown delegate or to one without code. */
async function hasDelegation(chain: WalletChain, account: Address): Promise<boolean> {
  const status = await delegationStatus(chain, account)
  if (status.kind === 'upgradable') return status.upgrade.before !== null
  return status.kind === 'upgraded' || (status.kind === 'foreign' && status.delegate !== null)
}

function notUpgraded({ name, chainId }: WalletChain, account: Address) {
  const message = `${account} has no code on ${name} (${chainId}): there is nothing to remove`
  return invalidParams(message, { reason: 'not-upgraded', account, chainId: Hex.fromQuantity(chainId) })
}
