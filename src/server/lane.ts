import type { Server as HttpServer } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Caller } from '../rpc/index.ts'
import { discard } from './answer.ts'
import type { Answer } from './answer.ts'
import { askOf, codingFor } from './coding.ts'
import type { Ask } from './coding.ts'
import { unsuitableContent } from './content.ts'
import { deliver, smallOf } from './delivery.ts'
import type { Guard } from './guard.ts'
import { readHead } from './head.ts'
import type { Http } from './http.ts'
import { KEEP_ALIVE_GRACE_MS, KEEP_ALIVE_MS, LANE_HEAD_BYTES, REMEMBERED_HEADS, STALLED_ANSWER_MS } from './limits.ts'
import { HANDSHAKE_RECORD } from './tls.ts'
import { Wire, linesOf, writeWhole } from './wire.ts'
import type { Sender } from './wire.ts'

/** What is to be done with a head that was let in. */
interface Verdict {
  readonly caller: Caller
  readonly bodyBytes: number
  /** lines of the answer's head */
  readonly cors: string
  readonly ask: Ask
}

export interface LaneOptions {
  /** false: node:http answers every request */
  readonly isOpen?: boolean
  /** takes connections that begin with TLS, with what came of them; unless given, they go to node:http like all that is odd */
  readonly encrypted?: (socket: Socket) => void
  /** milliseconds a connection may be silent, and a client not read what it is sent */
  readonly idleMs?: number
  readonly stalledMs?: number
}

/**
 * Answers plain JSON-RPC requests straight from the socket: a POST that arrived in one piece, with nothing odd about it (`head.ts`), let in
 * by the same Guard. node:http would take 20 us for one, this takes 11. Everything else, and the connection it came by, goes to node:http
 * for good, as if there had been no lane; so does a piece that holds more or less than one request.
 */
export class Lane {
  readonly #http: Http
  readonly #guard: Guard
  readonly #connect: (socket: Socket) => void
  readonly #guests = new Set<Guest>()
  readonly #verdicts = new Map<string, Verdict>()
  #isClosing = false
  #second = 0
  #date = ''

  readonly #isOpen: boolean
  readonly #encrypted: ((socket: Socket) => void) | null
  readonly idleMs: number
  readonly stalledMs: number

  /** `connect` is what node:http does with a new connection. */
  constructor(http: Http, guard: Guard, connect: (socket: Socket) => void, options: LaneOptions = {}) {
    const { isOpen = true, encrypted = null, idleMs = KEEP_ALIVE_MS + KEEP_ALIVE_GRACE_MS, stalledMs = STALLED_ANSWER_MS } = options
    this.#http = http
    this.#guard = guard
    this.#connect = connect
    this.#isOpen = isOpen
    this.#encrypted = encrypted
    this.idleMs = idleMs
    this.stalledMs = stalledMs
  }

  /** Connections that have sent nothing but plain requests. */
  get count(): number {
    return this.#guests.size
  }

  get isClosing(): boolean {
    return this.#isClosing
  }

  /** A new connection, or what came out of one that was encrypted. */
  meet(socket: Socket, isSecure = this.#encrypted === null): void {
    this.#guests.add(new Guest(socket, this, isSecure))
  }

  forget(guest: Guest): void {
    this.#guests.delete(guest)
  }

  passOn(guest: Guest, socket: Socket): void {
    this.#guests.delete(guest)
    this.#connect(socket)
    socket.resume()
  }

  decrypt(guest: Guest, socket: Socket): void {
    this.#guests.delete(guest)
    this.#encrypted?.(socket)
  }

