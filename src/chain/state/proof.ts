import { Address, Hash, Rlp } from '../../eth/index.ts'
import type { Account } from '../../evm/index.ts'
import { Trie } from './trie.ts'

/** A slot's value, and the trie nodes from the storage root to it or to the point where it would be. */
export interface StorageProof {
  readonly slot: Hash
  readonly value: bigint
  readonly proof: readonly Uint8Array[]
}

/** EIP-1186 account proof. For an absent account `account` is `null` and `storageHash` the empty root. */
export interface AccountProof {
  readonly address: Address
  readonly account: Account | null
  readonly storageHash: Hash
  readonly accountProof: readonly Uint8Array[]
  /** In request order. */
  readonly storageProof: readonly StorageProof[]
}

/** Value of an account trie leaf. */
export interface AccountLeaf {
  readonly account: Account
  /** In the newest version's trie this is the live storage trie, updated in place; the leaf is set again whenever it changes. */
  readonly storage: Trie<bigint>
}

/** Keyed by the hash of the address. */
export type AccountTrie = Trie<AccountLeaf>
/** Keyed by the hash of the slot. */
export type StorageTrie = Trie<bigint>

export const EMPTY_STORAGE_TRIE: StorageTrie = Trie.empty((value) => Rlp.encodeView(value))

export const EMPTY_ACCOUNT_TRIE: AccountTrie = Trie.empty(({ account, storage }) =>
  Rlp.encodeView([account.nonce, account.balance, storage.rootBytes(), account.codeHash]),
)

export function accountKey(address: Address): Hash {
  return Hash.keccak(Address.toBytes(address))
}

export function storageKey(slot: Hash): Hash {
  return Hash.keccak(Hash.toBytes(slot))
}

/** `leaf` is the value of `accounts` for the address. */
export function proveAccount(
  accounts: AccountTrie,
  address: Address,
  leaf: AccountLeaf | null,
  slots: readonly { readonly slot: Hash; readonly value: bigint }[],
): AccountProof {
  const storage = leaf?.storage ?? EMPTY_STORAGE_TRIE
  return {
    address,
    account: leaf?.account ?? null,
    storageHash: storage.rootHash(),
    accountProof: accounts.prove(accountKey(address)),
    storageProof: slots.map(({ slot, value }) => ({ slot, value, proof: storage.prove(storageKey(slot)) })),
  }
}
