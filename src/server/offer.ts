import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'

export function offersWebSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket'
}

/**
 * Serves a request that offers another protocol as if it had not: a server may ignore the offer (RFC 9110, 7.8), and Java's client makes
 * one (h2c) with its first request. Node takes every offer for accepted and parses no further, so the request is handed back without it.
 * Back to node:http, by `again`: it may still owe answers to earlier requests of the connection.
 */
export function ignoreOffer(again: (socket: Duplex) => void, request: IncomingMessage, socket: Duplex, head: Buffer): void {
  const { method, url, httpVersion, rawHeaders } = request
  const lines = [`${method} ${url} HTTP/${httpVersion}`]
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const [name = '', value = ''] = rawHeaders.slice(i, i + 2)
    if (!OFFER_HEADERS.has(name.toLowerCase())) lines.push(`${name}: ${value}`)
  }
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]))
  again(socket)
}

const OFFER_HEADERS: ReadonlySet<string> = new Set(['upgrade', 'connection', 'http2-settings'])
