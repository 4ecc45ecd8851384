import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import type { Socket } from 'node:net'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { createSecureContext, createServer } from 'node:tls'
import type { SecureContext, Server as TlsServer, TLSSocket } from 'node:tls'
import { isLoopbackName } from '../../jsonrpc/index.ts'
import { AuthorityError, identify, storedAuthority, temporaryAuthority } from './authority.ts'
import type { Authority } from './authority.ts'
import { HANDSHAKE_MS, TLS_NAMES } from '../limits.ts'

export interface TlsOptions {
  /** folder of the authority, `~/.pocketchain` by default; null: in memory */
  readonly folder?: string | null | undefined
  /** the address the server listens on */
  readonly host: string
  /** receives the decrypted connection */
  readonly admit: (socket: TLSSocket) => void
  /** receives AuthorityError if there is no usable certificate */
  readonly onError: (error: unknown) => void
  /** time limit of a handshake */
  readonly handshakeMs?: number
  /** Unix milliseconds */
  readonly now?: () => number
}

/** Returns whether a request came over TLS. */
export function isSecure({ socket }: Pick<IncomingMessage, 'socket'>): boolean {
  return 'encrypted' in socket
}

/**
 * Terminates TLS. Keys and certificates are created, or read from the folder, at the first connection or the first call of `ca()`, so that
 * start-up does not pay for them.
 */
export class Tls {
  readonly #options: TlsOptions
  readonly #names: readonly string[]
  /** the host, if it is not loopback and the stored authority cannot sign for it */
  readonly #otherHost: string | null
  #authority: Authority | null = null
  #server: TlsServer | null = null
  #renewMs = 0
  /** one per name below localhost, because clients accept no wildcard there */
  readonly #contexts = new Map<string, SecureContext>()
  /** connections whose handshake is not complete, with its timer */
  readonly #handshaking = new Map<Socket, NodeJS.Timeout>()
  #reported = ''

  constructor(options: TlsOptions) {
    const name = nameOf(options.host)
    this.#options = options
    this.#otherHost = name === null || isLoopbackName(name) ? null : name
    this.#names = [...new Set(['localhost', '127.0.0.1', '::1', ...(name === null ? [] : [name])])]
  }

  /** Returns the authority's certificate, PEM. Throws AuthorityError. */
  ca(): string {
    return this.#authorityNow().pem
  }

