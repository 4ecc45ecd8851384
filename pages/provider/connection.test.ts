import { once } from 'node:events'
import type { Duplex } from 'node:stream'
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
        this.on('error', () => undefined) // of a server that has been closed
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

/** A node whose connections answer each request with its method, except for the first one, which `first` handles. */
function connect(first: (client: WebSocket, socket: Duplex) => void): Connection {
  let isFirst = true
  server.on('connection', (client, { socket }) => {
    if (isFirst) first(client, socket)
    else client.on('message', answer)
    isFirst = false
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  return new Connection(`http://127.0.0.1:${address.port}`, () => undefined)
}

function answer(this: WebSocket, data: Buffer): void {
  const { id, method } = JSON.parse(data.toString()) as { id: number; method: string } // as Connection sends it
  this.send(JSON.stringify({ id, result: method }))
}

test('a request while the socket closes is sent over the next one', async () => {
  const connection = connect((client, socket) => {
    client.on('message', answer)
    setTimeout(() => socket.write(CLOSE_FRAME), 50)
  })
  expect(await connection.request('first', [])).toBe('first')
  while (opened[0]?.readyState !== WebSocket.CLOSING) await new Promise((resolve) => setImmediate(resolve))
  expect(await connection.request('second', [])).toBe('second')
  expect(opened).toHaveLength(2)
})

test('a request that a stopping node did not read is sent over the next socket, in order, and one that it read is rejected', async () => {
  const connection = connect((client) => {
    client.once('message', () => {
      client.send(JSON.stringify({ jsonrpc: '2.0', method: 'pocketchain_event', params: { event: 'stopping', data: { read: 1 } } }))
      client.close(1001)
    })
  })
  const answers = ['read', 'second', 'third'].map((method) => connection.request(method, []).catch(({ code }: { code: number }) => code))
  expect(await Promise.all(answers)).toEqual([4900, 'second', 'third'])
})

test('all requests are rejected if the socket closes without such a message', async () => {
  const connection = connect((client) => client.once('message', () => client.terminate()))
  const answers = ['first', 'second'].map((method) => connection.request(method, []).catch(({ code }: { code: number }) => code))
  expect(await Promise.all(answers)).toEqual([4900, 4900])
  expect(await connection.request('third', [])).toBe('third')
})
