import { Address, Hex } from '../../eth/index.ts'
import type { Hash } from '../../eth/index.ts'
import { invalidParams } from '../../jsonrpc/index.ts'
import type { WalletChain } from '../chains/chain.ts'
import type { WalletContext } from '../context.ts'
import { standingOf } from './execution.ts'
import { blockGround, feesFor } from './fees.ts'
import { AUTHORIZATION_GAS, TRANSACTION_GAS } from './gas.ts'
import { hand, nextNonce, rawOf, turnOf } from './sending.ts'

/**
 * Takes the code off an account again (EIP-7702): a transaction to itself with an authorization for the zero address, which stands for none. Only the
 * owner can ask for it, with the control credential in hand, so there is no question. Answers the transaction's hash. Throws RpcError 4100 for an
 * account that may not sign there, -32602 for one that runs no code, and what the node says.
 */
export async function downgrade({ keyring, batches }: WalletContext, chain: WalletChain, account: Address): Promise<Hash> {
  keyring.assertMaySign(account, chain)
  return batches.turns.take(turnOf(chain, account), async () => {
    await batches.upgraded(chain, account)
    if (!(await isUpgraded(chain, account))) throw notUpgraded(chain, account)
    const { maxFeePerGas, maxPriorityFeePerGas } = await feesFor(chain, await blockGround(chain))
    const nonce = await nextNonce(chain, account)
    // The sender's own nonce has risen by the time its authorization is looked at.
    const none = keyring.authorization({ chainId: BigInt(chain.chainId), address: Address.zero, nonce: nonce + 1n }, account, chain)
    const fields = { type: 4, to: account, value: 0n, data: new Uint8Array(), gas: GAS, nonce, authorizationList: [none] } as const
    const signed = keyring.transaction({ ...fields, maxFeePerGas, maxPriorityFeePerGas }, account, chain)
    const handed = await hand(chain, rawOf(signed), signed.hash)
    if (handed.kind === 'refused') throw handed.error
    batches.noteAuthorization(chain, account, signed.hash)
    return signed.hash
  })
}

/** The code is gone before the call, which then runs nothing. */
const GAS = TRANSACTION_GAS + AUTHORIZATION_GAS

/** By code that is known or not, there or not. */
async function isUpgraded(chain: WalletChain, account: Address): Promise<boolean> {
  const standing = await standingOf(chain, account)
  if (standing.kind === 'upgradable') return standing.upgrade.before !== null
  return standing.kind === 'upgraded' || (standing.kind === 'foreign' && standing.delegate !== null)
}

function notUpgraded({ name, chainId }: WalletChain, account: Address) {
  const message = `${account} runs no code on ${name} (${chainId}): there is nothing to take back`
  return invalidParams(message, { reason: 'not-upgraded', account, chainId: Hex.fromQuantity(chainId) })
}
