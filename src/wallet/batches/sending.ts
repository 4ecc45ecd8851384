import { Hex } from '../../eth/index.ts'
import type { Address, Hash, Transaction, TransactionFields } from '../../eth/index.ts'
import { CODE, RpcError } from '../../jsonrpc/index.ts'
import type { WalletChain } from '../chains/chain.ts'
import { DELEGATE } from '../delegate.ts'
import type { Keyring } from '../keys/keyring.ts'

/** A transaction but for its nonce, and an authorization but for its own. */
export interface Unsent {
  readonly fields: TransactionFields
  /** the account is upgraded to our delegate by it */
  readonly isUpgrade: boolean
  /** see BatchTransaction */
  readonly isPreparation: boolean
}

/** One after the other, per key. What takes the next nonce of an account must not overtake what took the one before. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>()

  /** A place behind all that came before under `key`. It has to be left. */
  line(key: string): Place {
    let leave = (): void => {}
    const left = new Promise<void>((resolve) => (leave = resolve))
    let reach = (): void => {}
    const reached = new Promise<void>((resolve) => (reach = resolve))
    void this.take(key, () => {
      reach()
      return left
    })
    return { reached, leave }
  }

  /** Runs `work` when everything that came before it under `key` has ended, however it ended. */
  async take<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve()
    const turn = before.then(work, work)
    this.#last.set(key, turn)
    try {
      return await turn
    } finally {
      if (this.#last.get(key) === turn) this.#last.delete(key)
    }
  }
}

/** A place in a line. */
export interface Place {
  /** everybody before has left; never rejects */
  readonly reached: Promise<unknown>
  readonly leave: () => void
}

export function turnOf({ chainId }: WalletChain, account: Address): string {
  return `${chainId}:${account}`
}

/** The first nonce that neither the chain nor the node's pool has of the account. */
export async function nextNonce({ rpc }: WalletChain, account: Address): Promise<bigint> {
  const answer = await rpc.request({ method: 'eth_getTransactionCount', params: [account, 'pending'] })
  if (typeof answer !== 'string') throw new RpcError(CODE.internal, 'the node did not say the next nonce')
  return BigInt(answer)
}

/** Signs all with nonces in a row. Throws RpcError 4100 for accounts that may not sign there. */
export function signAll(
  keyring: Keyring,
  chain: WalletChain,
  from: Address,
  unsent: readonly Unsent[],
  first: bigint,
): readonly Transaction[] {
  return unsent.map(({ fields, isUpgrade }, i) => {
    const nonce = first + BigInt(i)
    if (!isUpgrade) return keyring.transaction({ ...fields, nonce }, from, chain)
    // The sender's own nonce has risen by the time its authorization is looked at (EIP-7702).
    const authorization = keyring.authorization(
      { chainId: BigInt(chain.chainId), address: DELEGATE.address, nonce: nonce + 1n },
      from,
      chain,
    )
    return keyring.transaction({ ...fields, type: 4, nonce, authorizationList: [authorization] }, from, chain)
  })
}

/** `unsure`: the answer was lost, and the transaction with it or not. */
export type Handed = { readonly kind: 'taken' } | { readonly kind: 'refused' | 'unsure'; readonly error: RpcError }

/** Hands a transaction to the node. `already known` and its like are no refusal. */
export async function hand(chain: WalletChain, raw: Hex, hash: Hash): Promise<Handed> {
  try {
    await chain.rpc.request({ method: 'eth_sendRawTransaction', params: [raw] })
    return { kind: 'taken' }
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    const known = await isKnown(chain, hash)
    if (known === true) return { kind: 'taken' }
    return { kind: known === null || isLost(error) ? 'unsure' : 'refused', error }
  }
}

/** True when it is not the node that speaks: nothing came back, or no answer (rpc/, createRemoteRpc). */
export function isLost({ data }: RpcError): boolean {
  return typeof data === 'object' && data !== null && 'reason' in data && LOST.has(data.reason)
}

const LOST: ReadonlySet<unknown> = new Set(['unreachable', 'timeout', 'malformed', 'too-large', 'redirect'])

/** Null: the node did not say. */
export async function isKnown({ rpc }: WalletChain, hash: Hash): Promise<boolean | null> {
  try {
    return (await rpc.request({ method: 'eth_getTransactionByHash', params: [hash] })) !== null
  } catch (error) {
    if (error instanceof RpcError) return null
    throw error
  }
}

/** True when it is included, or will not be: the node does not know it. */
export async function isOver(chain: WalletChain, hash: Hash): Promise<boolean> {
  const receipt = await chain.rpc.request({ method: 'eth_getTransactionReceipt', params: [hash] })
  return receipt !== null || (await isKnown(chain, hash)) === false
}

/** The nonce was taken while nobody looked: signed anew with the next one, the same content goes through. */
export function isNonceTaken({ message }: RpcError): boolean {
  return /nonce too low|nonce .*(used|low)|replacement transaction underpriced|already imported/i.test(message)
}

export function rawOf(transaction: Transaction): Hex {
  return Hex.fromBytes(transaction.raw)
}
