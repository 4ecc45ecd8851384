import { Address, Mnemonic } from '../eth/index.ts'
import { DEFAULT_MNEMONIC } from '../index.ts'
import type { Pocketchain } from '../index.ts'
import { CommandError, EXIT } from './exit.ts'
import { MNEMONIC_BITS } from './options.ts'
import type { Settings } from './options.ts'

/** The dev accounts as the banner shows them. */
export interface DevKeys {
  /** with checksum (EIP-55) */
  readonly addresses: readonly string[]
  /** wei at start, in the order of `addresses` */
  readonly balances: readonly bigint[]
  /** derivation path without the slash before the index */
  readonly path: string
  /** null for a mnemonic of the user, which may control real funds: neither it nor its keys are printed */
  readonly secrets: { readonly mnemonic: string; readonly privateKeys: readonly string[] } | null
}

/** Returns the mnemonic of the settings. Throws CommandError if it is invalid. */
export async function mnemonicOf(settings: Settings): Promise<string> {
  if (settings.mnemonicRandom !== null) return Mnemonic.random(MNEMONIC_BITS[settings.mnemonicRandom])
  if (settings.mnemonicSeedUnsafe !== null) return (await import('./seededmnemonic.ts')).seededMnemonic(settings.mnemonicSeedUnsafe)
  // The word list takes 80 ms to load; the default mnemonic needs no check.
  const mnemonic = settings.mnemonic ?? DEFAULT_MNEMONIC
  if (mnemonic === DEFAULT_MNEMONIC || (await Mnemonic.validate(mnemonic))) return mnemonic
  throw new CommandError(EXIT.usage, '--mnemonic: expected 12 to 24 words of the English BIP-39 list with a valid checksum')
}

export function devKeysOf(node: Pocketchain, settings: Settings, mnemonic: string): DevKeys {
  const { view } = node.chain.head
  const state = view.state(view.head)
  const isPrintable = settings.mnemonicRandom !== null || settings.mnemonicSeedUnsafe !== null || mnemonic === DEFAULT_MNEMONIC
  return {
    addresses: node.accounts.map(({ address }) => Address.checksum(address)),
    balances: node.accounts.map(({ address }) => state.account(address)?.balance ?? 0n),
    path: settings.derivationPath.replace(/\/$/, ''),
    secrets: isPrintable ? { mnemonic, privateKeys: node.accounts.map(({ privateKey }) => privateKey) } : null,
  }
}
