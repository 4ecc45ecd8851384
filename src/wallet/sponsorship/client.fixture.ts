import { createServer as createHttp } from 'node:http'
import type { IncomingHttpHeaders, RequestListener, ServerResponse } from 'node:http'
import { createServer as createHttps } from 'node:https'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from '../../jsonrpc/client/tls.fixture.ts'

/** A request that the service has received. */
export interface ReceivedRequest {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: { readonly jsonrpc: string; readonly id: unknown; readonly method: string; readonly params: readonly unknown[] }
}

export interface Service {
  readonly port: number
  readonly received: ReceivedRequest[]
}

export type Responder = (received: ReceivedRequest, response: ServerResponse) => void

/** Starts a service for one test, over HTTP or TLS, with the test's own responses. */
export async function serviceOf(answer: Responder, { secure = false }: { readonly secure?: boolean } = {}): Promise<Service> {
  const received: ReceivedRequest[] = []
  const listener: RequestListener = (request, response) => {
    let text = ''
    request.setEncoding('utf8').on('data', (piece: string) => (text += piece))
    request.on('end', () => {
      const one = { path: request.url ?? '', headers: request.headers, body: JSON.parse(text) as ReceivedRequest['body'] } // the wallet sends such a body
      received.push(one)
      answer(one, response)
    })
  }
  const server = secure ? createHttps({ cert: TEST_CERTIFICATE, key: TEST_CERTIFICATE_KEY }, listener) : createHttp(listener)
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { port: (server.address() as AddressInfo).port, received } // it listens on a port
}

/** Responds to every request with this result. */
export function resulting(result: unknown): Responder {
  return ({ body: { id } }, response) => json(response, { jsonrpc: '2.0', id, result })
}

export function json(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}
