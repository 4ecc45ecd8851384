import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { WALLET_LINKS, WALLET_SESSIONS } from './limits.ts'

/**
 * What may approve: a token for programs, which nobody hands to a page's script, and cookies for browsers, which a one-time link sets. All
 * end with the process.
 */
export class WalletKeys {
  /** 32 bytes as hex */
  readonly controlToken = secret()
  readonly #tokenDigest = digest(this.controlToken)
  /** oldest first, as digests: what is compared in the table's own time tells nothing of the secret */
  readonly #links = new Set<string>()
  readonly #sessions = new Set<string>()
  #watchers = 0

  /** The key of a new link, for one use. The oldest unused ones end when there are too many. */
  link(): string {
    const key = secret()
    keep(this.#links, digest(key), WALLET_LINKS)
    return key
  }

  /** The value of a new cookie for a key that was not used before; null: it was, or never was one. */
  redeem(key: string): string | null {
    if (!this.#links.delete(digest(key))) return null
    const session = secret()
    keep(this.#sessions, digest(session), WALLET_SESSIONS)
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
    return timingSafeEqual(Buffer.from(digest(value)), Buffer.from(this.#tokenDigest))
  }

  /** `Authorization: Bearer <controlToken>` */
  bearsToken({ authorization }: Pick<IncomingHttpHeaders, 'authorization'>): boolean {
    const token = BEARER.exec(authorization ?? '')?.[1]
    return token !== undefined && this.isToken(token)
  }

  /**
   * A cookie of ours came along. That alone means nothing: browsers send it from pages on every other port of the host too, so who asks must
   * have shown that the page is our own.
   */
  hasSession({ cookie, host }: Pick<IncomingHttpHeaders, 'cookie' | 'host'>): boolean {
    const names = [cookieName(host, false), cookieName(host, true)]
    return (cookie ?? '').split(';').some((pair) => {
      const at = pair.indexOf('=')
      return names.includes(pair.slice(0, at).trim()) && this.#sessions.has(digest(pair.slice(at + 1).trim()))
    })
  }
}

/** The header that keeps a session in the browser, out of the reach of scripts and of requests from other sites. */
export function sessionCookie(host: string | undefined, session: string, isSecure: boolean): string {
  return `${cookieName(host, isSecure)}=${session}; Path=/wallet; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`
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

function keep(set: Set<string>, value: string, most: number): void {
  set.add(value)
  const [oldest] = set
  if (set.size > most && oldest !== undefined) set.delete(oldest)
}

const BEARER = /^Bearer +([\x21-\x7e]+) *$/i
