import { Secp256k1, Transaction } from '../eth/index.ts'
import type { Address, Hash, PrivateKey, Signature, TransactionFields } from '../eth/index.ts'

/**
 * The accounts that the node signs for: those of its private keys, and impersonated ones, for which it sends without a
 * signature. Only a node under test has any.
 */
export class DevAccounts {
  readonly #keys: Map<Address, PrivateKey>
  readonly #impersonated = new Set<Address>()
  #impersonateAll = false

  /** Throws DecodeError for an invalid key. */
  constructor(privateKeys: readonly PrivateKey[]) {
    this.#keys = new Map(privateKeys.map((key) => [Secp256k1.address(key), key]))
  }

  /** In the order of their keys, then the impersonated ones. */
  get addresses(): readonly Address[] {
    return [...new Set([...this.#keys.keys(), ...this.#impersonated])]
  }

  /** Returns the address of the key. Throws DecodeError for an invalid one. */
  add(key: PrivateKey): Address {
    const address = Secp256k1.address(key)
    this.#keys.set(address, key)
    return address
  }

  impersonate(address: Address): void {
    this.#impersonated.add(address)
  }

  /** Returns false if the address was not impersonated. */
  stopImpersonating(address: Address): boolean {
    return this.#impersonated.delete(address)
  }

  /** `on`: every address may send without a signature. */
  setAutoImpersonation(on: boolean): void {
    this.#impersonateAll = on
  }

  /** Returns whether `eth_sendTransaction` may send from this address. */
  canSend(address: Address): boolean {
    return this.#keys.has(address) || this.#impersonateAll || this.#impersonated.has(address)
  }

  /** Signed by the account's key, or unsigned for an impersonated one. Throws UnknownAccount. */
  transaction(fields: TransactionFields, from: Address): Transaction {
    const key = this.#keys.get(from)
    if (key !== undefined) return Transaction.sign(fields, key, from)
    if (!this.canSend(from)) throw new UnknownAccount(from)
    return Transaction.unsigned(fields, from)
  }

  /** Throws UnknownAccount, also for an impersonated one, which has no key. */
  sign(address: Address, digest: Hash): Signature {
    return Secp256k1.sign(digest, this.keyOf(address))
  }

  /** Throws UnknownAccount, also for an impersonated one, which has no key. */
  keyOf(address: Address): PrivateKey {
    const key = this.#keys.get(address)
    if (key === undefined) throw new UnknownAccount(address, 'this node has no private key of it, which a signature needs')
    return key
  }
}

/** The node can neither sign for the address nor send from it. */
export class UnknownAccount extends Error {
  override readonly name = 'UnknownAccount'

  constructor(address: Address, reason = 'it is none of eth_accounts and not impersonated (anvil_impersonateAccount)') {
    super(`unknown account ${address}: ${reason}`)
  }
}
