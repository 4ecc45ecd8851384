import type { IncomingHttpHeaders } from 'node:http'
import { ALLOW_PROGRAM_ORIGINS } from '../../compat.ts'
import { isLoopbackName } from '../../jsonrpc/index.ts'
import { CACHED_DECISIONS, ORIGIN_CHARS } from '../limits.ts'

export interface GuardOptions {
  /** Origins other than loopback that may use the node, such as `https://app.example`; `*` for all. */
  readonly allowOrigins?: readonly string[]
  /** Host names and addresses other than loopback under which pages may reach this node; ports are ignored. */
  readonly allowHosts?: readonly string[]
  /** Boolean, true by default. false: no CORS headers are sent, and only pages from this server may use the node */
  readonly cors?: boolean
}

/**
 * Admits requests by Host and Origin. Programs (which send no Origin), pages on loopback and browser extensions are admitted, other pages are not: the
 * dev accounts sign for every caller. A request with an Origin must also have an allowed Host: a page of `http://evil:8545` whose name resolves to
 * 127.0.0.1 (DNS rebinding; LLMNR and DHCP search domains do it for names without a dot) would have the node's own origin.
 * Browsers send an Origin with every POST and WebSocket; containers send none and may use any name, such as `http://pocketchain:8545`.
 */
export class Guard {
  readonly #cors: boolean
  readonly #anyOrigin: boolean
  readonly #origins: ReadonlySet<string>
  readonly #hosts: ReadonlySet<string>
  readonly #originDecisions = new Map<string, boolean>()
  readonly #hostDecisions = new Map<string, boolean>()

  constructor(options: GuardOptions) {
    const origins = (options.allowOrigins ?? []).map((origin) => origin.toLowerCase().replace(/\/$/, ''))
    this.#cors = options.cors ?? true
    this.#anyOrigin = origins.includes('*')
    this.#origins = new Set(origins)
    this.#hosts = new Set((options.allowHosts ?? []).map(nameOf))
  }

  /** Returns the reason for a 403, or null if the request is admitted. */
  refusal(headers: IncomingHttpHeaders): string | null {
    const hostRefusal = this.#hostRefusal(headers)
    if (hostRefusal !== null || this.admitsPage(headers)) return hostRefusal
    return `pages of ${quoted(headers.origin ?? '')} may not use this node; start it with --allow-origin to admit them`
  }

  /**
   * The same for the wallet, where the Origin is the site of the request. A program may send any Origin: it can do nothing before the user has
   * connected that site. The Origin `null` is not a site and requires the control token.
   */
  walletRefusal(headers: IncomingHttpHeaders): string | null {
    const isProgram = ALLOW_PROGRAM_ORIGINS && headers['sec-fetch-site'] === undefined
    return isProgram || headers.origin === 'null' ? this.#hostRefusal(headers) : this.refusal(headers)
  }

  /** True for programs, pages of this server and pages of an admitted origin. */
  admitsPage({ origin, host }: IncomingHttpHeaders): boolean {
    if (origin === undefined || isSameOrigin(origin, host)) return true
    return cached(this.#originDecisions, origin, (value) => this.#isAllowedOrigin(value))
  }

  #hostRefusal({ host, origin }: IncomingHttpHeaders): string | null {
    if (host === undefined || cached(this.#hostDecisions, host, (value) => this.#isAllowedHost(value))) return null
    const name = nameOf(host)
    if (name === '') return `the Host ${quoted(host)} is not a host name; use localhost, 127.0.0.1 or a name given by --allow-host`
    if (origin === undefined) return null
    return `the Host ${quoted(host)} is refused in a request with an Origin; use localhost or 127.0.0.1, or start the node with --allow-host ${name.slice(0, 100)}`
  }

  /** Returns the response headers that allow a page of an admitted origin to read the response. */
  corsHeaders(origin: string | undefined): readonly string[] {
    if (origin === undefined || !this.#cors) return NO_HEADERS
    return ['access-control-allow-origin', origin, 'vary', 'origin']
  }

  /** Returns the response headers for an OPTIONS request of an admitted origin. */
  preflightHeaders(headers: IncomingHttpHeaders): readonly string[] {
    if (headers.origin === undefined || !this.#cors) return NO_HEADERS
    const requested = headers['access-control-request-headers'] ?? 'content-type'
    const answer = [...this.corsHeaders(headers.origin), 'access-control-allow-methods', 'GET, POST, OPTIONS']
    answer.push('access-control-allow-headers', requested, 'access-control-max-age', '600')
    // Private Network Access: Chrome sends this preflight when a public page requests a local address; the origin is admitted already.
    if (headers['access-control-request-private-network'] === 'true') answer.push('access-control-allow-private-network', 'true')
    return answer
  }

  #isAllowedOrigin(origin: string): boolean {
    if (!this.#cors) return false
    if (this.#anyOrigin || this.#origins.has(origin.toLowerCase())) return true
    const url = parsed(origin)
    if (url === null) return false
    return EXTENSION_SCHEMES.has(url.protocol) || isLoopbackName(url.hostname)
  }

  #isAllowedHost(host: string): boolean {
    const name = nameOf(host)
    return isLoopbackName(name) || this.#hosts.has(name)
  }
}

const NO_HEADERS: readonly string[] = []

/** Wallet extensions have an origin of their own, which no page can have. */
const EXTENSION_SCHEMES = new Set(['chrome-extension:', 'moz-extension:', 'safari-web-extension:'])

/** Returns the host name without its port, in lower case; empty if it is not a host. */
function nameOf(host: string): string {
  return parsed(`http://${host}`)?.hostname ?? ''
}

/** True for a page of this server, port included. */
export function isOwnPage({ origin, host }: Pick<IncomingHttpHeaders, 'origin' | 'host'>): boolean {
  return origin !== undefined && isSameOrigin(origin, host)
}

/** Returns the origin in the form of browsers (`http://localhost:3000`) without a trailing slash, or null if it is not an origin. */
export function originOf(value: string): string | null {
  const url = value.length > ORIGIN_CHARS ? null : parsed(value)
  if (url === null || url.host === '') return null
  const origin = `${url.protocol}//${url.host}`
  return origin.toLowerCase() === value.toLowerCase().replace(/\/$/, '') ? origin : null
}

function isSameOrigin(origin: string, host: string | undefined): boolean {
  return host !== undefined && (origin === `http://${host}` || origin === `https://${host}`)
}

function parsed(url: string): URL | null {
  try {
    return new URL(url)
  } catch {
    return null
  }
}

function quoted(value: string): string {
  return JSON.stringify(value.slice(0, 100))
}

function cached(decisions: Map<string, boolean>, value: string, decide: (value: string) => boolean): boolean {
  const previous = decisions.get(value)
  if (previous !== undefined) return previous
  const decision = decide(value)
  if (decisions.size >= CACHED_DECISIONS) decisions.clear()
  decisions.set(value, decision)
  return decision
}
