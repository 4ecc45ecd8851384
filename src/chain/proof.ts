import { Address, Hash, Rlp } from '../eth/index.ts'
import type { Account } from '../evm/index.ts'
import { Trie } from './trie.ts'

/** A slot's value and the nodes from the account's storage root to it (or to where it would be). */
export interface StorageProof {
  readonly slot: Hash
  readonly value: bigint
  readonly proof: readonly Uint8Array[]
}

/** What EIP-1186 proves of an account. Absent: `account` null, `storageHash` the root of nothing. */
export interface AccountProof {
  readonly address: Address
  readonly account: Account | null
  readonly storageHash: Hash
  readonly accountProof: readonly Uint8Array[]
  /** in the order asked */
  readonly storageProof: readonly StorageProof[]
}

/** What a leaf of the account trie commits to. */
export interface AccountLeaf {
  readonly account: Account
  /** In the newest version's trie the live one, which goes on changing: the account's leaf is set anew whenever it does. */
  readonly storage: Trie<bigint>
}

/** Keys: the hash of the address. */
export type AccountTrie = Trie<AccountLeaf>
/** Keys: the hash of the slot. */
export type StorageTrie = Trie<bigint>

export const NO_STORAGE: StorageTrie = Trie.empty((value) => Rlp.encodeView(value))

export const NO_ACCOUNTS: AccountTrie = Trie.empty(({ account, storage }) =>
  Rlp.encodeView([account.nonce, account.balance, storage.rootBytes(), account.codeHash]),
)

export function accountKey(address: Address): Hash {
  return Hash.keccak(Address.toBytes(address))
}

export function storageKey(slot: Hash): Hash {
  return Hash.keccak(Hash.toBytes(slot))
}

/** `leaf` is what `accounts` holds for the address. */
export function proveAccount(
  accounts: AccountTrie,
  address: Address,
  leaf: AccountLeaf | null,
  slots: readonly { readonly slot: Hash; readonly value: bigint }[],
): AccountProof {
  const storage = leaf?.storage ?? NO_STORAGE
  return {
    address,
    account: leaf?.account ?? null,
    storageHash: storage.rootHash(),
    accountProof: accounts.prove(accountKey(address)),
    storageProof: slots.map(({ slot, value }) => ({ slot, value, proof: storage.prove(storageKey(slot)) })),
  }
}
