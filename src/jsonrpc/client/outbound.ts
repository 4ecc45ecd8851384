import { OUTBOUND_MS, OUTBOUND_REPLY_BYTES } from '../limits.ts'
import { ReplyBytes } from './outboundreply.ts'
import type { Lookup, OutboundReply, OutboundRequest, Transport } from './outboundreply.ts'
import { OutboundError, checkedUrl } from './outboundtarget.ts'
import type { Reach } from './outboundtarget.ts'

export interface OutboundOptions {
  /** `public` by default */
  readonly reach?: Reach
  /** from name resolution to the last byte of the reply; OUTBOUND_MS by default */
  readonly timeoutMs?: number
  /** OUTBOUND_REPLY_BYTES by default */
  readonly maxReplyBytes?: number
  /** returns all addresses of a name; the system's resolver by default */
  readonly lookup?: Lookup
  /** connections that are kept for further requests; none by default */
  readonly connections?: number
  /** certificates (PEM) that are trusted besides the system's */
  readonly ca?: string
  /** sends the requests, without the checks of addresses: for a proxy of the owner or a test */
  readonly fetch?: typeof globalThis.fetch
}

/** One request through an Outbound that ends with it. Throws OutboundError. */
export function guardedFetch(url: string, request: OutboundRequest & OutboundOptions = {}): Promise<OutboundReply> {
  return new Outbound(request).fetch(url, request)
}

/**
 * Fetches urls from untrusted sources: checks the url, resolves its name once, checks the addresses and connects to one of them (a second
 * resolution could return another one). No redirects, cookies and credentials; limits time and size of the reply. In a browser, which cannot
 * resolve names, only the url is checked.
 */
export class Outbound {
  readonly #options: OutboundOptions
  #transport: Promise<Transport> | null = null

  constructor(options: OutboundOptions = {}) {
    this.#options = options
  }

  /** Returns a reply of any status but a redirect. Throws OutboundError, and the reason of `request.signal`. */
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

/** In a page neither a redirect's target nor a resolved address is readable, so the browser's rules apply. */
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
    const retryAfter = reply.headers.get('retry-after')
    return { status: reply.status, body: await read(reply.body, url, maxReplyBytes), ...(retryAfter === null ? {} : { retryAfter }) }
  }
}

async function read(stream: ReadableStream<Uint8Array> | null, url: URL, maxReplyBytes: number): Promise<Uint8Array> {
  const reply = new ReplyBytes(url, maxReplyBytes)
  const reader = stream?.getReader()
  if (reader === undefined) return reply.whole()
  try {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) reply.add(piece.value)
  } catch (error) {
    // Stops the transfer; errors of the cancellation do not matter.
    reader.cancel().catch(() => {})
    throw error
  }
  return reply.whole()
}

const IS_NODE = typeof process === 'object' && typeof process.versions?.node === 'string'

function redirected(url: URL, status: number): OutboundError {
  return new OutboundError('redirect', `${url.origin} answered with a redirect (HTTP ${status}), which is not followed`, true)
}

/** Omits the address, which may be confidential. */
function causeOf(error: unknown): string {
  const { code, cause } = error as { code?: unknown; cause?: { code?: unknown } } // any thrown value; both are checked below
  const named = [code, cause?.code].find((value) => typeof value === 'string')
  return typeof named === 'string' ? named : 'the connection failed'
}
