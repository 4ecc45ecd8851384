import { readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { HTML_TYPE, text } from './http/answer.ts'
import type { Answer } from './http/answer.ts'
import { isSecure } from './tls/tls.ts'

export const SCRIPT_TYPE = 'text/javascript; charset=utf-8'
export const STYLE_TYPE = 'text/css; charset=utf-8'

/** What browsers load, built from `pages/` into this room's `pages/` folder; each file is read when it is first asked for. */
export class PageFiles {
  readonly #folder: URL
  readonly #files = new Map<string, Uint8Array>()

  constructor(folder: URL = new URL('./pages/', import.meta.url)) {
    this.#folder = folder
  }

  answer(file: string, type = HTML_TYPE, headers: readonly string[] = []): Answer {
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

/** What a page of ours may do, and who may keep a hand on it. `openers`: nobody of another origin unless said. */
export function pageHeaders(request: IncomingMessage, openers: 'same-origin' | 'unsafe-none' = 'same-origin'): readonly string[] {
  return [
    'content-security-policy',
    contentPolicy(request.headers.host, isSecure(request) ? 'wss' : 'ws'),
    'x-frame-options',
    'DENY',
    'cross-origin-opener-policy',
    openers,
    'cross-origin-resource-policy',
    'same-origin',
  ]
}

/** Scripts, styles and connections of our own and nothing else: no inline script, no frame around the page, no form that leaves it. */
function contentPolicy(host: string | undefined, scheme: 'ws' | 'wss'): string {
  // WebKit takes 'self' for HTTP alone. The Guard refuses a Host that is no URL's host; a name with odd letters is made into what a browser
  // calls it. A policy cannot name an IPv6 address, and a character such as `;` would end the directive: there 'self' must do.
  const name = host === undefined ? '' : new URL(`http://${host}`).host
  const sockets = /^[a-z0-9._:-]+$/.test(name) ? ` ${scheme}://${name}` : ''
  return (
    `default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'${sockets}; img-src data:; ` +
    `frame-ancestors 'none'; base-uri 'none'; form-action 'none'`
  )
}

export const ALWAYS: readonly string[] = [
  'cache-control',
  'no-store',
  'x-content-type-options',
  'nosniff',
  'referrer-policy',
  'no-referrer',
]
