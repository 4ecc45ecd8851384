import { readFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { HTML_TYPE, text } from './answer.ts'
import type { Answer } from './answer.ts'

/** What a browser loads, built from `pages/` into this room's `pages/` folder; each file is read when it is first asked for. */
export class WalletPages {
  readonly #folder: URL
  readonly #files = new Map<string, Uint8Array>()

  constructor(folder: URL = new URL('./pages/', import.meta.url)) {
    this.#folder = folder
  }

  /** The page itself. `search`: what stands behind its path. */
  page({ host }: IncomingHttpHeaders, search: URLSearchParams): Answer {
    const isPopup = POPUP_PARAMETERS.some((name) => search.has(name))
    return this.#answer('wallet.html', HTML_TYPE, [
      'content-security-policy',
      contentPolicy(host),
      'x-frame-options',
      'DENY',
      'cross-origin-opener-policy',
      // An app that opens the page as a popup speaks with it through window.opener; nobody else keeps a hand on it.
      isPopup ? 'unsafe-none' : 'same-origin',
      'cross-origin-resource-policy',
      'same-origin',
    ])
  }

  /** null: the wallet has no such file. */
  asset(path: string): Answer | null {
    const asset = ASSETS.get(path)
    return asset === undefined ? null : this.#answer(asset.file, asset.type, ['cross-origin-resource-policy', asset.isFor])
  }

  #answer(file: string, type: string, headers: readonly string[]): Answer {
    const body = this.#read(file)
    if (body === null) return text(503, `the page was not built (${file} is missing): run npm run build`, ALWAYS)
    return { status: 200, type, body, headers: [...headers, ...ALWAYS] }
  }

  #read(file: string): Uint8Array | null {
    const known = this.#files.get(file)
    if (known !== undefined) return known
    try {
      const bytes = readFileSync(new URL(file, this.#folder))
      this.#files.set(file, bytes)
      return bytes
    } catch {
      return null
    }
  }
}

/** Scripts, styles and connections of our own and nothing else: no inline script, no frame around the page, no form that leaves it. */
function contentPolicy(host: string | undefined): string {
  // The Host was checked; WebKit takes 'self' for HTTP alone. A name with odd letters is made into what a browser calls it.
  // The language of policies has no word for an IPv6 address; there 'self' must do.
  const sockets = host === undefined || host.startsWith('[') ? '' : ` ws://${new URL(`http://${host}`).host}`
  return (
    `default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'${sockets}; img-src data:; ` +
    `frame-ancestors 'none'; base-uri 'none'; form-action 'none'`
  )
}

/** What an app adds to the page's address when it opens it as a popup: the Base Account SDK the first, our own script the second. */
const POPUP_PARAMETERS = ['sdkName', 'popup'] as const

const SCRIPT_TYPE = 'text/javascript; charset=utf-8'

/** `provider.js` is for the pages of apps, whatever their origin. */
const ASSETS: ReadonlyMap<string, { readonly file: string; readonly type: string; readonly isFor: 'same-origin' | 'cross-origin' }> =
  new Map([
    ['/wallet/app.js', { file: 'app.js', type: SCRIPT_TYPE, isFor: 'same-origin' }],
    ['/wallet/app.css', { file: 'app.css', type: 'text/css; charset=utf-8', isFor: 'same-origin' }],
    ['/wallet/provider.js', { file: 'provider.js', type: SCRIPT_TYPE, isFor: 'cross-origin' }],
  ])

export const ALWAYS: readonly string[] = [
  'cache-control',
  'no-store',
  'x-content-type-options',
  'nosniff',
  'referrer-policy',
  'no-referrer',
]
