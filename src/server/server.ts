import { createServer } from 'node:http'
import type { Server as HttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Guard } from './access/guard.ts'
import type { GuardOptions } from './access/guard.ts'
import { ProtocolDetector, takeConnectionListener } from './http/connections.ts'
import { Health } from './endpoints/health.ts'
import type { Status } from './endpoints/health.ts'
import { Http } from './http/http.ts'
import { Metrics } from './endpoints/metrics.ts'
import { CLOSING_MS, KEEP_ALIVE_MS, MAX_CONNECTIONS, REQUEST_MS } from './limits.ts'
import { ignoreUpgrade, isWebSocketUpgrade } from './http/upgrade.ts'
import { linkTo } from './access/links.ts'
import type { ServerDeps } from './deps.ts'
import type { IpcServer } from './ipc/ipc.ts'
import { RawHttp } from './http/raw.ts'
import { SPONSOR_PATH, WALLET_PATH } from './routes.ts'
import { SponsorEndpoint } from './endpoints/sponsor.ts'
import { WebSockets } from './ws/websockets.ts'
import { Tls } from './tls/tls.ts'
import { WalletEndpoint } from './endpoints/wallet.ts'
import { ApiKeys } from './access/apikeys.ts'
import { ControlKeys } from './access/controlkeys.ts'

export interface ListenOptions extends GuardOptions {
  /** 127.0.0.1 by default */
  readonly host?: string
  /** 0: any free port */
  readonly port: number
  /** Boolean, true by default. false: node:http serves every connection; for tests that compare both paths. */
  readonly rawHttp?: boolean
  /** path of a JSON file with the API keys of `/public`, their rates and method classes; null: everyone may use it. README of this folder */
  readonly keys?: string | null
  /** path of a Unix socket, or of a named pipe on Windows, that serves the dedicated tier too; null: none */
  readonly ipc?: string | null
  /** folder of the TLS certificates, `~/.pocketchain` by default; null: in memory. They are created when first needed. */
  readonly tlsFolder?: string | null
}

/** URL and credentials of the page of the wallet or the sponsor. One session admits a browser to both pages. The credentials end with the server. */
export interface PageAccess {
  /** URL of the page; of the wallet, also of its JSON-RPC by `POST` and `WS` */
  readonly url: string
  /** `Authorization: Bearer …` of programs with the control credential. With a wallet it allows signing with every account. */
  readonly controlToken: string
  /** Returns a one-time link, which gives one browser the control credential. */
  readonly link: () => string
}

/** URLs of the ERC-7677 service. */
export interface PaymasterEndpoints {
  /** https, as a `paymasterService` must be; for clients that trust `Server.ca()` */
  readonly url: string
  readonly httpUrl: string
}

interface Parts {
  /** null: none */
  readonly ipc: IpcServer | null
  readonly http: HttpServer
  readonly detector: ProtocolDetector
  /** null: node:http serves every connection */
  readonly raw: RawHttp | null
  readonly tls: Tls
  readonly sockets: WebSockets
  readonly health: Health
  readonly metrics: Metrics
  readonly guard: Guard
  readonly keys: ControlKeys | null
  readonly apiKeys: ApiKeys | null
  readonly hasWallet: boolean
  readonly hasSponsor: boolean
}

/** Throws ApiKeysError. */
function apiKeysOf({ keys = null }: ListenOptions, { onNote = () => undefined }: ServerDeps): ApiKeys | null {
  return keys === null ? null : new ApiKeys(keys, { now: () => performance.now(), timeMs: () => Date.now(), onNote })
}

/** Throws ListenError. The module is loaded when needed. */
async function openIpc(deps: ServerDeps, { ipc = null, port, host = '127.0.0.1' }: ListenOptions): Promise<IpcServer | null> {
  if (ipc === null) return null
  const { IpcServer: Ipc } = await import('./ipc/ipc.ts')
  return Ipc.listen(ipc, deps).catch((error: unknown) => {
    throw new ListenError(port, host, error, ipc)
  })
}

