import type { LookupAddress, LookupOptions } from 'node:dns'
import type { Agent, ClientRequest, IncomingMessage } from 'node:http'
import { ReplyBytes } from './outboundreply.ts'
import type { Lookup, OutboundReply, Transport } from './outboundreply.ts'
import { OutboundError, assertReachable, bareHost, isLoopbackName } from './outboundtarget.ts'
import type { Reach } from './outboundtarget.ts'
import { PublicAddress } from './publicaddress.ts'

interface NodeTransportOptions {
  readonly reach: Reach
  readonly maxReplyBytes: number
  readonly lookup?: Lookup
  /** connections that are kept for further requests; none by default */
  readonly connections?: number
  /** PEM */
  readonly ca?: string
}

/** Sends requests in Node: resolves names, and connects to the checked addresses. */
export async function nodeTransport(options: NodeTransportOptions): Promise<Transport> {
  const { reach, maxReplyBytes, lookup = systemLookup, connections, ca } = options
  const [http, https, tls] = await Promise.all([import('node:http'), import('node:https'), import('node:tls')])
  // Idle sockets of an agent do not keep the process alive, so it needs no close.
  const kept = { keepAlive: connections !== undefined, ...(connections === undefined ? {} : { maxSockets: connections }) }
  const trusted = ca === undefined ? {} : { ca: [...tls.rootCertificates, ca] }
  const secure = { send: https.request, agent: new https.Agent({ ...kept, ...trusted }) as Agent } // all that differs is inside
  const plain = { send: http.request, agent: new http.Agent(kept) }
  return async (url, request, signal, connected) => {
    const isSecure = url.protocol === 'https:'
    const { send, agent } = isSecure ? secure : plain
    const addresses = await checkedAddresses(url.hostname, reach, lookup, signal)
    const { method = 'GET', headers = {}, body } = request
    const wire = { method, agent, signal, lookup: toThese(addresses), headers: headersOf(headers, body) }
    const begin = (): ClientRequest => notifyingConnected(send(url, wire), isSecure, connected)
    return answerOf(begin, body, () => new ReplyBytes(url, maxReplyBytes), true)
  }
}

/** A kept connection is connected already. */
function notifyingConnected(request: ClientRequest, isSecure: boolean, connected: () => void): ClientRequest {
  return request.once('socket', (socket) => {
    if (request.reusedSocket) connected()
    else socket.once(isSecure ? 'secureConnect' : 'connect', connected)
  })
}

function headersOf(given: Readonly<Record<string, string>>, body: string | undefined): Record<string, string> {
  // A compressed reply would need the same limit for its content, so it is not accepted.
  const headers = { accept: 'application/json', 'accept-encoding': 'identity', 'user-agent': 'pocketchain', ...given }
  return body === undefined ? headers : { ...headers, 'content-length': String(Buffer.byteLength(body)) }
}

/** Throws OutboundError for a forbidden address, and the errors of the resolver. */
async function checkedAddresses(hostname: string, reach: Reach, lookup: Lookup, signal: AbortSignal): Promise<readonly string[]> {
  const bare = bareHost(hostname)
  if (PublicAddress.parse(bare) !== null) return [bare] // `checkedUrl` has checked it
  const found = await untilAborted(lookup(bare), signal)
  const addresses = found.map(PublicAddress.parse).filter((address) => address !== null)
  if (addresses.length === 0 || addresses.length < found.length) throw new OutboundError('unreachable', `${hostname} has no address`)
  assertReachable(hostname, addresses, reach)
  return found
}

async function systemLookup(hostname: string): Promise<readonly string[]> {
  // Not every resolver has the names below localhost.
  const { lookup } = await import('node:dns/promises')
  const found = await lookup(isLoopbackName(hostname) ? 'localhost' : hostname, { all: true })
  return found.map(({ address }) => address)
}

/** A resolver cannot be cancelled, but the wait for it can. */
function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason as Error) // what ends a fetch is an error
    if (signal.aborted) return stop()
    signal.addEventListener('abort', stop, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}

type Answer = (error: Error | null, address: string | LookupAddress[], family?: number) => void

/** A resolver for `net.connect` that returns only these addresses. */
function toThese(addresses: readonly string[]) {
  const all = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  return (_hostname: string, { all: wantsAll }: LookupOptions, answer: Answer): void => {
    const [first] = all
    if (first === undefined) return answer(new OutboundError('unreachable', 'no address is left'), [])
    if (wantsAll === true) answer(null, [...all])
    else answer(null, first.address, first.family)
  }
}

/** `mayRepeat`: the server may close a kept connection while the request is sent; it is then sent again on a new one. */
async function answerOf(
  begin: () => ClientRequest,
  body: string | undefined,
  emptyReply: () => ReplyBytes,
  mayRepeat: boolean,
): Promise<OutboundReply> {
  const request = begin()
  let hasBegun = false
  request.once('response', () => (hasBegun = true))
  try {
    return await received(request, body, emptyReply())
  } catch (error) {
    const { code } = error as { code?: unknown } // any thrown value
    if (mayRepeat && !hasBegun && request.reusedSocket && code === 'ECONNRESET') return answerOf(begin, body, emptyReply, false)
    throw error
  }
}

function received(request: ClientRequest, body: string | undefined, reply: ReplyBytes): Promise<OutboundReply> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => {
      request.destroy()
      reject(error)
    }
    request.on('error', fail)
    request.on('response', (message: IncomingMessage) => {
      message.on('data', (piece: Uint8Array) => {
        try {
          reply.add(piece)
        } catch (error) {
          fail(error as Error) // OutboundError
        }
      })
      message.on('error', fail)
      message.on('end', () => {
        const retryAfter = message.headers['retry-after']
        resolve({ status: message.statusCode ?? 0, body: reply.whole(), ...(retryAfter === undefined ? {} : { retryAfter }) })
      })
      message.on(
        'close',
        () => message.complete || fail(new OutboundError('unreachable', 'the connection ended before the answer did', true)),
      )
    })
    request.end(body)
  })
}
