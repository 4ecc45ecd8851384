import { Address, Hex, Mnemonic } from '../eth/index.ts'
import { DEFAULT_MNEMONIC } from '../index.ts'
import type { Pocketchain } from '../index.ts'
import { CommandError, EXIT } from './exit.ts'
import type { Settings } from './options.ts'

/** The dev accounts as they may be shown. */
export interface DevKeys {
  /** with checksum (EIP-55) */
  readonly addresses: readonly string[]
  /** wei at the start, in the same order */
  readonly balances: readonly bigint[]
  /** without the slash before the index */
  readonly path: string
  /** null when the words are the user's own: they may guard real money, so neither they nor their keys are ever printed */
  readonly secrets: { readonly mnemonic: string; readonly privateKeys: readonly string[] } | null
}

/** The words to use. Throws CommandError when they are no mnemonic. */
export async function mnemonicOf(settings: Settings): Promise<string> {
  if (settings.mnemonicRandom !== null) {
    if (settings.mnemonic !== null) throw new CommandError(EXIT.usage, '--mnemonic and --mnemonic-random exclude each other')
    return Mnemonic.random(STRENGTH_BITS[settings.mnemonicRandom])
  }
  // The word list takes 80 ms to load; the well-known words need no check.
  const mnemonic = settings.mnemonic ?? DEFAULT_MNEMONIC
  if (mnemonic === DEFAULT_MNEMONIC || (await Mnemonic.validate(mnemonic))) return mnemonic
  throw new CommandError(EXIT.usage, '--mnemonic: these are not the 12 to 24 English words of a mnemonic, or their checksum is wrong')
}

const STRENGTH_BITS = { '12': 128, '15': 160, '18': 192, '21': 224, '24': 256 } as const

export function devKeys(node: Pocketchain, settings: Settings, mnemonic: string): DevKeys {
  const { view } = node.chain.head
  const state = view.state(view.head)
  const mayShow = settings.mnemonicRandom !== null || mnemonic === DEFAULT_MNEMONIC
  return {
    addresses: node.accounts.map(({ address }) => Address.checksum(address)),
    balances: node.accounts.map(({ address }) => state.account(address)?.balance ?? 0n),
    path: settings.derivationPath.replace(/\/$/, ''),
    secrets: mayShow ? { mnemonic, privateKeys: node.accounts.map(({ privateKey }) => Hex.fromBytes(privateKey)) } : null,
  }
}
