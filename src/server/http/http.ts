import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Caller } from '../../rpc/index.ts'
import { JSON_TYPE, TEXT_TYPE, json, text } from './answer.ts'
import type { Answer } from './answer.ts'
import { AuthorityError } from '../tls/authority.ts'
import { BODY_BYTES, readJsonBody } from './body.ts'
import { NO_CREDENTIALS, REQUEST_ID_HEADER, callerOf, requestIdOf } from '../access/caller.ts'
import type { Credentials } from '../access/caller.ts'
import { NO_CODING, acceptedCoding } from './coding.ts'
import type { AcceptedCoding } from './coding.ts'
import type { Guard } from '../access/guard.ts'
import type { Health } from '../endpoints/health.ts'
import { METRICS_TYPE } from '../endpoints/metrics.ts'
import type { Metrics } from '../endpoints/metrics.ts'
import { ExplorerEndpoint } from '../endpoints/explorer.ts'
import { CRASHED } from '../deps.ts'
import type { Reply, ServerDeps } from '../deps.ts'
import { send } from './response.ts'
import {
  CA_PATH,
  METRICS_PATH,
  PAYMASTER_PATHS,
  PROBE_PATHS,
  SESSION_PATH,
  STREAM_PATHS,
  isWalletPath,
  pathOf,
  rpcRouteOf,
} from '../routes.ts'
import type { Tier } from '../routes.ts'
import type { SponsorEndpoint } from '../endpoints/sponsor.ts'
import type { WalletEndpoint } from '../endpoints/wallet.ts'

/** Endpoints of other modules on this port; absent if the node runs without them. */
interface Endpoints {
  readonly wallet?: WalletEndpoint | null
  readonly sponsor?: SponsorEndpoint | null
  /** Returns the certificate of the authority that TLS uses, PEM. Throws AuthorityError. */
  readonly ca?: () => string
  /** absent: no control credential and no API keys */
  readonly credentials?: Credentials
}

/** The sources of the probes and `/metrics`. */
interface Monitoring {
  readonly health: Health
  readonly metrics: Metrics
}

/** Answers HTTP requests. Envelope and status codes are geth's (`rpc/http.go`). */
export class Http {
  readonly #deps: ServerDeps
  readonly #guard: Guard
  readonly #health: Health
  readonly #metrics: Metrics
  readonly #wallet: WalletEndpoint | null
  readonly #sponsor: SponsorEndpoint | null
  readonly #ca: (() => string) | null
  readonly #credentials: Credentials
  readonly #explorer: ExplorerEndpoint

