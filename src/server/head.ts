import { RPC_PATHS } from './routes.ts'
import type { Tier } from './routes.ts'

/** The head of a request that the lane may answer. */
export interface Head {
  readonly tier: Tier
  /** names in lower case, each once */
  readonly headers: Readonly<Record<string, string>>
  readonly bodyBytes: number
}

/**
 * Reads the one shape of head that the lane knows, given without the empty line at its end; null for every other, however sound it is. It
 * takes less than node:http does, never more: who reads a request in two ways can be made to see two requests where there is one
 * (RFC 9112, 11.2).
 */
export function readHead(text: string): Head | null {
  const [requestLine = '', ...lines] = text.split('\r\n')
  const tier = REQUEST_LINES.get(requestLine)
  if (tier === undefined) return null
  const headers = headersOf(lines)
  if (headers === null) return null
  const { host, connection = 'keep-alive', 'content-length': length = '' } = headers
  if (host === undefined || connection.toLowerCase() !== 'keep-alive' || !LENGTH.test(length)) return null
  return { tier, headers, bodyBytes: Number(length) }
}

function headersOf(lines: readonly string[]): Record<string, string> | null {
  const headers: Record<string, string> = Object.create(null)
  for (const line of lines) {
    const field = FIELD.exec(line)
    if (field === null) return null
    const [, name = '', value = ''] = field
    const key = name.toLowerCase()
    if (key in headers || NOT_PLAIN.has(key)) return null
    headers[key] = value
  }
  return headers
}

const REQUEST_LINES: ReadonlyMap<string, Tier> = new Map(
  Object.entries(RPC_PATHS).map(([path, tier]) => [`POST ${path} HTTP/1.1`, tier] as const),
)

/** A token, a colon, a space at most, and visible ASCII: no folded lines, no bare CR or LF, no blanks at the end, no empty value. */
const FIELD = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+): ?([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)$/

/** Digits alone, none of them for show. More would not come in one piece. */
const LENGTH = /^[1-9][0-9]{0,6}$/

/** Whoever sends one of these wants more than a plain exchange, or speaks of where the request ends. */
const NOT_PLAIN: ReadonlySet<string> = new Set([
  'content-encoding',
  'expect',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])
