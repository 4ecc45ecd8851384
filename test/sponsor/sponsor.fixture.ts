import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll } from 'vitest'
import type { Pocketchain } from '../../src/index.ts'

type Json = Readonly<Record<string, unknown>>

/** What a door does with a request on its way to the sponsor, or with the answer on its way back. */
export interface Doorkeeper {
  /** undefined: it goes to the sponsor; else what is answered instead */
  before?: ((method: string, params: readonly unknown[]) => { readonly status: number; readonly body: string } | undefined) | undefined
  /** what is answered instead of the sponsor's result; may wait */
  after?: ((method: string, result: Json, params: readonly unknown[]) => Json | Promise<Json>) | undefined
}

/** A door of its own to the sponsor of a node, by http: it counts what comes, and spoils it as told. Faults that the sponsor has itself are its own. */
export interface SponsorDoor extends Doorkeeper {
  readonly url: string
  readonly host: string
  /** what was asked so far, by name */
  readonly methods: string[]
  /** with what */
  readonly params: (readonly unknown[])[]
  /** nothing is spoilt any more, and nothing was asked */
  readonly reset: () => void
}

/** Closed after all tests of the file. */
export async function openDoor(node: Pocketchain): Promise<SponsorDoor> {
  const server = createServer((request, response) => {
    void pass(request, response)
  })
  const pass = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer) // of a stream of bytes
    const { status, body } = await answer(node, door, Buffer.concat(pieces))
    response.writeHead(status, { 'content-type': 'application/json' }).end(body)
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  afterAll(() => close(server))
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}` // of a server on a port
  const door: SponsorDoor = {
    url: `http://${host}/rpc`,
    host,
    methods: [],
    params: [],
    reset: () => {
      door.methods.length = 0
      door.params.length = 0
      door.before = undefined
      door.after = undefined
    },
  }
  return door
}

async function answer(node: Pocketchain, door: SponsorDoor, bytes: Buffer): Promise<{ status: number; body: string }> {
  const { method, params } = JSON.parse(bytes.toString()) as { method: string; params: readonly unknown[] } // the wallet asks nothing else
  door.methods.push(method)
  door.params.push(params)
  const instead = door.before?.(method, params)
  if (instead !== undefined) return instead
  const { status, body } = await node.sponsor.handle(bytes, { apiKey: null })
  const told = JSON.parse(body) as { result?: Json } // JSON-RPC
  if (told.result === undefined || door.after === undefined) return { status, body }
  return { status, body: JSON.stringify({ ...told, result: await door.after(method, told.result, params) }) }
}

function close(server: Server): Promise<void> {
  server.closeAllConnections()
  return new Promise((resolve) => server.close(() => resolve()))
}
