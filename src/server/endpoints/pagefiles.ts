import { readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { HTML_TYPE, text } from '../http/answer.ts'
import type { Answer } from '../http/answer.ts'
import { isSecure } from '../tls/tls.ts'

export const SCRIPT_TYPE = 'text/javascript; charset=utf-8'
export const STYLE_TYPE = 'text/css; charset=utf-8'

/** The files that the build of `pages/` writes to `src/server/pages/`. Each is read at its first request. */
export class PageFiles {
  readonly #folder: URL
  readonly #files = new Map<string, Uint8Array>()

  constructor(folder: URL = new URL('../pages/', import.meta.url)) {
    this.#folder = folder
  }

  answer(file: string, type = HTML_TYPE, headers: readonly string[] = []): Answer {
    const body = this.#read(file)
    if (body === null)
      return text(
        503,
        `${file} is missing: run npm run build in a clone, or leave pocketchain out of the bundle of the app`,
        SECURITY_HEADERS,
      )
    return { status: 200, type, body, headers: [...headers, ...SECURITY_HEADERS] }
  }

  #read(file: string): Uint8Array | null {
    const cached = this.#files.get(file)
    if (cached !== undefined) return cached
    try {
      const bytes = readFileSync(new URL(file, this.#folder))
      this.#files.set(file, bytes)
      return bytes
    } catch {
      return null
    }
  }
}

/** Returns the security headers of a page of this server. `openerPolicy`: `unsafe-none` keeps `window.opener` for a popup. */
export function pageHeaders(request: IncomingMessage, openerPolicy: 'same-origin' | 'unsafe-none' = 'same-origin'): readonly string[] {
  return [
    'content-security-policy',
    contentPolicy(request.headers.host, isSecure(request) ? 'wss' : 'ws'),
    'x-frame-options',
    'DENY',
    'cross-origin-opener-policy',
    openerPolicy,
    'cross-origin-resource-policy',
    'same-origin',
  ]
}

/** Scripts, styles and connections of this server only: no inline scripts, no framing, no form submissions. */
function contentPolicy(host: string | undefined, scheme: 'ws' | 'wss'): string {
  // WebKit applies 'self' to HTTP only. The Guard refuses a Host that cannot be the host of a URL; URL normalises other names as browsers do. A
  // policy cannot contain an IPv6 address, and a character such as `;` would end the directive: such hosts get 'self' only.
  const name = host === undefined ? '' : new URL(`http://${host}`).host
  const sockets = /^[a-z0-9._:-]+$/.test(name) ? ` ${scheme}://${name}` : ''
  return (
    `default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'${sockets}; img-src data:; ` +
    `frame-ancestors 'none'; base-uri 'none'; form-action 'none'`
  )
}

/** Headers of every response of the wallet and the pages. */
export const SECURITY_HEADERS: readonly string[] = [
  'cache-control',
  'no-store',
  'x-content-type-options',
  'nosniff',
  'referrer-policy',
  'no-referrer',
]
