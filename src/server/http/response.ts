import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { sizeOf } from './answer.ts'
import type { Answer, CompleteBody } from './answer.ts'
import { NO_CODING } from './coding.ts'
import { JOINED_BYTES, STALLED_ANSWER_MS } from '../limits.ts'
import { isSecure } from '../tls/tls.ts'
import { readyToWrite, writeResponse } from './writer.ts'
import type { ResponseHead, ResponseOptions, ResponseSink } from './writer.ts'

/** Sends an answer through node:http. HTTP/1.0 has no chunked transfer coding and gets no compression. */
export function send(response: ServerResponse, answer: Answer, options: ResponseOptions): void {
  const sink = new NodeSink(response)
  writeResponse(sink, answer, sink.isHttp10 ? { ...options, accepts: NO_CODING } : options)
}

class NodeSink implements ResponseSink {
  readonly #response: ServerResponse
  readonly #socket: Socket

  constructor(response: ServerResponse) {
    this.#response = response
    // `response.socket` is null while an earlier response of the connection is being sent.
    this.#socket = response.req.socket
  }

  get isHttp10(): boolean {
    return this.#response.req.httpVersion === '1.0'
  }

  get remoteAddress(): string | undefined {
    return this.#socket.remoteAddress
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed
  }

  get isFlushed(): boolean {
    return this.#response.writableLength === 0 && this.#socket.writableLength === 0
  }

  send({ status, type, headers }: ResponseHead, body: CompleteBody, onFlushed?: () => void): void {
    const response = this.#response
    const sizeBytes = sizeOf(body)
    response.writeHead(status, ['content-type', type, 'content-length', String(sizeBytes), ...headers])
    if (typeof body === 'string') response.end(body)
    else if (sizeBytes <= JOINED_BYTES) response.end(Buffer.concat(body))
    else {
      response.cork()
      for (const piece of body) response.write(piece)
      response.end(() => (this.#socket.destroyed ? undefined : onFlushed?.()))
    }
    // Non-zero only if the body is large or the client is slow.
    if (response.writableLength > 0) this.#limitStall()
  }

  start({ status, type, headers }: ResponseHead): void {
    this.#response.writeHead(status, ['content-type', type, ...headers])
    this.#limitStall()
  }

  write(chunk: Uint8Array): void {
    this.#response.write(chunk)
  }

  ready(): Promise<boolean> {
    return readyToWrite(this.#response, this.#socket)
  }

  end(): void {
    this.#response.end()
  }

  /**
   * In HTTP/1.0 the end of the connection completes a body, so an aborted one ends with a reset instead. Over TLS a missing close_notify
   * has that meaning already.
   */
  abort(): void {
    if (this.isHttp10 && !isSecure(this.#response.req)) this.#socket.resetAndDestroy()
    else this.#socket.destroy()
  }

  #limitStall(): void {
    this.#response.setTimeout(STALLED_ANSWER_MS, () => this.#socket.destroy())
  }
}
