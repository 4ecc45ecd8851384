import { Address, Hex } from '../../eth/index.ts'
import type { Hash } from '../../eth/index.ts'
import { invalidParams } from '../../jsonrpc/index.ts'
import type { WalletChain } from '../chains/chain.ts'
import type { WalletContext } from '../context.ts'
import { delegationStatus } from './execution.ts'
import { AUTHORIZATION_GAS, TRANSACTION_GAS } from './gas.ts'
import { sendOwnTransaction } from './owntransaction.ts'

/**
 * Removes the code of an account (EIP-7702) by a transaction to itself with an authorization for the zero address. It requires the control credential
 * and therefore no approval. Returns the transaction's hash. Throws RpcError 4100 for an account that may not sign on the chain, -32602 for one
 * without code, and the refusals of the node.
 */
export async function downgrade(wallet: WalletContext, chain: WalletChain, account: Address): Promise<Hash> {
  const removal = { chainId: BigInt(chain.chainId), address: Address.zero }
  return sendOwnTransaction(wallet, {
    kind: 'downgrade',
    method: 'pocketchain_downgradeAccount',
    chain,
    from: account,
    to: account,
    data: new Uint8Array(),
    gas: GAS,
    summary: 'Remove the code of the account',
    authorize: (nonce) => wallet.keyring.authorization({ ...removal, nonce }, account, chain),
    check: async () => {
      if (!(await hasDelegation(chain, account))) throw notUpgraded(chain, account)
    },
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
