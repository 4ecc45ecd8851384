/**
 * The page secret: one half of this browser's credential. The other half is a cookie, which every server on this host receives, whatever its
 * port. The secret arrives in the fragment of a one-time link and is kept in the storage of this page's origin.
 */
export class PageSecret {
  /** secret from the link, until it is stored or dropped */
  #fresh: string | null
  /** used where storage is blocked */
  #inMemory: string | null = null
  #isKept = true

  /** Takes the secret out of the page's address. Must run before anything else reads the address. */
  static take(): PageSecret {
    const parts = location.hash.slice(1).split('&')
    const secret = parts.find((part) => part.startsWith(PARAMETER))?.slice(PARAMETER.length) ?? null
    if (secret === null) return new PageSecret(null)
    const rest = parts.filter((part) => !part.startsWith(PARAMETER)).join('&')
    history.replaceState(history.state, '', `${location.pathname}${location.search}${rest === '' ? '' : `#${rest}`}`)
    return new PageSecret(secret)
  }

  private constructor(fresh: string | null) {
    this.#fresh = fresh
    // At once, so that it is stored even on a page that sends no request with it. `value` retries after a failure.
    this.#settle().catch(() => undefined)
  }

  /** False: storage is blocked, and the secret ends with this document. */
  get isKept(): boolean {
    return this.#isKept
  }

  /** The secret for a request; empty if there is none. Read each time, since a link may be opened in another tab. Throws Error when the node cannot be reached. */
  async value(): Promise<string> {
    await this.#settle()
    return stored() ?? this.#inMemory ?? ''
  }

  /** Any page may open this one with a fragment of its choice, so a valid secret is replaced only by a valid one. */
  async #settle(): Promise<void> {
    const fresh = this.#fresh
    if (fresh === null) return
    const known = stored()
    if (known === null || known === fresh || (await isControl(fresh))) this.#keep(fresh)
    this.#fresh = null
  }

  #keep(secret: string): void {
    try {
      localStorage.setItem(KEY, secret)
    } catch {
      this.#inMemory = secret
      this.#isKept = false
    }
  }
}

/** Shown while `isKept` is false. */
export const NOT_KEPT =
  'This browser blocks storage for this page, so it may approve only until this tab is reloaded or closed; then open a new link.'

/** The header for the secret in requests over HTTP. */
export const PAGE_SECRET_HEADER = 'x-pocketchain-page'

const PARAMETER = 'secret='
const KEY = 'pocketchain page secret'

function stored(): string | null {
  try {
    return localStorage.getItem(KEY)
  } catch {
    return null
  }
}

async function isControl(secret: string): Promise<boolean> {
  const response = await fetch('/session', { method: 'POST', headers: { [PAGE_SECRET_HEADER]: secret }, cache: 'no-store' })
  const answer = (await response.json()) as { readonly isControl: boolean } // the page and the node have one version
  return answer.isControl
}
