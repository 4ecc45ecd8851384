import type { View } from '../chain/index.ts'
import type { Address, Block, Transaction, TransactionFields } from '../eth/index.ts'
import { unknownAccount } from './accounts.ts'
import { Call, siteOf } from './calls.ts'
import type { Context } from './context.ts'
import { invalidParams } from './errors.ts'
import { baseFeeAfter, suggestedTip } from './gasprice.ts'
import { assertChain, typeOf } from './request.ts'
import type { CallRequest } from './request.ts'

/** A transaction, or what one is to be made from. */
export type Sendable = { readonly tx: Transaction } | { readonly request: CallRequest }

interface Wanted {
  readonly what: Sendable
  readonly block: number
}

/**
 * The transactions of a reorg. What a request lacks comes from the block that the new ones follow on: the nonce counts on
 * from there in the order of the new blocks. Throws RpcError; RangeError is left to the chain.
 */
export async function reorgTransactions(
  context: Context,
  depth: number,
  wanted: readonly Wanted[],
): Promise<readonly { readonly tx: Transaction; readonly block: number }[]> {
  const { view } = context.chain.head
  const base = view.byNumber(view.head.header.number - depth)
  // Deeper than the chain is high: the chain refuses that itself, with no need of the transactions.
  if (base === null) return []
  const maker = new Maker(context, view, base)
  const made: { tx: Transaction; block: number }[] = []
  for (const { what, block } of wanted.toSorted((a, b) => a.block - b.block)) {
    made.push({ tx: await maker.make(what), block })
  }
  return made
}

/** Makes transactions that follow one another on one block. */
class Maker {
  readonly #context: Context
  readonly #view: View
  readonly #base: Block
  readonly #nonces = new Map<Address, bigint>()

  constructor(context: Context, view: View, base: Block) {
    this.#context = context
    this.#view = view
    this.#base = base
  }

  async make(what: Sendable): Promise<Transaction> {
    const tx = 'tx' in what ? what.tx : await this.#fromRequest(what.request)
    if (tx.deposit !== null) throw invalidParams('a deposit transaction comes from L1 and cannot be sent')
    if (tx.chainId !== null) assertChain(BigInt(tx.chainId), this.#view.config, 'transaction')
    this.#nonces.set(tx.from, tx.nonce + 1n)
    return tx
  }

  async #fromRequest(request: CallRequest): Promise<Transaction> {
    const { from } = request
    if (from === undefined) throw invalidParams('invalid transaction request: missing "from"')
    if (!this.#context.accounts.canSend(from)) throw unknownAccount(from)
    assertChain(request.chainId, this.#view.config, 'transaction')
    return this.#context.accounts.transaction(await this.#fieldsOf(request, from), from)
  }

  async #fieldsOf(request: CallRequest, from: Address): Promise<TransactionFields> {
    const priced = { ...request, ...this.#fees(request) }
    const site = siteOf(this.#view, this.#base)
    return {
      type: typeOf(priced),
      chainId: this.#view.config.chainId,
      nonce: request.nonce ?? this.#nonces.get(from) ?? site.state.account(from)?.nonce ?? 0n,
      gas: request.gas ?? (await new Call(site, priced).estimate(this.#context.compat)),
      to: request.to ?? null,
      value: request.value ?? 0n,
      data: request.data ?? new Uint8Array(),
      accessList: request.accessList ?? [],
      authorizationList: request.authorizationList ?? [],
      maxFeePerGas: priced.gasPrice ?? priced.maxFeePerGas ?? 0n,
      maxPriorityFeePerGas: priced.gasPrice ?? priced.maxPriorityFeePerGas ?? 0n,
    }
  }

  /** As when sending: a cap of twice the base fee and the tip. */
  #fees(request: CallRequest): Partial<CallRequest> {
    if (request.gasPrice !== undefined) return {}
    const tip = request.maxPriorityFeePerGas ?? suggestedTip(this.#view)
    const cap = request.maxFeePerGas ?? 2n * baseFeeAfter(this.#base.header, this.#view.config) + tip
    return { maxFeePerGas: cap, maxPriorityFeePerGas: tip < cap ? tip : cap }
  }
}
