import { once } from 'node:events'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { Connection } from './connection.ts'

/** Close code 1012 (service restart), in a frame of the server. */
const CLOSE_FRAME = Uint8Array.of(0x88, 0x02, 0x03, 0xf4)

let server: WebSocketServer
const opened: WebSocket[] = []

beforeEach(async () => {
  server = new WebSocketServer({ host: '127.0.0.1', port: 0 })
  await once(server, 'listening')
  vi.stubGlobal(
    'WebSocket',
    class extends WebSocket {
      constructor(url: string) {
        super(url)
        opened.push(this)
      }
    },
  )
})

afterEach(async () => {
  vi.unstubAllGlobals()
  opened.splice(0)
  for (const client of server.clients) client.terminate()
  await new Promise((resolve) => server.close(resolve))
})

test('a request while the socket closes is sent over the next one', async () => {
  server.once('connection', (_, { socket }) => setTimeout(() => socket.write(CLOSE_FRAME), 50))
  server.on('connection', (client) =>
    client.on('message', (data: Buffer) => {
      const { id } = JSON.parse(data.toString()) as { id: number } // as Connection sends it
      client.send(JSON.stringify({ id, result: 'answered' }))
    }),
  )
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  const connection = new Connection(`http://127.0.0.1:${address.port}`, () => undefined)
  expect(await connection.request('first', [])).toBe('answered')
  while (opened[0]?.readyState !== WebSocket.CLOSING) await new Promise((resolve) => setImmediate(resolve))
  expect(await connection.request('second', [])).toBe('answered')
  expect(opened).toHaveLength(2)
})
