import { STATUS_CODES } from 'node:http'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import type { WebSocket } from 'ws'
import type { Caller } from '../../rpc/index.ts'
import { StreamPosition } from '../../stream/index.ts'
import type { Encoding, Subscriber } from '../../stream/index.ts'
import { NO_CREDENTIALS, callerOf } from '../access/caller.ts'
import type { Credentials } from '../access/caller.ts'
import { originOf } from '../access/guard.ts'
import type { Guard } from '../access/guard.ts'
import {
  DEDICATED_MESSAGE_BYTES,
  PING_INTERVAL_MS,
  PUBLIC_BODY_BYTES,
  SLOW_CLIENT_BYTES,
  SLOW_SUBSCRIBER_BYTES,
  STREAM_MESSAGE_BYTES,
  STREAM_SUBSCRIBERS,
  WALLET_BODY_BYTES,
} from '../limits.ts'
import type { ServerDeps } from '../deps.ts'
import { STREAM_PATHS, WALLET_PATH, encodingOf, pathOf, rpcRouteOf, searchOf } from '../routes.ts'
import type { Tier } from '../routes.ts'
import { RpcSession, messageSocket } from './rpcsession.ts'
import type { ControlKeys } from '../access/controlkeys.ts'
import { WalletSession } from './walletsession.ts'

/** Accepts the WebSocket connections of all paths and terminates those that send nothing after a ping. */
export class WebSockets {
  readonly #deps: ServerDeps
  readonly #guard: Guard
  readonly #credentials: Credentials
  readonly #open = new Set<WebSocket>()
  readonly #walletSessions = new Set<WalletSession>()
  /** those that sent a pong or a message after the last ping */
  readonly #alive = new WeakSet<WebSocket>()
  readonly #pinging: NodeJS.Timeout

  constructor(deps: ServerDeps, guard: Guard, credentials: Credentials = NO_CREDENTIALS) {
    this.#deps = deps
    this.#guard = guard
    this.#credentials = credentials
    this.#pinging = setInterval(() => this.ping(), PING_INTERVAL_MS)
    this.#pinging.unref()
  }

