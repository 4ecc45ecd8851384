import type { IncomingHttpHeaders } from 'node:http'
import type { Caller } from '../../rpc/index.ts'
import type { Tier } from '../routes.ts'
import type { ControlKeys } from './controlkeys.ts'
import { isOwnPage, originOf } from './guard.ts'

const PROGRAMS: Readonly<Record<Tier, Caller>> = {
  dedicated: { tier: 'dedicated', session: null, origin: null },
  public: { tier: 'public', session: null, origin: null },
}

/** Returns the caller of a request to the node's methods. `keys`: null if the node has neither wallet nor sponsor. */
export function callerOf(tier: Tier, headers: IncomingHttpHeaders, keys: ControlKeys | null): Caller {
  const { origin } = headers
  if (origin === undefined) return PROGRAMS[tier]
  // Checked when a method requires it: the raw HTTP path caches the caller of a request head, and a session may end meanwhile.
  return { tier, session: null, origin, isControl: () => keys?.isControl(headers) === true }
}

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
  'and pocketchain_walletLink with the control token returns another'
