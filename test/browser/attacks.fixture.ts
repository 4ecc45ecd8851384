import { createServer, request } from 'node:http'
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { WebSocket } from 'ws'

/** Chromium flags that resolve names to this machine, as an attacker's DNS, LLMNR or DHCP search domain could. */
export function pointing(...names: readonly string[]): readonly string[] {
  const rules = [...names.map((name) => `MAP ${name} 127.0.0.1`), 'MAP * ~NOTFOUND', 'EXCLUDE 127.0.0.1', 'EXCLUDE localhost']
  return [`--host-resolver-rules=${rules.join(', ')}`]
}

/** A hostile site on another port of this machine, with a server that records the requests it receives. */
export interface HostileSite extends AsyncDisposable {
  readonly origin: string
  readonly port: number
}

export type Serve = (request: IncomingMessage, response: ServerResponse) => void

export async function openHostileSite(serve: Serve): Promise<HostileSite> {
  const server = createServer(serve)
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo // a TCP server's
  return {
    origin: `http://127.0.0.1:${port}`,
    port,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

export function html(response: ServerResponse, body: string): void {
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(`<!doctype html><title>site</title>${body}`)
}

export interface Reply {
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string }
}

/** Sends one call outside of a browser, with arbitrary headers. */
export function callAs(url: string, method: string, params: readonly unknown[], headers: OutgoingHttpHeaders): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const asking = request(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, agent: false }, (answer) => {
      let text = ''
      answer.setEncoding('utf8')
      answer.on('data', (chunk: string) => (text += chunk))
      answer.on('end', () =>
        resolve(text.startsWith('{') ? (JSON.parse(text) as Reply) : { error: { code: answer.statusCode ?? 0, message: text } }),
      )
    })
    asking.on('error', reject)
    asking.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
  })
}

/** Sends the calls over one WebSocket. Returns the responses received before the connection ends. */
export function callOver(
  url: string,
  calls: readonly (readonly [method: string, params: readonly unknown[]])[],
  headers: Readonly<Record<string, string>>,
): Promise<readonly Reply[]> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url.replace(/^http/, 'ws'), { headers })
    const replies: Reply[] = []
    socket.on('open', () => {
      for (const [id, [method, params]] of calls.entries()) socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
    })
    socket.on('message', (data: Buffer) => {
      const message = JSON.parse(data.toString()) as Reply & { readonly id?: number }
      if (message.id !== undefined && replies.push(message) === calls.length) socket.close()
    })
    socket.on('close', () => resolve(replies))
    socket.on('error', reject)
  })
}
