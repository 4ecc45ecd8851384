import type { Duplex } from 'node:stream'
import type { RawData, WebSocket } from 'ws'
import type { Caller, Session } from '../rpc/index.ts'
import { REQUESTS_IN_FLIGHT } from './limits.ts'
import { CRASHED } from './port.ts'
import type { Served } from './port.ts'
import type { Tier } from './routes.ts'

/**
 * JSON-RPC over one WebSocket. Requests run side by side and are answered as they finish. Notifications go out after the answers
 * that are ready in the same turn of the event loop, so that a client knows a subscription's id before its first item.
 */
export class SocketSession implements Session {
  readonly #ws: WebSocket
  readonly #socket: Duplex
  readonly #served: Served
  readonly #caller: Caller
  readonly #unreadLimitBytes: number
  readonly #closeListeners: (() => void)[] = []
  #notifications: string[] = []
  #notificationBytes = 0
  #requests = 0
  #batches = 0
  #open = true

  /** `socket` lies under `ws`; items that leave together are corked into one write. */
  constructor(ws: WebSocket, socket: Duplex, tier: Tier, served: Served, unreadLimitBytes: number) {
    this.#ws = ws
    this.#socket = socket
    this.#served = served
    this.#caller = { tier, session: this }
    this.#unreadLimitBytes = unreadLimitBytes
    ws.on('message', (data) => void this.#receive(bytesOf(data)))
    ws.on('close', () => this.#end())
  }

  notify(subscription: string, result: unknown): boolean {
    if (!this.#open) return false
    const item = `{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"${subscription}","result":${textOf(result)}}}`
    if (this.#notifications.length === 0) setImmediate(() => this.#flush())
    this.#notifications.push(item)
    this.#notificationBytes += item.length
    return !this.#isTooSlow()
  }

  onClose(listener: () => void): void {
    if (this.#open) this.#closeListeners.push(listener)
    else listener()
  }

  async #receive(message: Uint8Array): Promise<void> {
    const batch = message[0] === OPENING_BRACKET ? 1 : 0
    this.#batches += batch
    if (++this.#requests >= REQUESTS_IN_FLIGHT) this.#ws.pause()
    const answer = await this.#call(message)
    if (answer !== null && !this.#isTooSlow()) this.#ws.send(answer, TEXT)
    if (this.#requests-- === REQUESTS_IN_FLIGHT) this.#ws.resume()
    this.#batches -= batch
    if (batch === 1 && this.#notifications.length > 0) setImmediate(() => this.#flush())
  }

  async #call(message: Uint8Array): Promise<string | Uint8Array | null> {
    try {
      return (await this.#served.rpc.handle(message, this.#caller)).body
    } catch (error) {
      this.#served.onError(error)
      return CRASHED
    }
  }

  /** Waits while a batch is being answered: the subscription may be one of its calls. */
  #flush(): void {
    if (!this.#open || this.#batches > 0) return
    const items = this.#notifications
    this.#notifications = []
    this.#notificationBytes = 0
    this.#socket.cork()
    for (const item of items) this.#ws.send(item, TEXT)
    this.#socket.uncork()
  }

  /** Cuts off a client that lets its answers pile up. */
  #isTooSlow(): boolean {
    if (!this.#open) return true
    if (this.#ws.bufferedAmount + this.#notificationBytes <= this.#unreadLimitBytes) return false
    this.#ws.terminate()
    this.#end()
    return true
  }

  #end(): void {
    if (!this.#open) return
    this.#open = false
    this.#notifications = []
    for (const listener of this.#closeListeners) listener()
    this.#closeListeners.length = 0
  }
}

const OPENING_BRACKET = 0x5b
const TEXT = { binary: false }

/** ws hands over a Buffer unless told otherwise. */
function bytesOf(data: RawData): Uint8Array {
  return Array.isArray(data) ? Buffer.concat(data) : data instanceof ArrayBuffer ? new Uint8Array(data) : data
}

/** What several subscribers are sent is one object, and is made into text once. */
function textOf(result: unknown): string {
  if (typeof result !== 'object' || result === null) return JSON.stringify(result)
  let text = texts.get(result)
  if (text === undefined) texts.set(result, (text = JSON.stringify(result)))
  return text
}

const texts = new WeakMap<object, string>()
