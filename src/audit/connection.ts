import { WebSocket } from 'ws'
import type { RawData } from 'ws'
import { HANDSHAKE_MS, MESSAGE_BYTES, PING_MS, RECONNECT_MAX_MS, RECONNECT_MS } from './limits.ts'

interface ConnectionHandlers {
  readonly onOpen: () => void
  readonly onMessage: (data: Uint8Array, isBinary: boolean) => void
  /** An open connection was lost; it will be opened again. */
  readonly onLost: (reason: string) => void
}

/** A WebSocket that is opened again when it is lost, after a pause that doubles. Never throws after `open`. */
export class Connection {
  readonly url: string
  readonly #handlers: ConnectionHandlers
  #socket: WebSocket | null = null
  #pauseMs = RECONNECT_MS
  #timer: ReturnType<typeof setTimeout> | null = null
  #isClosed = false

  constructor(url: string, handlers: ConnectionHandlers) {
    this.url = url
    this.#handlers = handlers
  }

  /** Resolves when it is open for the first time. Rejects with the reason if it cannot be opened. */
  open(): Promise<void> {
    return new Promise((resolve, reject) => this.#connect(resolve, reject))
  }

  get isOpen(): boolean {
    return this.#socket?.readyState === WebSocket.OPEN
  }

  /** Does nothing while the connection is lost. */
  send(text: string): void {
    if (this.isOpen) this.#socket?.send(text)
  }

  close(): void {
    this.#isClosed = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#socket?.terminate()
  }

  #connect(onFirst: () => void, onFailed: (error: Error) => void): void {
    const socket = new WebSocket(this.url, {
      handshakeTimeout: HANDSHAKE_MS,
      maxPayload: MESSAGE_BYTES,
      followRedirects: false,
      perMessageDeflate: false,
    })
    this.#socket = socket
    let reason = 'the connection was closed'
    let wasOpen = false
    let isAlive = true
    // A stalled network does not close a connection.
    const pinging = setInterval(() => {
      if (!isAlive) {
        reason = `no answer to a ping for ${PING_MS} ms`
        socket.terminate()
      } else if (socket.readyState === WebSocket.OPEN) {
        isAlive = false
        socket.ping()
      }
    }, PING_MS)
    socket.on('pong', () => (isAlive = true))
    socket.on('open', () => {
      wasOpen = true
      this.#pauseMs = RECONNECT_MS
      onFirst()
      this.#handlers.onOpen()
    })
    socket.on('message', (data: RawData, isBinary: boolean) => {
      isAlive = true
      if (!this.#isClosed) this.#handlers.onMessage(bytesOf(data), isBinary)
    })
    socket.on('error', (error) => (reason = messageOf(error)))
    socket.on('close', (code) => {
      clearInterval(pinging)
      if (code !== 1006) reason += ` (code ${code})`
      if (!wasOpen) onFailed(new Error(reason))
      if (this.#isClosed) return
      if (wasOpen) this.#handlers.onLost(reason)
      else if (onFailed !== nothing) return // the first attempt
      this.#timer = setTimeout(() => this.#connect(nothing, nothing), this.#pauseMs)
      this.#pauseMs = Math.min(2 * this.#pauseMs, RECONNECT_MAX_MS)
    })
  }
}

function nothing(): void {}

function bytesOf(data: RawData): Uint8Array {
  if (Array.isArray(data)) return Buffer.concat(data)
  return data instanceof ArrayBuffer ? new Uint8Array(data) : data
}

/** An attempt at several addresses is an AggregateError without a message of its own. */
function messageOf(error: Error & { readonly code?: string }): string {
  return error.message === '' ? (error.code ?? 'the connection failed') : error.message
}
