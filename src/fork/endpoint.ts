import { isObject } from '../eth/index.ts'
import { Outbound, OutboundError, RpcError, checkedUrl, replyJson } from '../jsonrpc/index.ts'
import type { OutboundReply } from '../jsonrpc/index.ts'
import { UpstreamError } from './errors.ts'
import { Limiter } from './limiter.ts'
import { UPSTREAM_BATCH, UPSTREAM_CONNECTIONS, UPSTREAM_REPLY_BYTES } from './limits.ts'
import { verdictOf } from './quirks.ts'
import type { Verdict } from './quirks.ts'

export interface UpstreamCall {
  readonly method: string
  readonly params: readonly unknown[]
}

export type UpstreamAnswer = { readonly result: unknown } | { readonly error: RpcError; readonly verdict: Verdict }

/** Why some calls of a request have no final answer. */
export interface Failure {
  /** `malformed` is repeated like `retry`; `fatal` is not repeated at this endpoint */
  readonly verdict: Verdict | 'malformed' | 'fatal'
  readonly error: UpstreamError
  readonly retryAfterMs: number | null
}

/** One HTTP request: final answers by the index of the call, and the failure of the others. */
interface Sent {
  readonly answers: ReadonlyMap<number, UpstreamAnswer>
  readonly failure: Failure | null
}

interface EndpointOptions {
  readonly timeoutMs: number
  readonly headers: Readonly<Record<string, string>>
  readonly computeUnitsPerSecond: number | null
  readonly noRateLimit: boolean
  readonly ca?: string
}

/** One URL: sends one HTTP request at a time per call of `send`, and keeps the batch size that the server accepts. */
export class Endpoint {
  /** scheme and host */
  readonly origin: string
  readonly limiter: Limiter
  readonly #url: string
  readonly #outbound: Outbound
  readonly #headers: Readonly<Record<string, string>>
  readonly #secrets: readonly string[]
  #batchSize = UPSTREAM_BATCH
  #ids = 1

  /** Throws UpstreamError for a url that is never fetched. */
  constructor(text: string, { timeoutMs, headers, computeUnitsPerSecond, noRateLimit, ca }: EndpointOptions) {
    const { url, authorization } = withoutCredentials(text)
    this.origin = originOf(url)
    this.#url = url.href
    this.#headers = { 'content-type': 'application/json', ...authorization, ...headers }
    this.#secrets = [text, url.href, url.pathname + url.search, url.pathname, url.search.slice(1)].filter((secret) => secret.length > 3)
    this.limiter = new Limiter(computeUnitsPerSecond, noRateLimit)
    const connections = UPSTREAM_CONNECTIONS
    const tls = ca === undefined ? {} : { ca }
    // The operator named the url, so any target is allowed.
    this.#outbound = new Outbound({ reach: 'anywhere', timeoutMs, maxReplyBytes: UPSTREAM_REPLY_BYTES, connections, ...tls })
  }

  /** Calls of one request; 1: batches are refused. */
  get batchSize(): number {
    return this.#batchSize
  }

