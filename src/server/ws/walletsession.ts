import type { IncomingHttpHeaders } from 'node:http'
import type { WebSocket } from 'ws'
import { CODE } from '../../rpc/index.ts'
import { LOCAL_ORIGIN, WALLET_CODE, windowClosed } from '../../wallet/index.ts'
import type { ActivityView, Provider, Question, WalletApi } from '../../wallet/index.ts'
import { NO_PAGE_SECRET, walletCallerOf } from '../access/caller.ts'
import type { WalletCaller } from '../access/caller.ts'
import type { ControlKeys } from '../access/controlkeys.ts'
import { originOf } from '../access/guard.ts'
import { CRASHED } from '../deps.ts'
import type { ServerDeps } from '../deps.ts'
import { SLOW_CLIENT_BYTES, WALLET_REQUESTS_IN_FLIGHT } from '../limits.ts'
import { approvalsJson } from './approvalsjson.ts'
import { bytesOf } from './rpcsession.ts'

/**
 * JSON-RPC of the wallet over one WebSocket, for the site of its Origin. `pocketchain_authenticate` as a message gives it the control credential: the
 * control token, or the page secret of a page of this server, since browsers set no headers on a WebSocket. Notifications are the events of the
 * site's provider (`pocketchain_event`) and, with the control credential, the pending approvals (`pocketchain_approvals`) and each activity that is
 * new or has changed (`pocketchain_activity`). A request of the site that waits for an answer is announced to it by the event `approvalWaiting`, which says
 * whether a connection with the credential is open: if not, its page can open the approval page. The end of the connection withdraws its questions, and
 * `pocketchain_windowClosed` those of its first messages, unless a connection with the credential is open. Before a node that stops closes the
 * connection, the event `stopping` says how many messages were read: the provider sends the others over its next connection.
 */
export class WalletSession {
  readonly #ws: WebSocket
  readonly #deps: ServerDeps
  readonly #wallet: WalletApi
  readonly #keys: ControlKeys
  /** true for the page secret that belongs to the cookie and the Origin of the handshake */
  readonly #isPageSecret: (secret: string) => boolean
  #caller: WalletCaller
  #provider: Provider | null = null
  /** origin of `#provider` */
  #site: string | null = null
  #unsubscribe: (() => void) | null = null
  /** the requests without a response, by the position of their message, from 1 */
  readonly #requests = new Map<number, AbortController>()
  /** messages read; none is after `stop` */
  #read = 0
  #isStopping = false
  /** Serialised events. They are sent after the responses of their turn: a client receives a subscription's id before its first item. */
  #events: string[] = []
  /** the approvals to send next; null if the client has the current ones */
  #pending: readonly Question[] | null = null
  /** the changed activities to send next, by id: a client that reads slowly receives the latest state of each */
  readonly #activities = new Map<string, ActivityView>()
  /** size of the approvals or activity message in flight, or 0 */
  #inFlightBytes = 0
  #isFlushing = false

