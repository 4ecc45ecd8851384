import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { HTML_TYPE, TEXT_TYPE, text } from './http/answer.ts'
import type { Answer } from './http/answer.ts'
import { ALWAYS } from './pagefiles.ts'
import { isSecure } from './tls/tls.ts'
import { sessionCookie } from './walletkeys.ts'
import type { LinkParts, WalletKeys } from './walletkeys.ts'

/** The address of a one-time link. */
export function linkTo(pageUrl: string, { key, secret }: LinkParts): string {
  return `${pageUrl}?key=${key}#secret=${secret}`
}

/**
 * Follows a one-time link: the browser gets a session, and the link ends. The page secret never comes here: a browser keeps the fragment of the
 * link across a redirect whose Location has none (Fetch, 4.4, "location URL").
 */
export function enter(keys: WalletKeys, path: string, search: URLSearchParams, request: IncomingMessage): Answer {
  const { headers } = request
  // A browser that loads the link ahead would use it up, and lose the page secret in the redirect of the old link that follows.
  if (isAhead(headers)) return text(503, 'this link is followed when it is opened, not ahead of that', ALWAYS)
  const session = keys.redeem(search.get('key') ?? '')
  // Who has come in before may follow an old link.
  if (session === null && !keys.hasSession(headers)) return { status: 403, type: HTML_TYPE, body: USED_LINK, headers: USED_LINK_HEADERS }
  const rest = new URLSearchParams(search)
  rest.delete('key')
  const target = rest.size === 0 ? path : `${path}?${rest.toString()}`
  // The empty fragment takes the place of the old link's, whose secret belongs to no session.
  if (session === null) return redirect(`${target}#`, [])
  return redirect(target, ['set-cookie', sessionCookie(headers.host, session, isSecure(request))])
}

/** Prefetch and prerender: Sec-Purpose (Fetch, 3.8), and the names that browsers used before. */
function isAhead(headers: IncomingHttpHeaders): boolean {
  return [headers['sec-purpose'], headers['purpose'], headers['x-purpose'], headers['x-moz']].some((value) =>
    PURPOSE.test(String(value ?? '')),
  )
}

const PURPOSE = /prefetch|prerender|preview/i

function redirect(location: string, headers: readonly string[]): Answer {
  return { status: 303, type: TEXT_TYPE, body: '', headers: ['location', location, ...headers, ...ALWAYS] }
}

const USED_LINK = `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>pocketchain wallet</title>
<style>body{font:16px/1.6 system-ui,sans-serif;max-width:40rem;margin:3rem auto;padding:0 1rem;color-scheme:light dark}</style>
<h1>This link was used before</h1>
<p>A link lets one browser in, once. Start the node again for a new one, or, if it runs with a wallet, ask for it with the control token
(the <code>--json</code> line has it): <code>POST /wallet</code>, header <code>Authorization: Bearer …</code>, method
<code>pocketchain_walletLink</code>.</p>
</html>
`
const USED_LINK_HEADERS = [
  'content-security-policy',
  "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'x-frame-options',
  'DENY',
  ...ALWAYS,
]
