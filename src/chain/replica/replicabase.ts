import { EMPTY_CODE_HASH, EMPTY_ROOT } from '../../eth/index.ts'
import type { Address, Hash } from '../../eth/index.ts'
import { L2_TO_L1_MESSAGE_PASSER } from '../../evm/index.ts'
import type { Account } from '../../evm/index.ts'
import { REPLICA_BASE_KEYS } from '../limits.ts'
import { MissingState } from '../state/basestate.ts'
import type { BaseState, ForkOrigin, MissingKey } from '../state/basestate.ts'
import { UpstreamError } from '../state/upstreamerror.ts'
import type { UpstreamReason } from '../state/upstreamerror.ts'

/** The data of the fork block that a replica has from the start: plain data. */
export interface ReplicaOrigin {
  readonly origin: ForkOrigin
  readonly stateRoot: Hash
  /** Of the message passer. */
  readonly storageRoot: Hash
}

/** Values of the fork block, for a replica: plain data. */
export type BaseValue =
  | {
      readonly kind: 'account'
      readonly address: Address
      readonly account: Account | null
      /** Why its code cannot be executed, instead of the code. */
      readonly code: Uint8Array | { readonly reason: UpstreamReason; readonly message: string }
    }
  | { readonly kind: 'slot'; readonly address: Address; readonly slot: Hash; readonly value: bigint }
  | { readonly kind: 'blockHash'; readonly number: number; readonly hash: Hash | null }

export function replicaOrigin(base: BaseState): ReplicaOrigin {
  const { origin, stateRoot } = base
  return { origin, stateRoot, storageRoot: base.storageRoot(L2_TO_L1_MESSAGE_PASSER) }
}

/** Returns the values of local keys. Throws MissingState. */
export function baseValues(base: BaseState, keys: readonly MissingKey[]): readonly BaseValue[] {
  return keys.map((key) => {
    if (key.kind === 'slot') return { ...key, value: base.storage(key.address, key.slot) }
    if (key.kind === 'blockHash') return { ...key, hash: base.blockHash(key.number) }
    const account = base.account(key.address)
    return { ...key, account, code: codeOf(base, key.address, account) }
  })
}

function codeOf(base: BaseState, address: Address, account: Account | null): Extract<BaseValue, { kind: 'account' }>['code'] {
  if (account === null || account.codeHash === EMPTY_CODE_HASH) return new Uint8Array()
  try {
    return base.code(account.codeHash, address)
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    return { reason: error.reason, message: error.message }
  }
}

/** State of the fork block in another thread: the values that it was given. Missing values are requested with MissingState. */
export class ReplicaBase implements BaseState {
  readonly origin: ForkOrigin
  readonly stateRoot: Hash
  readonly #storageRoot: Hash
  readonly #accounts = new Map<Address, Extract<BaseValue, { kind: 'account' }>>()
  readonly #codes = new Map<Hash, Uint8Array>()
  readonly #slots = new Map<string, bigint>()
  readonly #hashes = new Map<number, Hash | null>()

  constructor({ origin, stateRoot, storageRoot }: ReplicaOrigin) {
    this.origin = origin
    this.stateRoot = stateRoot
    this.#storageRoot = storageRoot
  }

  /** Beyond its limit the former values are dropped, and requested again. */
  add(values: readonly BaseValue[]): void {
    if (this.#accounts.size + this.#slots.size > REPLICA_BASE_KEYS)
      for (const map of [this.#accounts, this.#codes, this.#slots]) map.clear()
    for (const value of values) {
      if (value.kind === 'slot') this.#slots.set(slotKey(value.address, value.slot), value.value)
      else if (value.kind === 'blockHash') this.#hashes.set(value.number, value.hash)
      else {
        this.#accounts.set(value.address, value)
        if (value.account !== null && value.code instanceof Uint8Array) this.#codes.set(value.account.codeHash, value.code)
      }
    }
  }

  account(address: Address): Account | null {
    return this.#given(address).account
  }

  code(codeHash: Hash, owner?: Address): Uint8Array {
    const known = owner === undefined ? undefined : this.#accounts.get(owner)
    if (known !== undefined && !(known.code instanceof Uint8Array)) throw new UpstreamError(known.code.reason, known.code.message)
    const code = this.#codes.get(codeHash)
    if (code !== undefined) return code
    if (owner === undefined) throw new Error(`the replica lacks code ${codeHash}`)
    throw new MissingState([{ kind: 'account', address: owner }])
  }

  storage(address: Address, slot: Hash): bigint {
    const value = this.#slots.get(slotKey(address, slot))
    if (value === undefined) throw new MissingState([{ kind: 'slot', address, slot }])
    return value
  }

  blockHash(number: number): Hash | null {
    if (number > this.origin.number) return null
    const hash = this.#hashes.get(number)
    if (hash === undefined) throw new MissingState([{ kind: 'blockHash', number }])
    return hash
  }

  storageRoot(address: Address): Hash {
    return address === L2_TO_L1_MESSAGE_PASSER ? this.#storageRoot : EMPTY_ROOT
  }

  /** The main thread fetches. */
  fetch(): Promise<never> {
    return Promise.reject(new Error('a replica fetches nothing'))
  }

  #given(address: Address): Extract<BaseValue, { kind: 'account' }> {
    const known = this.#accounts.get(address)
    if (known === undefined) throw new MissingState([{ kind: 'account', address }])
    return known
  }
}

function slotKey(address: Address, slot: Hash): string {
  return `${address}${slot.slice(2)}`
}
