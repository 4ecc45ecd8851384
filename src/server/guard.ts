import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import { ALLOW_PROGRAM_ORIGINS } from '../compat.ts'
import { ORIGIN_CHARS, REMEMBERED_VERDICTS } from './limits.ts'

export interface GuardOptions {
  /** Origins beyond loopback that may use the node, such as `https://app.example`; `*` for all. */
  readonly allowOrigins?: readonly string[]
  /** Host names and addresses beyond loopback by which pages may reach this node; a port does not count. */
  readonly allowHosts?: readonly string[]
  /** false: no CORS headers are sent, and only pages that this server itself served may use it */
  readonly cors?: boolean
}

/** Why a request is refused before anything of it is read. */
export type Refusal = string | null

/**
 * Who may use the node. Programs may (they send no Origin), pages on loopback and browser extensions may, other pages may not: the
 * dev accounts sign for whoever asks. A request with an Origin must also name a known Host: a page of `http://evil:8545` whose name was
 * pointed at 127.0.0.1 (DNS rebinding; LLMNR and DHCP search domains do it for names without a dot) would have the node's own origin.
 * Browsers send an Origin with every POST and WebSocket; containers send none and may use any name, such as `http://pocketchain:8545`.
 */
export class Guard {
  readonly #cors: boolean
  readonly #anyOrigin: boolean
  readonly #origins: ReadonlySet<string>
  readonly #hosts: ReadonlySet<string>
  readonly #originVerdicts = new Map<string, boolean>()
  readonly #hostVerdicts = new Map<string, boolean>()

  constructor(options: GuardOptions) {
    const origins = (options.allowOrigins ?? []).map((origin) => origin.toLowerCase().replace(/\/$/, ''))
    this.#cors = options.cors ?? true
    this.#anyOrigin = origins.includes('*')
    this.#origins = new Set(origins)
    this.#hosts = new Set((options.allowHosts ?? []).map(nameOf))
  }

  /** Null lets the request in. */
  refusal(headers: IncomingHttpHeaders): Refusal {
    const stranger = this.#strangeHost(headers)
    if (stranger !== null || this.admitsPage(headers)) return stranger
    return `pages of ${quoted(headers.origin ?? '')} may not use this node; start it with --allow-origin to let them`
  }

  /**
   * The same for the wallet, where an Origin says for which site something is asked. A program may name any: it can do nothing before a
   * person has let that site in. `null` is no site; who sends it needs the control token.
   */
  walletRefusal(headers: IncomingHttpHeaders): Refusal {
    const isProgram = ALLOW_PROGRAM_ORIGINS && headers['sec-fetch-site'] === undefined
    return isProgram || headers.origin === 'null' ? this.#strangeHost(headers) : this.refusal(headers)
  }

  /** No page at all, a page of our own, or one of an origin that is let in. */
  admitsPage({ origin, host }: IncomingHttpHeaders): boolean {
    if (origin === undefined || isSameOrigin(origin, host)) return true
    return remembered(this.#originVerdicts, origin, (value) => this.#knowsOrigin(value))
  }

  #strangeHost({ host, origin }: IncomingHttpHeaders): Refusal {
    if (host === undefined || remembered(this.#hostVerdicts, host, (value) => this.#knowsHost(value))) return null
    const name = nameOf(host)
    if (name === '') return `the Host ${quoted(host)} is no host name; use localhost, 127.0.0.1 or a name given by --allow-host`
    if (origin === undefined) return null
    return `the Host ${quoted(host)} is refused in a request with an Origin; use localhost or 127.0.0.1, or start the node with --allow-host ${name.slice(0, 100)}`
  }

  /** The headers that let a page of an admitted origin read the answer. */
  corsHeaders(origin: string | undefined): readonly string[] {
    if (origin === undefined || !this.#cors) return NO_HEADERS
    return ['access-control-allow-origin', origin, 'vary', 'origin']
  }

  /** The answer's headers to an OPTIONS request of an admitted origin. */
  preflightHeaders(headers: IncomingHttpHeaders): readonly string[] {
    if (headers.origin === undefined || !this.#cors) return NO_HEADERS
    const asked = headers['access-control-request-headers'] ?? 'content-type'
    const answer = [...this.corsHeaders(headers.origin), 'access-control-allow-methods', 'GET, POST, OPTIONS']
    answer.push('access-control-allow-headers', asked, 'access-control-max-age', '600')
    // Chrome asks before a public page reaches into the local network; the origin was admitted above.
    if (headers['access-control-request-private-network'] === 'true') answer.push('access-control-allow-private-network', 'true')
    return answer
  }

  #knowsOrigin(origin: string): boolean {
    if (!this.#cors) return false
    if (this.#anyOrigin || this.#origins.has(origin.toLowerCase())) return true
    const url = parsed(origin)
    if (url === null) return false
    return EXTENSION_SCHEMES.has(url.protocol) || isLoopback(url.hostname)
  }

  #knowsHost(host: string): boolean {
    const name = nameOf(host)
    return isLoopback(name) || this.#hosts.has(name)
  }
}

const NO_HEADERS: readonly string[] = []

/** A wallet extension calls from its own origin, which no page can claim. */
const EXTENSION_SCHEMES = new Set(['chrome-extension:', 'moz-extension:', 'safari-web-extension:'])

function isLoopback(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost') || name === '[::1]' || (isIP(name) === 4 && name.startsWith('127.'))
}

/** Of a host with or without a port, in lower case; empty when it is none. */
function nameOf(host: string): string {
  return parsed(`http://${host}`)?.hostname ?? ''
}

/** A page that this very server served, on this very port. */
export function isOwnPage({ origin, host }: Pick<IncomingHttpHeaders, 'origin' | 'host'>): boolean {
  return origin !== undefined && isSameOrigin(origin, host)
}

/** As browsers write it: `http://localhost:3000`, a slash at the end taken off; null: it is none. */
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

function remembered(verdicts: Map<string, boolean>, value: string, judge: (value: string) => boolean): boolean {
  const known = verdicts.get(value)
  if (known !== undefined) return known
  const verdict = judge(value)
  if (verdicts.size >= REMEMBERED_VERDICTS) verdicts.clear()
  verdicts.set(value, verdict)
  return verdict
}
