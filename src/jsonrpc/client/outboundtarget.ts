import { PublicAddress } from './publicaddress.ts'

/**
 * The allowed targets of requests. `public`: https to public addresses. `loopback`: also http and https to a name of this computer. `anywhere`: http
 * and https to any target, for urls that the owner configured.
 */
export type Reach = 'public' | 'loopback' | 'anywhere'

/** Checks a url before name resolution. Throws OutboundError. */
export function checkedUrl(text: string, reach: Reach = 'public'): URL {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null) throw new OutboundError('url', 'it is not a url')
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw new OutboundError('scheme', `${url.protocol} urls are not fetched, https: is`)
  if (url.username !== '' || url.password !== '')
    throw new OutboundError('credentials', `the url of ${url.host} holds a user name or password`)
  if (url.port !== '' && BAD_PORTS.has(Number(url.port)))
    throw new OutboundError('port', `port ${url.port} is reserved for a protocol other than HTTP`)
  if (reach === 'anywhere') return url
  const isOurs = reach === 'loopback' && isLoopbackName(url.hostname)
  if (url.protocol === 'http:' && !isOurs)
    throw new OutboundError('scheme', `http: is not safe over a network; ${url.host} must be reached by https:`)
  const address = PublicAddress.parse(bareHost(url.hostname))
  if (address !== null) assertReachable(url.hostname, [address], reach)
  return url
}

/** All addresses of a name must be allowed: a mixture is an attack. Throws OutboundError. */
export function assertReachable(hostname: string, addresses: readonly bigint[], reach: Reach): void {
  if (reach === 'anywhere') return
  const isAllowed = reach === 'loopback' && isLoopbackName(hostname) ? PublicAddress.isLoopback : PublicAddress.isPublic
  if (addresses.every(isAllowed)) return
  throw new OutboundError('forbidden', `${hostname} is an address of this computer or of a private network, which is not fetched`)
}

/** `name`: a `URL.hostname`. Names below `.localhost` are loopback (RFC 6761). */
export function isLoopbackName(hostname: string): boolean {
  if (hostname === 'localhost' || hostname.endsWith('.localhost')) return true
  const address = PublicAddress.parse(bareHost(hostname))
  return address !== null && PublicAddress.isLoopback(address)
}

/** Removes the brackets of IPv6 and the trailing dot of a full name. */
export function bareHost(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
}

/** The Fetch standard's bad ports with text protocols, and a few databases. */
const BAD_PORTS: ReadonlySet<number> = new Set([
  1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110, 111, 113, 115, 117,
  119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636,
  989, 990, 993, 995, 1719, 1720, 1723, 2049, 3306, 3659, 4045, 4190, 5060, 5061, 5432, 6000, 6379, 6566, 6665, 6666, 6667, 6668, 6669,
  6679, 6697, 10080, 11211, 27017,
])

export type OutboundReason = 'url' | 'scheme' | 'credentials' | 'port' | 'forbidden' | 'unreachable' | 'redirect' | 'timeout' | 'too-large'

/** A request without a reply. The message names the origin of the url, never its path or query, which may contain access keys. */
export class OutboundError extends Error {
  readonly reason: OutboundReason
  /** the server was reached and its certificate was valid before the error; true if that is unknown */
  readonly isConnected: boolean

  constructor(reason: OutboundReason, message: string, isConnected = false) {
    super(message)
    this.name = 'OutboundError'
    this.reason = reason
    this.isConnected = isConnected
  }
}
