import { createServer } from 'node:http'
import type { Server as HttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { isIPv6 } from 'node:net'
import { Guard } from './guard.ts'
import type { GuardOptions } from './guard.ts'
import { ProtocolDetector, takeConnectionListener } from './http/connections.ts'
import type { ConnectionHandler } from './http/connections.ts'
import { Health } from './health.ts'
import type { Status } from './health.ts'
import { Http } from './http/http.ts'
import { CLOSING_MS, KEEP_ALIVE_MS, MAX_CONNECTIONS, REQUEST_MS } from './limits.ts'
import { ignoreUpgrade, isWebSocketUpgrade } from './http/upgrade.ts'
import { linkTo } from './links.ts'
import type { Served } from './port.ts'
import { RawHttp } from './http/raw.ts'
import { SPONSOR_PATH, WALLET_PATH } from './routes.ts'
import { SponsorDoor } from './sponsor.ts'
import { Sockets } from './sockets.ts'
import { Tls } from './tls/tls.ts'
import { WalletDoor } from './wallet.ts'
import { WalletKeys } from './walletkeys.ts'

export interface ListenOptions extends GuardOptions {
  /** 127.0.0.1 by default */
  readonly host?: string
  /** 0: any free port */
  readonly port: number
  /** Boolean, true by default. false: node:http serves every connection; for tests that compare both paths. */
  readonly rawHttp?: boolean
  /** folder of the TLS certificates, `~/.pocketchain` by default; null: in memory. They are created when first needed. */
  readonly tlsFolder?: string | null
}

/** Address and secrets of a running wallet. The secrets are valid until the server closes. */
export interface WalletEntrance {
  /** address of the page, of `POST` and of `WS` */
  readonly url: string
  /** `Authorization: Bearer …` of programs that approve. It allows signing with every account. */
  readonly controlToken: string
  /** Returns a link, valid once, that allows one browser to approve. */
  readonly link: () => string
}

/** The page of the sponsor. A link to it also admits the browser to the wallet's page, and the reverse. */
export interface SponsorEntrance {
  readonly url: string
  /** `Authorization: Bearer …` for requests with an Origin that change the sponsor; the same token as the wallet's */
  readonly controlToken: string
  /** Returns a link that lets one browser change the sponsor, for one use. */
  readonly link: () => string
}

/** Addresses of the ERC-7677 service. */
export interface PaymasterEntrance {
  /** https, as a `paymasterService` must be; for clients that trust `Server.ca()` */
  readonly url: string
  readonly httpUrl: string
}

interface Parts {
  readonly http: HttpServer
  readonly detector: ProtocolDetector
  readonly raw: ConnectionHandler | null
  readonly tls: Tls
  readonly sockets: Sockets
  readonly health: Health
  readonly guard: Guard
  readonly keys: WalletKeys | null
  readonly hasWallet: boolean
  readonly hasSponsor: boolean
}

/** HTTP and WebSocket on one port, plain and over TLS. */
export class Server {
  readonly host: string
  readonly port: number
  readonly #http: HttpServer
  readonly #detector: ProtocolDetector
  readonly #raw: ConnectionHandler | null
  readonly #tls: Tls
  readonly #sockets: Sockets
  readonly #health: Health
  readonly #keys: WalletKeys | null
  readonly #guard: Guard
  readonly #hasWallet: boolean
  readonly #hasSponsor: boolean
  #closed: Promise<void> | null = null

  /** Opens the port. Throws ListenError if that fails. */
  static async listen(served: Served, options: ListenOptions): Promise<Server> {
    const host = options.host ?? '127.0.0.1'
    const guard = new Guard({ ...options, allowHosts: [...(options.allowHosts ?? []), hostText(host)] })
    const health = new Health(served.chain)
    const { walletApi = null, paymaster = null, onError } = served
    const keys = walletApi === null && paymaster === null ? null : new WalletKeys()
    const sockets = new Sockets(served, guard, keys)
    const door = walletApi === null || keys === null ? null : new WalletDoor(served, walletApi, keys, guard)
    const sponsor = paymaster === null || keys === null ? null : new SponsorDoor(paymaster, keys, onError)
    const tls = new Tls({ folder: options.tlsFolder, host, admit: (socket) => detector.accept(socket, true), onError })
    const pages = new Http(served, guard, health, { wallet: door, sponsor, ca: () => tls.ca(), keys })
    const http = createServer({ keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: REQUEST_MS }, (request, response) =>
      pages.serve(request, response),
    )
    http.maxConnections = MAX_CONNECTIONS
    const connect = takeConnectionListener(http)
    const raw = options.rawHttp === false ? null : new RawHttp(pages, guard, connect)
    const detector = new ProtocolDetector(raw, connect, (socket) => tls.accept(socket))
    http.on('connection', (socket) => detector.accept(socket))
    http.on('upgrade', (request, socket, head) => {
      if (isWebSocketUpgrade(request)) sockets.upgrade(request, socket, head)
      else ignoreUpgrade(connect, request, socket, head)
    })
    try {
      await listening(http, options.port, host)
    } catch (error) {
      sockets.close()
      health.close()
      throw new ListenError(options.port, host, error)
    }
    http.on('error', served.onError)
    return new Server(
      { http, detector, raw, tls, sockets, health, guard, keys, hasWallet: door !== null, hasSponsor: sponsor !== null },
      host,
    )
  }

  private constructor({ http, detector, raw, tls, sockets, health, guard, keys, hasWallet, hasSponsor }: Parts, host: string) {
    this.#guard = guard
    this.#keys = keys
    this.#hasWallet = hasWallet
    this.#hasSponsor = hasSponsor
    this.#http = http
    this.#detector = detector
    this.#raw = raw
    this.#tls = tls
    this.#sockets = sockets
    this.#health = health
    this.host = host
    this.port = (http.address() as AddressInfo).port // listens on TCP, never on a pipe
  }

  /** Address for clients on this machine. */
  get url(): string {
    return `http://${authority(reachable(this.host), this.port)}`
  }

  get wsUrl(): string {
    return `ws://${authority(reachable(this.host), this.port)}`
  }

  /** The same over TLS; clients have to trust `ca()`. */
  get httpsUrl(): string {
    return `https://${authority(reachable(this.host), this.port)}`
  }

  /** Returns the certificate that TLS clients have to trust, PEM; created when first needed. Throws AuthorityError. */
  ca(): string {
    return this.#tls.ca()
  }

  get isClosed(): boolean {
    return this.#closed !== null
  }

  /** Returns whether pages of that origin may use the node. */
  admits(origin: string): boolean {
    return this.#guard.admitsPage({ origin, host: new URL(this.url).host })
  }

  /** null if the node runs without a wallet. */
  get wallet(): WalletEntrance | null {
    return this.#hasWallet ? this.#entrance(WALLET_PATH) : null
  }

  /** Where the sponsor is shown and changed; null: there is none. */
  get sponsor(): SponsorEntrance | null {
    return this.#hasSponsor ? this.#entrance(SPONSOR_PATH) : null
  }

  #entrance(path: string): WalletEntrance | null {
    const keys = this.#keys
    const url = `${this.url}${path}`
    return keys === null ? null : { url, controlToken: keys.controlToken, link: () => linkTo(url, keys.link()) }
  }

  /** The ERC-7677 service; null if the node runs without one. */
  get paymaster(): PaymasterEntrance | null {
    const at = (origin: string) => `${origin}/paymaster/rpc`
    return this.#hasSponsor ? { url: at(this.httpsUrl), httpUrl: at(this.url) } : null
  }

  /** Open WebSocket connections. */
  get socketCount(): number {
    return this.#sockets.count
  }

  /** Open connections that the raw HTTP path serves: every request so far was in its form. */
  get rawConnectionCount(): number {
    return this.#raw?.count ?? 0
  }

  status(): Status {
    return this.#health.status()
  }

  /** Accepts no more requests, lets the running ones finish within CLOSING_MS, then closes every connection. */
  close(): Promise<void> {
    return (this.#closed ??= this.#close())
  }

  async #close(): Promise<void> {
    const ended = new Promise<void>((resolve) => this.#http.close(() => resolve()))
    this.#http.closeIdleConnections()
    this.#tls.close()
    this.#detector.close()
    this.#raw?.close()
    this.#sockets.close()
    const timeLimit = setTimeout(() => {
      this.#sockets.terminate()
      this.#raw?.terminate()
      this.#http.closeAllConnections()
    }, CLOSING_MS)
    await ended
    clearTimeout(timeLimit)
    this.#health.close()
  }
}

function listening(http: HttpServer, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    http.once('error', reject)
    http.listen(port, host, () => {
      http.off('error', reject)
      resolve()
    })
  })
}

function authority(host: string, port: number): string {
  return `${hostText(host)}:${port}`
}

/** As it stands in a URL. */
function hostText(host: string): string {
  return isIPv6(host) ? `[${host}]` : host
}

/** An address that a client can connect to: loopback where the server listens on every address. */
function reachable(host: string): string {
  return EVERY_ADDRESS[host] ?? host
}

const EVERY_ADDRESS: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }

const REASONS: Readonly<Record<string, (port: number, host: string) => string>> = {
  EADDRINUSE: (port, host) => `port ${port} on ${host} is in use; stop what uses it or choose another with --port (0 takes any free one)`,
  EACCES: (port, host) => `port ${port} on ${host} may not be used without privileges; choose one above 1023 with --port`,
  EADDRNOTAVAIL: (_, host) => `${host} is not an address of this machine`,
  ENOTFOUND: (_, host) => `${host} is not the name of an address`,
}

/** The server could not open its port. */
export class ListenError extends Error {
  readonly port: number

  constructor(port: number, host: string, cause: unknown) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
    super(REASONS[code]?.(port, host) ?? `cannot listen on ${authority(host, port)}: ${String(cause)}`, { cause })
    this.name = 'ListenError'
    this.port = port
  }
}
