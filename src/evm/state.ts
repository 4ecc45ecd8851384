import type { Address, Hash } from '../eth/index.ts'

/** An account without its storage root. An absent account is null. */
export interface Account {
  readonly nonce: bigint
  /** wei */
  readonly balance: bigint
  readonly codeHash: Hash
}

/** EIP-2681: maximum nonce */
export const NONCE_MAX = 2n ** 64n - 1n

/** Synchronous read access to one state. */
export interface StateReader {
  account(address: Address): Account | null
  /** the code of a code hash; empty for the hash of the empty code. `owner`: the account that a program calls or whose code it reads */
  code(codeHash: Hash, owner?: Address): Uint8Array
  /** 0n if absent */
  storage(address: Address, slot: Hash): bigint
  /** all non-zero slots; for clearing an account and for overrides that replace its storage */
  slots(address: Address): Iterable<Hash>
  /** readers with the same identity always return the same values */
  readonly identity?: object
  /** Keys whose values may differ at `other`, possibly repeated; null: unknown, or more than `limit`. For caches. */
  changedSince?(other: StateReader, limit: number): readonly StateKey[] | null
}

/** An account (`slot` null) or one of its slots. */
export interface StateKey {
  readonly address: Address
  readonly slot: Hash | null
}

/** Final values of an execution, each key once. Storage 0n: cleared; account null: removed. */
export interface WriteSet {
  readonly accounts: ReadonlyMap<Address, Account | null>
  readonly storage: ReadonlyMap<Address, ReadonlyMap<Hash, bigint>>
  readonly codes: ReadonlyMap<Hash, Uint8Array>
}

export const NO_WRITES: WriteSet = { accounts: new Map(), storage: new Map(), codes: new Map() }
