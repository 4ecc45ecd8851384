import { request } from 'node:http'
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { WebSocket } from 'ws'
import type { ClientOptions } from 'ws'
import { ManualClock } from '../chain/index.ts'
import { createPocketchain } from '../index.ts'
import type { Pocketchain, PocketchainOptions } from '../index.ts'
import type { ListenOptions, Server } from './index.ts'

/** A node with a manual clock on a free port. */
export interface Bench extends AsyncDisposable {
  readonly node: Pocketchain
  readonly clock: ManualClock
  readonly server: Server
  /** errors that the server reported */
  readonly errors: unknown[]
}

export async function setUp(listen: Partial<ListenOptions> = {}, options: PocketchainOptions = {}): Promise<Bench> {
  const clock = new ManualClock(1_700_000_000_000)
  const errors: unknown[] = []
  const node = await createPocketchain({ clock, timestamp: 1_700_000_000, onError: (error) => errors.push(error), ...options })
  const server = await node.listen(listen)
  return { node, clock, server, errors, [Symbol.asyncDispose]: node.close }
}

export interface Response {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface TestRequest {
  readonly method?: string
  readonly path?: string
  readonly headers?: OutgoingHttpHeaders
  readonly body?: string | Uint8Array
}

/** Sends one request on its own connection. The content type is JSON by default. */
export function ask(server: Server, { method = 'POST', path = '/', headers = {}, body }: TestRequest): Promise<Response> {
  return new Promise((resolve, reject) => {
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    const options = { host: server.host, port: server.port, method, path, headers: { ...type, ...headers }, agent: false }
    const asking = request(options, (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(chunks).toString() }))
      answer.on('error', reject)
    })
    asking.on('error', reject)
    asking.end(body)
  })
}

export function call(method: string, params: readonly unknown[] = [], id: unknown = 1): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params })
}

/** A WebSocket client that buffers its messages. */
export interface Client extends AsyncDisposable {
  readonly ws: WebSocket
  readonly messages: { readonly data: Buffer; readonly binary: boolean }[]
  readonly send: (message: string) => void
  /** Returns the next message as JSON. */
  readonly next: () => Promise<unknown>
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>
}

/** Opens a WebSocket. Rejects with the status in the message if the server refuses. */
export function dial(server: Pick<Server, 'wsUrl'>, path = '/', options: ClientOptions = {}): Promise<Client> {
  const ws = new WebSocket(`${server.wsUrl}${path}`, options)
  const messages: Client['messages'] = []
  const waiting: (() => void)[] = []
  let taken = 0
  ws.on('message', (data: Buffer, binary) => {
    messages.push({ data, binary })
    waiting.shift()?.()
  })
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    ws.on('close', (code, reason) => resolve({ code, reason: reason.toString() }))
  })
  const client: Client = {
    ws,
    messages,
    closed,
    send: (message) => ws.send(message),
    next: async () => {
      if (messages.length <= taken) await new Promise<void>((resolve) => waiting.push(resolve))
      return JSON.parse(messages[taken++]?.data.toString() ?? 'null')
    },
    [Symbol.asyncDispose]: async () => {
      ws.close()
      await closed
    },
  }
  return new Promise((resolve, reject) => {
    ws.once('open', () => resolve(client))
    ws.on('error', reject)
  })
}

/** Sends raw bytes, for requests that no client library sends. Returns everything received until the server closed. */
export function raw(server: Server, bytes: string): Promise<string> {
  return new Promise((resolve) => {
    let answer = ''
    const socket: Socket = connect(server.port, server.host, () => socket.write(bytes))
    socket.on('data', (chunk) => (answer += chunk.toString()))
    socket.on('error', () => undefined)
    socket.on('close', () => resolve(answer))
  })
}

/** Yields to the event loop until the condition holds; the time limit of the test ends it. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve))
}
