import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { isOwnPage } from './guard.ts'
import { WALLET_LINKS, WALLET_SESSIONS } from '../limits.ts'

/** The two secrets of a one-time link. */
export interface LinkParts {
  /** secret in the query of the link, which the server accepts once */
  readonly key: string
  /** secret in the fragment of the link. Browsers send it to no server, so servers on other ports receive only the cookie. */
  readonly secret: string
}

/** The request header with the page secret. */
const PAGE_SECRET_HEADER = 'x-pocketchain-page'

/**
 * The control credential: a token for programs, which no page script receives, or a browser session. A session consists of a cookie, set when a
 * one-time link is redeemed, and the page secret of the same link. The cookie is not a credential on its own: cookies ignore ports, so every
 * server on another port of this host receives it and can send it back with any Origin. All credentials end with the process.
 */
export class ControlKeys {
  /** 32 bytes as hex */
  readonly controlToken = secret()
  readonly #tokenDigest = digest(this.controlToken)
  /** Digest of the key or of the cookie to the digest of the page secret, oldest first. The duration of a look-up by digest depends on no secret. */
  readonly #links = new Map<string, string>()
  readonly #sessions = new Map<string, string>()
  #watchers = 0

  /** Returns a new one-time link. Beyond WALLET_LINKS the oldest unused link is dropped. */
  link(): LinkParts {
    const link = { key: secret(), secret: secret() }
    addBounded(this.#links, digest(link.key), digest(link.secret), WALLET_LINKS)
    return link
  }

  /** Returns the value of a new session cookie, or null if the key was used before or was never issued. */
  redeem(key: string): string | null {
    const pageDigest = this.#links.get(digest(key))
    if (pageDigest === undefined) return null
    this.#links.delete(digest(key))
    const session = secret()
    addBounded(this.#sessions, digest(session), pageDigest, WALLET_SESSIONS)
    return session
  }

  /** Counts a connection that shows the pending approvals. Returns a function that ends it. */
  watch(): () => void {
    this.#watchers += 1
    return () => void (this.#watchers -= 1)
  }

  get hasWatcher(): boolean {
    return this.#watchers > 0
  }

  isToken(value: string): boolean {
    return isEqual(digest(value), this.#tokenDigest)
  }

  /**
   * True for the control token, and for a page of this server with the cookie and the page secret of the same session. A browser sets no headers on
   * a WebSocket, so `pageSecret` may come from its first message.
   */
  isControl(headers: IncomingHttpHeaders, pageSecret = headers[PAGE_SECRET_HEADER]): boolean {
    const token = bearerOf(headers)
    if (token !== undefined && this.isToken(token)) return true
    if (typeof pageSecret !== 'string' || !isOwnPage(headers)) return false
    const pageDigest = digest(pageSecret)
    return this.#sessionsOf(headers).some((expected) => isEqual(pageDigest, expected))
  }

  /** True if the request has a valid session cookie, which is not a credential on its own. */
  hasSession(headers: Pick<IncomingHttpHeaders, 'cookie' | 'host'>): boolean {
    return this.#sessionsOf(headers).length > 0
  }

  /** Returns the digests of the page secrets that belong to the cookies of a request. */
  #sessionsOf({ cookie = '', host }: Pick<IncomingHttpHeaders, 'cookie' | 'host'>): readonly string[] {
    const names = [cookieName(host, false), cookieName(host, true)]
    return cookie.split(';').flatMap((pair) => {
      const at = pair.indexOf('=')
      const pageDigest = names.includes(pair.slice(0, at).trim()) ? this.#sessions.get(digest(pair.slice(at + 1).trim())) : undefined
      return pageDigest === undefined ? [] : [pageDigest]
    })
  }
}

/**
 * Returns the Set-Cookie value of a session, inaccessible to scripts and to requests from other sites. The path is `/` because the page
 * `/sponsor` calls methods at `POST /`.
 */
export function sessionCookie(host: string | undefined, session: string, isSecure: boolean): string {
  return `${cookieName(host, isSecure)}=${session}; Path=/; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`
}

/**
 * The name contains the port because cookies ignore ports: nodes on several ports would overwrite each other's sessions. The `__Secure-` prefix
 * makes browsers accept and send the cookie over TLS only.
 */
function cookieName(host: string | undefined, isSecure: boolean): string {
  const port = /:(\d{1,5})$/.exec(host ?? '')?.[1] ?? (isSecure ? '443' : '80')
  return `${isSecure ? '__Secure-' : ''}pocketchain_wallet_${port}`
}

function secret(): string {
  return randomBytes(32).toString('hex')
}

function digest(value: string): string {
  return createHash('sha256').update(value).digest('hex')
}

/** Compares digests, which have equal length, in constant time. */
function isEqual(one: string, other: string): boolean {
  return timingSafeEqual(Buffer.from(one), Buffer.from(other))
}

function addBounded(map: Map<string, string>, key: string, value: string, max: number): void {
  map.set(key, value)
  const [oldest] = map.keys()
  if (map.size > max && oldest !== undefined) map.delete(oldest)
}

/** Returns the value of `Authorization: Bearer <value>`, if the request has one. */
export function bearerOf({ authorization }: Pick<IncomingHttpHeaders, 'authorization'>): string | undefined {
  return /^Bearer +([\x21-\x7e]+) *$/i.exec(authorization ?? '')?.[1]
}
