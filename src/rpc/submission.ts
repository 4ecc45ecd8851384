import { NonceTooLow } from '../chain/index.ts'
import type { Chain } from '../chain/index.ts'
import type { Compat } from '../compat.ts'
import type { Hash, Transaction } from '../eth/index.ts'
import { CODE, RpcError } from '../jsonrpc/index.ts'
import type { Context } from './context.ts'
import { nextBlockBaseFee } from './execution/gasprice.ts'

type Submitted = Parameters<Chain['submit']>[0]

/** As `chain.submit`; the error for a nonce that was read at `latest` although later ones are promised contains that reason. */
export function submit({ chain, compat }: Context, tx: Submitted): Promise<Hash> {
  const submitted = chain.submit(
    compat.sendBelowBaseFee === 'refused' && chain.cadence.kind === 'instant' ? () => coveringBaseFee(chain, compat, tx) : tx,
  )
  return compat.latestState === 'promised'
    ? submitted
    : submitted.catch((error: unknown) => {
        throw error instanceof NonceTooLow ? (staleNonce(chain, error) ?? error) : error
      })
}

function coveringBaseFee({ head }: Chain, { rejectedTransactionCode: code }: Compat, submitted: Submitted): Transaction {
  const tx = typeof submitted === 'function' ? submitted() : submitted
  const baseFee = nextBlockBaseFee(head.view)
  if (tx.maxFeePerGas >= baseFee) return tx
  const figures = `address ${tx.from}, maxFeePerGas: ${tx.maxFeePerGas}, baseFee: ${baseFee}`
  throw new RpcError(code, `max fee per gas less than block base fee: ${figures}`)
}

/** null if the nonce was used before the last sealed block already. */
function staleNonce({ head: { view } }: Chain, { from, nonce, nextNonce }: NonceTooLow): RpcError | null {
  const sealedNonce = view.state(view.head).account(from)?.nonce ?? 0n
  if (nonce < sealedNonce) return null
  const promised = nextNonce - sealedNonce
  const count = promised === 1n ? '1 of them is promised, not sealed' : `${promised} of them are promised, not sealed`
  const advice = "read the nonce at 'pending', or start with --latest promised"
  return new RpcError(CODE.server, `nonce too low: next nonce ${nextNonce} (${count}), tx nonce ${nonce}; ${advice}`)
}
