import { Authorization, Hex, Secp256k1, Transaction, UserOperation } from '../../eth/index.ts'
import type { Address, AuthorizationFields, EntryPoint, Hash, PrivateKey, Signature, TransactionFields } from '../../eth/index.ts'
import { RpcError } from '../../jsonrpc/index.ts'
import type { ChainInfo } from '../chains/chain.ts'
import { WALLET_CODE, unauthorized } from '../errors.ts'
import type { Keystore } from './keystore.ts'
import { isPublicAccount, isRealChain } from '../chains/realchains.ts'

/** An account without its key. */
export interface Account {
  readonly address: Address
  /** such as `Account 1` */
  readonly name: string
  /** dev: its private key is public */
  readonly source: 'dev' | 'memory' | 'keystore'
}

export interface Keys {
  /** public keys of test accounts; they do not sign on real chains */
  readonly dev?: readonly PrivateKey[]
  /** keys that are not stored */
  readonly memory?: readonly PrivateKey[]
  /** keys of an opened keystore */
  readonly keystore?: Keystore
}

/** The chain that a signature is for; a WalletChain is one. */
export type SigningChain = Pick<ChainInfo, 'chainId' | 'name'> & { readonly isEmbedded: boolean }

/** A signed user operation and its userOpHash. */
export interface SignedOperation {
  readonly operation: UserOperation
  readonly hash: Hash
}

/** The keys of a wallet. Every signature is made here, and no key leaves it: not as a value, nor in JSON, a log or an error. */
export class Keyring {
  readonly #keys: ReadonlyMap<Address, PrivateKey>
  readonly #accounts: ReadonlyMap<Address, Account>

  private constructor(keys: ReadonlyMap<Address, PrivateKey>, accounts: ReadonlyMap<Address, Account>) {
    this.#keys = keys
    this.#accounts = accounts
  }

  /** Accounts are in the order dev, memory, keystore, without duplicates. Throws DecodeError for an invalid key. */
  static of({ dev = [], memory = [], keystore }: Keys): Keyring {
    const keys = new Map<Address, PrivateKey>()
    const accounts = new Map<Address, Account>()
    const add = (key: PrivateKey, source: Account['source']): void => {
      const address = Secp256k1.address(key)
      if (accounts.has(address)) return
      keys.set(address, key)
      accounts.set(address, { address, name: `Account ${accounts.size + 1}`, source: isPublicAccount(address) ? 'dev' : source })
    }
    for (const key of dev) add(key, 'dev')
    for (const key of memory) add(key, 'memory')
    keystore?.keys((key) => add(key, 'keystore'))
    return new Keyring(keys, accounts)
  }

  get accounts(): readonly Account[] {
    return [...this.#accounts.values()]
  }

  find(address: Address): Account | null {
    return this.#accounts.get(address) ?? null
  }

  has(address: Address): boolean {
    return this.#accounts.has(address)
  }

  /**
   * Throws RpcError 4100 for an account that the keyring lacks, and for a dev account on a real chain. Every signature is checked here; callers check before
   * a question as well.
   */
  assertMaySign(address: Address, chain: SigningChain): void {
    const account = this.#accounts.get(address)
    if (account === undefined) throw unknownAccount(address)
    if (account.source === 'dev' && !chain.isEmbedded && isRealChain(chain.chainId)) throw devAccountOnRealChain(address, chain)
  }

  /** Signs a digest of personal_sign or EIP-712. Throws RpcError 4100. */
  sign(address: Address, digest: Hash, chain: SigningChain): Signature {
    return Secp256k1.sign(digest, this.#key(address, chain))
  }

  /** Signs a transaction for `chain`, always with its chain id. Throws RpcError 4100. */
  transaction(fields: TransactionFields, from: Address, chain: SigningChain): Transaction {
    const { chainId } = chain
    if (fields.chainId !== undefined && fields.chainId !== chainId) throw otherChain(fields.chainId, chain)
    return Transaction.sign({ ...fields, chainId }, this.#key(from, chain), from)
  }

  /** Signs an EIP-7702 authorization for `chain`, never with chain id 0, which is valid on every chain. Throws RpcError 4100. */
  authorization(fields: AuthorizationFields, from: Address, chain: SigningChain): Authorization {
    if (fields.chainId !== BigInt(chain.chainId)) throw otherChain(fields.chainId, chain)
    return Authorization.sign(fields, this.#key(from, chain))
  }

  /**
   * Signs a user operation (ERC-4337) for an EntryPoint on `chain`: the signature of the userOpHash without a prefix. `delegate`: the account's delegate.
   * Throws RpcError 4100.
   */
  userOperation(operation: UserOperation, { version, address }: EntryPoint, delegate: Address, chain: SigningChain): SignedOperation {
    const key = this.#key(operation.sender, chain)
    const hash = UserOperation.hash(operation, { version, entryPoint: address, chainId: chain.chainId, delegate })
    return { operation: { ...operation, signature: Hex.toBytes(signatureHex(Secp256k1.sign(hash, key))) }, hash }
  }

  /** The accounts only, for logs and JSON. */
  toJSON(): { readonly accounts: readonly Account[] } {
    return { accounts: this.accounts }
  }

  #key(address: Address, chain: SigningChain): PrivateKey {
    this.assertMaySign(address, chain)
    return this.#keys.get(address) as PrivateKey // assertMaySign has checked that
  }
}

/** Returns r, s and v, which is 27 or 28. */
export function signatureHex({ r, s, yParity }: Signature): Hex {
  return `${Hex.fromBytes32(r)}${Hex.fromBytes32(s).slice(2)}${(27 + yParity).toString(16)}` as Hex // begins with 0x, as its first part
}

function unknownAccount(address: Address): RpcError {
  return unauthorized({ reason: 'unknown-account', account: address }, `${address} is not an account of the wallet`)
}

function devAccountOnRealChain(account: Address, { chainId, name }: SigningChain): RpcError {
  const why = `the private key of ${account} is public, and chain ${chainId} (${name}) holds real funds; use an account of your own there`
  return unauthorized({ reason: 'dev-account-on-real-chain', account, chainId }, why)
}

/** No question is about such a signature. */
function otherChain(asked: number | bigint | null, { chainId }: SigningChain): RpcError {
  const message = `a signature for chain ${asked} was requested, but the chain is ${chainId}; nothing was signed`
  return new RpcError(WALLET_CODE.unauthorized, message, { reason: 'other-chain', asked: String(asked), chainId })
}
