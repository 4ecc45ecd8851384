import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { HTML_TYPE, TEXT_TYPE, text } from '../http/answer.ts'
import type { Answer } from '../http/answer.ts'
import { SECURITY_HEADERS } from '../endpoints/pagefiles.ts'
import { isSecure } from '../tls/tls.ts'
import { sessionCookie } from './controlkeys.ts'
import type { LinkParts, ControlKeys } from './controlkeys.ts'

/** Returns the URL of a one-time link. */
export function linkTo(pageUrl: string, { key, secret }: LinkParts): string {
  return `${pageUrl}?key=${key}#secret=${secret}`
}

/**
 * Redeems a one-time link: the response sets the session cookie and redirects to the page. The page secret is not part of the request: a browser
 * keeps the fragment of the link across a redirect whose Location has none (Fetch, 4.4, "location URL").
 */
export function redeemLink(keys: ControlKeys, path: string, search: URLSearchParams, request: IncomingMessage): Answer {
  const { headers } = request
  // A prefetch would redeem the link, and the redirect of the used link that follows would remove the page secret.
  if (isPrefetch(headers))
    return text(503, 'a one-time link is not redeemed by a prefetch or prerender; open it in the browser', SECURITY_HEADERS)
  const session = keys.redeem(search.get('key') ?? '')
  // A browser with a session may follow a used link.
  if (session === null && !keys.hasSession(headers))
    return { status: 403, type: HTML_TYPE, body: INVALID_LINK, headers: INVALID_LINK_HEADERS }
  const rest = new URLSearchParams(search)
  rest.delete('key')
  const target = rest.size === 0 ? path : `${path}?${rest.toString()}`
  // The empty fragment replaces that of the used link, whose secret belongs to no session.
  if (session === null) return redirect(`${target}#`, [])
  return redirect(target, ['set-cookie', sessionCookie(headers.host, session, isSecure(request))])
}

/** Prefetch and prerender: Sec-Purpose (Fetch, 3.8), and the older names of that header. */
function isPrefetch(headers: IncomingHttpHeaders): boolean {
  return [headers['sec-purpose'], headers['purpose'], headers['x-purpose'], headers['x-moz']].some((value) =>
    PURPOSE.test(String(value ?? '')),
  )
}

const PURPOSE = /prefetch|prerender|preview/i

function redirect(location: string, headers: readonly string[]): Answer {
  return { status: 303, type: TEXT_TYPE, body: '', headers: ['location', location, ...headers, ...SECURITY_HEADERS] }
}

const INVALID_LINK = `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Invalid link - pocketchain</title>
<style>:root{color-scheme:light dark;--ink:#1d1c19;--paper:#f3f1ea}@media(prefers-color-scheme:dark){:root{--ink:#ece9e1;--paper:#131311}}
body{max-width:36rem;margin:3rem auto;padding:0 1rem;background:var(--paper);color:var(--ink);font:16px/1.6 system-ui,sans-serif}a{color:inherit}
code{overflow-wrap:anywhere}</style>
<main>
<h1>This link does not work here</h1>
<p>A link admits one browser, once, and only while the node that created it runs. This one was used already, was replaced by newer ones, or belongs to another node.</p>
<ul>
<li>If it was this browser, <a href="/wallet">open the wallet</a>.</li>
<li>If another browser has the wallet open, choose “Link another browser” on its overview, and open that link here.</li>
<li>A node prints a new link when it starts.</li>
<li>A program with the control token (part of the <code>--json</code> line) gets one: <code>POST /wallet</code>, header
<code>Authorization: Bearer …</code>, method <code>pocketchain_walletLink</code>.</li>
</ul>
</main>
</html>
`
const INVALID_LINK_HEADERS = [
  'content-security-policy',
  "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'x-frame-options',
  'DENY',
  ...SECURITY_HEADERS,
]
