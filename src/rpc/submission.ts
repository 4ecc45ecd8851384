import { NonceTooLow } from '../chain/index.ts'
import type { Chain } from '../chain/index.ts'
import type { Address, Hash, Transaction } from '../eth/index.ts'
import { InvalidTransaction } from '../evm/index.ts'
import { CODE, RpcError } from '../jsonrpc/index.ts'
import type { Context } from './context.ts'
import { nextBlockBaseFee, nextBlockBlobFee } from './execution/gasprice.ts'

/** A function that creates a transaction of the sender `from`. */
export interface Creation {
  readonly from: Address
  readonly create: () => Transaction
}

/** As `chain.submit`; the error for a nonce that was read at `latest` although later ones are promised contains that reason. */
export function submit({ chain, compat }: Pick<Context, 'chain' | 'compat'>, tx: Transaction | Creation): Promise<Hash> {
  const { from } = tx
  const create = () => ('create' in tx ? tx.create() : tx)
  const submitted = chain.submit(compat.sendBelowBaseFee === 'pooled' ? create : () => paying(chain, create()), from)
  return compat.latestState === 'promised'
    ? submitted
    : submitted.catch((error: unknown) => {
        throw error instanceof NonceTooLow ? (staleNonce(chain, error) ?? error) : error
      })
}

/** Returns the transaction. Throws InvalidTransaction for a fee cap below the base fee, or the blob base fee, of the next block. */
function paying({ head }: Chain, tx: Transaction): Transaction {
  if (tx.maxFeePerGas < nextBlockBaseFee(head.view))
    throw new InvalidTransaction('fee-cap-below-base-fee', 'max fee per gas less than block base fee')
  if (tx.type === 3 && tx.maxFeePerBlobGas < nextBlockBlobFee(head.view))
    throw new InvalidTransaction('blob-fee-cap-below-base-fee', 'max fee per blob gas less than block blob gas fee')
  return tx
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