/** HTTP and WebSocket on one port, plain and over TLS. */
export class Server {
  readonly host: string
  readonly port: number
  readonly #parts: Parts
  /** host and port in URLs */
  readonly #authority: string
  #closed: Promise<void> | null = null

  /** Opens the port. Throws ApiKeysError for the file of keys, and ListenError if that fails. */
  static async listen(deps: ServerDeps, options: ListenOptions): Promise<Server> {
    const apiKeys = apiKeysOf(options, deps)
    const host = options.host ?? '127.0.0.1'
    const guard = new Guard({ ...options, allowHosts: [...(options.allowHosts ?? []), hostText(host)] })
    const health = new Health(deps.chain, () => deps.fleetStatus?.().problem ?? null)
    const { walletApi = null, paymaster = null, onError } = deps
    const keys = walletApi === null && paymaster === null ? null : new ControlKeys()
    const credentials = { control: keys, apiKeys }
    const sockets = new WebSockets(deps, guard, credentials)
    const wallet = walletApi === null || keys === null ? null : new WalletEndpoint(deps, walletApi, keys, guard)
    const sponsor = paymaster === null || keys === null ? null : new SponsorEndpoint(paymaster, keys, onError)
    const tls = new Tls({ folder: options.tlsFolder, host, admit: (socket) => detector.accept(socket, true), onError })
    const metrics = new Metrics(deps, () => sockets.count, apiKeys)
    const handler = new Http(deps, guard, { health, metrics }, { wallet, sponsor, ca: () => tls.ca(), credentials })
    const http = createServer({ keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: REQUEST_MS }, (request, response) =>
      handler.serve(request, response),
    )
    http.maxConnections = MAX_CONNECTIONS
    const connect = takeConnectionListener(http)
    const raw = options.rawHttp === false ? null : new RawHttp(handler, guard, connect)
    const detector = new ProtocolDetector(raw, connect, (socket) => tls.accept(socket))
    http.on('connection', metrics.addConnection)
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
      metrics.close()
      apiKeys?.close()
      throw new ListenError(options.port, host, error)
    }
    http.on('error', onError)
    const ipc = await openIpc(deps, options).catch((error: unknown) => {
      http.close()
      sockets.close()
      health.close()
      metrics.close()
      apiKeys?.close()
      throw error
    })
    const parts = {
      ipc,
      http,
      detector,
      raw,
      tls,
      sockets,
      health,
      metrics,
      guard,
      keys,
      apiKeys,
      hasWallet: wallet !== null,
      hasSponsor: sponsor !== null,
    }
    return new Server(parts, host, http.address() as AddressInfo) // listens on TCP, never on a pipe
  }

  private constructor(parts: Parts, host: string, { address, port }: AddressInfo) {
    this.#parts = parts
    this.#authority = authority(reachableHost(host, address), port)
    this.host = host
    this.port = port
  }

  /** Address for clients on this machine. */
  get url(): string {
    return `http://${this.#authority}`
  }

  get wsUrl(): string {
    return `ws://${this.#authority}`
  }

  /** The same over TLS; clients must trust `ca()`. */
  get httpsUrl(): string {
    return `https://${this.#authority}`
  }

  /** Returns the certificate that TLS clients must trust, PEM; created when first needed. Throws AuthorityError. */
  ca(): string {
    return this.#parts.tls.ca()
  }

  get isClosed(): boolean {
    return this.#closed !== null
  }

  /** Returns whether pages of that origin may use the node. */
  admits(origin: string): boolean {
    return this.#parts.guard.admitsPage({ origin, host: this.#authority })
  }

  /** The explorer; its link admits a browser to the controls of promises. null if the node runs without wallet and sponsor, and so without a control credential. */
  get explorer(): PageAccess | null {
    return this.#pageAccess('/')
  }

  /** null if the node runs without a wallet. */
  get wallet(): PageAccess | null {
    return this.#parts.hasWallet ? this.#pageAccess(WALLET_PATH) : null
  }

  /** null if the node runs without a sponsor. */
  get sponsor(): PageAccess | null {
    return this.#parts.hasSponsor ? this.#pageAccess(SPONSOR_PATH) : null
  }

  #pageAccess(path: string): PageAccess | null {
    const { keys } = this.#parts
    const url = `${this.url}${path}`
    return keys === null ? null : { url, controlToken: keys.controlToken, link: () => linkTo(url, keys.link()) }
  }

  /** The ERC-7677 service; null if the node runs without one. */
  get paymaster(): PaymasterEndpoints | null {
    const path = '/paymaster/rpc'
    return this.#parts.hasSponsor ? { url: `${this.httpsUrl}${path}`, httpUrl: `${this.url}${path}` } : null
  }

  /** path of the Unix socket; null without one */
  get ipcPath(): string | null {
    return this.#parts.ipc?.path ?? null
  }

  /** Open WebSocket connections. */
  get socketCount(): number {
    return this.#parts.sockets.count
  }

  /** Open connections that the raw HTTP path serves: every request so far was in its form. */
  get rawConnectionCount(): number {
    return this.#parts.raw?.count ?? 0
  }

  status(): Status {
    return this.#parts.health.status()
  }

  /** Accepts no more requests, lets the running ones finish within CLOSING_MS, then closes every connection. */
  close(): Promise<void> {
    return (this.#closed ??= this.#close())
  }

  async #close(): Promise<void> {
    const { http, tls, detector, raw, sockets, health, metrics, apiKeys, ipc } = this.#parts
    const ended = Promise.all([new Promise<void>((resolve) => http.close(() => resolve())), ipc?.close()])
    http.closeIdleConnections()
    tls.close()
    detector.close()
    raw?.close()
    sockets.close()
    const timeLimit = setTimeout(() => {
      sockets.terminate()
      ipc?.terminate()
      raw?.terminate()
      http.closeAllConnections()
    }, CLOSING_MS)
    await ended
    clearTimeout(timeLimit)
    health.close()
    metrics.close()
    apiKeys?.close()
  }
}

