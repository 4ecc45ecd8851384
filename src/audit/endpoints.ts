import { OutboundError, checkedUrl } from '../jsonrpc/index.ts'

/** The addresses of an audit. */
export interface Endpoints {
  readonly rpc: string
  /** WebSockets that may be a flashblock stream or JSON-RPC, in the order of preference; the first one was given if `isGiven` */
  readonly sockets: readonly string[]
  readonly isGiven: boolean
}

/** An endpoint that cannot be audited: the reason in one sentence, with what to do. */
export class AuditError extends Error {
  override readonly name = 'AuditError'
}

/** Completes the addresses: each is derived from the other one if it is missing. Throws AuditError. */
export function endpointsOf(rpc: string | null, ws: string | null): Endpoints {
  if (rpc === null && ws === null) throw new AuditError('name the endpoint with --rpc or --ws, such as --rpc http://127.0.0.1:8545')
  if (rpc !== null) assertUrl(rpc, '--rpc', ['http:', 'https:'])
  if (ws !== null) assertUrl(ws, '--ws', ['ws:', 'wss:'])
  const base = rpc ?? httpOf(ws ?? '')
  const derived = wsOf(base)
  const sockets = [...(ws === null ? [] : [ws]), derived, beside(ws ?? derived)]
  return { rpc: base, sockets: [...new Set(sockets)], isGiven: ws !== null }
}

/** The path of the flashblock stream of pocketchain. */
const STREAM_PATH = '/flashblocks'

function assertUrl(text: string, flag: string, schemes: readonly string[]): void {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || !schemes.includes(url.protocol))
    throw new AuditError(
      `${flag} expects a URL that begins with ${schemes.map((scheme) => `${scheme}//`).join(' or ')}, not "${shown(text)}"`,
    )
  try {
    checkedUrl(text.replace(/^ws/i, 'http'), 'anywhere')
  } catch (error) {
    if (error instanceof OutboundError) throw new AuditError(`${flag}: ${error.message}`)
    throw error
  }
}

/** Without credentials. */
function shown(text: string): string {
  return text.replace(/\/\/[^/]*@/, '//…@').slice(0, 200)
}

function wsOf(http: string): string {
  return http.replace(/^http/i, 'ws')
}

/** Returns the JSON-RPC URL of the same host, without the path of a stream. */
function httpOf(ws: string): string {
  const url = new URL(ws.replace(/^ws/i, 'http'))
  if (/\/(flashblocks|ws)\/?$/.test(url.pathname)) url.pathname = '/'
  url.search = STREAM_PARAMETERS.some((key) => url.searchParams.has(key)) ? '' : url.search
  return url.href
}

/** Query parameters that only a stream has. */
const STREAM_PARAMETERS = ['compression', 'encoding']

function beside(ws: string): string {
  const url = new URL(ws)
  url.pathname = STREAM_PATH
  url.search = ''
  return url.href
}
