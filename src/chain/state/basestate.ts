import type { Address, Hash } from '../../eth/index.ts'
import type { Account } from '../../evm/index.ts'

/** A key of the fork block's state, or the hash of one of its ancestors. */
export type MissingKey =
  | { readonly kind: 'account'; readonly address: Address }
  | { readonly kind: 'slot'; readonly address: Address; readonly slot: Hash }
  | { readonly kind: 'blockHash'; readonly number: number }

/** Values of the fork block are not local yet. The run that needs them is undone, they are fetched, and the run is repeated. */
export class MissingState extends Error {
  override readonly name = 'MissingState'
  readonly keys: readonly MissingKey[]
  /** The call that read them, if it is known. */
  call: AccessListCall | undefined = undefined

  constructor(keys: readonly MissingKey[]) {
    super(`${keys.length} values of the fork block are not local`)
    this.keys = keys
  }
}

/** A call whose access list may be requested from upstream. */
export interface AccessListCall {
  readonly from: Address
  readonly to: Address | null
  readonly data: Uint8Array
  /** Wei. */
  readonly value: bigint
  readonly gas: bigint | null
}

/** Identity of the block that a chain is forked from. */
export interface ForkOrigin {
  /** Upstream's. */
  readonly chainId: number
  readonly number: number
  readonly hash: Hash
}

/** State of the block that a chain is forked from: immutable, partly local. Reads are synchronous and throw MissingState. */
export interface BaseState {
  readonly origin: ForkOrigin
  account(address: Address): Account | null
  /** Code of an account that `account` has returned. Throws UpstreamError if `owner`, which a program calls, is a native precompile upstream. */
  code(codeHash: Hash, owner?: Address): Uint8Array
  storage(address: Address, slot: Hash): bigint
  /** Hash of a block at or below the fork block; `null` if there is none. */
  blockHash(number: number): Hash | null
  /** State root of the fork block. */
  readonly stateRoot: Hash
  /** Storage root of the message passer, which OP headers hold since Isthmus; the empty root for every other account. */
  storageRoot(address: Address): Hash
  /** Makes the keys local, with what the access list of `call` names. Throws UpstreamError. Equal keys in flight are joined. */
  fetch(keys: readonly MissingKey[], call?: AccessListCall): Promise<void>
}
