import type { Server as HttpServer } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { KEEP_ALIVE_GRACE_MS, KEEP_ALIVE_MS } from '../limits.ts'

/** Serves connections from the moment they are passed to `accept`. */
export interface ConnectionHandler {
  readonly accept: (socket: Socket) => void
  /** open connections */
  readonly count: number
  /** Closes idle connections now and the others after their current response. */
  readonly close: () => void
  /** Closes all connections now. */
  readonly terminate: () => void
}

/** Separates TLS from plain HTTP on one port by the first byte of a connection. */
export class ProtocolDetector {
  readonly #onHttp: (socket: Socket) => void
  readonly #onTls: (socket: Socket) => void
  readonly #waiting = new Set<Socket>()

  /** `raw`: the handler of plain HTTP connections; null: `connect`, node:http's listener, receives them. */
  constructor(raw: ConnectionHandler | null, connect: (socket: Socket) => void, onTls: (socket: Socket) => void) {
    this.#onHttp = raw?.accept ?? connect
    this.#onTls = onTls
  }

  /** `isDecrypted`: the socket carries what TLS decrypted, which is always HTTP. */
  accept(socket: Socket, isDecrypted = false): void {
    const stop = () => {
      socket.setTimeout(0)
      socket.off('data', detect).off('end', end).off('timeout', destroy).off('close', stop).off('error', ignore)
      this.#waiting.delete(socket)
    }
    const detect = (chunk: Buffer) => {
      stop()
      socket.pause()
      socket.unshift(chunk)
      if (chunk[0] === HANDSHAKE_RECORD && !isDecrypted) return this.#onTls(socket)
      this.#onHttp(socket)
      socket.resume()
    }
    // http.Server accepts half-open sockets, so the server has to close its side.
    const end = () => socket.end()
    const destroy = () => socket.destroy()
    this.#waiting.add(socket)
    socket.setTimeout(KEEP_ALIVE_MS + KEEP_ALIVE_GRACE_MS)
    socket.on('data', detect).on('end', end).on('timeout', destroy).on('close', stop).on('error', ignore)
  }

  /** Closes connections that have sent nothing. */
  close(): void {
    for (const socket of this.#waiting) socket.destroy()
  }
}

/** Removes node:http's listener for new connections from the server and returns it. */
export function takeConnectionListener(server: HttpServer): (socket: Duplex) => void {
  const listeners = server.listeners('connection')
  server.removeAllListeners('connection')
  return (socket) => {
    for (const listener of listeners) listener.call(server, socket)
  }
}

/** First byte of a TLS connection: the record type "handshake" (RFC 8446, 5.1). No HTTP request begins with it. */
const HANDSHAKE_RECORD = 0x16

function ignore(): void {}
