import { STATUS_CODES } from 'node:http'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import type { WebSocket } from 'ws'
import type { Caller } from '../rpc/index.ts'
import type { Encoding } from '../stream/index.ts'
import { callerOf } from './caller.ts'
import { originOf } from './guard.ts'
import type { Guard } from './guard.ts'
import {
  DEDICATED_MESSAGE_BYTES,
  PING_INTERVAL_MS,
  PUBLIC_BODY_BYTES,
  SLOW_CLIENT_BYTES,
  SLOW_READER_BYTES,
  STREAM_MESSAGE_BYTES,
  STREAM_SUBSCRIBERS,
  WALLET_BODY_BYTES,
} from './limits.ts'
import type { Served } from './port.ts'
import { RPC_PATHS, STREAM_PATHS, WALLET_PATH, encodingOf, pathOf } from './routes.ts'
import type { Tier } from './routes.ts'
import { SocketSession } from './session.ts'
import type { WalletKeys } from './walletkeys.ts'
import { WalletSession } from './walletsession.ts'

/** Accepts the WebSocket connections of all paths and closes those that answer no ping. */
export class Sockets {
  readonly #served: Served
  readonly #guard: Guard
  readonly #keys: WalletKeys | null
  readonly #open = new Set<WebSocket>()
  readonly #answered = new WeakSet<WebSocket>()
  readonly #pinging: NodeJS.Timeout

  constructor(served: Served, guard: Guard, keys: WalletKeys | null = null) {
    this.#served = served
    this.#guard = guard
    this.#keys = keys
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
    const tier = RPC_PATHS[path]
    if (tier !== undefined) {
      const caller = callerOf(tier, headers, this.#keys)
      return this.#accept(TIERS[tier], request, socket, head, (ws) => this.#converse(ws, socket, caller))
    }
    if (path === WALLET_PATH && this.#keys !== null) return this.#meetWallet(this.#keys, request, socket, head)
    if (!STREAM_PATHS.has(path)) return refuse(socket, 404, `no WebSocket at ${JSON.stringify(path.slice(0, 100))}`)
    const encoding = encodingOf(url)
    if (encoding === null) return refuse(socket, 400, 'compression must be none or brotli')
    if (this.#served.publisher.subscribers >= STREAM_SUBSCRIBERS) return refuse(socket, 429, '{"message":"Global limit"}')
    this.#accept(STREAM, request, socket, head, (ws) => this.#stream(ws, encoding))
  }

  /** Closes what did not answer the last ping, pings the rest. */
  ping(): void {
    for (const ws of this.#open) {
      if (this.#answered.delete(ws)) ws.ping()
      else ws.terminate()
    }
  }

  /** Closes all connections with 1001. */
  close(): void {
    clearInterval(this.#pinging)
    for (const ws of this.#open) ws.close(GOING_AWAY, 'the node is stopping')
  }

  terminate(): void {
    for (const ws of this.#open) ws.terminate()
  }

  #accept(door: WebSocketServer, request: IncomingMessage, socket: Duplex, head: Buffer, then: (ws: WebSocket) => void): void {
    door.handleUpgrade(request, socket, head, (ws) => {
      this.#open.add(ws)
      this.#answered.add(ws)
      ws.on('pong', () => this.#answered.add(ws))
      ws.on('close', () => this.#open.delete(ws))
      // A frame that breaks the protocol or a limit; ws closes the connection with the code for it.
      ws.on('error', () => undefined)
      then(ws)
    })
  }

  #converse(ws: WebSocket, socket: Duplex, caller: Caller): void {
    new SocketSession(ws, socket, caller, this.#served, caller.tier === 'public' ? SLOW_READER_BYTES : SLOW_CLIENT_BYTES)
  }

  /** Browsers do not say of a WebSocket whether a page opens it, and ask nobody before: here an Origin that is not admitted is refused. */
  #meetWallet(keys: WalletKeys, request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { walletApi = null } = this.#served
    if (walletApi === null) return refuse(socket, 404, 'this node runs without a wallet')
    if (request.headers.origin !== undefined && originOf(request.headers.origin) === null) return refuse(socket, 403, 'the Origin is none')
    this.#accept(WALLET, request, socket, head, (ws) => void new WalletSession(ws, request.headers, this.#served, walletApi, keys))
  }

  #stream(ws: WebSocket, encoding: Encoding): void {
    const leave = this.#served.publisher.subscribe(encoding, {
      send: (frame) => {
        if (ws.bufferedAmount > SLOW_READER_BYTES) ws.terminate()
        else ws.send(frame.bytes, { binary: frame.binary })
      },
      terminate: (reason) => ws.close(TRY_AGAIN_LATER, reason),
    })
    ws.on('close', leave)
  }
}

const GOING_AWAY = 1001
const TRY_AGAIN_LATER = 1013

const TIERS: Readonly<Record<Tier, WebSocketServer>> = {
  dedicated: door(DEDICATED_MESSAGE_BYTES),
  public: door(PUBLIC_BODY_BYTES),
}
const STREAM = door(STREAM_MESSAGE_BYTES)
const WALLET = door(WALLET_BODY_BYTES)

/** No compression of messages: on one machine it costs more than it saves. */
function door(maxPayload: number): WebSocketServer {
  return new WebSocketServer({ noServer: true, perMessageDeflate: false, clientTracking: false, maxPayload })
}

/** Refuses an upgrade in plain HTTP and closes the socket: after an upgrade node:http does not close one that its client leaves half open. */
function refuse(socket: Duplex, status: number, message: string): void {
  socket.once('finish', () => socket.destroy())
  const type = message.startsWith('{') ? 'application/json' : 'text/plain; charset=utf-8'
  const body = `${message}\n`
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nconnection: close\r\ncontent-type: ${type}\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}
