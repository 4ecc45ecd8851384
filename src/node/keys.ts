import { Hash, HdKey, Hex, Mnemonic, Secp256k1 } from '../eth/index.ts'
import type { Address, PrivateKey } from '../eth/index.ts'
import type { PocketchainOptions } from './options.ts'

/** The publicly known mnemonic of anvil and Hardhat. */
export const DEFAULT_MNEMONIC = 'test test test test test test test test test test test junk'
const PATH = HdKey.ACCOUNTS
/** The node at PATH of the default mnemonic; its derivation, mostly PBKDF2, would take 2 ms of each start. */
const DEFAULT_PARENT: HdKey = {
  privateKey: Hex.toBytes('0xdd23ca549a97cb330b011aebb674730df8b14acaee42d211ab45692699ab8ba5'),
  chainCode: Hex.toBytes('0x236a4a5d77e29cc09182a8a6c9d288cb04e638fcd0743bbc068c16665d1e4d2c'),
}

export interface DevAccount {
  readonly address: Address
  /** 32 bytes, as viem and ethers take them */
  readonly privateKey: Hex
}

/** The options from which keys are derived. */
type KeyOptions = Pick<PocketchainOptions, 'mnemonic' | 'derivationPath'>

export function accountsOf(options: PocketchainOptions): readonly DevAccount[] {
  const { mnemonic, path } = mnemonicOf(options)
  const count = options.accounts ?? 10
  const keys = hasDefaultMnemonic(options)
    ? HdKey.children(DEFAULT_PARENT, count).map(({ privateKey }) => privateKey)
    : Mnemonic.privateKeys(mnemonic, count, path)
  return keys.map((key) => ({ address: Secp256k1.address(key), privateKey: Hex.fromBytes(key) }))
}

/** Returns the key of the bundler, derived from the mnemonic. It is not a dev account, whose balances and nonces belong to tests. */
export function bundlerKey(options: PocketchainOptions): PrivateKey {
  const given = options.bundler === false ? undefined : options.bundler?.key
  return given ?? keyNamed('bundler', options)
}

/** Returns the keys of the sponsor, derived in the same way. */
export function sponsorKeys(options: KeyOptions): Readonly<Record<'owner' | 'signer', PrivateKey>> {
  return { owner: keyNamed('sponsor owner', options), signer: keyNamed('sponsor signer', options) }
}

/** True for the default mnemonic and derivation path. */
export function hasDefaultMnemonic(options: KeyOptions): boolean {
  const { mnemonic, path } = mnemonicOf(options)
  return mnemonic === DEFAULT_MNEMONIC && path === PATH
}

function keyNamed(name: string, options: KeyOptions): PrivateKey {
  const { mnemonic, path } = mnemonicOf(options)
  return Hash.toBytes(Hash.ofText(`pocketchain ${name}\n${mnemonic}\n${path}`))
}

function mnemonicOf({ mnemonic = DEFAULT_MNEMONIC, derivationPath = PATH }: KeyOptions): {
  readonly mnemonic: string
  readonly path: string
} {
  return { mnemonic, path: derivationPath.replace(/\/$/, '') }
}