  /** A client sends the same head again and again; null: it is for node:http. */
  verdict(head: string): Verdict | null {
    if (!this.#isOpen) return null
    const known = this.#verdicts.get(head)
    if (known !== undefined) return known
    const verdict = this.#judge(head)
    if (verdict === null) return null
    if (this.#verdicts.size >= REMEMBERED_HEADS) this.#verdicts.clear()
    this.#verdicts.set(head, verdict)
    return verdict
  }

  readonly onError = (error: unknown): void => this.#http.onError(error)

  call(body: Uint8Array, caller: Caller): Answer | Promise<Answer> {
    return this.#http.call(body, caller)
  }

  /** How the head of every answer ends. */
  endLines(): string {
    return `Date: ${this.#now()}\r\n${this.#isClosing ? CLOSE : KEEP_ALIVE}`
  }

  #now(): string {
    const second = Math.floor(Date.now() / 1_000)
    if (second !== this.#second) {
      this.#second = second
      this.#date = new Date(second * 1_000).toUTCString()
    }
    return this.#date
  }

  /** Hangs up on the idle; the others get their answer first. */
  close(): void {
    this.#isClosing = true
    for (const guest of this.#guests) guest.close()
  }

  terminate(): void {
    for (const guest of this.#guests) guest.terminate()
  }

  #judge(text: string): Verdict | null {
    const head = readHead(text)
    if (head === null || this.#guard.refusal(head.headers) !== null || unsuitableContent(head) !== null) return null
    const { tier, headers, bodyBytes } = head
    const cors = linesOf(this.#guard.corsHeaders(headers['origin']))
    return { caller: this.#http.callerOf(tier, headers), bodyBytes, cors, ask: askOf(headers) }
  }
}

/** A connection in the lane. One request at a time; what comes meanwhile waits in the socket. */
class Guest implements Sender {
  readonly #socket: Socket
  readonly #lane: Lane
  readonly #isSecure: boolean
  /** `sending` what does not leave in one go */
  #state: 'idle' | 'working' | 'sending' = 'idle'

  /** `isSecure`: nothing that comes is taken for the beginning of TLS */
  constructor(socket: Socket, lane: Lane, isSecure: boolean) {
    this.#socket = socket
    this.#lane = lane
    this.#isSecure = isSecure
    socket.setTimeout(lane.idleMs)
    socket.on('data', this.#receive)
    socket.on('end', this.#end)
    socket.on('timeout', this.#expire)
    socket.on('close', this.#forget)
    // 'close' follows.
    socket.on('error', ignore)
  }

  close(): void {
    if (this.#state !== 'idle') return
    if (this.#socket.writableLength === 0) this.#socket.destroy()
    else this.#socket.destroySoon()
  }

  terminate(): void {
    this.#socket.destroy()
  }

  readonly endLines = (): string => this.#lane.endLines()

  readonly onBegun = (): void => {
    this.#state = 'sending'
    this.#socket.setTimeout(this.#lane.stalledMs)
  }

  readonly onSent = (): void => {
    const socket = this.#socket
    if (this.#state === 'sending') socket.setTimeout(this.#lane.idleMs)
    this.#state = 'idle'
    if (this.#lane.isClosing) socket.destroySoon()
    else if (socket.readableEnded) socket.end()
    // The kernel took all of it unless the answer is large or the client slow.
    else if (socket.writableLength > 0 && socket.writableNeedDrain) this.#awaitReader()
    else if (socket.isPaused()) socket.resume()
  }

  readonly #receive = (chunk: Buffer): void => {
    if (this.#state !== 'idle') {
      this.#socket.pause()
      this.#socket.unshift(chunk)
      return
    }
    const headBytes = chunk.indexOf(HEAD_END)
    const verdict = headBytes < 0 || headBytes > LANE_HEAD_BYTES ? null : this.#lane.verdict(chunk.toString('latin1', 0, headBytes))
    const bodyAt = headBytes + HEAD_END.length
    if (verdict === null || chunk.length !== bodyAt + verdict.bodyBytes) return this.#passOn(chunk)
    this.#state = 'working'
    const answer = this.#lane.call(chunk.subarray(bodyAt), verdict.caller)
    if (answer instanceof Promise) void answer.then((late) => this.#answer(late, verdict))
    else this.#answer(answer, verdict)
  }

  #answer(answer: Answer, { cors, ask }: Verdict): void {
    const { body } = answer
    const socket = this.#socket
    if (!socket.writable) return discard(body)
    const small = smallOf(body)
    if (small === null) {
      const { onError } = this.#lane
      return deliver(body, codingFor(ask, socket), new Wire(socket, answer, cors, this), onError)
    }
    writeWhole(socket, answer, small, cors + this.#lane.endLines())
    this.onSent()
  }

  /** Who does not read is not listened to. */
  #awaitReader(): void {
    const socket = this.#socket
    socket.pause()
    socket.setTimeout(this.#lane.stalledMs)
    socket.once('drain', () => {
      socket.setTimeout(this.#lane.idleMs)
      socket.resume()
    })
  }

  #passOn(chunk: Buffer): void {
    const socket = this.#socket
    socket.setTimeout(0)
    socket.off('data', this.#receive)
    socket.off('end', this.#end)
    socket.off('timeout', this.#expire)
    socket.off('close', this.#forget)
    socket.off('error', ignore)
    socket.pause()
    // Asked here alone, where no plain request comes by; behind the first bytes of a connection it would be noise like any other.
    const isHello = chunk[0] === HANDSHAKE_RECORD && !this.#isSecure && socket.bytesRead === chunk.length
    socket.unshift(chunk)
    if (isHello) this.#lane.decrypt(this, socket)
    else this.#lane.passOn(this, socket)
  }

  /** The client will say no more. An http.Server leaves its side open, so somebody has to close it. */
  readonly #end = (): void => {
    if (this.#state === 'idle') this.#socket.end()
  }

  readonly #expire = (): void => {
    if (this.#state !== 'working') this.#socket.destroy()
  }

  readonly #forget = (): void => {
    this.#lane.forget(this)
  }
}

/** Takes node:http's own listener for new connections off a server; what is returned does what it did. */
export function ownConnections(server: HttpServer): (socket: Duplex) => void {
  const listeners = server.listeners('connection')
  server.removeAllListeners('connection')
  return (socket) => {
    for (const listener of listeners) listener.call(server, socket)
  }
}

function ignore(): void {}

const HEAD_END = Buffer.from('\r\n\r\n')
const KEEP_ALIVE = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(KEEP_ALIVE_MS / 1_000)}\r\n`
const CLOSE = 'Connection: close\r\n'
