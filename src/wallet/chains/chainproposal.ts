import { Hex, INVISIBLE } from '../../eth/index.ts'
import { OutboundError, checkedUrl, invalidParams, schema } from '../../jsonrpc/index.ts'
import type { Schema } from '../../jsonrpc/index.ts'
import type { ChainInfo } from './chain.ts'
import type { Chains } from './chains.ts'
import { CHAIN_NAME_CHARS, CHAIN_URLS, CURRENCY_NAME_CHARS, CURRENCY_SYMBOL_CHARS, URL_CHARS } from '../limits.ts'
import type { ProposedChain } from '../question.ts'

/** A chain id as a quantity without leading zeros, as in MetaMask. */
export const chainId: Schema<number> = {
  json: { title: 'chain id', type: 'string', pattern: '^0x[1-9a-fA-F][0-9a-fA-F]{0,12}$' },
  parse: (value, path) => {
    const text = schema.string.parse(value, path)
    if (!CHAIN_ID.test(text))
      throw schema.refused(path, `expected a chain id such as 0x2105 (hex, above zero, no leading zeros), got ${quoted(text)}`)
    const id = Number(text)
    if (id > MAX_CHAIN_ID) throw schema.refused(path, `the chain id ${quoted(text)} is above ${MAX_CHAIN_ID}`)
    return id
  },
}

/** The largest id for which `chainId * 2 + 36`, the v of a legacy signature, is a safe integer (MetaMask's limit). */
const MAX_CHAIN_ID = 4_503_599_627_370_476

const CHAIN_ID = /^0x[1-9a-f][0-9a-f]{0,12}$/i

const decimals: Schema<number> = {
  json: { type: 'integer', minimum: 0, maximum: 36 },
  parse: (value, path) => {
    if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > 36) {
      throw schema.mismatch(path, 'a whole number from 0 to 36', value)
    }
    return value
  },
}

/** https, or http to loopback. Private addresses pass here and are refused when the url is requested. */
const rpcUrl: Schema<string> = {
  json: { type: 'string', format: 'uri', maxLength: URL_CHARS },
  parse: (value, path) => {
    const text = shortUrl(value, path)
    try {
      checkedUrl(text, 'loopback')
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error
      if (error.reason !== 'forbidden') throw schema.refused(path, `${error.message} (${quoted(text)})`)
    }
    return text
  },
}

/** Becomes a link on a page, so the scheme must not run code. */
const explorerUrl: Schema<string> = {
  json: rpcUrl.json,
  parse: (value, path) => {
    const text = shortUrl(value, path)
    if (!isWeb(text)) throw schema.refused(path, `expected a http or https url, got ${quoted(text)}`)
    return text
  },
}

const shape = schema.object({
  chainId,
  chainName: label(CHAIN_NAME_CHARS),
  nativeCurrency: schema.object({ name: label(CURRENCY_NAME_CHARS), symbol: label(CURRENCY_SYMBOL_CHARS), decimals }),
  rpcUrls: schema.arrayOf(rpcUrl, CHAIN_URLS),
  blockExplorerUrls: schema.maybe(schema.arrayOf(explorerUrl, CHAIN_URLS)),
  iconUrls: schema.maybe(schema.arrayOf(schema.string, CHAIN_URLS)),
})

/** The parameter of wallet_addEthereumChain (EIP-3085, interface 2.5). Keys that it does not name are ignored. */
export const proposal: Schema<ChainInfo> = {
  json: shape.json,
  parse: (value, path) => {
    const { chainName, nativeCurrency, rpcUrls, blockExplorerUrls = [], iconUrls = [], ...rest } = shape.parse(value, path)
    if (rpcUrls.length === 0) throw schema.refused(`${path}.rpcUrls`, 'it is empty; name at least one url')
    return { ...rest, name: chainName, nativeCurrency, rpcUrls, blockExplorerUrls, iconUrls: iconUrls.filter(isShown) }
  },
}

/** A displayed name. Invisible and direction characters are refused, since they can make it look like another one. */
function label(maxChars: number): Schema<string> {
  return {
    json: { type: 'string', minLength: 1, maxLength: maxChars },
    parse: (value, path) => {
      const text = schema.string.parse(value, path).trim()
      if (text === '') throw schema.refused(path, 'it is empty')
      if (text.length > maxChars) throw schema.refused(path, `it has ${text.length} characters, at most ${maxChars} are accepted`)
      if (INVISIBLE.test(text)) throw schema.refused(path, `it holds characters that cannot be seen: ${quoted(text)}`)
      return text
    },
  }
}

function shortUrl(value: unknown, path: string): string {
  const text = schema.string.parse(value, path)
  if (text.length > URL_CHARS) throw schema.refused(path, `it has ${text.length} characters, at most ${URL_CHARS} are accepted`)
  // URL parsers drop or replace these characters, so the displayed url could differ from the requested one.
  if (INVALID_IN_URL.test(text)) throw schema.refused(path, `it holds characters that a url does not have: ${quoted(text)}`)
  return text
}

/** Spaces, invisible characters, and the backslash, which only browsers read as a slash. */
const INVALID_IN_URL = /[\p{Z}\p{Cc}\p{Cf}\\]/u

function isWeb(text: string): boolean {
  return URL.canParse(text) && ['https:', 'http:'].includes(new URL(text).protocol)
}

/** Icons are kept for display and never fetched; anything but http and https is dropped. */
function isShown(text: string): boolean {
  return text.length <= URL_CHARS && isWeb(text)
}

/** Throws RpcError -32602 for a known chain with another currency symbol, under which amounts would be misread. */
export function assertSameSymbol(chains: Chains, { chainId: id, nativeCurrency }: ChainInfo): void {
  const known = chains.get(id)
  if (known === null || known.nativeCurrency.symbol === nativeCurrency.symbol) return
  const message = `invalid nativeCurrency.symbol: the wallet has chain ${id} with ${quoted(known.nativeCurrency.symbol)}, not ${quoted(nativeCurrency.symbol)}`
  throw invalidParams(message, { reason: 'symbol-differs', known: known.nativeCurrency.symbol })
}

/** The proposal as the question shows it. */
export function proposedChain(info: ChainInfo): ProposedChain {
  const { name, nativeCurrency, rpcUrls, blockExplorerUrls, iconUrls } = info
  return { chainId: Hex.fromQuantity(info.chainId), chainName: name, nativeCurrency, rpcUrls, blockExplorerUrls, iconUrls }
}

function quoted(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 77)}…` : text)
}
