import { OutboundError, checkedUrl, isLoopbackName } from '../../jsonrpc/index.ts'
import type { RpcError } from '../../jsonrpc/index.ts'
import { invalidSponsorUrl } from '../errors.ts'
import { URL_CHARS } from '../limits.ts'
import type { WalletSettings } from '../settings.ts'

/** The settings that decide which sponsors may be requested. */
export type SponsorSettings = Pick<WalletSettings, 'sponsor' | 'allowHttpLoopback' | 'fetch'>

/** The address of a sponsor and the networks that a request to it may reach. */
export interface SponsorTarget {
  /** host name and port, for display */
  readonly host: string
  readonly origin: string
  /** candidates in the order in which they are tried; HTTP 404 and 405 lead to the next */
  readonly urls: readonly [string, ...string[]]
  /** `embedded`: the sponsor of the same process, reached on loopback with its own certificate */
  readonly reach: 'public' | 'loopback' | 'embedded'
}

/** interface 8: https only. Throws RpcError 4200 for a url that may not be fetched. */
export function sponsorTarget(url: string, settings: SponsorSettings): SponsorTarget {
  if (url.length > URL_CHARS) throw invalidSponsorUrl('url', `it has ${url.length} characters, at most ${URL_CHARS} are taken`)
  const reach = reachOf(url, settings)
  const { host, origin } = checked(url, reach)
  return { host, origin, urls: candidateUrls(url), reach }
}

/**
 * Returns the urls at which a service may be: interface 4.7 appends `/rpc` to the given url, ERC-7677 uses the url itself. A path that ends in `/rpc` is
 * used unchanged. For an empty path `/rpc` is tried first; for any other path, which may contain a key, the url itself. The query is kept.
 */
export function candidateUrls(url: string): [string, ...string[]] {
  const given = new URL(url)
  given.hash = ''
  const bare = given.pathname.replace(/\/+$/, '')
  if (bare.endsWith('/rpc')) return [given.href]
  const appended = new URL(given)
  appended.pathname = `${bare}/rpc`
  return bare === '' ? [appended.href, given.href] : [given.href, appended.href]
}

/** The embedded sponsor has exactly its origins: another port or name of this computer may be another server. */
function reachOf(text: string, { sponsor, allowHttpLoopback }: SponsorSettings): SponsorTarget['reach'] {
  const url = URL.canParse(text) ? new URL(text) : null
  const isEmbedded = url?.protocol === 'https:' && sponsor?.origins().includes(url.origin) === true
  if (isEmbedded) return 'embedded'
  return allowHttpLoopback && url !== null && isLoopbackName(url.hostname) ? 'loopback' : 'public'
}

function checked(url: string, reach: SponsorTarget['reach']): URL {
  try {
    return checkedUrl(url, reach === 'embedded' ? 'loopback' : reach)
  } catch (error) {
    throw error instanceof OutboundError ? refused(error) : error
  }
}

/** OutboundError's message contains neither path nor query. */
function refused({ reason, message }: OutboundError): RpcError {
  const isLoopback = reason === 'scheme' || reason === 'forbidden'
  return invalidSponsorUrl(reason, isLoopback ? `${message}${LOOPBACK}` : message)
}

const LOOPBACK = ' (a sponsor on this machine requires the option allowHttpLoopback of the wallet)'
