import { Hex } from '../../eth/index.ts'
import type { Address } from '../../eth/index.ts'
import { CODE, RpcError, required, schema } from '../../jsonrpc/index.ts'
import type { Schema } from '../../jsonrpc/index.ts'
import { chainLabel } from '../chains/chain.ts'
import type { WalletChain } from '../chains/chain.ts'
import { assertStillPermitted, selectedChain } from '../connecting.ts'
import { WALLET_CODE } from '../errors.ts'
import { walletMethod } from '../method.ts'
import type { WalletMethod } from '../method.ts'
import { OWNER_UNKNOWN, assetWarnings, itemOwnership } from '../preview/assetwarnings.ts'
import type { Warning, WatchedAsset } from '../question.ts'
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

/** Decimal text, as MetaMask takes it, a 0x quantity or a JSON number. */
const tokenId: Schema<bigint> = {
  json: { type: 'string', pattern: '^([0-9]{1,78}|0x[0-9a-fA-F]{1,64})$' },
  parse: (value, path) => {
    const text = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : schema.string.parse(value, path)
    const id = /^(\d{1,78}|0x[0-9a-f]{1,64})$/i.test(text) ? BigInt(text) : null
    if (id === null || id >= 1n << 256n) throw schema.refused(path, `expected a token id of at most 256 bits, got ${text.slice(0, 80)}`)
    return id
  },
}

/** EIP-747. The image is never fetched. */
const asset = schema.object({
  type: schema.oneOf('ERC20', 'ERC721', 'ERC1155'),
  options: schema.object({
    address: schema.address,
    symbol: schema.maybe(symbol),
    decimals: schema.maybe(decimals),
    tokenId: schema.maybe(tokenId),
  }),
})

export const ASSET_METHODS: readonly WalletMethod[] = [
  walletMethod({
    name: 'wallet_watchAsset',
    doc: 'Asks the user to add a token to the wallet (EIP-747), with a warning if its contract has another symbol, other decimals or another type. The item of an ERC-721 or ERC-1155 token that `tokenId` names must be owned by the selected account. The image is not fetched.',
    params: [required('asset', asset)],
    isBare: true,
    result: schema.boolean.json,
    errors: {
      [CODE.server]: 'the selected account does not own the item',
      [WALLET_CODE.rejected]: 'the user refused, or the approval request timed out',
      [WALLET_CODE.unauthorized]: 'the origin is not connected',
    },
    example: {
      params: [{ type: 'ERC20', options: { address: '0x5fbdb2315678afecb367f032d93f642f64180aa3', symbol: 'USDC', decimals: 6 } }],
      result: true,
    },
    handler: async (wallet, [{ type, options }], caller) => {
      const account = permittedAccount(wallet.sites.get(caller.origin))
      const item = type === 'ERC20' || options.tokenId === undefined ? {} : { tokenId: Hex.fromQuantity(options.tokenId) }
      const watched = { type, address: options.address, symbol: options.symbol ?? null, decimals: options.decimals ?? null, ...item }
      const chain = selectedChain(wallet, caller.origin)
      const [own, unlike] = await Promise.all([ownershipWarnings(chain, watched, account), assetWarnings(chain, watched)])
      const warnings = [...own, ...unlike]
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

/** Throws RpcError -32000, as MetaMask does, if the account does not own the item. */
async function ownershipWarnings(chain: WalletChain, asset: WatchedAsset, account: Address): Promise<readonly Warning[]> {
  if (asset.tokenId === undefined) return []
  const ownership = await itemOwnership(chain, asset, account)
  if (ownership === 'unknown') return [OWNER_UNKNOWN]
  if (ownership === 'owned') return []
  const message = `Suggested NFT is not owned by the selected account: ${account} does not own #${BigInt(asset.tokenId)} of ${asset.address}`
  throw new RpcError(CODE.server, message, { reason: 'not-owned', account })
}
