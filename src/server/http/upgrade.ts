import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'

export function isWebSocketUpgrade({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket'
}

/**
 * Ignores an Upgrade header for another protocol, as RFC 9110, 7.8 allows; Java's HTTP client sends one (h2c) with its first request.
 * node:http stops parsing at every upgrade, so the request is written back to the socket without these headers and passed to `connect`,
 * node:http's connection listener, which sends outstanding responses of the connection first.
 */
export function ignoreUpgrade(connect: (socket: Duplex) => void, request: IncomingMessage, socket: Duplex, head: Buffer): void {
  const { method, url, httpVersion, rawHeaders } = request
  const lines = [`${method} ${url} HTTP/${httpVersion}`]
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const [name = '', value = ''] = rawHeaders.slice(i, i + 2)
    if (!UPGRADE_HEADERS.has(name.toLowerCase())) lines.push(`${name}: ${value}`)
  }
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]))
  connect(socket)
}

const UPGRADE_HEADERS: ReadonlySet<string> = new Set(['upgrade', 'connection', 'http2-settings'])
