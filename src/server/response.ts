import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Coding } from '../rpc/index.ts'
import { sizeOf } from './answer.ts'
import type { Answer, Whole } from './answer.ts'
import { codingFor } from './coding.ts'
import type { Ask } from './coding.ts'
import { deliver, roomIn, smallOf } from './delivery.ts'
import type { Outlet } from './delivery.ts'
import { JOINED_BYTES, STALLED_ANSWER_MS } from './limits.ts'
import { isSecure } from './tls.ts'

export interface Sending {
  /** name, value, name, value … */
  readonly cors: readonly string[]
  readonly ask: Ask
  readonly onError: (error: unknown) => void
}

/** Sends an answer by node:http. */
export function send(response: ServerResponse, answer: Answer, { cors, ask, onError }: Sending): void {
  const outlet = new ResponseOutlet(response, answer, cors)
  const { body } = answer
  const small = smallOf(body)
  if (small === null) deliver(body, outlet.codingFor(ask), outlet, onError)
  else outlet.sendWhole(small, NO_HEADERS)
}

const NO_HEADERS: readonly string[] = []

class ResponseOutlet implements Outlet {
  readonly #response: ServerResponse
  readonly #socket: Socket
  readonly #answer: Answer
  readonly #cors: readonly string[]

  constructor(response: ServerResponse, answer: Answer, cors: readonly string[]) {
    this.#response = response
    // The response itself has no socket while an earlier one of the connection is being sent.
    this.#socket = response.req.socket
    this.#answer = answer
    this.#cors = cors
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed
  }

  get isDrained(): boolean {
    return this.#response.writableLength === 0 && this.#socket.writableLength === 0
  }

  /** HTTP/1.0 knows no compression, nor chunks: the end of a stream is the end of the connection there. */
  get #isOld(): boolean {
    return this.#response.req.httpVersion === '1.0'
  }

  codingFor(ask: Ask): Coding | null {
    return this.#isOld ? null : codingFor(ask, this.#socket)
  }

  sendWhole(body: Whole, headers: readonly string[], onTaken?: () => void): void {
    const response = this.#response
    const sizeBytes = sizeOf(body)
    this.#writeHead(['content-length', String(sizeBytes), ...headers])
    if (typeof body === 'string') response.end(body)
    else if (sizeBytes <= JOINED_BYTES) response.end(Buffer.concat(body))
    else {
      response.cork()
      for (const piece of body) response.write(piece)
      response.end(() => (this.#socket.destroyed ? undefined : onTaken?.()))
    }
    // The kernel took all of it unless the answer is large or the client slow.
    if (response.writableLength > 0) this.#watch()
  }

  begin(headers: readonly string[]): void {
    this.#writeHead(headers)
    this.#watch()
  }

  send(chunk: Uint8Array): void {
    this.#response.write(chunk)
  }

  room(): Promise<boolean> {
    return roomIn(this.#response, this.#socket)
  }

  finish(): void {
    this.#response.end()
  }

  /**
   * Where the end of the connection is the end of the answer, it has to end otherwise. (Who is told no better still lacks the last brace.)
   * Over TLS it does by itself: an end that is meant is announced.
   */
  abort(): void {
    if (this.#isOld && !isSecure(this.#response.req)) this.#socket.resetAndDestroy()
    else this.#socket.destroy()
  }

  #writeHead(headers: readonly string[]): void {
    const { status, type, headers: more = NO_HEADERS } = this.#answer
    this.#response.writeHead(status, ['content-type', type, ...headers, ...more, ...this.#cors])
  }

  #watch(): void {
    this.#response.setTimeout(STALLED_ANSWER_MS, () => this.#socket.destroy())
  }
}
