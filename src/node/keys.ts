import { Hash, Mnemonic, Secp256k1 } from '../eth/index.ts'
import type { Address, PrivateKey } from '../eth/index.ts'
import type { PocketchainOptions } from './options.ts'

/** Known to everybody. */
export const DEFAULT_MNEMONIC = 'test test test test test test test test test test test junk'
const PATH = "m/44'/60'/0'/0"

export interface DevAccount {
  readonly address: Address
  readonly privateKey: Uint8Array
}

/** The words and the path that keys follow from. */
type Words = Pick<PocketchainOptions, 'mnemonic' | 'derivationPath'>

export function accountsOf(options: PocketchainOptions): readonly DevAccount[] {
  const { words, path } = wordsOf(options)
  const keys = Mnemonic.privateKeys(words, options.accounts ?? 10, path)
  return keys.map((privateKey) => ({ address: Secp256k1.address(privateKey), privateKey }))
}

/** No dev account, whose balances and nonces are the tests' own; whoever knows the words knows this key as well. */
export function bundlerKey(options: PocketchainOptions): PrivateKey {
  const given = options.bundler === false ? undefined : options.bundler?.key
  return given ?? keyNamed('bundler', options)
}

/** As the bundler's: of no dev account, and known to whoever knows the words. */
export function sponsorKeys(options: Words): Readonly<Record<'owner' | 'signer', PrivateKey>> {
  return { owner: keyNamed('sponsor owner', options), signer: keyNamed('sponsor signer', options) }
}

/** True for the words and the path that everybody has. */
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
