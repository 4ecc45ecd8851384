import type { IncomingHttpHeaders } from 'node:http'
import type { Caller } from '../../rpc/index.ts'
import type { ApiKeys } from './apikeys.ts'
import type { Tier } from '../routes.ts'
import type { ControlKeys } from './controlkeys.ts'
import { isOwnPage, originOf } from './guard.ts'

const PROGRAMS: Readonly<Record<Tier, Caller>> = {
  dedicated: { tier: 'dedicated', session: null, origin: null },
  public: { tier: 'public', session: null, origin: null },
}

/** A request to the node's methods. */
interface RpcRoute {
  readonly tier: Tier
  readonly headers: IncomingHttpHeaders
  /** the API key in the path; null: none */
  readonly pathKey: string | null
  /** IP address of the client */
  readonly address: string
}

export interface Credentials {
  /** null if the node has neither wallet nor sponsor */
  readonly control: ControlKeys | null
  /** null: the public tier has no limits by key */
  readonly apiKeys: ApiKeys | null
}

export const NO_CREDENTIALS: Credentials = { control: null, apiKeys: null }

/** Returns the caller of a request to the node's methods. */
export function callerOf({ tier, headers, pathKey, address }: RpcRoute, { control, apiKeys }: Credentials): Caller {
  const { origin } = headers
  const quota = tier === 'public' && apiKeys !== null ? { quota: apiKeys.quotaOf(headers, pathKey, address) } : null
  const id = requestIdOf(headers)
  const more = id === null ? quota : { ...quota, requestId: id }
  if (origin === undefined) return more === null ? PROGRAMS[tier] : { ...PROGRAMS[tier], ...more }
  // Checked when a method requires it: the raw HTTP path caches the caller of a request head, and a session may end meanwhile.
  return { tier, session: null, origin, isControl: () => control?.isControl(headers) === true, ...more }
}

/** The header by which proxies connect the lines of several logs. */
export const REQUEST_ID_HEADER = 'x-request-id'

/** Returns null without the header, and for text that could break the line of a log. */
export function requestIdOf(headers: IncomingHttpHeaders): string | null {
  const id = headers[REQUEST_ID_HEADER]
  return typeof id === 'string' && REQUEST_ID.test(id) ? id : null
}

/** As UUIDs, hexadecimal digits, base64, and trace contexts. */
const REQUEST_ID = /^[\w.:/+=-]{1,128}$/

/** The sender of a request to the wallet. */
export interface WalletCaller {
  /** origin of the site; null if the request has no Origin or `null` */
  readonly origin: string | null
  /** true if the request holds the control credential */
  readonly isControl: boolean
  /** message of the 4100 for a page of this server without the control credential; null for other clients */
  readonly refusal: string | null
}

/**
 * Returns the caller of a request to the wallet. The site is the Origin, which a page cannot choose. Approving requires the control token, or, from
 * a page of this server, the cookie and the page secret of one session: servers on other ports of this host receive the cookie and may send any Origin.
 */
export function walletCallerOf(headers: IncomingHttpHeaders, keys: ControlKeys): WalletCaller {
  const { origin } = headers
  const isControl = keys.isControl(headers)
  const refusal = isControl || !isOwnPage(headers) ? null : NO_PAGE_SECRET
  return { origin: origin === undefined || origin === 'null' ? null : originOf(origin), isControl, refusal }
}

/** Message of the 4100 for a page of this server without the cookie, or without the page secret of that session. */
export const NO_PAGE_SECRET =
  'this page lacks the session cookie or the page secret that belongs to it; open a new link in this browser: the terminal prints one at start, ' +
  'and a browser that has the wallet open, or pocketchain_walletLink with the control token, creates another'
