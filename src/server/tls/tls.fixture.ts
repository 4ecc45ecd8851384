import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import type { ConnectionOptions, TLSSocket } from 'node:tls'
import type { TestRequest, Response } from '../bench.fixture.ts'
import type { Server } from '../index.ts'

/** Returns a skip reason if openssl is missing, or null. */
export const NO_OPENSSL = spawnSync('openssl', ['version']).status === 0 ? null : 'openssl is not installed'

export interface Judgement {
  readonly isGood: boolean
  /** all that it printed */
  readonly output: string
}

export function openssl(args: readonly string[], input = ''): Judgement {
  const { status, stdout, stderr } = spawnSync('openssl', args, { input, encoding: 'utf8' })
  return { isGood: status === 0, output: stdout + stderr }
}

/** A folder that ends with the test. */
export function scratch(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), 'pocketchain-tls-'))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}

export interface SecureTestRequest extends TestRequest {
  /** PEM of the trusted authority; by default the public ones */
  readonly ca?: string
  /** host name of the server; `localhost` by default */
  readonly name?: string
}

/** One request over TLS, on a connection of its own. */
export function askSecurely(
  server: Server,
  { method = 'POST', path = '/', headers = {}, body, ca, name }: SecureTestRequest,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    const where = { host: server.host, port: server.port, servername: name ?? 'localhost', ...(ca === undefined ? {} : { ca }) }
    const host = { host: `${name ?? 'localhost'}:${server.port}` }
    const asking = request({ ...where, method, path, headers: { ...host, ...type, ...headers }, agent: false }, (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(chunks).toString() }))
      answer.on('error', reject)
    })
    asking.on('error', reject)
    asking.end(body)
  })
}

/** A connection over TLS that is agreed. */
export function shake(server: Server, options: ConnectionOptions = {}): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: server.host, port: server.port, servername: 'localhost', ...options }, () => {
      socket.off('error', reject)
      socket.on('error', () => undefined)
      resolve(socket)
    })
    socket.once('error', reject)
  })
}

/** All that comes until the other side closes. */
export function all(socket: TLSSocket): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')))
    socket.on('close', () => resolve(text))
  })
}
