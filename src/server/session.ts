import type { Duplex } from 'node:stream'
import type { RawData, WebSocket } from 'ws'
import { JsonStream } from '../rpc/index.ts'
import type { Body, Caller, Session } from '../rpc/index.ts'
import { completeBody, discard } from './http/answer.ts'
import type { CompleteBody } from './http/answer.ts'
import { REQUESTS_IN_FLIGHT } from './limits.ts'
import { CRASHED } from './port.ts'
import type { Served } from './port.ts'
import { recycle, stream } from './http/writer.ts'
import type { ChunkSink } from './http/writer.ts'

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
  /** ends when the stream does that is being sent, and all that wait for their turn */
  #streams: Promise<void> | null = null
  /** of answers that wait for it */
  #waitingBytes = 0
  #open = true

  /** `socket` lies under `ws`; items that leave together are corked into one write. */
  constructor(ws: WebSocket, socket: Duplex, caller: Caller, served: Served, unreadLimitBytes: number) {
    this.#ws = ws
    this.#socket = socket
    this.#served = served
    this.#caller = { ...caller, session: this }
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
    if (answer !== null) await this.#answer(answer)
    if (this.#requests-- === REQUESTS_IN_FLIGHT) this.#ws.resume()
    this.#batches -= batch
    if (batch === 1 && this.#notifications.length > 0) setImmediate(() => this.#flush())
  }

  /** A stream is one message in fragments, so nothing else is sent before it ends. */
  async #answer(body: Body): Promise<void> {
    if (body instanceof JsonStream) return this.#inTurn(() => this.#stream(body))
    const complete = completeBody(body)
    const message = messageOf(complete)
    recycle(complete)
    if (this.#streams === null) return this.#send(message)
    this.#waitingBytes += message.length
    if (this.#isTooSlow()) return
    await this.#inTurn(async () => {
      this.#waitingBytes -= message.length
      this.#send(message)
    })
  }

  #send(message: string | Uint8Array): void {
    if (!this.#isTooSlow()) this.#ws.send(message, TEXT)
  }

  async #inTurn(work: () => Promise<void>): Promise<void> {
    const before = this.#streams
    const turn = before === null ? work() : before.then(work)
    this.#streams = turn
    await turn
    if (this.#streams !== turn) return
    this.#streams = null
    this.#flush()
  }

  async #stream(body: JsonStream): Promise<void> {
    if (this.#isTooSlow()) return discard(body)
    await stream(body, new MessageSink(this.#ws), this.#served.onError)
  }

  async #call(message: Uint8Array): Promise<Body | null> {
    try {
      return (await this.#served.rpc.handle(message, this.#caller)).body
    } catch (error) {
      this.#served.onError(error)
      return CRASHED
    }
  }

  /** Waits while a batch is being answered: the subscription may be one of its calls. And while a stream is: its message has not ended. */
  #flush(): void {
    if (!this.#open || this.#batches > 0 || this.#streams !== null) return
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
    if (this.#ws.bufferedAmount + this.#notificationBytes + this.#waitingBytes <= this.#unreadLimitBytes) return false
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

/** One message in as many fragments as there are chunks. */
class MessageSink implements ChunkSink {
  readonly #ws: WebSocket
  #written: Promise<void> = Promise.resolve()

  constructor(ws: WebSocket) {
    this.#ws = ws
  }

  get isOpen(): boolean {
    return this.#ws.readyState === this.#ws.OPEN
  }

  /** ws does not report it. */
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
