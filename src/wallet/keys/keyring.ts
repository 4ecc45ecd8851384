import { Authorization, Hex, Secp256k1, Transaction, UserOperation } from '../../eth/index.ts'
import type { Address, AuthorizationFields, EntryPoint, Hash, PrivateKey, Signature, TransactionFields } from '../../eth/index.ts'
import { RpcError } from '../../jsonrpc/index.ts'
import type { ChainInfo } from '../chains/chain.ts'
import { WALLET_CODE, unauthorized } from '../errors.ts'
import type { Keystore } from './keystore.ts'
import { isPublicAccount, isRealChain } from '../chains/realchains.ts'

/** An account as it may be shown: its key is nowhere in it. */
export interface Account {
  readonly address: Address
  /** such as `Account 1` */
  readonly name: string
  /** dev: everybody knows its key */
  readonly source: 'dev' | 'memory' | 'keystore'
}

export interface Keys {
  /** keys that everybody knows: they sign on no real chain */
  readonly dev?: readonly PrivateKey[]
  /** keys that end with the process */
  readonly memory?: readonly PrivateKey[]
  /** what a password has opened */
  readonly keystore?: Keystore
}

/** What the questions of a signature are about; a WalletChain is one. */
export type SigningChain = Pick<ChainInfo, 'chainId' | 'name'> & { readonly isEmbedded: boolean }

/** A user operation that its account has signed, and what it has signed. */
export interface SignedOperation {
  readonly operation: UserOperation
  readonly hash: Hash
}

/** The keys of a wallet. Whatever is signed goes through it, and no key ever leaves it: neither as a value nor in JSON, a log or an error. */
export class Keyring {
  readonly #keys: ReadonlyMap<Address, PrivateKey>
  readonly #accounts: ReadonlyMap<Address, Account>

  private constructor(keys: ReadonlyMap<Address, PrivateKey>, accounts: ReadonlyMap<Address, Account>) {
    this.#keys = keys
    this.#accounts = accounts
  }

  /** In the order dev, memory, keystore; a key that comes twice is one account. Throws DecodeError when one of them is none. */
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
   * Throws RpcError 4100 for an account that is not ours, and for one whose key everybody knows on a chain where money is real. Whatever
   * signs calls it; whoever asks a question calls it before.
   */
  assertMaySign(address: Address, chain: SigningChain): void {
    const account = this.#accounts.get(address)
    if (account === undefined) throw unknownAccount(address)
    if (account.source === 'dev' && !chain.isEmbedded && isRealChain(chain.chainId)) throw devAccountOnRealChain(address, chain)
  }

  /** `digest`: of personal_sign or EIP-712. Throws RpcError 4100. */
  sign(address: Address, digest: Hash, chain: SigningChain): Signature {
    return Secp256k1.sign(digest, this.#key(address, chain))
  }

  /** Always for the chain it is asked for, and never for one without a chain id. Throws RpcError 4100. */
  transaction(fields: TransactionFields, from: Address, chain: SigningChain): Transaction {
    const { chainId } = chain
    if (fields.chainId !== undefined && fields.chainId !== chainId) throw otherChain(fields.chainId, chain)
    return Transaction.sign({ ...fields, chainId }, this.#key(from, chain))
  }

  /** EIP-7702. Chain id 0, which holds on every chain, is never signed. Throws RpcError 4100. */
  authorization(fields: AuthorizationFields, from: Address, chain: SigningChain): Authorization {
    if (fields.chainId !== BigInt(chain.chainId)) throw otherChain(fields.chainId, chain)
    return Authorization.sign(fields, this.#key(from, chain))
  }

  /**
   * ERC-4337, for the EntryPoint `at` on the chain it is asked for: the plain signature of the operation's hash, which the code of accounts of a key wants.
   * `delegate`: whose code the account runs. Throws RpcError 4100.
   */
  userOperation(operation: UserOperation, { version, address }: EntryPoint, delegate: Address, chain: SigningChain): SignedOperation {
    const key = this.#key(operation.sender, chain)
    const hash = UserOperation.hash(operation, { version, entryPoint: address, chainId: chain.chainId, delegate })
    const { r, s, yParity } = Secp256k1.sign(hash, key)
    const signature = Hex.toBytes(`${Hex.fromBytes32(r)}${Hex.fromBytes32(s).slice(2)}${(27 + yParity).toString(16)}` as Hex) // begins with 0x
    return { operation: { ...operation, signature }, hash }
  }

  /** What logs and JSON get to see. */
  toJSON(): { readonly accounts: readonly Account[] } {
    return { accounts: this.accounts }
  }

  #key(address: Address, chain: SigningChain): PrivateKey {
    this.assertMaySign(address, chain)
    return this.#keys.get(address) as PrivateKey // it is one of ours: that was just checked
  }
}

function unknownAccount(address: Address): RpcError {
  return unauthorized({ reason: 'unknown-account', account: address }, `${address} is none of the wallet's accounts`)
}

function devAccountOnRealChain(account: Address, { chainId, name }: SigningChain): RpcError {
  const why = `everybody knows the key of ${account}, and chain ${chainId} (${name}) holds real money; use an account of your own there`
  return unauthorized({ reason: 'dev-account-on-real-chain', account, chainId }, why)
}

/** No question ever asks for such a signature. */
function otherChain(asked: number | bigint | null, { chainId }: SigningChain): RpcError {
  const message = `a signature for chain ${asked} was asked where the account acts on chain ${chainId}; nothing was signed`
  return new RpcError(WALLET_CODE.unauthorized, message, { reason: 'other-chain', asked: String(asked), chainId })
}
