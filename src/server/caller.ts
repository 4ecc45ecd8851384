import type { IncomingHttpHeaders } from 'node:http'
import type { Caller } from '../rpc/index.ts'
import type { Tier } from './routes.ts'
import type { WalletKeys } from './walletkeys.ts'

const PROGRAMS: Readonly<Record<Tier, Caller>> = {
  dedicated: { tier: 'dedicated', session: null, origin: null },
  public: { tier: 'public', session: null, origin: null },
}

/** Who sends a request to the node. `keys` null: it has neither wallet nor sponsor, so there is no control credential. */
export function callerOf(tier: Tier, headers: IncomingHttpHeaders, keys: WalletKeys | null): Caller {
  const { origin } = headers
  if (origin === undefined) return PROGRAMS[tier]
  // Decided when a method needs it: the lane remembers the caller of a head, and a session may end meanwhile.
  return { tier, session: null, origin, isControl: () => keys?.isControl(headers) === true }
}