  constructor(
    deps: ServerDeps,
    guard: Guard,
    { health, metrics }: Monitoring,
    { wallet = null, sponsor = null, ca, credentials = NO_CREDENTIALS }: Endpoints = {},
  ) {
    this.#deps = deps
    this.#guard = guard
    this.#health = health
    this.#metrics = metrics
    this.#wallet = wallet
    this.#sponsor = sponsor
    this.#ca = ca ?? null
    this.#credentials = credentials
    this.#explorer = new ExplorerEndpoint(
      [
        'node',
        ...(wallet === null ? [] : ['wallet' as const]),
        ...(sponsor === null ? [] : ['sponsor' as const]),
        ...(ca === undefined ? [] : ['tls' as const]),
      ],
      credentials.control,
    )
  }

  serve(request: IncomingMessage, response: ServerResponse): void {
    const { headers, method = 'GET', url = '/' } = request
    if (this.#wallet !== null && isWalletPath(pathOf(url))) return this.#wallet.serve(request, response)
    const refusal = this.#guard.refusal(headers)
    if (refusal !== null) return this.#send(response, text(403, refusal), NO_CORS)
    if (method === 'POST') return this.#post(request, response, pathOf(url))
    const answer = method === 'OPTIONS' ? this.#preflight(request) : this.#read(method, pathOf(url), request)
    this.#send(response, answer, method === 'OPTIONS' ? NO_CORS : this.#guard.corsHeaders(headers.origin))
  }

  #post(request: IncomingMessage, response: ServerResponse, path: string): void {
    const fields = withRequestId(this.#guard.corsHeaders(request.headers.origin), request.headers)
    const route = rpcRouteOf(path)
    const { control } = this.#credentials
    if (path === SESSION_PATH && control !== null)
      return this.#send(response, json(200, { isControl: control.isControl(request.headers) }), fields)
    if (this.#sponsor !== null && PAYMASTER_PATHS.has(path)) return this.#sponsor.post(request, response, fields)
    if (route === null || (route.key !== null && this.#credentials.apiKeys === null))
      return this.#send(response, this.#notForPost(path, request), fields)
    const { tier, key: pathKey } = route
    readJsonBody(request, BODY_BYTES[tier], {
      onBody: (body) => {
        const accepts = acceptedCoding(request.headers)
        const { headers, socket } = request
        const answer = this.call(body, callerOf({ tier, headers, pathKey, address: socket.remoteAddress ?? '' }, this.#credentials))
        // Most answers are computed synchronously, and a promise would cost as much as computing them.
        if (answer instanceof Promise) void answer.then((late) => this.#send(response, late, fields, accepts))
        else this.#send(response, answer, fields, accepts)
      },
      onRefused: (refusal) => this.#send(response, refusal, fields),
    })
  }

  /** The caller of each request with these headers; null if it depends on the connection too. */
  callerOf(tier: Tier, headers: IncomingHttpHeaders): Caller | null {
    if (tier === 'public' && this.#credentials.apiKeys?.isAnonymous(headers) === true) return null
    return callerOf({ tier, headers, pathKey: null, address: '' }, this.#credentials)
  }

  #send(response: ServerResponse, answer: Answer, cors: readonly string[], accepts: AcceptedCoding = NO_CODING): void {
    send(response, answer, { cors, accepts, onError: this.onError })
  }

  /** Receives bugs, also those that occur while a response is being sent. */
  readonly onError = (error: unknown): void => this.#deps.onError(error)

  /** Answers a JSON-RPC body. Never throws or rejects: an error becomes a response with status 500. */
  call(body: Uint8Array, caller: Caller): Answer | Promise<Answer> {
    try {
      const reply = this.#deps.rpc.handle(body, caller)
      return reply instanceof Promise ? reply.then(answerOf).catch(this.#crashed) : answerOf(reply)
    } catch (error) {
      return this.#crashed(error)
    }
  }

  readonly #crashed = (error: unknown): Answer => {
    this.#deps.onError(error)
    return { status: 500, type: JSON_TYPE, body: CRASHED }
  }

  #preflight(request: IncomingMessage): Answer {
    return { status: 200, type: TEXT_TYPE, body: '', headers: ['allow', METHODS, ...this.#guard.preflightHeaders(request.headers)] }
  }

  #read(method: string, path: string, request: IncomingMessage): Answer {
    if (method !== 'GET' && method !== 'HEAD') return text(405, 'method not allowed', ['allow', METHODS])
    if (path === '/') return this.#front(request)
    if (PROBE_PATHS.has(path)) return this.#probe(path)
    if (path === METRICS_PATH) return { status: 200, type: METRICS_TYPE, body: this.#metrics.text(), headers: NO_STORE }
    if (STREAM_PATHS.has(path)) return text(426, 'the flashblock stream is a WebSocket', ['upgrade', 'websocket', 'connection', 'upgrade'])
    if (path === CA_PATH && this.#ca !== null) return certificate(this.#ca)
    // Load balancers probe with GET; geth answers with 200 and an empty body.
    if (rpcRouteOf(path)?.key === null) return { status: 200, type: JSON_TYPE, body: '' }
    return this.#sponsor?.read(path, request) ?? this.#explorer.read(path, request) ?? this.#notFound(path)
  }

  #notForPost(path: string, request: IncomingMessage): Answer {
    const isRead = PROBE_PATHS.has(path) || path === METRICS_PATH || STREAM_PATHS.has(path) || (path === CA_PATH && this.#ca !== null)
    const page = isRead ? null : (this.#sponsor?.read(path, request) ?? this.#explorer.read(path, request))
    if (!isRead && page === null) return this.#notFound(path)
    return text(405, 'method not allowed', ['allow', 'GET, HEAD, OPTIONS'])
  }

  #notFound(path: string): Answer {
    const places = [
      'JSON-RPC is at /, /rpc and /public',
      'the explorer at / in a browser',
      'the flashblock stream at /flashblocks',
      'probes at /health, /livez and /readyz',
      'metrics at /metrics',
    ]
    if (this.#wallet !== null) places.push('the wallet at /wallet')
    if (this.#sponsor !== null) places.push('the gas sponsor at /paymaster and its page at /sponsor')
    return text(404, `nothing at ${JSON.stringify(path.slice(0, 100))}; ${places.join(', ')}`)
  }

  /** Browsers get the explorer, programs the state of the node. */
  #front(request: IncomingMessage): Answer {
    if (request.headers.accept?.includes('text/html') === true) return this.#explorer.page(request)
    return json(200, { client: this.#deps.clientVersion, ...this.#health.status() })
  }

  /** `/livez` is 200 as long as the process answers. */
  #probe(path: string): Answer {
    const status = this.#health.status()
    return json(status.ready || path === '/livez' ? 200 : 503, { client: this.#deps.clientVersion, ...status })
  }
}

function answerOf({ body, status = 200, headers = NO_HEADERS }: Reply): Answer {
  return { status, type: JSON_TYPE, body: body ?? '', headers }
}

function withRequestId(fields: readonly string[], headers: IncomingHttpHeaders): readonly string[] {
  const id = requestIdOf(headers)
  return id === null ? fields : [...fields, REQUEST_ID_HEADER, id]
}

const METHODS = 'GET, HEAD, POST, OPTIONS'
const NO_CORS: readonly string[] = []
const NO_HEADERS: readonly string[] = []
const NO_STORE = ['cache-control', 'no-store']

/** The certificate is created at the first request. */
function certificate(ca: () => string): Answer {
  try {
    return { status: 200, type: CERTIFICATE_TYPE, body: ca(), headers: ['cache-control', 'no-store'] }
  } catch (error) {
    if (error instanceof AuthorityError) return text(503, error.message)
    throw error
  }
}

/** Makes browsers that keep their own list of authorities offer to add it. */
const CERTIFICATE_TYPE = 'application/x-x509-ca-cert'
