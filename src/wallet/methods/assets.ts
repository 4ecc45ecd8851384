import { required, schema } from '../../jsonrpc/index.ts'
import type { Schema } from '../../jsonrpc/index.ts'
import { chainLabel } from '../chains/chain.ts'
import { assertStillPermitted, selectedChain } from '../connecting.ts'
import { WALLET_CODE } from '../errors.ts'
import { walletMethod } from '../method.ts'
import type { WalletMethod } from '../method.ts'
import { assetWarnings } from '../preview/assetwarnings.ts'
import { permittedAccount } from '../sites.ts'

/** MetaMask's limit. */
const SYMBOL_CHARS = 11
const DECIMALS = 36

const symbol: Schema<string> = {
  json: { type: 'string', maxLength: SYMBOL_CHARS },
  parse: (value, path) => {
    const text = schema.string.parse(value, path)
    if (text.length > SYMBOL_CHARS) throw schema.refused(path, `${text.length} characters, at most ${SYMBOL_CHARS} are accepted`)
    return text
  },
}

/** Some apps send a string. */
const decimals: Schema<number> = {
  json: { type: 'integer', minimum: 0, maximum: DECIMALS },
  parse: (value, path) => {
    const number = schema.integer.parse(value, path)
    if (number > DECIMALS) throw schema.refused(path, `${number} decimals, at most ${DECIMALS} are accepted`)
    return number
  },
}

/** EIP-747. The image is never fetched. */
const asset = schema.object({
  type: schema.oneOf('ERC20', 'ERC721', 'ERC1155'),
  options: schema.object({ address: schema.address, symbol: schema.maybe(symbol), decimals: schema.maybe(decimals) }),
})

export const ASSET_METHODS: readonly WalletMethod[] = [
  walletMethod({
    name: 'wallet_watchAsset',
    doc: 'Asks the user to add a token to the wallet (EIP-747), with a warning if its contract has another symbol, other decimals or another type. The image is not fetched.',
    params: [required('asset', asset)],
    isBare: true,
    result: schema.boolean.json,
    errors: {
      [WALLET_CODE.rejected]: 'the user refused, or the approval request timed out',
      [WALLET_CODE.unauthorized]: 'the origin is not connected',
    },
    example: {
      params: [{ type: 'ERC20', options: { address: '0x5fbdb2315678afecb367f032d93f642f64180aa3', symbol: 'USDC', decimals: 6 } }],
      result: true,
    },
    handler: async (wallet, [{ type, options }], caller) => {
      const account = permittedAccount(wallet.sites.get(caller.origin))
      const watched = { type, address: options.address, symbol: options.symbol ?? null, decimals: options.decimals ?? null }
      const chain = selectedChain(wallet, caller.origin)
      const warnings = await assetWarnings(chain, watched)
      const draft = {
        kind: 'watchAsset',
        origin: caller.origin,
        method: 'wallet_watchAsset',
        warnings,
        chain: chainLabel(chain),
        asset: watched,
      } as const
      assertStillPermitted(wallet, caller, chain.chainId, account)
      await wallet.approvals.ask(draft, { signal: caller.signal })
      return true
    },
  }),
]
