import { Hash, Mnemonic, Secp256k1 } from '../eth/index.ts'
import type { Address, PrivateKey } from '../eth/index.ts'
import type { PocketchainOptions } from './options.ts'

/** The public mnemonic of development chains. */
export const DEFAULT_MNEMONIC = 'test test test test test test test test test test test junk'
const PATH = "m/44'/60'/0'/0"

export interface DevAccount {
  readonly address: Address
  readonly privateKey: Uint8Array
}

/** The options that keys are derived from. */
type Words = Pick<PocketchainOptions, 'mnemonic' | 'derivationPath'>

export function accountsOf(options: PocketchainOptions): readonly DevAccount[] {
  const { words, path } = wordsOf(options)
  const keys = Mnemonic.privateKeys(words, options.accounts ?? 10, path)
  return keys.map((privateKey) => ({ address: Secp256k1.address(privateKey), privateKey }))
}

/** Not a dev account, whose balances and nonces belong to the tests. The mnemonic reveals this key. */
export function bundlerKey(options: PocketchainOptions): PrivateKey {
  const given = options.bundler === false ? undefined : options.bundler?.key
  return given ?? keyNamed('bundler', options)
}

/** As the bundler's key: not dev accounts, and revealed by the mnemonic. */
export function sponsorKeys(options: Words): Readonly<Record<'owner' | 'signer', PrivateKey>> {
  return { owner: keyNamed('sponsor owner', options), signer: keyNamed('sponsor signer', options) }
}

/** Returns whether the mnemonic and the path are the public defaults. */
export function hasDefaultWords(options: Words): boolean {
  const { words, path } = wordsOf(options)
  return words === DEFAULT_MNEMONIC && path === PATH
}

function keyNamed(name: string, options: Words): PrivateKey {
  const { words, path } = wordsOf(options)
  return Hash.toBytes(Hash.ofText(`pocketchain ${name}\n${words}\n${path}`))
}

function wordsOf({ mnemonic = DEFAULT_MNEMONIC, derivationPath = PATH }: Words): { readonly words: string; readonly path: string } {
  return { words: mnemonic, path: derivationPath.replace(/\/$/, '') }
}