  get count(): number {
    return this.#open.size
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { url = '/', headers } = request
    socket.on('error', () => socket.destroy())
    const refusal = this.#guard.refusal(headers)
    if (refusal !== null) return refuse(socket, 403, refusal)
    const path = pathOf(url)
    const { control, apiKeys } = this.#credentials
    const route = rpcRouteOf(path)
    if (route !== null && (route.key === null || apiKeys !== null)) {
      const { tier, key: pathKey } = route
      const caller = callerOf({ tier, headers, pathKey, address: request.socket.remoteAddress ?? '' }, this.#credentials)
      return this.#accept(TIERS[tier], request, socket, head, (ws) => this.#serveRpc(ws, socket, caller))
    }
    if (path === WALLET_PATH && control !== null) return this.#serveWallet(control, request, socket, head)
    if (!STREAM_PATHS.has(path)) return refuse(socket, 404, `no WebSocket at ${JSON.stringify(path.slice(0, 100))}`)
    const encoding = encodingOf(url)
    if (encoding === null) return refuse(socket, 400, 'compression must be none or brotli')
    if (this.#deps.publisher.subscribers >= STREAM_SUBSCRIBERS) return refuse(socket, 429, '{"message":"Global limit"}')
    const text = searchOf(url).get('after')
    const after = text === null ? null : StreamPosition.parse(text)
    if (text !== null && after === null)
      return refuse(socket, 400, 'after must be BLOCK.INDEX or BLOCK.INDEX.PAYLOAD of the last flashblock that was received')
    const place = after === null ? 'known' : this.#deps.publisher.find(after)
    if (after !== null && place === 'ambiguous') return refuse(socket, 409, ambiguous(after))
    if (after !== null && place === 'unknown') return refuse(socket, 410, unknown(after, this.#deps.publisher.newest))
    this.#accept(STREAM, request, socket, head, (ws) => this.#serveStream(ws, encoding, after))
  }

  /**
   * Terminates the connections that sent nothing after the last ping, and pings the others. A pong is read after the messages that were sent before it,
   * and a paused connection is not read.
   */
  ping(): void {
    for (const ws of this.#open) {
      if (ws.isPaused) this.#alive.add(ws)
      else if (this.#alive.delete(ws)) ws.ping()
      else ws.terminate()
    }
  }

  /** Closes all connections with 1001. The reason contains the position from which the flashblock stream can be continued on another process of a fleet. */
  close(): void {
    clearInterval(this.#pinging)
    const { newest } = this.#deps.publisher
    const reason = newest === null ? 'the node is stopping' : `the node is stopping; after=${StreamPosition.format(newest)}`
    // After the notifications of this turn, which leave at its end.
    setImmediate(() => {
      for (const session of this.#walletSessions) session.stop()
      for (const ws of this.#open) ws.close(GOING_AWAY, reason)
    })
  }

  terminate(): void {
    for (const ws of this.#open) ws.terminate()
  }

  #accept(acceptor: WebSocketServer, request: IncomingMessage, socket: Duplex, head: Buffer, onOpen: (ws: WebSocket) => void): void {
    acceptor.handleUpgrade(request, socket, head, (ws) => {
      this.#open.add(ws)
      const onAlive = () => this.#alive.add(ws)
      onAlive()
      ws.on('pong', onAlive)
      ws.on('message', onAlive)
      ws.on('close', () => this.#open.delete(ws))
      // A protocol error or a message over the limit; ws closes the connection with the matching code.
      ws.on('error', () => undefined)
      onOpen(ws)
    })
  }

  #serveRpc(ws: WebSocket, socket: Duplex, caller: Caller): void {
    new RpcSession(messageSocket(ws), socket, caller, this.#deps, caller.tier === 'public' ? SLOW_SUBSCRIBER_BYTES : SLOW_CLIENT_BYTES)
  }

  /** Browsers send no Sec-Fetch-Site and no preflight for a WebSocket, so every Origin that the Guard does not admit was refused above. */
  #serveWallet(keys: ControlKeys, request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { walletApi = null } = this.#deps
    if (walletApi === null) return refuse(socket, 404, 'this node runs without a wallet')
    if (request.headers.origin !== undefined && originOf(request.headers.origin) === null)
      return refuse(socket, 403, `the Origin ${JSON.stringify(request.headers.origin.slice(0, 100))} is not an origin`)
    this.#accept(WALLET, request, socket, head, (ws) => {
      const session = new WalletSession(ws, request.headers, this.#deps, walletApi, keys)
      this.#walletSessions.add(session)
      ws.on('close', () => this.#walletSessions.delete(session))
    })
  }

  #serveStream(ws: WebSocket, encoding: Encoding, after: StreamPosition | null): void {
    const subscriber: Subscriber = {
      send: (frame) => {
        if (ws.bufferedAmount > SLOW_SUBSCRIBER_BYTES) ws.terminate()
        else ws.send(frame.bytes, { binary: frame.binary })
      },
      terminate: (reason) => ws.close(TRY_AGAIN_LATER, reason),
    }
    const leave = this.#deps.publisher.subscribe(encoding, subscriber, after)
    ws.on('close', leave)
  }
}

function unknown(after: StreamPosition, newest: StreamPosition | null): string {
  const end = newest === null ? 'there is none yet' : `the newest is ${StreamPosition.format(newest)}`
  return `the stream cannot continue after ${StreamPosition.format(after)}, which is too old or was never here (${end}); connect without after`
}

function ambiguous(after: StreamPosition): string {
  return `block ${after.blockNumber} was built more than once; use after=${StreamPosition.format(after)}.PAYLOAD with the payload_id of the last message`
}

const GOING_AWAY = 1001
const TRY_AGAIN_LATER = 1013

const TIERS: Readonly<Record<Tier, WebSocketServer>> = {
  dedicated: acceptor(DEDICATED_MESSAGE_BYTES),
  public: acceptor(PUBLIC_BODY_BYTES),
}
const STREAM = acceptor(STREAM_MESSAGE_BYTES)
const WALLET = acceptor(WALLET_BODY_BYTES)

/** Messages are not compressed: on one machine compression takes more time than it saves. */
function acceptor(maxPayload: number): WebSocketServer {
  return new WebSocketServer({ noServer: true, perMessageDeflate: false, clientTracking: false, maxPayload })
}

/** Refuses an upgrade with an HTTP response and closes the socket: after an upgrade node:http does not close a socket that its client leaves half open. */
function refuse(socket: Duplex, status: number, message: string): void {
  socket.once('finish', () => socket.destroy())
  const type = message.startsWith('{') ? 'application/json' : 'text/plain; charset=utf-8'
  const body = `${message}\n`
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nconnection: close\r\ncontent-type: ${type}\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}
