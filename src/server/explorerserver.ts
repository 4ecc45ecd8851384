import { createServer } from 'node:http'
import type { IncomingMessage, Server as HttpServer, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { WebSocket, WebSocketServer } from 'ws'
import { CODE, Outbound, OutboundError, checkedUrl } from '../jsonrpc/index.ts'
import { Guard } from './access/guard.ts'
import type { GuardOptions } from './access/guard.ts'
import { ExplorerEndpoint } from './endpoints/explorer.ts'
import {
  EXPLORED_REPLY_BYTES,
  EXPLORED_SOCKETS,
  KEEP_ALIVE_MS,
  MAX_CONNECTIONS,
  PUBLIC_BODY_BYTES,
  REQUEST_MS,
  SLOW_CLIENT_BYTES,
} from './limits.ts'
import { text } from './http/answer.ts'
import type { Answer } from './http/answer.ts'
import { readJsonBody } from './http/body.ts'
import { send } from './http/response.ts'
import { pathOf } from './routes.ts'
import { ListenError, listening } from './server.ts'

export interface ExplorerServerOptions extends GuardOptions {
  /** of the node to show: http, https, ws or wss */
  readonly url: string
  readonly host: string
  /** 0: any free port */
  readonly port: number
  readonly onError: (error: unknown) => void
}

/** The requests of the explorer. Others are refused: the pages must not become a way to change the node behind them. */
export const EXPLORER_METHODS: ReadonlySet<string> = new Set([
  'web3_clientVersion',
  'eth_chainId',
  'eth_blockNumber',
  'eth_getBlockByNumber',
  'eth_getBlockByHash',
  'eth_getTransactionByHash',
  'eth_getTransactionReceipt',
  'eth_getLogs',
  'eth_getBalance',
  'eth_getTransactionCount',
  'eth_getCode',
  'eth_getStorageAt',
  'eth_call',
  'eth_getUserOperationByHash',
  'eth_getUserOperationReceipt',
  'txpool_status',
  'txpool_content',
  'debug_traceTransaction',
  'ots_searchTransactionsBefore',
  'ots_searchTransactionsAfter',
  'ots_getContractCreator',
  'pocketchain_info',
  'pocketchain_promises',
])

const SUBSCRIPTION_METHODS: ReadonlySet<string> = new Set(['eth_subscribe', 'eth_unsubscribe'])

/** Serves the explorer's pages alone; its requests are passed to another node, and so reach it from this machine instead of from a page. */
export class ExplorerServer {
  readonly host: string
  readonly port: number
  readonly #http: HttpServer
  readonly #sockets: WebSocketServer

  /** Opens the port. Throws ListenError if that fails, OutboundError for a wrong URL. The node is first reached by a page. */
  static async listen(options: ExplorerServerOptions): Promise<ExplorerServer> {
    const { host, port, onError } = options
    const target = new Target(options.url)
    const guard = new Guard({ ...options, allowHosts: [...(options.allowHosts ?? []), host] })
    const pages = new ExplorerEndpoint([], null)
    const sockets = new WebSocketServer({ noServer: true, maxPayload: PUBLIC_BODY_BYTES, perMessageDeflate: false })
    const http = createServer({ keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: REQUEST_MS }, (request, response) =>
      serve({ request, response, guard, pages, target, onError }),
    )
    http.maxConnections = MAX_CONNECTIONS
    http.on('upgrade', (request, socket, head) => upgrade({ request, socket, head, guard, sockets, target }))
    try {
      await listening(http, port, host)
    } catch (error) {
      throw new ListenError(port, host, error)
    }
    http.on('error', onError)
    return new ExplorerServer(http, sockets, host)
  }

  private constructor(http: HttpServer, sockets: WebSocketServer, host: string) {
    this.#http = http
    this.#sockets = sockets
    this.host = host
    this.port = (http.address() as AddressInfo).port // listens on TCP, never on a pipe
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets.clients) socket.terminate()
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
  readonly target: Target
  readonly onError: (error: unknown) => void
}

function serve({ request, response, guard, pages, target, onError }: Exchange): void {
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
  readJsonBody(request, PUBLIC_BODY_BYTES, { onBody: (body) => void target.answer(body).then(reply), onRefused: reply })
}

interface Upgrade {
  readonly request: IncomingMessage
  readonly socket: Duplex
  readonly head: Buffer
  readonly guard: Guard
  readonly sockets: WebSocketServer
  readonly target: Target
}

function upgrade({ request, socket, head, guard, sockets, target }: Upgrade): void {
  socket.on('error', () => socket.destroy())
  const isRefused =
    guard.refusal(request.headers) !== null || pathOf(request.url ?? '/') !== '/' || sockets.clients.size >= EXPLORED_SOCKETS
  if (isRefused) {
    socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\nconnection: close\r\n\r\n')
    return
  }
  sockets.handleUpgrade(request, socket, head, (page) => target.connect(page))
}

interface RpcCall {
  readonly id?: unknown
  readonly method?: unknown
}

/** The node behind the explorer. */
class Target {
  readonly #url: string
  readonly #wsUrl: string
  readonly #outbound = new Outbound({ reach: 'anywhere', maxReplyBytes: EXPLORED_REPLY_BYTES, connections: 8 })

  constructor(url: string) {
    this.#url = checkedUrl(url.replace(/^ws/i, 'http'), 'anywhere').href
    this.#wsUrl = this.#url.replace(/^http/i, 'ws')
  }

  /** Passes on the calls that the explorer makes. Never rejects. */
  async answer(body: Uint8Array): Promise<Answer> {
    const calls = parsed(body)
    if (calls === null) return rpcAnswer(400, errorOf(null, CODE.parse, 'the body is not a JSON-RPC request or batch'))
    const allowed = calls.filter(({ method }) => EXPLORER_METHODS.has(String(method)))
    const refused = calls
      .filter((call) => !allowed.includes(call))
      .map(({ id, method }) => errorOf(id, CODE.methodNotFound, refusalOf(method)))
    try {
      const replies = allowed.length === 0 ? [] : await this.#post(allowed)
      const all = [...replies, ...refused]
      return rpcAnswer(200, isBatch(body) ? all : (all[0] ?? errorOf(null, CODE.server, 'the node answered without a reply')))
    } catch (error) {
      if (!(error instanceof OutboundError) && !(error instanceof SyntaxError)) throw error
      return rpcAnswer(502, errorOf(null, CODE.server, error instanceof OutboundError ? error.message : 'the node answered without JSON'))
    }
  }

  async #post(calls: readonly RpcCall[]): Promise<readonly object[]> {
    const { body } = await this.#outbound.fetch(this.#url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(calls),
    })
    const replies = JSON.parse(new TextDecoder().decode(body)) as object | readonly object[] // replies of JSON-RPC, which the page reads
    return Array.isArray(replies) ? (replies as readonly object[]) : [replies]
  }

  /** Passes on subscriptions of a page, and their notifications. Each end closes the other. */
  connect(page: WebSocket): void {
    const node = new WebSocket(this.#wsUrl, { maxPayload: EXPLORED_REPLY_BYTES, perMessageDeflate: false, followRedirects: false })
    const waiting: string[] = []
    node.on('open', () => {
      for (const message of waiting.splice(0)) node.send(message)
    })
    node.on('message', (data: Buffer) => {
      // A page that does not read is disconnected, and reconnects.
      if (page.bufferedAmount > SLOW_CLIENT_BYTES) page.terminate()
      else page.send(data.toString())
    })
    page.on('message', (data: Buffer) => {
      const [call] = parsed(new TextEncoder().encode(data.toString())) ?? []
      if (call === undefined || !SUBSCRIPTION_METHODS.has(String(call.method))) {
        return page.send(JSON.stringify(errorOf(call?.id, CODE.methodNotFound, refusalOf(call?.method))))
      }
      if (node.readyState === WebSocket.OPEN) node.send(data.toString())
      else if (waiting.length < WAITING_MESSAGES) waiting.push(data.toString())
    })
    for (const [from, to] of [
      [page, node],
      [node, page],
    ] as const) {
      from.on('close', () => to.terminate())
      from.on('error', () => to.terminate())
    }
  }
}

/** Requests of a page that wait for the connection to the node; the explorer sends three. */
const WAITING_MESSAGES = 16

/** True if the first character of the JSON text is a bracket. */
function isBatch(body: Uint8Array): boolean {
  return new TextDecoder().decode(body).trimStart().startsWith('[')
}

/** A single request is an array of one. */
function parsed(body: Uint8Array): readonly RpcCall[] | null {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(body))
    const calls: readonly unknown[] = Array.isArray(value) ? value : [value]
    const isValid = calls.length > 0 && calls.every((call) => typeof call === 'object' && call !== null)
    return isValid ? calls : null // each is an object
  } catch {
    return null
  }
}

function refusalOf(method: unknown): string {
  return `${JSON.stringify(method ?? null).slice(0, 100)} is not passed on: this server shows another node and reads it only; send it to the node itself`
}

function errorOf(id: unknown, code: number, message: string): object {
  return { jsonrpc: '2.0', id: id ?? null, error: { code, message } }
}

function rpcAnswer(status: number, value: object): Answer {
  return { status, type: 'application/json', body: JSON.stringify(value), headers: ['cache-control', 'no-store'] }
}