  /** Sends the calls in one HTTP request. Rejects only with the reason of `signal`. */
  async send(calls: readonly UpstreamCall[], signal: AbortSignal): Promise<Sent> {
    const firstId = this.#ids
    this.#ids += calls.length
    const envelopes = calls.map(({ method, params }, i) => ({ jsonrpc: '2.0', id: firstId + i, method, params }))
    const body = JSON.stringify(calls.length === 1 ? envelopes[0] : envelopes)
    let reply: OutboundReply
    try {
      reply = await this.#outbound.fetch(this.#url, { method: 'POST', headers: this.#headers, body, signal })
    } catch (error) {
      signal.throwIfAborted()
      return { answers: new Map(), failure: this.#unanswered(error) }
    }
    return this.#read(reply, calls.length, firstId)
  }

  #read(reply: OutboundReply, count: number, firstId: number): Sent {
    const { status } = reply
    const body = replyJson(reply.body)
    if (Array.isArray(body) && count > 1) return this.#readBatch(reply, body, count, firstId)
    if (count === 1 && isObject(body) && 'result' in body && isAbsent(body['error']) && isId(body['id'], firstId))
      return { answers: new Map([[0, { result: body['result'] }]]), failure: null }
    const error = isObject(body) && !isAbsent(body['error']) ? this.#errorOf(body['error']) : null
    const isForBatch = count > 1
    const verdict = verdictOf({ status, code: error?.code ?? null, message: error?.message ?? null, isForBatch })
    if (status === 401 || status === 403) return { answers: new Map(), failure: this.#failure('fatal', reply, error) }
    if (error !== null && !isForBatch && verdict !== 'rate-limit' && verdict !== 'retry')
      return { answers: new Map([[0, { error, verdict }]]), failure: null }
    if (isForBatch && this.#takesLess(verdict, count)) return { answers: new Map(), failure: this.#failure(verdict, reply, error) }
    if (isForBatch && verdict === 'refused' && error !== null) {
      this.#batchSize = 1
      return { answers: new Map(), failure: this.#failure('batch', reply, error) }
    }
    if (error !== null || status < 200 || status > 299) {
      const isPassing = verdict === 'rate-limit' || verdict === 'retry'
      return { answers: new Map(), failure: this.#failure(isPassing ? verdict : 'fatal', reply, error) }
    }
    return { answers: new Map(), failure: this.#malformed(reply) }
  }

  #readBatch(reply: OutboundReply, items: readonly unknown[], count: number, firstId: number): Sent {
    const answers = new Map<number, UpstreamAnswer>()
    let failure: Failure | null = null
    for (const item of items) {
      if (!isObject(item)) continue
      const index = Number(item['id'] ?? NaN) - firstId
      if (!(index >= 0 && index < count)) continue
      if (isAbsent(item['error']) && 'result' in item) answers.set(index, { result: item['result'] })
      else if (!isAbsent(item['error'])) {
        const error = this.#errorOf(item['error'])
        const verdict = verdictOf({ status: reply.status, code: error.code, message: error.message, isForBatch: false })
        if (isFinal(verdict)) answers.set(index, { error, verdict })
        else {
          if (verdict === 'batch-size') this.#takesLess(verdict, count)
          failure = this.#failure(verdict, reply, error)
        }
      }
    }
    if (answers.size < count && failure === null) {
      failure = this.#takesLess('batch-size', count) ? this.#failure('batch-size', reply, null) : this.#malformed(reply)
    }
    return { answers, failure }
  }

  /** Lowers the size of batches. Returns whether the verdict requires it. */
  #takesLess(verdict: Verdict, count: number): boolean {
    if (verdict === 'batch') this.#batchSize = 1
    else if (verdict === 'batch-size') this.#batchSize = Math.max(1, Math.min(this.#batchSize, Math.floor(count / 2)))
    else return false
    return true
  }

  #unanswered(error: unknown): Failure {
    const isPassing = !(error instanceof OutboundError) || error.reason === 'unreachable' || error.reason === 'timeout'
    const message = `upstream ${error instanceof Error ? error.message : 'cannot be reached'}`
    return { verdict: isPassing ? 'retry' : 'fatal', error: new UpstreamError('unreachable', message), retryAfterMs: null }
  }

  #failure(verdict: Failure['verdict'], { status, retryAfter }: OutboundReply, error: RpcError | null): Failure {
    const shown = error === null ? `HTTP ${status} without a JSON-RPC response` : `error ${error.code}: ${error.message}`
    const isLimit = verdict === 'rate-limit'
    const hint = status === 401 || status === 403 || status === 404 ? '; check the URL and its key' : ''
    const remedy = isLimit ? '; lower the rate with --compute-units-per-second, or use another endpoint' : hint
    const reason = isLimit ? 'rate-limit' : verdict === 'retry' ? 'unreachable' : 'refused'
    const message = `upstream ${this.origin} answered ${shown}${remedy}`
    return { verdict, error: new UpstreamError(reason, message), retryAfterMs: millisecondsOf(retryAfter) }
  }

  #malformed({ status }: OutboundReply): Failure {
    const message = `upstream ${this.origin} answered HTTP ${status} with a body that is not a JSON-RPC response to the request`
    return { verdict: 'malformed', error: new UpstreamError('malformed', message), retryAfterMs: null }
  }

  #errorOf(value: unknown): RpcError {
    const { code, message, data } = isObject(value) ? value : { code: null, message: value, data: undefined }
    const text = typeof message === 'string' ? message : 'an error without a message'
    return new RpcError(typeof code === 'number' ? code : -32000, this.redact(text), data)
  }

  /** Returns the text with the path, query and credentials of the url replaced. */
  redact(text: string): string {
    return this.#secrets.reduce((redacted, secret) => redacted.replaceAll(secret, '…'), text)
  }
}

/** Some gateways answer with the id as a string. */
function isId(value: unknown, id: number): boolean {
  return value === id || value === String(id)
}

/** An answer about the call itself, which another attempt would not change. */
function isFinal(verdict: Verdict): boolean {
  return verdict === 'refused' || verdict === 'unsupported' || verdict === 'block-hash' || verdict === 'pruned'
}

/** Basic authentication is the one use of credentials in a url; Outbound refuses them there. */
function withoutCredentials(text: string): { url: URL; authorization: Record<string, string> } {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null) throw new UpstreamError('unreachable', 'the fork URL is not a URL; expected http://host or https://host')
  const { username, password } = url
  url.username = ''
  url.password = ''
  try {
    checkedUrl(url.href, 'anywhere')
  } catch (error) {
    throw new UpstreamError('unreachable', `the fork URL of ${url.host} cannot be used: ${(error as Error).message}`) // OutboundError
  }
  if (username === '' && password === '') return { url, authorization: {} }
  const credentials = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64')
  return { url, authorization: { authorization: `Basic ${credentials}` } }
}

function originOf(url: URL): string {
  return `${url.protocol}//${url.host}`
}

/** Seconds, or an HTTP date. */
function millisecondsOf(retryAfter: string | undefined): number | null {
  if (retryAfter === undefined) return null
  const seconds = Number(retryAfter)
  const ms = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(retryAfter) - Date.now()
  return Number.isFinite(ms) ? Math.max(0, ms) : null
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null
}
