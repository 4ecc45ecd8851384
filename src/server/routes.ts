import type { Encoding } from '../stream/index.ts'

export type Tier = 'dedicated' | 'public'

/** Paths that take JSON-RPC, by POST and over WebSocket. */
export const RPC_PATHS: Readonly<Record<string, Tier>> = {
  '/': 'dedicated',
  '/rpc': 'dedicated',
  '/public': 'public',
}

/** The tier of a path that takes JSON-RPC, and the API key after `/public/`; null for another path. */
export function rpcRouteOf(path: string): { readonly tier: Tier; readonly key: string | null } | null {
  const tier = RPC_PATHS[path]
  if (tier !== undefined) return { tier, key: null }
  const key = path.startsWith(KEY_PREFIX) ? path.slice(KEY_PREFIX.length) : ''
  return key === '' || key.includes('/') ? null : { tier: 'public', key }
}

const KEY_PREFIX = '/public/'

/** Paths of the flashblock stream; `/ws` is the path of the public proxies. */
export const STREAM_PATHS: ReadonlySet<string> = new Set(['/flashblocks', '/ws'])

export const PROBE_PATHS: ReadonlySet<string> = new Set(['/health', '/healthz', '/readyz', '/livez'])

/** Counters in the text format of Prometheus. */
export const METRICS_PATH = '/metrics'

/** JSON-RPC of the wallet, by POST and over WebSocket, and the approval page; the page's files are below it. */
export const WALLET_PATH = '/wallet'

/** The ERC-7677 service: some clients append `/rpc` to the configured URL. */
export const PAYMASTER_PATHS: ReadonlySet<string> = new Set(['/paymaster', '/paymaster/rpc'])

/** The page of the sponsor's payments and refusals; its files are below it. */
export const SPONSOR_PATH = '/sponsor'

/** Pages of the explorer; `/` is one for browsers. */
const EXPLORER_PATHS = /^\/(ops|promises|search)$|^\/(block|tx|address|op)\/[^/]+$|^\/flashblock\/[^/]+\/[^/]+$/

export function isExplorerPath(path: string): boolean {
  return EXPLORER_PATHS.test(path)
}

/** POST: returns whether the request holds the control credential. Pages check it before a link's page secret replaces the stored one. */
export const SESSION_PATH = '/session'

/** The certificate that TLS clients must trust. */
export const CA_PATH = '/ca.pem'

export function isWalletPath(path: string): boolean {
  return path === WALLET_PATH || path.startsWith(`${WALLET_PATH}/`)
}

/** The path without query and trailing slash, also of an absolute URL, which a server must accept (RFC 9112, 3.2.2). */
export function pathOf(url: string): string {
  const target = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?]*/i, '')
  const end = target.indexOf('?')
  const path = (end < 0 ? target : target.slice(0, end)) || '/'
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
}

/** The encoding that `?compression=` selects; null if it is unknown. */
export function encodingOf(url: string): Encoding | null {
  return ENCODINGS.get(searchOf(url).get('compression') ?? 'none') ?? null
}

export function searchOf(url: string): URLSearchParams {
  const start = url.indexOf('?')
  return new URLSearchParams(start < 0 ? '' : url.slice(start))
}

const ENCODINGS: ReadonlyMap<string, Encoding> = new Map([
  ['none', 'plain'],
  ['plain', 'plain'],
  ['brotli', 'brotli'],
  ['br', 'brotli'],
])