/** Rejects if the port cannot be opened. */
export function listening(http: HttpServer, port: number, host: string): Promise<void> {
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

/** Returns a host in its URL form. Not by Node's isIPv6, whose regular expression takes 4 ms of the start to compile. */
function hostText(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}

/**
 * Returns a host that clients on this machine can connect to: loopback if the server listens on every address, and the bound address for
 * `localhost`, which clients may resolve to the other IP version.
 */
function reachableHost(host: string, boundAddress: string): string {
  return LOOPBACK_OF[host] ?? (host.toLowerCase() === 'localhost' ? boundAddress : host)
}

const LOOPBACK_OF: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }

const REASONS: Readonly<Record<string, (port: number, host: string) => string>> = {
  EADDRINUSE: (port, host) => `port ${port} on ${host} is in use; stop what uses it or choose another with --port (0 takes any free one)`,
  EACCES: (port, host) => `port ${port} on ${host} may not be used without privileges; choose one above 1023 with --port`,
  EADDRNOTAVAIL: (_, host) => `${host} is not an address of this machine`,
  ENOTFOUND: (_, host) => `the host name ${host} cannot be resolved`,
}

/** The server could not open its port. */
export class ListenError extends Error {
  readonly port: number

  /** `ipc`: the path that could not be opened; by default the port */
  constructor(port: number, host: string, cause: unknown, ipc: string | null = null) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
    if (ipc !== null)
      super(`cannot listen on ${ipc}: ${cause instanceof Error ? cause.message : String(cause)}; choose another path with --ipc`, { cause })
    else super(REASONS[code]?.(port, host) ?? `cannot listen on ${authority(host, port)}: ${String(cause)}`, { cause })
    this.name = 'ListenError'
    this.port = port
  }
}
