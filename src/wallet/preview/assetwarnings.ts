import { Delegation, Hex } from '../../eth/index.ts'
import type { Address } from '../../eth/index.ts'
import { RpcError } from '../../jsonrpc/index.ts'
import { withTimeout } from '../approvals/timing.ts'
import type { WalletChain } from '../chains/chain.ts'
import { READ_GAS, SYMBOL_CHARS, WARNING_MS } from '../limits.ts'
import type { Warning, WatchedAsset } from '../question.ts'
import { shortAddress, visibleText } from './display.ts'
import { readAll } from './simulation.ts'
import { tokenOf, tokenReads, viewOf, wordOf } from './tokens.ts'
import type { Token } from './tokens.ts'

/** Warns where a suggested token differs from its contract. Queries the chain within WARNING_MS; empty if that fails. Never throws. */
export function assetWarnings({ rpc, name }: WalletChain, asset: WatchedAsset): Promise<readonly Warning[]> {
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
        ...alphabetWarnings(asset),
        ...decimalsWarnings(asset, token),
      ]
    },
    () => [],
  )
  return withTimeout(WARNING_MS, queried, () => [])
}

function typeWarnings({ address, type }: WatchedAsset, { decimals, isCollection }: Token, isMultiToken: boolean): readonly Warning[] {
  const kinds = [...(decimals === null ? [] : ['ERC20']), ...(isCollection ? ['ERC721'] : []), ...(isMultiToken ? ['ERC1155'] : [])]
  if (kinds.includes(type)) return []
  const actual = kinds.length === 0 ? 'does not answer as one' : `answers as one of type ${kinds.join(' and ')}`
  return [caution('asset-type', `The site calls this a token of type ${type}; the contract at ${shortAddress(address)} ${actual}.`)]
}

/** A symbol is optional in ERC-1155. */
function symbolWarnings({ address, type, symbol }: WatchedAsset, { symbol: own }: Token): readonly Warning[] {
  if (symbol === null || (own === null && type === 'ERC1155')) return []
  const named = visibleText(symbol.trim(), SYMBOL_CHARS)
  if (own !== null && named.toLowerCase() === own.replace(/^“(.*)”$/, '$1').toLowerCase()) return []
  const actual = own === null ? 'names no symbol' : `calls itself ${own}`
  return [caution('asset-symbol', `The site calls this token ${named}; the contract at ${shortAddress(address)} ${actual}.`)]
}

/** The alphabets with letters that look like Latin ones. */
function alphabetWarnings({ symbol }: WatchedAsset): readonly Warning[] {
  if (symbol === null || !/\p{sc=Latin}/u.test(symbol) || !/[\p{sc=Cyrillic}\p{sc=Greek}\p{sc=Armenian}\p{sc=Cherokee}]/u.test(symbol))
    return []
  const text = `${visibleText(symbol.trim(), SYMBOL_CHARS)} has letters of several alphabets, so that it may look like the symbol of another token.`
  return [caution('asset-alphabets', text)]
}

function decimalsWarnings({ address, decimals, type }: WatchedAsset, { decimals: own }: Token): readonly Warning[] {
  if (decimals === null || decimals === own || (own === null && type !== 'ERC20')) return []
  const actual = own === null ? 'names none' : `has ${own}`
  const text = `The site says ${decimals} decimals, the contract at ${shortAddress(address)} ${actual}: amounts would look larger or smaller than they are.`
  return [caution('asset-decimals', text)]
}

/** Returns whether the account owns the item of the asset; `unknown`: the chain does not say it within WARNING_MS. Never throws. */
export function itemOwnership(
  { rpc }: WalletChain,
  { type, address, tokenId = '0x0' }: WatchedAsset,
  account: Address,
): Promise<'owned' | 'not-owned' | 'unknown'> {
  const id = BigInt(tokenId)
  const input = type === 'ERC721' ? viewOf('ownerOf(uint256)', id) : viewOf('balanceOf(address,uint256)', account, id)
  const call = { to: address, input, gas: Hex.fromQuantity(READ_GAS) }
  const queried = rpc.request({ method: 'eth_call', params: [call, 'pending'] }).then(
    (answer) => {
      const word = Hex.isHex(answer) ? wordOf(answer) : null
      return word !== null && (type === 'ERC721' ? word === BigInt(account) : word > 0n) ? 'owned' : 'not-owned'
    },
    (error: unknown) => (error instanceof RpcError && isRevert(error) ? 'not-owned' : 'unknown'),
  )
  return withTimeout(WARNING_MS, queried, () => 'unknown')
}

/** ERC-721 contracts revert for an item that does not exist. */
function isRevert({ message, data }: RpcError): boolean {
  return Hex.isHex(data) || /revert/i.test(message)
}

export const OWNER_UNKNOWN = caution('asset-owner-unknown', 'The chain does not say whether the account owns this item.')

function caution(code: string, text: string): Warning {
  return { code, level: 'caution', text }
}

/** ERC-165: supportsInterface with the id of ERC-1155. */
const IS_MULTI_TOKEN = `${viewOf('supportsInterface(bytes4)')}d9b67a26${'0'.repeat(56)}` as Hex // begins with 0x
