import type { View } from '../../chain/index.ts'
import type { Address, Block, Transaction } from '../../eth/index.ts'
import { UnknownAccount } from '../accounts.ts'
import type { Context } from '../context.ts'
import { invalidParams } from '../../jsonrpc/index.ts'
import { fieldsOf, withFeesAndGas, assertSendable, withCappedGas, withDefaultSender } from './filling.ts'
import type { FeeContext } from './filling.ts'
import { baseFeeAfter, suggestedGasPrice } from './gasprice.ts'
import { assertChain } from './request.ts'
import type { CallRequest } from './request.ts'

/** A transaction, or the request for one. */
export type TransactionOrRequest = { readonly tx: Transaction } | { readonly request: CallRequest }

export interface ReorgTransaction {
  readonly transaction: TransactionOrRequest
  /** index among the new blocks, from 0 */
  readonly block: number
}

/**
 * Returns the transactions of a reorg. Missing fields come from the block that the new blocks follow; nonces continue from there in their
 * order. Throws RpcError.
 */
export function reorgTransactions(
  context: Context,
  depth: number,
  transactions: readonly ReorgTransaction[],
): readonly { readonly tx: Transaction; readonly block: number }[] {
  const { view } = context.chain.head
  const base = view.byNumber(view.head.header.number - depth)
  // The chain refuses a depth above its height.
  if (base === null) return []
  const builder = new TransactionBuilder(context, view, base)
  const built: { tx: Transaction; block: number }[] = []
  for (const { transaction, block } of transactions.toSorted((a, b) => a.block - b.block)) {
    built.push({ tx: builder.build(transaction), block })
  }
  return built
}

/** Returns a transaction for the open block; a request without a nonce has the one that `nonceOf` returns for its sender. Throws RpcError. */
export function openBlockTransaction(context: Context, input: TransactionOrRequest, nonceOf: (address: Address) => bigint): Transaction {
  const { view } = context.chain.head
  return new TransactionBuilder(context, view, view.head, nonceOf).build(input)
}

/** Builds consecutive transactions on one block. */
class TransactionBuilder {
  readonly #context: Context
  readonly #view: View
  readonly #base: Block
  readonly #nonces = new Map<Address, bigint>()
  readonly #nonceOf: (address: Address) => bigint

  constructor(context: Context, view: View, base: Block, nonceOf = (address: Address) => view.state(base).account(address)?.nonce ?? 0n) {
    this.#context = context
    this.#view = view
    this.#base = base
    this.#nonceOf = nonceOf
  }

  build(input: TransactionOrRequest): Transaction {
    const tx = 'tx' in input ? input.tx : this.#fromRequest(input.request)
    if (tx.deposit !== null) throw invalidParams('a deposit transaction comes from L1 and cannot be sent')
    if (tx.chainId !== null) assertChain(BigInt(tx.chainId), this.#view.config, 'transaction')
    this.#nonces.set(tx.from, tx.nonce + 1n)
    return tx
  }

  #fromRequest(given: CallRequest): Transaction {
    const request = withDefaultSender(this.#context, given)
    const { from } = request
    if (from === undefined) throw invalidParams('invalid transaction request: missing "from"')
    if (!this.#context.accounts.canSend(from)) throw new UnknownAccount(from)
    assertSendable(request, this.#view.config, this.#context.compat, 'transaction')
    const nonce = request.nonce ?? this.#nonces.get(from) ?? this.#nonceOf(from)
    const whole = withFeesAndGas(withCappedGas(request, this.#context.chain), this.#feeContext(), this.#context.compat)
    return this.#context.accounts.transaction(fieldsOf(whole, nonce, this.#view.config), from)
  }

  #feeContext(): FeeContext {
    const block = this.#base
    const view = this.#view
    const coming = baseFeeAfter(block.header, view.config)
    const baseFee = block.header.baseFeePerGas === null ? null : coming
    return { view, block, baseFee, gasPrice: () => suggestedGasPrice(view, block, coming) }
  }
}
