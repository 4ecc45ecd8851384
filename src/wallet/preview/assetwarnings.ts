import { Delegation, Hex } from '../../eth/index.ts'
import { withTimeout } from '../approvals/timing.ts'
import type { WalletChain } from '../chains/chain.ts'
import { SYMBOL_CHARS, WARNING_MS } from '../limits.ts'
import type { Warning, WatchAssetQuestion } from '../question.ts'
import { shortAddress, visibleText } from './display.ts'
import { readAll } from './simulation.ts'
import { tokenOf, tokenReads, viewOf, wordOf } from './tokens.ts'
import type { Token } from './tokens.ts'

type Asset = WatchAssetQuestion['asset']

/** Warns where a suggested token differs from its contract. Queries the chain within WARNING_MS; empty if that fails. Never throws. */
export function assetWarnings({ rpc, name }: WalletChain, asset: Asset): Promise<readonly Warning[]> {
  const { address } = asset
  const reads = [...tokenReads(address), { to: address, input: IS_MULTI_TOKEN }]
  const queried = Promise.all([rpc.request({ method: 'eth_getCode', params: [address, 'pending'] }), readAll(rpc, reads)]).then(
    ([code, answers]) => {
      if (!Hex.isHex(code)) return []
      if (code === '0x') return [caution('asset-without-code', `There is no contract at ${address} on ${visibleText(name, SYMBOL_CHARS)}.`)]
      if (Delegation.ofText(code) !== null) return [caution('asset-without-code', `${address} is an account with a key, not a token.`)]
      const token = tokenOf(address, answers) ?? { address, symbol: null, decimals: null, isCollection: false }
      return [
        ...typeWarnings(asset, token, wordOf(answers.at(-1) ?? null) === 1n),
        ...symbolWarnings(asset, token),
        ...decimalsWarnings(asset, token),
      ]
    },
    () => [],
  )
  return withTimeout(WARNING_MS, queried, () => [])
}

function typeWarnings({ address, type }: Asset, { decimals, isCollection }: Token, isMultiToken: boolean): readonly Warning[] {
  const kinds = [...(decimals === null ? [] : ['ERC20']), ...(isCollection ? ['ERC721'] : []), ...(isMultiToken ? ['ERC1155'] : [])]
  if (kinds.includes(type)) return []
  const actual = kinds.length === 0 ? 'does not answer as one' : `answers as one of type ${kinds.join(' and ')}`
  return [caution('asset-type', `The site calls this a token of type ${type}; the contract at ${shortAddress(address)} ${actual}.`)]
}

/** A symbol is optional in ERC-1155. */
function symbolWarnings({ address, type, symbol }: Asset, { symbol: own }: Token): readonly Warning[] {
  if (symbol === null || (own === null && type === 'ERC1155')) return []
  const named = visibleText(symbol.trim(), SYMBOL_CHARS)
  if (own !== null && named.toLowerCase() === own.replace(/^“(.*)”$/, '$1').toLowerCase()) return []
  const actual = own === null ? 'names no symbol' : `calls itself ${own}`
  return [caution('asset-symbol', `The site calls this token ${named}; the contract at ${shortAddress(address)} ${actual}.`)]
}

function decimalsWarnings({ address, decimals, type }: Asset, { decimals: own }: Token): readonly Warning[] {
  if (decimals === null || decimals === own || (own === null && type !== 'ERC20')) return []
  const actual = own === null ? 'names none' : `has ${own}`
  const text = `The site says ${decimals} decimals, the contract at ${shortAddress(address)} ${actual}: amounts would look larger or smaller than they are.`
  return [caution('asset-decimals', text)]
}

function caution(code: string, text: string): Warning {
  return { code, level: 'caution', text }
}

/** ERC-165: supportsInterface with the id of ERC-1155. */
const IS_MULTI_TOKEN = `${viewOf('supportsInterface(bytes4)')}d9b67a26${'0'.repeat(56)}` as Hex // begins with 0x
