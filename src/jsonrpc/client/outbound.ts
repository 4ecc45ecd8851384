import { OUTBOUND_MS, OUTBOUND_REPLY_BYTES } from '../limits.ts'
import { ReplyBytes } from './outboundreply.ts'
import type { Lookup, OutboundReply, OutboundRequest, Transport } from './outboundreply.ts'
import { OutboundError, checkedUrl } from './outboundtarget.ts'
import type { Reach } from './outboundtarget.ts'

export interface OutboundOptions {
  /** `public` unless said */
  readonly reach?: Reach
  /** from the first look at the name to the last byte of the answer; OUTBOUND_MS unless said */
  readonly timeoutMs?: number
  /** OUTBOUND_REPLY_BYTES unless said */
  readonly maxReplyBytes?: number
  /** all addresses of a name; the system's resolver unless said */
  readonly lookup?: Lookup
  /** connections at once that are kept for the next request; one that ends with its request unless said */
  readonly connections?: number
  /** certificates (PEM) that are trusted besides the system's */
  readonly ca?: string
  /** sends instead of us, and without our checks of addresses: an owner's proxy, a test */
  readonly fetch?: typeof globalThis.fetch
}

/** One request through an Outbound that ends with it. Throws OutboundError. */
export function guardedFetch(url: string, request: OutboundRequest & OutboundOptions = {}): Promise<OutboundReply> {
  return new Outbound(request).fetch(url, request)
}

/**
 * Every url that somebody else chose is fetched through this: what it names is checked, its addresses are looked up once and checked, and
 * the connection goes to one of those addresses (a second look-up might be told another). No redirects, no cookies, no
 * credentials, a time limit, a limit to the answer. In a browser, where nobody can look a name up, only the url is checked.
 */
export class Outbound {
  readonly #options: OutboundOptions
  #transport: Promise<Transport> | null = null

  constructor(options: OutboundOptions = {}) {
    this.#options = options
  }

  /** Any status is an answer but a redirect. Throws OutboundError; what `request.signal` says when that ended it. */
  async fetch(url: string, request: OutboundRequest = {}): Promise<OutboundReply> {
    const { reach = 'public' } = this.#options
    const timeoutMs = request.timeoutMs ?? this.#options.timeoutMs ?? OUTBOUND_MS
    const checked = checkedUrl(url, reach)
    let isConnected = false
    const limit = AbortSignal.timeout(timeoutMs)
    const signal = request.signal ? AbortSignal.any([request.signal, limit]) : limit
    try {
      const transport = await (this.#transport ??= this.#open())
      const reply = await transport(checked, request, signal, () => (isConnected = true))
      if (reply.status >= 300 && reply.status < 400) throw redirected(checked, reply.status)
      return reply
    } catch (error) {
      request.signal?.throwIfAborted()
      if (limit.aborted) throw new OutboundError('timeout', `${checked.origin} did not answer within ${timeoutMs} ms`, isConnected)
      if (error instanceof OutboundError) throw error
      throw new OutboundError('unreachable', `${checked.origin} cannot be reached: ${causeOf(error)}`, isConnected)
    }
  }

  async #open(): Promise<Transport> {
    const { fetch, maxReplyBytes = OUTBOUND_REPLY_BYTES, reach = 'public' } = this.#options
    if (fetch !== undefined || !IS_NODE) return fetchTransport(fetch ?? globalThis.fetch, maxReplyBytes)
    const { nodeTransport } = await import('./outboundnode.ts')
    return nodeTransport({ ...this.#options, reach, maxReplyBytes })
  }
}

/** A page cannot see where a redirect leads, nor what address it reaches: the browser's own rules hold there. */
function fetchTransport(fetch: typeof globalThis.fetch, maxReplyBytes: number): Transport {
  return async (url, { method = 'GET', headers, body }, signal, connected) => {
    connected()
    const reply = await fetch(url.href, {
      method,
      signal,
      ...(headers === undefined ? {} : { headers: { ...headers } }),
      ...(body === undefined ? {} : { body }),
      redirect: 'manual',
      credentials: 'omit',
      referrerPolicy: 'no-referrer',
    })
    if (reply.type === 'opaqueredirect') throw redirected(url, 302)
    return { status: reply.status, body: await read(reply.body, url, maxReplyBytes) }
  }
}

async function read(stream: ReadableStream<Uint8Array> | null, url: URL, maxReplyBytes: number): Promise<Uint8Array> {
  const reply = new ReplyBytes(url, maxReplyBytes)
  const reader = stream?.getReader()
  if (reader === undefined) return reply.whole()
  try {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) reply.add(piece.value)
  } catch (error) {
    // The other side stops sending; that it may fail to say so changes nothing.
    reader.cancel().catch(() => {})
    throw error
  }
  return reply.whole()
}

const IS_NODE = typeof process === 'object' && typeof process.versions?.node === 'string'

function redirected(url: URL, status: number): OutboundError {
  return new OutboundError('redirect', `${url.origin} answered with a redirect (HTTP ${status}), which is not followed`, true)
}

/** Without the address: who may not know it could otherwise read it off the refusal. */
function causeOf(error: unknown): string {
  const { code, cause } = error as { code?: unknown; cause?: { code?: unknown } } // whatever was thrown; both are looked at below
  const named = [code, cause?.code].find((value) => typeof value === 'string')
  return typeof named === 'string' ? named : 'the connection failed'
}
