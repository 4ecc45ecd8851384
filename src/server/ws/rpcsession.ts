import type { Duplex } from 'node:stream'
import type { RawData, WebSocket } from 'ws'
import { JsonStream } from '../../rpc/index.ts'
import type { Body, Caller, Session } from '../../rpc/index.ts'
import { completeBody, discard } from '../http/answer.ts'
import type { CompleteBody } from '../http/answer.ts'
import { LARGE_ANSWER_BYTES, REQUESTS_IN_FLIGHT } from '../limits.ts'
import { CRASHED } from '../deps.ts'
import type { ServerDeps } from '../deps.ts'
import { recycle, stream } from '../http/writer.ts'
import type { ChunkSink } from '../http/writer.ts'

/** A connection that carries messages: a WebSocket, or a Unix socket. */
export interface MessageSocket {
  readonly OPEN: number
  readonly readyState: number
  /** bytes that the client has not read yet */
  readonly bufferedAmount: number
  onMessage(listener: (message: Buffer) => void): void
  onClose(listener: () => void): void
  /** called when the client sends no more and still reads; absent: it cannot do so */
  onEnd?(listener: () => void): void
  /** `fin`, true by default: false for a part of a message that continues */
  send(data: string | Uint8Array, options: { readonly binary: boolean; readonly fin?: boolean }, onSent?: () => void): void
  pause(): void
  resume(): void
  close(code: number, reason: string): void
  terminate(): void
}

/**
 * JSON-RPC over one connection. Requests run concurrently and are answered as they finish. Notifications are sent after the responses
 * of the same turn of the event loop, so that a client receives a subscription's id before its first item.
 */
export class RpcSession implements Session {
  readonly #ws: MessageSocket
  readonly #socket: Duplex
  readonly #deps: ServerDeps
  readonly #caller: Caller
  readonly #unreadLimitBytes: number
  readonly #closeListeners: (() => void)[] = []
  #notifications: string[] = []
  /** those of subscriptions that were opened in a batch which is not answered yet, by subscription */
  readonly #held = new Map<string, string[]>()
  #notificationBytes = 0
  /** called when all notifications have left the process, or the connection has ended */
  readonly #drainListeners: (() => void)[] = []
  #requests = 0
  /** resolves after the stream being sent and everything queued after it; null: nothing is queued */
  #sendQueue: Promise<void> | null = null
  /** size of the responses queued after it */
  #queuedBytes = 0
  /** size of the large answer in flight, or 0 */
  #inFlightBytes = 0
  #open = true
  #isInputEnded = false

