import { OutboundError, checkedUrl, isLoopbackName } from '../../jsonrpc/index.ts'
import type { RpcError } from '../../jsonrpc/index.ts'
import { invalidSponsorUrl } from '../errors.ts'
import { URL_CHARS } from '../limits.ts'
import type { WalletSettings } from '../settings.ts'

/** What of a wallet's settings says which sponsors may be asked. */
export type SponsorSettings = Pick<WalletSettings, 'sponsor' | 'allowHttpLoopback' | 'fetch'>

/** Where a sponsor is, and how far a request to it may go. */
export interface SponsorTarget {
  /** as a person reads it: name and port */
  readonly host: string
  readonly origin: string
  /** what is fetched, the first one first; a second one is tried when the first is no such place (HTTP 404, 405) */
  readonly urls: readonly [string, ...string[]]
  /** `embedded`: the sponsor of the same process, reached on loopback with its own certificate */
  readonly reach: 'public' | 'loopback' | 'embedded'
}

/** interface 8: https only. Throws RpcError 4200 for a url that is never fetched. */
export function sponsorTarget(url: string, settings: SponsorSettings): SponsorTarget {
  if (url.length > URL_CHARS) throw invalidSponsorUrl('url', `it has ${url.length} characters, at most ${URL_CHARS} are taken`)
  const reach = reachOf(url, settings)
  const { host, origin } = checked(url, reach)
  return { host, origin, urls: candidates(url), reach }
}

/**
 * interface 4.7 has services at `/rpc` of their url, ERC-7677 has them at the url itself; a key in the path must not be broken. A path that ends in
 * `rpc` is taken as it is; an empty one is `/rpc`, or as it is; any other one as it is, or with `/rpc` behind. Queries stay.
 */
export function candidates(url: string): [string, ...string[]] {
  const given = new URL(url)
  given.hash = ''
  const bare = given.pathname.replace(/\/+$/, '')
  if (bare.endsWith('/rpc')) return [given.href]
  const appended = new URL(given)
  appended.pathname = `${bare}/rpc`
  return bare === '' ? [appended.href, given.href] : [given.href, appended.href]
}

/** The embedded sponsor is exactly at its origins: another port or another name of this computer is somebody else. */
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

/** Without path and query, as OutboundError has it. */
function refused({ reason, message }: OutboundError): RpcError {
  const isLoopback = reason === 'scheme' || reason === 'forbidden'
  return invalidSponsorUrl(reason, isLoopback ? `${message}${LOOPBACK}` : message)
}

const LOOPBACK = ' (a sponsor on this computer may be asked when the wallet has the option allowHttpLoopback)'
