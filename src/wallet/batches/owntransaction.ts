import { Hex } from '../../eth/index.ts'
import type { Address, Authorization, Hash, TransactionFields } from '../../eth/index.ts'
import type { WalletChain } from '../chains/chain.ts'
import type { WalletContext } from '../context.ts'
import { describeCalls } from '../preview/describe.ts'
import { LOCAL_ORIGIN } from '../sites.ts'
import { feesFor, latestBlock } from './fees.ts'
import { accountKey, nextNonce, submitTransaction } from './transactions.ts'

/** A transaction that the wallet's page requested. */
interface OwnTransaction {
  readonly kind: 'revoke' | 'downgrade'
  /** the control method */
  readonly method: string
  readonly chain: WalletChain
  readonly from: Address
  readonly to: Address
  readonly data: Uint8Array
  readonly gas: bigint
  /** the line of its activity */
  readonly summary: string
  /** Signs the authorization of an EIP-7702 transaction with this nonce; absent: it is an ordinary one. */
  readonly authorize?: (nonce: bigint) => Authorization
  /** Throws RpcError if there is nothing to do. Runs when no other transaction of the account is being prepared. */
  readonly check: () => Promise<void>
}

/**
 * Signs and sends a transaction without a question, which takes the control credential, and adds it to the activities. Returns its hash. Throws
 * RpcError 4100 for an account that may not sign on the chain, and the refusals of the node.
 */
export async function sendOwnTransaction(wallet: WalletContext, own: OwnTransaction): Promise<Hash> {
  const { keyring, batches, activities, onError } = wallet
  const { kind, method, chain, from, to, data, gas, summary, authorize, check } = own
  keyring.assertMaySign(from, chain)
  return batches.mutex.runExclusive(accountKey(chain, from), async () => {
    await batches.waitForUpgrade(chain, from)
    await check()
    const { type, maxFeePerGas, maxPriorityFeePerGas } = await feesFor(chain, await latestBlock(chain))
    const nonce = await nextNonce(chain, from)
    // EIP-7702: the sender's nonce is incremented before its authorization is processed.
    const typed = authorize === undefined ? { type } : ({ type: 4, authorizationList: [authorize(nonce + 1n)] } as const)
    const fields: TransactionFields = { ...typed, to, value: 0n, data, gas, nonce, maxFeePerGas, maxPriorityFeePerGas }
    const signed = keyring.transaction(fields, from, chain)
    const described = await describeCalls(chain, from, [{ to, value: 0n, data, gasLimitOverride: null }], keyring)
    const calls = described.map((call) => ({ ...call, summary }))
    const result = await submitTransaction(chain, Hex.fromBytes(signed.raw), signed.hash)
    if (result.kind === 'rejected') throw result.error
    if (authorize !== undefined) batches.addAuthorization(chain, from, signed.hash)
    // A rejection would say that nothing was sent.
    await activities.sent(kind, method, LOCAL_ORIGIN, signed, from, chain, calls).catch(onError)
    return signed.hash
  })
}
