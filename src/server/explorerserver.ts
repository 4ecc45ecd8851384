import { createServer } from 'node:http'
import type { IncomingMessage, Server as HttpServer, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { WebSocket, WebSocketServer } from 'ws'
import { CODE, RpcError, failureText, idText, openEnvelope, parseBody } from '../jsonrpc/index.ts'
import { Guard } from './access/guard.ts'
import type { GuardOptions } from './access/guard.ts'
import { ExplorerEndpoint } from './endpoints/explorer.ts'
import { ExploredNode } from './explorednode.ts'
import {
  EXPLORED_IN_FLIGHT,
  EXPLORED_PROBE_MS,
  EXPLORED_REPLY_BYTES,
  EXPLORED_SOCKETS,
  KEEP_ALIVE_MS,
  MAX_CONNECTIONS,
  PUBLIC_BODY_BYTES,
  REQUEST_MS,
  SLOW_CLIENT_BYTES,
} from './limits.ts'
import { JSON_TYPE, text } from './http/answer.ts'
import type { Answer } from './http/answer.ts'
import { CRASHED } from './deps.ts'
import { readJsonBody } from './http/body.ts'
import { send } from './http/response.ts'
import { pathOf } from './routes.ts'
import { ListenError, listening } from './server.ts'

export interface ExplorerServerOptions extends GuardOptions {
  /** URL of the node to show: http, https, ws or wss */
  readonly url: string
  readonly host: string
  /** 0: any free port */
  readonly port: number
  readonly onError: (error: unknown) => void
}

/** Serves only the explorer's pages, and forwards their requests to another node. */
export class ExplorerServer {
  readonly host: string
  readonly port: number
  readonly #http: HttpServer
  readonly #links: ReadonlySet<WebSocket>
  readonly #node: ExploredNode

  /** Opens the port. Throws ListenError if that fails, OutboundError for a wrong URL. The node is first reached by a page. */
  static async listen(options: ExplorerServerOptions): Promise<ExplorerServer> {
    const { host, port, onError } = options
    const node = new ExploredNode(options.url)
    const links = new Set<WebSocket>()
    const guard = new Guard({ ...options, allowHosts: [...(options.allowHosts ?? []), host] })
    const pages = new ExplorerEndpoint([], null)
    const sockets = new WebSocketServer({ noServer: true, maxPayload: PUBLIC_BODY_BYTES, perMessageDeflate: false })
    const http = createServer({ keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: REQUEST_MS }, (request, response) =>
      serve({ request, response, guard, pages, node, onError }),
    )
    http.maxConnections = MAX_CONNECTIONS
    http.on('upgrade', (request, socket, head) => upgrade(request, socket, head, { guard, sockets, links, node }))
    try {
      await listening(http, port, host)
    } catch (error) {
      throw new ListenError(port, host, error)
    }
    http.on('error', onError)
    return new ExplorerServer(http, { host, links, node })
  }

  private constructor(
    http: HttpServer,
    { host, links, node }: { readonly host: string; readonly links: ReadonlySet<WebSocket>; readonly node: ExploredNode },
  ) {
    this.#http = http
    this.#links = links
    this.#node = node
    this.host = host
    this.port = (http.address() as AddressInfo).port // listens on TCP, never on a pipe
  }

  /** Returns why the node does not answer, or null if it does. */
  problem(): Promise<string | null> {
    return this.#node.problem()
  }

  async close(): Promise<void> {
    for (const upstream of this.#links) upstream.terminate()
    const closed = new Promise<void>((resolve) => this.#http.close(() => resolve()))
    this.#http.closeAllConnections()
    await closed
  }
}

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly guard: Guard
  readonly pages: ExplorerEndpoint
  readonly node: ExploredNode
  readonly onError: (error: unknown) => void
}

function serve({ request, response, guard, pages, node, onError }: Exchange): void {
  const { headers, method = 'GET', url = '/' } = request
  const reply = (answer: Answer) => send(response, answer, { cors: guard.corsHeaders(headers.origin), onError })
  const refusal = guard.refusal(headers)
  if (refusal !== null) return reply(text(403, refusal))
  const path = pathOf(url)
  if (method === 'GET' || method === 'HEAD') {
    const page = path === '/' ? pages.page(request) : pages.read(path, request)
    return reply(page ?? text(404, 'the explorer of another node has its pages here only; the node itself is at the URL of --explorer-of'))
  }
  if (method !== 'POST' || path !== '/') return reply(text(405, 'method not allowed', ['allow', 'GET, HEAD, POST']))
  const onCrash = (error: unknown) => {
    onError(error)
    reply({ status: 500, type: JSON_TYPE, body: CRASHED })
  }
  readJsonBody(request, PUBLIC_BODY_BYTES, { onBody: (body) => void node.answer(body).then(reply, onCrash), onRefused: reply })
}

/** Connects a page with the node for subscriptions. The page is admitted once the node has answered, so that it polls a node without WebSocket. */
function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, { guard, sockets, links, node }: UpgradeParts): void {
  socket.on('error', () => socket.destroy())
  const { headers, url = '/' } = request
  if (guard.refusal(headers) !== null) return endUpgrade(socket, '403 Forbidden')
  if (pathOf(url) !== '/') return endUpgrade(socket, '404 Not Found')
  if (links.size >= EXPLORED_SOCKETS) return endUpgrade(socket, '429 Too Many Requests')
  const upstream = new WebSocket(node.wsUrl, {
    maxPayload: EXPLORED_REPLY_BYTES,
    perMessageDeflate: false,
    followRedirects: false,
    handshakeTimeout: EXPLORED_PROBE_MS,
  })
  links.add(upstream)
  socket.on('close', () => upstream.terminate())
  upstream.on('close', () => links.delete(upstream))
  const refuse = () => endUpgrade(socket, '502 Bad Gateway')
  upstream.on('error', refuse)
  upstream.on('open', () => {
    upstream.off('error', refuse)
    upstream.on('error', () => socket.destroy())
    sockets.handleUpgrade(request, socket, head, (page) => link(page, upstream, node))
  })
}

interface UpgradeParts {
  readonly guard: Guard
  readonly sockets: WebSocketServer
  readonly links: Set<WebSocket>
  readonly node: ExploredNode
}

function endUpgrade(socket: Duplex, status: string): void {
  if (socket.writable) socket.end(`HTTP/1.1 ${status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`)
}

/** Passes on subscriptions of a page and their notifications; other requests are answered as over HTTP. Each end closes the other. */
function link(page: WebSocket, upstream: WebSocket, node: ExploredNode): void {
  const toPage = (text: string) => {
    // A page that does not read is disconnected, and reconnects.
    if (page.bufferedAmount > SLOW_CLIENT_BYTES) page.terminate()
    else if (page.readyState === WebSocket.OPEN) page.send(text)
  }
  let inFlight = 0
  const receive = async (message: string) => {
    const envelope = openEnvelope(parseBody(message))
    if (envelope.kind === 'call' && SUBSCRIPTION_METHODS.has(envelope.method)) {
      // Written again: of a message with repeated keys the node could read another method.
      const { id, method, params } = envelope
      return upstream.send(`{"jsonrpc":"2.0","id":${idText(id)},${JSON.stringify({ method, params }).slice(1)}`)
    }
    const id = envelope.kind === 'call' ? envelope.id : null
    if (inFlight >= EXPLORED_IN_FLIGHT) return toPage(failureText(id, new RpcError(CODE.limitExceeded, TOO_MANY)))
    inFlight++
    const { body } = await node.answer(message)
    inFlight--
    if (typeof body === 'string' && body !== '') toPage(body)
  }
  upstream.on('message', (data: Buffer) => toPage(data.toString()))
  page.on('message', (data: Buffer) => void receive(data.toString()).catch(() => page.terminate()))
  upstream.on('close', () => page.terminate())
  page.on('close', () => upstream.terminate())
  page.on('error', () => page.terminate())
}

const SUBSCRIPTION_METHODS: ReadonlySet<string> = new Set(['eth_subscribe', 'eth_unsubscribe'])
const TOO_MANY = `at most ${EXPLORED_IN_FLIGHT} requests of a connection are answered at once; wait for the responses`
