import { Hash, Mnemonic, Secp256k1 } from '../eth/index.ts'
import type { Address, PrivateKey } from '../eth/index.ts'
import type { PocketchainOptions } from './options.ts'

/** The publicly known mnemonic of anvil and Hardhat. */
export const DEFAULT_MNEMONIC = 'test test test test test test test test test test test junk'
const PATH = "m/44'/60'/0'/0"

export interface DevAccount {
  readonly address: Address
  readonly privateKey: Uint8Array
}

/** The options from which keys are derived. */
type KeyOptions = Pick<PocketchainOptions, 'mnemonic' | 'derivationPath'>

export function accountsOf(options: PocketchainOptions): readonly DevAccount[] {
  const { mnemonic, path } = mnemonicOf(options)
  const keys = Mnemonic.privateKeys(mnemonic, options.accounts ?? 10, path)
  return keys.map((privateKey) => ({ address: Secp256k1.address(privateKey), privateKey }))
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
