import { Hex } from '../../eth/index.ts'
import type { Hash } from '../../eth/index.ts'
import { RpcError } from '../../jsonrpc/index.ts'
import { approveAndSubmit, inRequestOrder, signAndSubmit } from './approvalflow.ts'
import type { WalletContext } from '../context.ts'
import type { ProviderCaller } from '../method.ts'
import { gasPriceOf, priceOf } from './fees.ts'
import { planOf, questionView } from './plan.ts'
import type { Intent, Plan } from './plan.ts'
import { feeWarnings, nonceWarnings } from '../preview/warnings.ts'
import type { Warning } from '../question.ts'
import { nextNonce, submitTransaction } from './transactions.ts'

/** Sends one transaction and returns its hash once the node has accepted it. `nonce` null: the next one. Throws RpcError: 4001, and the refusals of the node. */
export async function sendTransaction(
  wallet: WalletContext,
  intent: Intent & { readonly nonce: bigint | null },
  caller: ProviderCaller,
): Promise<Hash> {
  const { chain, nonce, from } = intent
  wallet.keyring.assertMaySign(from, chain)
  const { hash, lost } = await inRequestOrder(wallet, caller, null, async (session) => {
    const ownWarnings = nonce === null ? [] : nonceWarnings(nonce, await nextNonce(chain, from))
    return approveAndSubmit(
      session,
      { chain, from, isNonceChosen: nonce !== null },
      {
        plan: () => planOf(intent, { kind: 'single' }),
        draft: async (plan) => {
          const view = await questionView(wallet, plan)
          const warnings = [...ownWarnings, ...(await chosenFeeWarnings(plan)), ...view.warnings]
          return { ...view, warnings, kind: 'send', origin: caller.origin, method: 'eth_sendTransaction' }
        },
        submit: (approved, _now, id) =>
          signAndSubmit(wallet, approved, nonce, async ([transaction]) => {
            if (transaction === undefined) throw new Error('a plan of one call has one transaction')
            const result = await submitTransaction(chain, Hex.fromBytes(transaction.raw), transaction.hash)
            if (result.kind === 'rejected') throw result.error
            const isUnsure = result.kind === 'unknown'
            await wallet.activities.follow({ id, origin: caller.origin, from, chain, transaction, isUnsure })
            return { hash: transaction.hash, lost: isUnsure ? result.error : null }
          }),
      },
    )
  })
  if (lost !== null) throw responseLost(hash, lost)
  return hash
}

/** For fee fields of the app: the fee is paid to the producer of the block, which the app may be. */
async function chosenFeeWarnings({ chain, fees, gas, requested }: Plan): Promise<readonly Warning[]> {
  const { gasPrice, maxFeePerGas, maxPriorityFeePerGas } = requested
  if (gasPrice === undefined && maxFeePerGas === undefined && maxPriorityFeePerGas === undefined) return []
  const limit = gas.limits.reduce((sum, each) => sum + each, 0n)
  return feeWarnings({ price: priceOf(fees), usual: await gasPriceOf(chain), limit })
}

function responseLost(hash: Hash, { code, message }: RpcError): RpcError {
  const text = `the node may have taken the transaction ${hash} or not, its answer was lost (${message}); look for that hash before you send it again`
  return new RpcError(code, text, { reason: 'unsure', hash })
}
