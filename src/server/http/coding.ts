import type { IncomingHttpHeaders } from 'node:http'

/** Content codings of RFC 9110, 8.4.1 that responses are compressed with. */
export type Coding = 'br' | 'gzip'

/** The content coding that a request prefers. */
export interface AcceptedCoding {
  /** null: none */
  readonly coding: Coding | null
  /** the header is one that an HTTP library sends with every request, so it states no preference of the caller */
  readonly isClientDefault: boolean
}

export const NO_CODING: AcceptedCoding = { coding: null, isClientDefault: false }

/** Parses Accept-Encoding (RFC 9110, 12.5.3). Without the header nothing is compressed, since JSON-RPC clients do not expect it. */
export function acceptedCoding(headers: Readonly<Record<string, string>> | IncomingHttpHeaders): AcceptedCoding {
  const accepted = headers['accept-encoding']
  if (typeof accepted !== 'string') return NO_CODING
  const isProxied = PROXY_HEADERS.some((name) => headers[name] !== undefined)
  return { coding: preferred(accepted), isClientDefault: CLIENT_DEFAULTS.has(accepted) && !isProxied }
}

/** The coding of a response; null: none. On loopback the default header of an HTTP library is ignored. */
export function codingFor({ coding, isClientDefault }: AcceptedCoding, remoteAddress: string | undefined): Coding | null {
  return coding !== null && isClientDefault && isLoopback(remoteAddress) ? null : coding
}

/**
 * Sent with every request by fetch of Node 20, 22 and 24 (the first, which Chrome and Firefox also send to remote hosts), by Chrome and
 * Firefox to localhost (the last) and by Safari. Between two processes of one machine compression only adds time: gzip at level 1
 * produces 440 MB/s, loopback transfers five times that.
 */
const CLIENT_DEFAULTS: ReadonlySet<string> = new Set(['gzip, deflate', 'gzip, deflate, br', 'gzip, deflate, br, zstd'])

/** Headers of a proxy: the client is remote although the connection comes from loopback. */
const PROXY_HEADERS: readonly string[] = ['x-forwarded-for', 'forwarded', 'via']

/** At equal weight the earlier row is preferred. */
const SUPPORTED: readonly (readonly [coding: Coding | 'identity', names: readonly string[]])[] = [
  ['br', ['br', '*']],
  ['gzip', ['gzip', 'x-gzip', '*']],
  ['identity', ['identity']],
]

function preferred(accepted: string): Coding | null {
  const weights = weightsOf(accepted)
  let best: Coding | 'identity' = 'identity'
  let bestWeight = 0
  for (const [coding, names] of SUPPORTED) {
    const name = names.find((name) => weights.has(name))
    const weight = name === undefined ? 0 : (weights.get(name) ?? 0)
    if (weight > bestWeight) [best, bestWeight] = [coding, weight]
  }
  return best === 'identity' ? null : best
}

/** An invalid weight counts as 0, which excludes the coding. */
function weightsOf(accepted: string): ReadonlyMap<string, number> {
  const weights = new Map<string, number>()
  for (const item of accepted.toLowerCase().split(',')) {
    const [name = '', ...parameters] = item.split(';').map((part) => part.trim())
    if (name !== '') weights.set(name, weightOf(parameters))
  }
  return weights
}

function weightOf(parameters: readonly string[]): number {
  const [given = 'q=1'] = parameters
  return WEIGHT.test(given) ? Number(given.slice(2)) : 0
}

const WEIGHT = /^q=(0(\.\d{0,3})?|1(\.0{0,3})?)$/

function isLoopback(address: string | undefined): boolean {
  return address !== undefined && (address === '::1' || address.startsWith('127.') || address.startsWith('::ffff:127.'))
}
