import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { isOwnPage } from './guard.ts'
import { WALLET_LINKS, WALLET_SESSIONS } from './limits.ts'

/** What a one-time link is made of. */
export interface LinkParts {
  /** in its query: sent to the server, which takes it once */
  readonly key: string
  /** in its fragment: browsers send that to no server, so no other port's server ever receives it with the cookie */
  readonly secret: string
}

/** The header in which a page of ours sends its secret. */
export const PAGE_SECRET_HEADER = 'x-pocketchain-page'

/**
 * The control credential: a token for programs, which no page's script receives, or a session of a browser. A session is a cookie, which the
 * redemption of a one-time link sets, and the page secret of that same link. The cookie alone opens nothing: cookies ignore ports, so every
 * server on another port of this host receives it and can send it back under any Origin. All of it ends with the process.
 */
export class WalletKeys {
  /** 32 bytes as hex */
  readonly controlToken = secret()
  readonly #tokenDigest = digest(this.controlToken)
  /** oldest first; digest of the key, or of the cookie, to the digest of the page secret: the time of a look-up by digest depends on no secret */
  readonly #links = new Map<string, string>()
  readonly #sessions = new Map<string, string>()
  #watchers = 0

  /** A new link, for one use. The oldest unused ones end when there are too many. */
  link(): LinkParts {
    const link = { key: secret(), secret: secret() }
    keep(this.#links, digest(link.key), digest(link.secret), WALLET_LINKS)
    return link
  }

  /** The value of a new cookie for a key that was not used before; null: it was, or never was one. */
  redeem(key: string): string | null {
    const pageDigest = this.#links.get(digest(key))
    if (pageDigest === undefined) return null
    this.#links.delete(digest(key))
    const session = secret()
    keep(this.#sessions, digest(session), pageDigest, WALLET_SESSIONS)
    return session
  }

  /** Somebody is there who may approve, until what it returns is called. */
  watch(): () => void {
    this.#watchers += 1
    return () => void (this.#watchers -= 1)
  }

  get isWatched(): boolean {
    return this.#watchers > 0
  }

  isToken(value: string): boolean {
    return isEqual(digest(value), this.#tokenDigest)
  }

  /** `Authorization: Bearer <controlToken>` */
  bearsToken({ authorization }: Pick<IncomingHttpHeaders, 'authorization'>): boolean {
    const token = BEARER.exec(authorization ?? '')?.[1]
    return token !== undefined && this.isToken(token)
  }

  /**
   * True for the control token, and for a page of our own with its cookie and the secret of that very session. A WebSocket of a browser has no
   * header for the secret, so `pageSecret` may come from its first message.
   */
  isControl(headers: IncomingHttpHeaders, pageSecret = headers[PAGE_SECRET_HEADER]): boolean {
    if (this.bearsToken(headers)) return true
    if (typeof pageSecret !== 'string' || !isOwnPage(headers)) return false
    const pageDigest = digest(pageSecret)
    return this.#sessionsOf(headers).some((expected) => isEqual(pageDigest, expected))
  }

  /** A valid cookie came along. That alone opens nothing. */
  hasSession(headers: Pick<IncomingHttpHeaders, 'cookie' | 'host'>): boolean {
    return this.#sessionsOf(headers).length > 0
  }

  /** The digests of the page secrets that belong to the cookies of a request. */
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
 * The header that keeps a session in the browser, out of the reach of scripts and of requests from other sites. For every path: the page
 * `/sponsor` changes its sponsor at `POST /`.
 */
export function sessionCookie(host: string | undefined, session: string, isSecure: boolean): string {
  return `${cookieName(host, isSecure)}=${session}; Path=/; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`
}

/**
 * With the port, which cookies ignore: nodes on several ports would log one another out. One that came over TLS has a name of its own: a
 * browser lets no other one take its place, and does not send it without TLS.
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

/** Of digests, which have one length. */
function isEqual(one: string, other: string): boolean {
  return timingSafeEqual(Buffer.from(one), Buffer.from(other))
}

function keep(map: Map<string, string>, key: string, value: string, most: number): void {
  map.set(key, value)
  const [oldest] = map.keys()
  if (map.size > most && oldest !== undefined) map.delete(oldest)
}

const BEARER = /^Bearer +([\x21-\x7e]+) *$/i
