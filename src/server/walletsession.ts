import type { IncomingHttpHeaders } from 'node:http'
import type { RawData, WebSocket } from 'ws'
import { CODE } from '../rpc/index.ts'
import { LOCAL_ORIGIN, WALLET_CODE } from '../wallet/index.ts'
import type { Provider, Question, WalletApi } from '../wallet/index.ts'
import { SLOW_CLIENT_BYTES, WALLET_REQUESTS_IN_FLIGHT } from './limits.ts'
import { originOf } from './guard.ts'
import { CRASHED } from './port.ts'
import type { Served } from './port.ts'
import { queueText } from './queuetext.ts'
import { NO_PAGE_SECRET, visitorOf } from './wallet.ts'
import type { WalletVisitor } from './wallet.ts'
import type { WalletKeys } from './walletkeys.ts'

/**
 * The wallet over one WebSocket. It speaks for the site of its Origin, or for whoever shows the control token in a first message; until then
 * every request is answered as one of nobody. A page of ours shows its page secret there, since browsers send no header of its choice. Events of the site's provider come as `pocketchain_event`, and to those who may approve the
 * questions that wait as `pocketchain_approvals`. A site whose question waits while nobody is there who may approve is told so by the event
 * `approvalWaiting`: it may open the page. Its end withdraws what it asked.
 */
export class WalletSession {
  readonly #ws: WebSocket
  readonly #served: Served
  readonly #wallet: WalletApi
  readonly #keys: WalletKeys
  /** true for the page secret that belongs to the cookie and the Origin of the handshake */
  readonly #isPageSecret: (secret: string) => boolean
  readonly #gone = new AbortController()
  #visitor: WalletVisitor
  #provider: Provider | null = null
  /** whose provider that is; null: nobody's */
  #site: string | null = null
  #leaveQueue: (() => void) | null = null
  #requests = 0
  /** notifications leave after the answers of their turn: whoever subscribes knows the name before the first item */
  #events: string[] = []
  /** of the queue, not told yet */
  #pending: readonly Question[] | null = null
  /** of the queue's last message, while it is on its way */
  #toldBytes = 0
  #isFlushing = false

