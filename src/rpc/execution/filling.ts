import type { Chain, View } from '../../chain/index.ts'
import type { Compat } from '../../compat.ts'
import type { Block, TransactionFields } from '../../eth/index.ts'
import { InvalidTransaction } from '../../evm/index.ts'
import type { ChainConfig } from '../../evm/index.ts'
import type { Context } from '../context.ts'
import { environmentAfter, environmentFor, withCall } from './calls.ts'
import { suggestedTip } from './gasprice.ts'
import { assertChain, typeOf } from './request.ts'
import type { CallRequest } from './request.ts'
import { CODE, RpcError, blobRefusal } from '../../jsonrpc/index.ts'
import { refused } from '../../jsonrpc/schema.ts'

// Fills in the missing fields of a transaction request. The nonce comes from the caller, because it depends on other transactions in progress.

/** The block that the transaction follows, and its prices. */
export interface FeeContext {
  readonly view: View
  /** gas is estimated on the state after it */
  readonly block: Block
  /** wei per gas of the next block; null before London */
  readonly baseFee: bigint | null
  /** returns the wei per gas of a legacy transaction, and the least of any; it reads the tips of 20 blocks */
  readonly gasPrice: () => bigint
}

/** The request, without `from` with the sender that the compatibility profile gives it, if any. */
export function withDefaultSender({ accounts, compat }: Context, request: CallRequest): CallRequest {
  const [first] = accounts.addresses
  return request.from !== undefined || compat.defaultSender === 'none' || first === undefined ? request : { ...request, from: first }
}

type Priced = CallRequest & { readonly gas: bigint }

/** Adds fees and gas. Throws InvalidTransaction for a tip above the fee cap, RpcError for a price of zero, and the errors of the estimate. */
export function withFeesAndGas(request: CallRequest, feeContext: FeeContext, compat: Compat): Priced {
  if (compat.sendBelowBaseFee === 'pooled') refuseZeroPrice(request, feeContext.baseFee)
  const whole = { ...request, ...fees(request, feeContext) }
  const environment = environmentFor(environmentAfter(feeContext.view, feeContext.block), whole, compat)
  return { ...whole, gas: request.gas ?? withCall(environment, whole, {}, (call) => call.estimate(compat)) }
}

/**
 * Tools for anvil and Hardhat set the gas of a whole block in every transaction. Before the node signs it, such a limit is lowered to the cap of
 * a transaction; one above the gas limit of the block stays and is refused.
 */
export function withCappedGas(request: CallRequest, { gasLimit, maxTransactionGas }: Chain): CallRequest {
  const { gas } = request
  return gas === undefined || gas > gasLimit || gas <= maxTransactionGas ? request : { ...request, gas: maxTransactionGas }
}

/** Returns the fields to be signed. */
export function fieldsOf(request: Priced, nonce: bigint, { chainId }: ChainConfig): TransactionFields {
  return {
    type: typeOf(request),
    chainId,
    nonce,
    gas: request.gas,
    to: request.to ?? null,
    value: request.value ?? 0n,
    data: request.data ?? new Uint8Array(),
    accessList: request.accessList ?? [],
    authorizationList: request.authorizationList ?? [],
    maxFeePerGas: request.gasPrice ?? request.maxFeePerGas ?? 0n,
    maxPriorityFeePerGas: request.gasPrice ?? request.maxPriorityFeePerGas ?? 0n,
  }
}

/** Throws RpcError -32602 that names `path` for a request that can be called but not sent. */
export function assertSendable(request: CallRequest, config: ChainConfig, { emptyCreation }: Compat, path: string): void {
  const refuse = (reason: string) => refused(path, reason)
  assertChain(request.chainId, config, path)
  const blobs = blobRefusal(request)
  if (blobs !== null) throw refuse(blobs)
  if (request.type === 4 && (request.authorizationList?.length ?? 0) === 0) {
    throw refused(`${path}.type`, 'transaction type 4 (EIP-7702) needs an authorizationList with at least one entry')
  }
  if (request.to !== undefined) return
  if (request.authorizationList !== undefined) throw refuse('authorizationList provided for contract creation, but "to" is missing')
  if (emptyCreation === 'refused' && (request.data?.length ?? 0) === 0) throw refuse('contract creation without any data provided')
}

/** geth's check: such a transaction would never be mined, and those of its sender that follow would wait for it. */
function refuseZeroPrice({ gasPrice, maxFeePerGas }: CallRequest, baseFee: bigint | null): void {
  if (baseFee === null || baseFee === 0n) return
  if (gasPrice === 0n) throw new RpcError(CODE.server, 'gasPrice must be non-zero after london fork')
  if (maxFeePerGas === 0n) throw new RpcError(CODE.server, 'maxFeePerGas must be non-zero')
}

/** A cap of twice the base fee and the tip lets the base fee double before the transaction gets stuck (geth). */
function fees(request: CallRequest, { view, baseFee, gasPrice }: FeeContext): Partial<CallRequest> {
  if (request.gasPrice !== undefined) return {}
  if (baseFee === null || typeOf(request) < 2) return { gasPrice: gasPrice() }
  const cap = request.maxFeePerGas
  const tip = request.maxPriorityFeePerGas ?? suggestedTip(view)
  if (cap === undefined) {
    const doubled = 2n * baseFee + tip
    const least = gasPrice()
    return { maxFeePerGas: doubled > least ? doubled : least, maxPriorityFeePerGas: tip }
  }
  if (request.maxPriorityFeePerGas !== undefined && tip > cap) {
    const detail = `maxPriorityFeePerGas: ${tip}, maxFeePerGas: ${cap}`
    throw new InvalidTransaction('tip-above-fee-cap', `max priority fee per gas higher than max fee per gas: ${detail}`)
  }
  return { maxPriorityFeePerGas: tip < cap ? tip : cap }
}
