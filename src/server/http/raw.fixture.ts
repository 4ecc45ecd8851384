import type { Server as HttpServer } from 'node:http'
import { connect } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { call, setUp } from '../bench.fixture.ts'
import type { Bench } from '../bench.fixture.ts'
import { Server } from '../index.ts'
import type { ServerDeps } from '../index.ts'

export const CHAIN_ID = call('eth_chainId')
export const HEAD = 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n'
export const GOOD = `${HEAD}Content-Length: ${CHAIN_ID.length}\r\n\r\n${CHAIN_ID}`

// --- two servers of one node ----------------------------------------------------------------------------------------

export interface Pair extends AsyncDisposable {
  readonly bench: Bench
  readonly raw: Server
  readonly nodeHttp: Server
}

export type Handle = ServerDeps['rpc']['handle']

/** With the raw HTTP path and without. `handle`: one JSON-RPC handler, or one for each; the node's own by default. */
export async function twoServers(
  handle?: Handle | { readonly raw: Handle; readonly nodeHttp: Handle },
  errors: unknown[] = [],
): Promise<Pair> {
  const bench = await setUp()
  const { raw, nodeHttp } = typeof handle === 'object' ? handle : { raw: handle, nodeHttp: handle }
  const open = (rawHttp: boolean, own: Handle | undefined) =>
    own === undefined
      ? bench.node.listen({ rawHttp })
      : Server.listen({ ...bench.node, rpc: { handle: own }, onError: (error) => errors.push(error) }, { port: 0, rawHttp })
  const pair = { bench, raw: await open(true, raw), nodeHttp: await open(false, nodeHttp) }
  return { ...pair, [Symbol.asyncDispose]: () => end(bench, pair.raw, pair.nodeHttp) }
}

export interface Listening extends AsyncDisposable {
  readonly port: number
}

export async function listening(http: HttpServer): Promise<Listening> {
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const { port } = http.address() as AddressInfo // listens on TCP
  return { port, [Symbol.asyncDispose]: () => new Promise((resolve) => http.close(() => resolve())) }
}

async function end(bench: Bench, ...servers: readonly Server[]): Promise<void> {
  await Promise.all(servers.map((server) => server.close()))
  await bench.node.close()
}

// --- a client on a bare socket --------------------------------------------------------------------------------------

/** Latin-1: a character is a byte, but for those beyond it, which are sent as UTF-8. */
export function post(body: string, lines: readonly string[] = [], path = '/', type = 'application/json'): string {
  const bytes = /[^\0-\xff]/.test(body) ? Buffer.from(body).toString('latin1') : body
  const head = [`POST ${path} HTTP/1.1`, 'Host: localhost', `Content-Type: ${type}`, ...lines, `Content-Length: ${bytes.length}`]
  return `${head.join('\r\n')}\r\n\r\n${bytes}`
}

export class Connection {
  readonly #socket: Socket
  #chunks: Buffer[] = []
  #isOver = false
  #wake = () => {}

  static open({ port }: { readonly port: number }): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true })
      socket.once('error', reject)
      socket.once('connect', () => resolve(new Connection(socket)))
    })
  }

  constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', this.#receive)
    socket.on('end', () => this.#finish())
    socket.on('error', () => this.#finish())
    socket.on('close', () => this.#finish())
  }

  async ask(request: string): Promise<string> {
    await this.deliver([request])
    return this.answer()
  }

  /** Each piece arrives by itself: the kernel has taken it, and the event loop has turned since. */
  async deliver(pieces: readonly string[]): Promise<void> {
    for (const piece of pieces) {
      await new Promise<void>((resolve) => this.#socket.write(piece, 'latin1', () => resolve()))
      await turns()
    }
  }

  /** One response, delimited by its Content-Length; later bytes stay. */
  async answer(): Promise<string> {
    for (;;) {
      const all = Buffer.concat(this.#chunks)
      this.#chunks = [all]
      const bodyAt = all.indexOf('\r\n\r\n') + 4
      const length = Number(/content-length: (\d+)/.exec(all.toString('latin1', 0, bodyAt))?.[1] ?? 0)
      if (bodyAt > 3 && all.length >= bodyAt + length) {
        this.#chunks = [all.subarray(bodyAt + length)]
        return all.toString('latin1', 0, bodyAt + length)
      }
      if (this.#isOver) throw new Error(`no answer: ${all.toString('latin1')}`)
      await this.#news()
    }
  }

  /** All until the server closes. */
  async rest(): Promise<string> {
    while (!this.#isOver) await this.#news()
    this.#socket.destroy()
    return Buffer.concat(this.#chunks).toString('latin1')
  }

  /** Returns the whole response, after which the client sends nothing more. */
  async last(): Promise<string> {
    await Promise.race([this.answer().then((answer) => (this.#chunks = [Buffer.from(answer, 'latin1'), ...this.#chunks])), this.#over()])
    for (let i = 0; i < 5; i++) await turns()
    this.#socket.end()
    return this.rest()
  }

  end(): void {
    this.#socket.end()
  }

  reset(): void {
    this.#socket.resetAndDestroy()
  }

  destroy(): void {
    this.#socket.destroy()
  }

  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  /** The connection, for another client. */
  release(): Socket {
    this.#socket.removeAllListeners()
    return this.#socket
  }

  readonly #receive = (chunk: Buffer): void => {
    this.#chunks.push(chunk)
    this.#wake()
  }

  #finish(): void {
    this.#isOver = true
    this.#wake()
  }

  #news(): Promise<void> {
    return new Promise((resolve) => (this.#wake = resolve))
  }

  async #over(): Promise<void> {
    while (!this.#isOver) await turns()
  }
}

/** Sends the pieces, each in one write, and nothing after them. */
export function exchange({ port }: { readonly port: number }, pieces: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    let answer = ''
    const send = async (): Promise<void> => {
      for (const piece of pieces) {
        socket.write(piece, 'latin1')
        if (pieces.length > 1) await turns()
      }
      socket.end()
    }
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => void send())
    socket.on('data', (chunk) => (answer += chunk.toString('latin1')))
    socket.on('error', () => undefined)
    socket.on('close', () => resolve(answer))
  })
}

/** Both sides of a connection are in this process; a few turns pass before either has nothing left to do. */
export async function turns(): Promise<void> {
  for (let i = 0; i < 4; i++) await new Promise((resolve) => setImmediate(resolve))
}

/** The two answers may fall into two seconds. */
export function undated(answer: string): string {
  return answer.replaceAll(/\r\nDate: [^\r]*/g, '\r\nDate: now')
}

export function withoutAge(answer: string): string {
  return answer.replaceAll(/"flashblockAgeMs":\d+/g, '"flashblockAgeMs":0')
}