  constructor(ws: WebSocket, headers: IncomingHttpHeaders, served: Served, wallet: WalletApi, keys: WalletKeys) {
    this.#ws = ws
    this.#isPageSecret = (secret) => keys.isControl(headers, secret)
    this.#served = served
    this.#wallet = wallet
    this.#keys = keys
    this.#visitor = visitorOf(headers, keys)
    ws.on('message', (data) => void this.#receive(bytesOf(data)))
    ws.on('close', () => this.#end())
    this.#follow()
  }

  /** Listens to what this visitor may hear. */
  #follow(): void {
    const { origin, isControl } = this.#visitor
    const site = origin ?? (isControl ? LOCAL_ORIGIN : null)
    if (site !== null && site !== this.#site) this.#listen(site)
    this.#leaveQueue?.()
    this.#leaveQueue = isControl ? this.#watch() : site === null ? null : this.#lookOut(site)
  }

  #watch(): () => void {
    const leave = this.#keys.watch()
    const end = this.#wallet.control.subscribe((pending) => {
      this.#pending = pending
      this.#flushSoon()
    })
    return () => {
      leave()
      end()
    }
  }

  #lookOut(site: string): () => void {
    let known = new Set<string>()
    return this.#wallet.control.subscribe((pending) => {
      const own = pending.filter(({ origin }) => origin === site).map(({ id }) => id)
      const isNew = own.some((id) => !known.has(id))
      known = new Set(own)
      if (!isNew || this.#keys.isWatched) return
      this.#events.push(notification('pocketchain_event', { event: 'approvalWaiting', data: null }))
      this.#flushSoon()
    })
  }

  #listen(site: string): void {
    this.#close()
    this.#site = site
    const provider = (this.#provider = this.#wallet.provider(site))
    for (const event of EVENTS) {
      provider.on(event, (data) => {
        if (this.#provider !== provider) return
        this.#events.push(notification('pocketchain_event', { event, data: plain(data) }))
        this.#flushSoon()
      })
    }
  }

  async #receive(message: Buffer): Promise<void> {
    if (++this.#requests >= WALLET_REQUESTS_IN_FLIGHT) this.#ws.pause()
    const answer = (message.includes(AUTHENTICATE) ? this.#authenticate(message) : null) ?? (await this.#ask(message))
    if (answer !== '') this.#send(answer)
    if (this.#requests-- === WALLET_REQUESTS_IN_FLIGHT) this.#ws.resume()
  }

  async #ask(message: Buffer): Promise<string> {
    try {
      const { signal } = this.#gone
      return (await this.#wallet.handle(message, { ...this.#visitor, signal, provider: this.#provider })) ?? ''
    } catch (error) {
      this.#served.onError(error)
      return CRASHED
    }
  }

  /** `[token, origin?]`, or `[{ page: secret }]` from a page of ours; null: it is another request. A wrong one ends the connection. */
  #authenticate(message: Buffer): string | null {
    const request = read(message)
    if (request === null) return null
    const [token, named] = request.params
    if (isPageSecret(token)) return this.#admitPage(request.id, token.page)
    if (typeof token !== 'string' || !this.#keys.isToken(token)) {
      setImmediate(() => this.#ws.close(POLICY_VIOLATION, 'wrong control token'))
      return failure(request.id, WALLET_CODE.unauthorized, WRONG_TOKEN)
    }
    const { origin } = this.#visitor
    const site = siteOf(named, origin)
    if (site === undefined) return failure(request.id, CODE.invalidParams, WRONG_ORIGIN)
    return this.#admit(request.id, site)
  }

  #admitPage(id: unknown, secret: string): string {
    if (this.#isPageSecret(secret)) return this.#admit(id, this.#visitor.origin)
    setImmediate(() => this.#ws.close(POLICY_VIOLATION, 'wrong page secret'))
    return failure(id, WALLET_CODE.unauthorized, NO_PAGE_SECRET)
  }

  #admit(id: unknown, origin: string | null): string {
    this.#visitor = { origin, isControl: true, refusal: null }
    this.#follow()
    return JSON.stringify({ jsonrpc: '2.0', id, result: true })
  }

  #flushSoon(): void {
    if (this.#isFlushing) return
    this.#isFlushing = true
    setImmediate(() => {
      this.#isFlushing = false
      const events = this.#events
      this.#events = []
      for (const event of events) this.#send(event)
      this.#tell()
    })
  }

  /**
   * The queue as it is now, unless the one before is still on its way: then this one follows, or a newer one in its place. A site that asks much
   * and fast must not make a page that shows questions look like a client that does not read.
   */
  #tell(): void {
    const pending = this.#pending
    if (pending === null || this.#toldBytes > 0 || this.#ws.readyState !== this.#ws.OPEN) return
    this.#pending = null
    const message = Buffer.from(approvals(queueText(pending, this.#served.onError)))
    this.#toldBytes = message.length
    this.#ws.send(message, TEXT, () => {
      this.#toldBytes = 0
      this.#tell()
    })
  }

  /** Cuts off a client that lets what it is sent pile up; what `tell` sends is bounded by itself. */
  #send(message: string): void {
    if (this.#ws.readyState !== this.#ws.OPEN) return
    if (this.#ws.bufferedAmount - this.#toldBytes > SLOW_CLIENT_BYTES) this.#ws.terminate()
    else this.#ws.send(message, TEXT)
  }

  /** That it was closed is no news to the one for whom it is. */
  #close(): void {
    const provider = this.#provider
    this.#provider = null
    provider?.close()
  }

  #end(): void {
    this.#gone.abort()
    this.#close()
    this.#leaveQueue?.()
    this.#events = []
    this.#pending = null
  }
}

const EVENTS = ['connect', 'disconnect', 'chainChanged', 'accountsChanged', 'message'] as const
const AUTHENTICATE = 'pocketchain_authenticate'
const POLICY_VIOLATION = 1008
const TEXT = { binary: false }

const WRONG_TOKEN = 'the control token is wrong; the node prints it with --json, and node.listen() answers it as server.wallet.controlToken'
const WRONG_ORIGIN =
  'the second parameter is the origin to speak for, such as "http://localhost:3000"; a connection that came with an Origin speaks for that one'

/** `named`: as the client wrote it; `bound`: of the connection's Origin, which nobody changes. undefined: it cannot be. */
function siteOf(named: unknown, bound: string | null): string | null | undefined {
  if (named === undefined || named === null) return bound
  const origin = typeof named === 'string' ? originOf(named) : null
  return origin === null || (bound !== null && origin !== bound) ? undefined : origin
}

function isPageSecret(value: unknown): value is { readonly page: string } {
  return typeof value === 'object' && value !== null && 'page' in value && typeof value.page === 'string'
}

interface Authentication {
  readonly id: unknown
  readonly params: readonly unknown[]
}

/** null: no such request. */
function read(message: Buffer): Authentication | null {
  try {
    const value: unknown = JSON.parse(message.toString())
    if (typeof value !== 'object' || value === null) return null
    const { method, params, id } = value as Readonly<Record<string, unknown>> // any JSON object has this shape
    return method === AUTHENTICATE ? { id: id ?? null, params: Array.isArray(params) ? params : [] } : null
  } catch {
    return null
  }
}

function failure(id: unknown, code: number, message: string): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } })
}

function notification(method: string, params: unknown): string {
  return JSON.stringify({ jsonrpc: '2.0', method, params })
}

/** `pending`: JSON */
function approvals(pending: string): string {
  return `{"jsonrpc":"2.0","method":"pocketchain_approvals","params":{"pending":${pending}}}`
}

/** What `disconnect` carries is an error. */
function plain(data: unknown): unknown {
  if (!(data instanceof Error)) return data
  const { message } = data
  return 'code' in data
    ? { code: data.code, message, ...('data' in data && data.data !== undefined ? { data: data.data } : {}) }
    : { message }
}

/** ws hands over a Buffer unless told otherwise. */
function bytesOf(data: RawData): Buffer {
  return Array.isArray(data) ? Buffer.concat(data) : data instanceof ArrayBuffer ? Buffer.from(data) : data
}
