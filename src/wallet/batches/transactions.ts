import type { Address, Hash, Hex, Transaction, TransactionFields } from '../../eth/index.ts'
import { CODE, RpcError } from '../../jsonrpc/index.ts'
import type { WalletChain } from '../chains/chain.ts'
import { DELEGATE } from '../delegate.ts'
import type { Keyring } from '../keys/keyring.ts'

/** A transaction without nonce, authorization and signature. */
export interface UnsignedTransaction {
  readonly fields: TransactionFields
  /** true: its authorization upgrades the account to the wallet's delegate */
  readonly isUpgrade: boolean
  /** see BatchTransaction */
  readonly isPreparation: boolean
}

/** The mutex key under which the nonces of an account are taken. */
export function accountKey({ chainId }: WalletChain, account: Address): string {
  return `${chainId}:${account}`
}

/** Returns the account's nonce in the node's pending state. */
export async function nextNonce({ rpc }: WalletChain, account: Address): Promise<bigint> {
  const nonce = await rpc.request({ method: 'eth_getTransactionCount', params: [account, 'pending'] })
  if (typeof nonce !== 'string') throw new RpcError(CODE.internal, 'the node answered eth_getTransactionCount with no quantity')
  return BigInt(nonce)
}

/** Signs the transactions with consecutive nonces from `first`. Throws RpcError 4100 for an account that may not sign on the chain. */
export function signTransactions(
  keyring: Keyring,
  chain: WalletChain,
  from: Address,
  unsigned: readonly UnsignedTransaction[],
  first: bigint,
): readonly Transaction[] {
  return unsigned.map(({ fields, isUpgrade }, i) => {
    const nonce = first + BigInt(i)
    if (!isUpgrade) return keyring.transaction({ ...fields, nonce }, from, chain)
    // EIP-7702: the sender's nonce is incremented before its authorization is processed.
    const delegation = { chainId: BigInt(chain.chainId), address: DELEGATE.address, nonce: nonce + 1n }
    const authorizationList = [keyring.authorization(delegation, from, chain)]
    return keyring.transaction({ ...fields, type: 4, nonce, authorizationList }, from, chain)
  })
}

/** `unknown`: the response was lost, so the node may have accepted it or not. */
export type SubmitResult = { readonly kind: 'accepted' } | { readonly kind: 'rejected' | 'unknown'; readonly error: RpcError }

/** Sends a signed transaction to the node. One that the node already has counts as accepted. */
export async function submitTransaction(chain: WalletChain, raw: Hex, hash: Hash): Promise<SubmitResult> {
  try {
    await chain.rpc.request({ method: 'eth_sendRawTransaction', params: [raw] })
    return { kind: 'accepted' }
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    const isKnown = await isTransactionKnown(chain, hash)
    if (isKnown === true) return { kind: 'accepted' }
    return { kind: isKnown === null || isConnectionError(error) ? 'unknown' : 'rejected', error }
  }
}

/** True if the error is of the connection and not the node's response (createRemoteRpc). */
export function isConnectionError({ data }: RpcError): boolean {
  return typeof data === 'object' && data !== null && 'reason' in data && CONNECTION_REASONS.has(data.reason)
}

const CONNECTION_REASONS: ReadonlySet<unknown> = new Set(['unreachable', 'timeout', 'malformed', 'too-large', 'redirect'])

/** Returns whether the node has the transaction in its pool or a block; null if it did not respond. */
export async function isTransactionKnown({ rpc }: WalletChain, hash: Hash): Promise<boolean | null> {
  try {
    return (await rpc.request({ method: 'eth_getTransactionByHash', params: [hash] })) !== null
  } catch (error) {
    if (error instanceof RpcError) return null
    throw error
  }
}

/** True if the transaction is included, or the node no longer has it. */
export async function isIncludedOrDropped(chain: WalletChain, hash: Hash): Promise<boolean> {
  const receipt = await chain.rpc.request({ method: 'eth_getTransactionReceipt', params: [hash] })
  return receipt !== null || (await isTransactionKnown(chain, hash)) === false
}

/** True if another program used the nonce first: the same content can be signed again with the next one. */
export function isNonceTaken({ message }: RpcError): boolean {
  return /nonce too low|nonce .*(used|low)|replacement transaction underpriced|already imported/i.test(message)
}
