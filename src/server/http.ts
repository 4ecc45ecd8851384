import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Caller } from '../rpc/index.ts'
import { HTML_TYPE, JSON_TYPE, TEXT_TYPE, json, text } from './answer.ts'
import type { Answer } from './answer.ts'
import { readBody } from './body.ts'
import { NO_ASK, askOf } from './coding.ts'
import type { Guard } from './guard.ts'
import type { Health } from './health.ts'
import { DEDICATED_BODY_BYTES, PUBLIC_BODY_BYTES } from './limits.ts'
import { page } from './page.ts'
import { CRASHED } from './port.ts'
import type { Reply, Served } from './port.ts'
import { send } from './response.ts'
import { PROBE_PATHS, RPC_PATHS, STREAM_PATHS, pathOf } from './routes.ts'
import type { Tier } from './routes.ts'

/** Answers HTTP requests. Envelope and status codes are geth's (`rpc/http.go`). */
export class Http {
  readonly #served: Served
  readonly #guard: Guard
  readonly #health: Health

  constructor(served: Served, guard: Guard, health: Health) {
    this.#served = served
    this.#guard = guard
    this.#health = health
  }

  serve(request: IncomingMessage, response: ServerResponse): void {
    const { headers, method = 'GET', url = '/' } = request
    const refusal = this.#guard.refusal(headers)
    if (refusal !== null) return this.#send(response, text(403, refusal), NO_CORS)
    if (method === 'POST') return this.#post(request, response, pathOf(url))
    const answer = method === 'OPTIONS' ? this.#preflight(request) : this.#read(method, pathOf(url), headers.accept)
    this.#send(response, answer, method === 'OPTIONS' ? NO_CORS : this.#guard.corsHeaders(headers.origin))
  }

  #post(request: IncomingMessage, response: ServerResponse, path: string): void {
    const cors = this.#guard.corsHeaders(request.headers.origin)
    const tier = RPC_PATHS[path]
    if (tier === undefined) return this.#send(response, notForPost(path), cors)
    const unsuitable = unsuitableContent(request)
    if (unsuitable !== null) return this.#send(response, unsuitable, cors)
    const limitBytes = BODY_BYTES[tier]
    readBody(request, limitBytes, (body) => {
      if (body === undefined) return
      if (body === null) return this.#send(response, text(413, `request body too large: at most ${limitBytes} bytes`), cors)
      const ask = askOf(request.headers)
      const answer = this.call(body, tier)
      // Most answers are ready, and a promise would cost as much as making them.
      if (answer instanceof Promise) void answer.then((late) => this.#send(response, late, cors, ask))
      else this.#send(response, answer, cors, ask)
    })
  }

  #send(response: ServerResponse, answer: Answer, cors: readonly string[], ask = NO_ASK): void {
    send(response, answer, { cors, ask, onError: this.onError })
  }

  /** Gets what breaks while an answer is on its way. */
  readonly onError = (error: unknown): void => this.#served.onError(error)

  /** Never throws or rejects: whatever breaks becomes an answer. */
  call(body: Uint8Array, tier: Tier): Answer | Promise<Answer> {
    try {
      const reply = this.#served.rpc.handle(body, CALLERS[tier])
      return reply instanceof Promise ? reply.then(answerOf).catch(this.#crashed) : answerOf(reply)
    } catch (error) {
      return this.#crashed(error)
    }
  }

  readonly #crashed = (error: unknown): Answer => {
    this.#served.onError(error)
    return { status: 500, type: JSON_TYPE, body: CRASHED }
  }

  #preflight(request: IncomingMessage): Answer {
    return { status: 200, type: TEXT_TYPE, body: '', headers: ['allow', METHODS, ...this.#guard.preflightHeaders(request.headers)] }
  }

  #read(method: string, path: string, accept: string | undefined): Answer {
    if (method !== 'GET' && method !== 'HEAD') return text(405, 'method not allowed', ['allow', METHODS])
    if (path === '/') return this.#front(accept)
    if (PROBE_PATHS.has(path)) return this.#probe(path)
    if (STREAM_PATHS.has(path)) return text(426, 'the flashblock stream is a WebSocket', ['upgrade', 'websocket', 'connection', 'upgrade'])
    // Load balancers probe with an empty GET; geth answers them with 200 and nothing.
    return RPC_PATHS[path] === undefined ? notFound(path) : { status: 200, type: JSON_TYPE, body: '' }
  }

  #front(accept: string | undefined): Answer {
    const status = this.#health.status()
    if (accept?.includes('text/html') !== true) return json(200, { client: this.#served.clientVersion, ...status })
    return { status: 200, type: HTML_TYPE, body: page(this.#served.clientVersion, status), headers: PAGE_HEADERS }
  }

  /** `livez` only says that the process answers. */
  #probe(path: string): Answer {
    const status = this.#health.status()
    return json(status.ready || path === '/livez' ? 200 : 503, { client: this.#served.clientVersion, ...status })
  }
}

function answerOf({ body, status = 200 }: Reply): Answer {
  return { status, type: JSON_TYPE, body: body ?? '' }
}

const METHODS = 'GET, HEAD, POST, OPTIONS'
const NO_CORS: readonly string[] = []
const PAGE_HEADERS = ['content-security-policy', "default-src 'none'; style-src 'unsafe-inline'", 'cache-control', 'no-store']

const BODY_BYTES: Readonly<Record<Tier, number>> = { dedicated: DEDICATED_BODY_BYTES, public: PUBLIC_BODY_BYTES }

const CALLERS: Readonly<Record<Tier, Caller>> = {
  dedicated: { tier: 'dedicated', session: null },
  public: { tier: 'public', session: null },
}

const CONTENT_TYPES: ReadonlySet<string> = new Set(['application/json', 'application/json-rpc', 'application/jsonrequest'])

/** Why a body is not read; null: it is JSON as it lies. */
export function unsuitableContent({ headers }: Pick<IncomingMessage, 'headers'>): Answer | null {
  const encoding = headers['content-encoding'] ?? 'identity'
  if (encoding !== 'identity') return text(415, 'invalid content encoding, only identity is supported')
  const type = headers['content-type'] ?? ''
  if (CONTENT_TYPES.has(type) || CONTENT_TYPES.has(mediaType(type))) return null
  return text(415, 'invalid content type, only application/json is supported')
}

/** `Application/JSON; charset=utf-8` is `application/json`. */
function mediaType(type: string): string {
  return (type.split(';', 1)[0] ?? '').trim().toLowerCase()
}

function notForPost(path: string): Answer {
  if (PROBE_PATHS.has(path) || STREAM_PATHS.has(path)) return text(405, 'method not allowed', ['allow', 'GET, HEAD, OPTIONS'])
  return notFound(path)
}

function notFound(path: string): Answer {
  return text(404, `nothing at ${JSON.stringify(path.slice(0, 100))}; JSON-RPC is at / and /public, the flashblock stream at /flashblocks`)
}