  /** `socket`: the socket of `ws`, corked so that the notifications of one turn are one write. */
  constructor(ws: MessageSocket, socket: Duplex, caller: Caller, deps: ServerDeps, unreadLimitBytes: number) {
    this.#ws = ws
    this.#socket = socket
    this.#deps = deps
    this.#caller = { ...caller, session: this }
    this.#unreadLimitBytes = unreadLimitBytes
    ws.onMessage((message) => void this.#receive(message))
    ws.onClose(() => this.#end())
    ws.onEnd?.(() => {
      this.#isInputEnded = true
      this.#closeIfAnswered()
    })
  }

  notify(subscription: string, result: unknown, position?: unknown): boolean {
    if (!this.#open) return false
    const place = position === undefined ? '' : `,"position":${JSON.stringify(position)}`
    const item = `{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"${subscription}","result":${serialise(result)}${place}}}`
    this.#notificationBytes += item.length
    const held = this.#held.get(subscription)
    if (held === undefined) this.#queue([item])
    else held.push(item)
    return !this.#isTooSlow()
  }

  drained(): Promise<void> {
    if (!this.#open || (this.#notifications.length === 0 && !this.#isHolding())) return Promise.resolve()
    return new Promise((resolve) => this.#drainListeners.push(resolve))
  }

  disconnect(reason: string): void {
    this.#ws.close(TRY_AGAIN_LATER, reason)
    this.#end()
  }

  onClose(listener: () => void): void {
    if (this.#open) this.#closeListeners.push(listener)
    else listener()
  }

  async #receive(message: Uint8Array): Promise<void> {
    const opened = isBatch(message) ? new Set<string>() : null
    if (++this.#requests >= REQUESTS_IN_FLIGHT) this.#ws.pause()
    const answer = await this.#call(message, opened === null ? this.#caller : this.#holding(opened))
    if (answer !== null) await this.#answer(answer)
    if (this.#requests-- === REQUESTS_IN_FLIGHT) this.#ws.resume()
    for (const subscription of opened ?? []) this.#release(subscription)
    this.#closeIfAnswered()
  }

  /** The caller of a batch: the client receives the ids of its subscriptions at its end, and their notifications after them. */
  #holding(opened: Set<string>): Caller {
    const onSubscribe = (subscription: string): void => {
      opened.add(subscription)
      this.#held.set(subscription, [])
    }
    return { ...this.#caller, onSubscribe }
  }

  #release(subscription: string): void {
    const items = this.#held.get(subscription) ?? []
    this.#held.delete(subscription)
    if (items.length > 0) this.#queue(items)
  }

  #queue(items: readonly string[]): void {
    if (this.#notifications.length === 0) setImmediate(() => this.#flush())
    for (const item of items) this.#notifications.push(item)
  }

  #isHolding(): boolean {
    return [...this.#held.values()].some((items) => items.length > 0)
  }

  #closeIfAnswered(): void {
    if (this.#isInputEnded && this.#requests === 0) this.#ws.close(NORMAL, '')
  }

  /** A stream is one message in fragments, so nothing else is sent before it ends. */
  async #answer(body: Body): Promise<void> {
    if (body instanceof JsonStream) return this.#inTurn(() => this.#stream(body))
    const complete = completeBody(body)
    const message = messageOf(complete)
    recycle(complete)
    if (this.#sendQueue === null) return this.#send(message)
    this.#queuedBytes += message.length
    if (this.#isTooSlow()) return
    await this.#inTurn(async () => {
      this.#queuedBytes -= message.length
      this.#send(message)
    })
  }

  #send(message: string | Uint8Array): void {
    if (this.#isTooSlow()) return
    if (this.#inFlightBytes > 0 || message.length < LARGE_ANSWER_BYTES) return this.#ws.send(message, TEXT)
    this.#inFlightBytes = message.length
    this.#ws.send(message, TEXT, () => (this.#inFlightBytes = 0))
  }

  async #inTurn(work: () => Promise<void>): Promise<void> {
    const before = this.#sendQueue
    const turn = before === null ? work() : before.then(work)
    this.#sendQueue = turn
    await turn
    if (this.#sendQueue !== turn) return
    this.#sendQueue = null
    this.#flush()
  }

  async #stream(body: JsonStream): Promise<void> {
    if (this.#isTooSlow()) return discard(body)
    await stream(body, new MessageSink(this.#ws), this.#deps.onError)
  }

  async #call(message: Uint8Array, caller: Caller): Promise<Body | null> {
    try {
      return (await this.#deps.rpc.handle(message, caller)).body
    } catch (error) {
      this.#deps.onError(error)
      return CRASHED
    }
  }

  /** Waits while a stream is being sent, which is one message. */
  #flush(): void {
    if (!this.#open || this.#notifications.length === 0 || this.#sendQueue !== null) return
    const items = this.#notifications
    this.#notifications = []
    for (const item of items) this.#notificationBytes -= item.length
    this.#socket.cork()
    const listeners = this.#isHolding() ? [] : this.#drainListeners.splice(0)
    const onSent = listeners.length === 0 ? undefined : () => listeners.forEach((listener) => listener())
    for (const [i, item] of items.entries()) this.#ws.send(item, TEXT, i === items.length - 1 ? onSent : undefined)
    this.#socket.uncork()
  }

  /** Disconnects a client that leaves more than the limit unread, not counting the one large answer that may be in flight. */
  #isTooSlow(): boolean {
    if (!this.#open) return true
    if (this.#ws.bufferedAmount - this.#inFlightBytes + this.#notificationBytes + this.#queuedBytes <= this.#unreadLimitBytes) return false
    this.#ws.terminate()
    this.#end()
    return true
  }

  #end(): void {
    if (!this.#open) return
    this.#open = false
    this.#notifications = []
    this.#held.clear()
    for (const listener of [...this.#closeListeners, ...this.#drainListeners]) listener()
    this.#drainListeners.length = 0
    this.#closeListeners.length = 0
  }
}

const NORMAL = 1000
const TRY_AGAIN_LATER = 1013
const TEXT = { binary: false }

/** True if the first byte after JSON's white space opens a list. */
function isBatch(message: Uint8Array): boolean {
  return message.find((byte) => !WHITE_SPACE.has(byte)) === OPENING_BRACKET
}

const OPENING_BRACKET = 0x5b
const WHITE_SPACE: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d])

/** One message in as many fragments as there are chunks. */
class MessageSink implements ChunkSink {
  readonly #ws: MessageSocket
  #written: Promise<void> = Promise.resolve()

  constructor(ws: MessageSocket) {
    this.#ws = ws
  }

  get isOpen(): boolean {
    return this.#ws.readyState === this.#ws.OPEN
  }

  /** ws does not report whether its data is flushed. */
  readonly isFlushed = false

  write(chunk: Uint8Array): void {
    this.#written = new Promise((resolve) => this.#ws.send(chunk, FRAGMENT, () => resolve()))
  }

  async ready(): Promise<boolean> {
    await this.#written
    await new Promise<void>((resolve) => setImmediate(resolve))
    return this.isOpen
  }

  end(): void {
    this.#ws.send('', TEXT)
  }

  abort(): void {
    this.#ws.terminate()
  }
}

const FRAGMENT = { binary: false, fin: false }

function messageOf(body: CompleteBody): string | Uint8Array {
  return typeof body === 'string' ? body : Buffer.concat(body)
}

/** A WebSocket as a connection for messages. */
export function messageSocket(ws: WebSocket): MessageSocket {
  return Object.assign(ws, {
    onMessage: (listener: (message: Buffer) => void) => ws.on('message', (data) => listener(bytesOf(data))),
    onClose: (listener: () => void) => ws.on('close', listener),
  })
}

/** Returns a message of ws as one Buffer. */
export function bytesOf(data: RawData): Buffer {
  return Array.isArray(data) ? Buffer.concat(data) : data instanceof ArrayBuffer ? Buffer.from(data) : data
}

/** Serialises a result once for all its subscribers. */
function serialise(result: unknown): string {
  if (typeof result !== 'object' || result === null) return JSON.stringify(result)
  let text = texts.get(result)
  if (text === undefined) texts.set(result, (text = JSON.stringify(result)))
  return text
}

const texts = new WeakMap<object, string>()
