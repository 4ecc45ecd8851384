import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { sizeOf } from './answer.ts'
import type { Answer, Whole } from './answer.ts'
import { roomIn } from './delivery.ts'
import type { Outlet } from './delivery.ts'
import { JOINED_BYTES, HELD_BYTES } from './limits.ts'

type Head = Pick<Answer, 'status' | 'type'>

/** Writes an answer as node:http would. `lines`: those of the head that come last. */
export function writeWhole(socket: Socket, { status, type }: Head, body: Whole, lines: string, onTaken?: () => void): void {
  const sizeBytes = sizeOf(body)
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: ${type}\r\ncontent-length: ${sizeBytes}\r\n${lines}\r\n`
  // ASCII is the cheaper to write when it is said to be so.
  if (typeof body === 'string') socket.write(head + body, sizeBytes === body.length ? 'latin1' : 'utf8')
  else if (sizeBytes <= JOINED_BYTES) socket.write(Buffer.concat([Buffer.from(head, 'latin1'), ...body]))
  else writePieces(socket, head, body, onTaken)
}

/** `onTaken`: the kernel has all of it. */
function writePieces(socket: Socket, head: string, pieces: readonly Uint8Array[], onTaken = nothing): void {
  socket.cork()
  socket.write(head, 'latin1')
  for (const piece of pieces.slice(0, -1)) socket.write(piece)
  socket.write(pieces.at(-1) ?? '', (error) => (error ? undefined : onTaken()))
  socket.uncork()
}

function nothing(): void {}

/** What the connection has to say and to do when a large answer is on its way. */
export interface Sender {
  /** the last lines of an answer's head: date, and what becomes of the connection */
  readonly endLines: () => string
  /** chunks follow, as the client takes them */
  readonly onBegun: () => void
  /** the last of it was written */
  readonly onSent: () => void
}

/** A socket as the way of a large answer, in HTTP/1.1. */
export class Wire implements Outlet {
  readonly #socket: Socket
  readonly #answer: Head
  readonly #cors: string
  readonly #sender: Sender
  /** of an answer in chunks: what leaves with the next one, or with the end */
  #head = ''

  /** `cors`: lines of the head. */
  constructor(socket: Socket, answer: Head, cors: string, sender: Sender) {
    this.#socket = socket
    this.#answer = answer
    this.#cors = cors
    this.#sender = sender
  }

  get isOpen(): boolean {
    return this.#socket.writable
  }

  sendWhole(body: Whole, headers: readonly string[], onTaken?: () => void): void {
    writeWhole(this.#socket, this.#answer, body, linesOf(headers) + this.#cors + this.#sender.endLines(), onTaken)
    this.#sender.onSent()
  }

  begin(headers: readonly string[]): void {
    const { status, type } = this.#answer
    const lines = `${linesOf(headers)}${this.#cors}${this.#sender.endLines()}Transfer-Encoding: chunked\r\n`
    this.#head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: ${type}\r\n${lines}\r\n`
    this.#sender.onBegun()
  }

  send(chunk: Uint8Array): void {
    const head = `${this.#head}${chunk.length.toString(16)}\r\n`
    const isHeld = head.length + chunk.length <= HELD_BYTES
    this.#head = isHeld ? `${head}${Buffer.from(chunk).toString('latin1')}\r\n` : ''
    if (!isHeld) writePieces(this.#socket, head, [chunk, LINE_END])
  }

  get isDrained(): boolean {
    return this.#socket.writableLength === 0
  }

  async room(): Promise<boolean> {
    return this.#head !== '' || roomIn(this.#socket, this.#socket)
  }

  finish(): void {
    this.#socket.write(`${this.#head}0\r\n\r\n`, 'latin1')
    this.#sender.onSent()
  }

  abort(): void {
    this.#socket.destroy()
  }
}

const LINE_END = Buffer.from('\r\n')

/** Of name, value, name, value … */
export function linesOf(headers: readonly string[]): string {
  let lines = ''
  for (let i = 0; i < headers.length; i += 2) lines += `${headers[i]}: ${headers[i + 1]}\r\n`
  return lines
}
