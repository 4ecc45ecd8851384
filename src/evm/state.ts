import type { Address, Hash } from '../eth/index.ts'

/** An account without its storage: roots are the trie's business. An address without an account reads as null. */
export interface Account {
  readonly nonce: bigint
  /** wei */
  readonly balance: bigint
  readonly codeHash: Hash
}

/** EIP-2681: no account gets beyond it. */
export const NONCE_MAX = 2n ** 64n - 1n

/** Synchronous state at one moment. What the executor reads through, and nothing more. */
export interface StateReader {
  account(address: Address): Account | null
  /** the code behind a code hash; empty for the hash of nothing */
  code(codeHash: Hash): Uint8Array
  /** 0n where nothing is stored */
  storage(address: Address, slot: Hash): bigint
  /** every slot that is not zero; only for wiping an account and for overrides that replace its storage */
  slots(address: Address): Iterable<Hash>
  /** Readers with the same moment read the same for ever. */
  readonly moment?: object
  /** What may read otherwise at `other`, with repetitions; null: unknown, or more than `limit`. For those who remember what they read. */
  changedSince?(other: StateReader, limit: number): readonly StateKey[] | null
}

/** An account, or with a slot one of its slots. */
export interface StateKey {
  readonly address: Address
  readonly slot: Hash | null
}

/** What one execution changed: final values, each key once. Storage 0n means cleared, account null means gone. */
export interface WriteSet {
  readonly accounts: ReadonlyMap<Address, Account | null>
  readonly storage: ReadonlyMap<Address, ReadonlyMap<Hash, bigint>>
  readonly codes: ReadonlyMap<Hash, Uint8Array>
}