  constructor(ws: WebSocket, headers: IncomingHttpHeaders, deps: ServerDeps, wallet: WalletApi, keys: ControlKeys) {
    this.#ws = ws
    this.#isPageSecret = (secret) => keys.isControl(headers, secret)
    this.#deps = deps
    this.#wallet = wallet
    this.#keys = keys
    this.#caller = walletCallerOf(headers, keys)
    ws.on('message', (data) => {
      if (this.#isStopping) return
      void this.#receive(bytesOf(data), ++this.#read)
    })
    ws.on('close', () => this.#end())
    this.#subscribe()
  }

  /** Reads no more messages. Call it before closing the socket. */
  stop(): void {
    this.#isStopping = true
    this.#send(eventMessage('stopping', { read: this.#read }))
  }

  /** Subscribes to the notifications that the caller may receive. */
  #subscribe(): void {
    const { origin, isControl } = this.#caller
    const site = origin ?? (isControl ? LOCAL_ORIGIN : null)
    if (site !== null && site !== this.#site) this.#openProvider(site)
    this.#unsubscribe?.()
    this.#unsubscribe = isControl ? this.#sendApprovals() : site === null ? null : this.#announceApprovals(site)
  }

  #sendApprovals(): () => void {
    const endWatch = this.#keys.watch()
    const unsubscribe = this.#wallet.control.subscribe((pending) => {
      this.#pending = pending
      this.#scheduleFlush()
    })
    const endActivity = this.#wallet.control.subscribeActivity((changed) => {
      for (const activity of changed) this.#activities.set(activity.id, activity)
      this.#scheduleFlush()
    })
    return () => {
      endWatch()
      unsubscribe()
      endActivity()
    }
  }

  #announceApprovals(site: string): () => void {
    return this.#wallet.control.subscribeRequests(({ origin }) => {
      if (origin === site) this.#queueEvent('approvalWaiting', { isShown: this.#keys.hasWatcher })
    })
  }

  #openProvider(site: string): void {
    this.#closeProvider()
    this.#site = site
    const provider = (this.#provider = this.#wallet.provider(site))
    for (const event of EVENTS) {
      provider.on(event, (data) => {
        if (this.#provider === provider) this.#queueEvent(event, toJson(data))
      })
    }
  }

  async #receive(message: Buffer, position: number): Promise<void> {
    const cancel = new AbortController()
    this.#requests.set(position, cancel)
    if (this.#requests.size >= WALLET_REQUESTS_IN_FLIGHT) this.#ws.pause()
    const response = this.#answerOwn(message) ?? (await this.#call(message, cancel.signal))
    if (response !== '') this.#send(response)
    if (this.#requests.size === WALLET_REQUESTS_IN_FLIGHT) this.#ws.resume()
    this.#requests.delete(position)
  }

  /** Answers the methods of the connection itself; null if the message is another request. */
  #answerOwn(message: Buffer): string | null {
    if (message.includes(AUTHENTICATE)) return this.#authenticate(message)
    return message.includes(WINDOW_CLOSED) ? this.#onWindowClosed(message) : null
  }

  async #call(message: Buffer, signal: AbortSignal): Promise<string> {
    try {
      return (await this.#wallet.handle(message, { ...this.#caller, signal, provider: this.#provider })) ?? ''
    } catch (error) {
      this.#deps.onError(error)
      return CRASHED
    }
  }

  /**
   * Handles `[read]`: the user closed the window of the wallet that the page had opened, after its first `read` messages. Those of them that wait for
   * an answer are rejected, unless it can be given on another page. The result is null. Returns null if the message is another request.
   */
  #onWindowClosed(message: Buffer): string | null {
    const request = parseRequest(message, WINDOW_CLOSED)
    if (request === null) return null
    const [read] = request.params
    if (typeof read !== 'number') return failure(request.id, CODE.invalidParams, WRONG_POSITION)
    const waiting = this.#keys.hasWatcher ? [] : [...this.#requests].filter(([position]) => position <= read)
    for (const [, cancel] of waiting) cancel.abort(windowClosed())
    return JSON.stringify({ jsonrpc: '2.0', id: request.id, result: null })
  }

  /** Handles `[token, origin?]` or `[{ page: secret }]`; null if the message is another request. A wrong credential closes the connection. */
  #authenticate(message: Buffer): string | null {
    const request = parseRequest(message, AUTHENTICATE)
    if (request === null) return null
    const [credential, claimedOrigin] = request.params
    const { origin } = this.#caller
    if (isPageSecret(credential))
      return this.#isPageSecret(credential.page)
        ? this.#grant(request.id, origin)
        : this.#deny(request.id, 'wrong page secret', NO_PAGE_SECRET)
    if (typeof credential !== 'string' || !this.#keys.isToken(credential)) return this.#deny(request.id, 'wrong control token', WRONG_TOKEN)
    const site = siteOf(claimedOrigin, origin)
    return site === undefined ? failure(request.id, CODE.invalidParams, WRONG_ORIGIN) : this.#grant(request.id, site)
  }

  #grant(id: unknown, origin: string | null): string {
    this.#caller = { origin, isControl: true, refusal: null }
    this.#subscribe()
    return JSON.stringify({ jsonrpc: '2.0', id, result: true })
  }

  #deny(id: unknown, closeReason: string, message: string): string {
    setImmediate(() => this.#ws.close(POLICY_VIOLATION, closeReason))
    return failure(id, WALLET_CODE.unauthorized, message)
  }

  #queueEvent(event: string, data: unknown): void {
    this.#events.push(eventMessage(event, data))
    this.#scheduleFlush()
  }

  #scheduleFlush(): void {
    if (this.#isFlushing) return
    this.#isFlushing = true
    setImmediate(() => {
      this.#isFlushing = false
      const events = this.#events
      this.#events = []
      for (const event of events) this.#send(event)
      this.#flushApprovals()
    })
  }

  /**
   * Sends the current approvals, or waits until the previous message is sent: a site with many requests must not disconnect the approval page for not
   * reading.
   */
  #flushApprovals(): void {
    const message = this.#nextControlMessage()
    if (message === null) return
    this.#inFlightBytes = message.length
    this.#ws.send(message, TEXT, () => {
      this.#inFlightBytes = 0
      this.#flushApprovals()
    })
  }

  /** The approvals first; null if there is nothing to send, or the former message is still in flight. */
  #nextControlMessage(): Buffer | null {
    if (this.#inFlightBytes > 0 || this.#ws.readyState !== this.#ws.OPEN) return null
    const pending = this.#pending
    if (pending !== null) {
      this.#pending = null
      const json = approvalsJson(pending, this.#deps.onError)
      return Buffer.from(`{"jsonrpc":"2.0","method":"pocketchain_approvals","params":{"pending":${json}}}`)
    }
    if (this.#activities.size === 0) return null
    const params = { changed: [...this.#activities.values()] }
    this.#activities.clear()
    return Buffer.from(JSON.stringify({ jsonrpc: '2.0', method: 'pocketchain_activity', params }))
  }

  /** Disconnects a client that leaves more than the limit unread, not counting the one message of approvals or activities that may be in flight. */
  #send(message: string): void {
    if (this.#ws.readyState !== this.#ws.OPEN) return
    if (this.#ws.bufferedAmount - this.#inFlightBytes > SLOW_CLIENT_BYTES) this.#ws.terminate()
    else this.#ws.send(message, TEXT)
  }

  /** `#provider` is cleared first, so that its `disconnect` event is not sent. */
  #closeProvider(): void {
    const provider = this.#provider
    this.#provider = null
    provider?.close()
  }

  #end(): void {
    for (const cancel of this.#requests.values()) cancel.abort()
    this.#closeProvider()
    this.#unsubscribe?.()
    this.#events = []
    this.#pending = null
    this.#activities.clear()
  }
}

const EVENTS = ['connect', 'disconnect', 'chainChanged', 'accountsChanged', 'message'] as const
const AUTHENTICATE = 'pocketchain_authenticate'
const WINDOW_CLOSED = 'pocketchain_windowClosed'
const POLICY_VIOLATION = 1008
const TEXT = { binary: false }

const WRONG_TOKEN = 'the control token is wrong; the node prints it with --json, and node.listen() returns it as server.wallet.controlToken'
const WRONG_ORIGIN =
  'the second parameter is the origin of the site, such as "http://localhost:3000"; a connection with an Origin accepts no other one'

const WRONG_POSITION =
  'the parameter is the number of messages that were sent over this connection before the window was closed, such as [3]'

/** Returns the site to act for, null if there is none, undefined if `claimed` is not an origin or differs from the Origin of the connection. */
function siteOf(claimed: unknown, origin: string | null): string | null | undefined {
  if (claimed === undefined || claimed === null) return origin
  const site = typeof claimed === 'string' ? originOf(claimed) : null
  return site === null || (origin !== null && site !== origin) ? undefined : site
}

function isPageSecret(value: unknown): value is { readonly page: string } {
  return typeof value === 'object' && value !== null && 'page' in value && typeof value.page === 'string'
}

/** Returns null if the message is not a request of that method. */
function parseRequest(message: Buffer, wanted: string): { readonly id: unknown; readonly params: readonly unknown[] } | null {
  try {
    const value: unknown = JSON.parse(message.toString())
    if (typeof value !== 'object' || value === null) return null
    const { method, params, id } = value as Readonly<Record<string, unknown>> // any JSON object has this shape
    return method === wanted ? { id: id ?? null, params: Array.isArray(params) ? params : [] } : null
  } catch {
    return null
  }
}

function eventMessage(event: string, data: unknown): string {
  return JSON.stringify({ jsonrpc: '2.0', method: 'pocketchain_event', params: { event, data } })
}

function failure(id: unknown, code: number, message: string): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } })
}

/** The data of `disconnect` is an Error, which JSON.stringify would write as `{}`. */
function toJson(data: unknown): unknown {
  if (!(data instanceof Error)) return data
  const { message } = data
  if (!('code' in data)) return { message }
  return { code: data.code, message, ...('data' in data && data.data !== undefined ? { data: data.data } : {}) }
}