  /** Starts the handshake on a connection, which counts towards MAX_CONNECTIONS. */
  accept(socket: Socket): void {
    const server = this.#serverFor(socket)
    if (server === null) return
    this.#handshaking.set(socket, setTimeout(() => socket.destroy(), this.#handshakeMs).unref())
    socket.on('error', ignore)
    socket.once('close', () => this.#endHandshake(socket))
    // http.Server accepts half-open sockets. A client that leaves during the handshake would count as a connection until the time limit.
    socket.allowHalfOpen = false
    server.emit('connection', socket)
  }

  /** Closes connections whose handshake is not complete; the others belong to `admit`. */
  close(): void {
    for (const socket of this.#handshaking.keys()) socket.destroy()
  }

  #endHandshake(socket: Socket): void {
    clearTimeout(this.#handshaking.get(socket))
    this.#handshaking.delete(socket)
  }

  #onHandshakeDone(secure: TLSSocket): void {
    const peer = peerOf(secure)
    const socket = [...this.#handshaking.keys()].find((each) => peerOf(each) === peer)
    if (socket === undefined) return void secure.destroy() // closed meanwhile
    this.#endHandshake(socket)
    // An HTTP client that has closed its side still gets the response.
    secure.allowHalfOpen = true
    this.#options.admit(secure)
  }

  /** Returns null if there is no usable certificate; the client gets an alert. */
  #serverFor(socket: Socket): TlsServer | null {
    try {
      const server = this.#serverNow()
      this.#reported = ''
      return server
    } catch (error) {
      socket.on('error', ignore)
      socket.end(INTERNAL_ERROR)
      socket.destroySoon()
      this.#report(error)
      return null
    }
  }

  /** Clients retry; a repeated error is reported once. */
  #report(error: unknown): void {
    if (String(error) === this.#reported) return
    this.#reported = String(error)
    this.#options.onError(error)
  }

  #serverNow(): TlsServer {
    const nowMs = this.#nowMs()
    if (this.#server !== null && nowMs < this.#renewMs) return this.#server
    const { renewMs, ...pair } = identify(this.#authorityNow(), this.#names, nowMs)
    this.#renewMs = renewMs
    this.#contexts.clear()
    if (this.#server === null) this.#server = this.#create(pair)
    else this.#server.setSecureContext(pair)
    return this.#server
  }

  #create(pair: { readonly cert: string; readonly key: string }): TlsServer {
    const server = createServer({
      ...pair,
      ALPNProtocols: ['http/1.1'],
      handshakeTimeout: this.#handshakeMs,
      SNICallback: (name, answer) => answer(null, this.#contextFor(name)),
    })
    server.on('secureConnection', (secure) => this.#onHandshakeDone(secure))
    // Invalid data, a client that does not trust the authority, or one that disconnected: not an error of the server.
    server.on('tlsClientError', (_, socket) => socket.destroy())
    return server
  }

  /** undefined: the server's default context */
  #contextFor(serverName: string): SecureContext | undefined {
    const name = serverName.toLowerCase()
    if (!BELOW_LOCALHOST.test(name) || this.#names.includes(name)) return undefined
    const cached = this.#contexts.get(name)
    if (cached !== undefined) return cached
    const { cert, key } = identify(this.#authorityNow(), [name, ...this.#names], this.#nowMs())
    const context = createSecureContext({ cert, key })
    if (this.#contexts.size >= TLS_NAMES) this.#contexts.clear()
    this.#contexts.set(name, context)
    return context
  }

  /** Read once, and again when the certificates are due for renewal. */
  #authorityNow(): Authority {
    const nowMs = this.#nowMs()
    if (this.#authority === null || (this.#renewMs > 0 && nowMs >= this.#renewMs)) this.#authority = this.#find(nowMs)
    return this.#authority
  }

  /** The stored authority is limited to loopback. Another host gets one in memory, so that no key that could sign for it is on a disk. */
  #find(nowMs: number): Authority {
    const { folder = defaultFolder() } = this.#options
    if (folder !== null && this.#otherHost === null) return storedAuthority(folder, nowMs)
    return this.#authority ?? temporaryAuthority(this.#otherHost === null ? [] : [this.#otherHost], nowMs)
  }

  get #handshakeMs(): number {
    return this.#options.handshakeMs ?? HANDSHAKE_MS
  }

  #nowMs(): number {
    return this.#options.now?.() ?? Date.now()
  }
}

/** Throws AuthorityError if the user has no home folder; keys are not written to the working directory. */
function defaultFolder(): string {
  let home = ''
  let reason = 'HOME is not the path of a folder'
  try {
    home = homedir()
  } catch (error) {
    reason = error instanceof Error ? error.message : String(error)
  }
  if (isAbsolute(home)) return join(home, '.pocketchain')
  throw new AuthorityError(`there is no home folder for the TLS certificates (${reason}). Choose a folder with --tls-folder`)
}

/** Identifies a connection: a TLS socket is another object than the one below it, but has the same peer. */
function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}

/** The name in a certificate; null if the server listens on every address. */
function nameOf(host: string): string | null {
  if (host === '0.0.0.0' || host === '::') return null
  return isIP(host) === 0 ? host.toLowerCase() : (host.split('%', 1)[0] ?? host)
}

const BELOW_LOCALHOST = /^(?=.{1,253}$)([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)+localhost$/

/** A TLS alert: fatal, internal_error (RFC 8446, 6). */
const INTERNAL_ERROR = Uint8Array.of(0x15, 0x03, 0x01, 0, 2, 2, 80)

function ignore(): void {}
