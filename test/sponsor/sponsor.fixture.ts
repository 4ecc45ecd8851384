import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll } from 'vitest'
import type { Pocketchain } from '../../src/index.ts'

type Json = Readonly<Record<string, unknown>>

/** Changes the requests to the sponsor, or its responses. */
export interface ProxyHooks {
  /** undefined: the request is forwarded; otherwise the response in its place */
  before?: ((method: string, params: readonly unknown[]) => { readonly status: number; readonly body: string } | undefined) | undefined
  /** returns the result in place of the sponsor's */
  after?: ((method: string, result: Json, params: readonly unknown[]) => Json | Promise<Json>) | undefined
}

/** An HTTP proxy to a node's sponsor that records requests and changes them by its hooks, for faults that the sponsor does not have. */
export interface SponsorProxy extends ProxyHooks {
  readonly url: string
  readonly host: string
  /** names of the methods received so far */
  readonly methods: string[]
  /** their parameters */
  readonly params: (readonly unknown[])[]
  /** removes the hooks and the recorded requests */
  readonly reset: () => void
}

/** Closed after all tests of the file. */
export async function startProxy(node: Pocketchain): Promise<SponsorProxy> {
  const server = createServer((request, response) => {
    void pass(request, response)
  })
  const pass = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer) // of a stream of bytes
    const { status, body } = await answer(node, proxy, Buffer.concat(pieces))
    response.writeHead(status, { 'content-type': 'application/json' }).end(body)
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  afterAll(() => close(server))
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}` // of a server on a port
  const proxy: SponsorProxy = {
    url: `http://${host}/rpc`,
    host,
    methods: [],
    params: [],
    reset: () => {
      proxy.methods.length = 0
      proxy.params.length = 0
      proxy.before = undefined
      proxy.after = undefined
    },
  }
  return proxy
}

async function answer(node: Pocketchain, proxy: SponsorProxy, bytes: Buffer): Promise<{ status: number; body: string }> {
  const { method, params } = JSON.parse(bytes.toString()) as { method: string; params: readonly unknown[] } // the wallet sends no other body
  proxy.methods.push(method)
  proxy.params.push(params)
  const instead = proxy.before?.(method, params)
  if (instead !== undefined) return instead
  const { status, body } = await node.sponsor.handle(bytes, { apiKey: null })
  const reply = JSON.parse(body) as { result?: Json } // JSON-RPC
  if (reply.result === undefined || proxy.after === undefined) return { status, body }
  return { status, body: JSON.stringify({ ...reply, result: await proxy.after(method, reply.result, params) }) }
}

function close(server: Server): Promise<void> {
  server.closeAllConnections()
  return new Promise((resolve) => server.close(() => resolve()))
}
