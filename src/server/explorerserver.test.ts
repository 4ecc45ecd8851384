import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { WebSocket } from 'ws'
import { afterEach, describe, expect, test } from 'vitest'
import { createPocketchain } from '../index.ts'
import { ExplorerServer } from './explorerserver.ts'

const closings: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closings.splice(0).toReversed()) await close()
})

async function nodeUrl(): Promise<string> {
  const node = await createPocketchain({ cadence: 'instant', onNote: () => {} })
  closings.push(() => node.close())
  return (await node.listen({ tlsFolder: null })).url
}

/** Serves the explorer of a node. Returns the origin of its pages. */
async function explore(url: string): Promise<string> {
  const server = await ExplorerServer.listen({ url, host: '127.0.0.1', port: 0, onError: (error) => expect.fail(String(error)) })
  closings.push(() => server.close())
  return `http://127.0.0.1:${server.port}`
}

async function post(origin: string, body: unknown, headers: Readonly<Record<string, string>> = {}) {
  const response = await fetch(`${origin}/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  return { status: response.status, body: await response.json() }
}

const call = (id: number, method: string, ...params: readonly unknown[]) => ({ jsonrpc: '2.0', id, method, params })

describe('the explorer of another node', () => {
  test('passes on reads, and refuses every other method in the same batch', async () => {
    const origin = await explore(await nodeUrl())
    const batch = [call(1, 'eth_chainId'), call(2, 'anvil_mine', '0x1'), call(3, 'eth_sendTransaction', {}), call(4, 'eth_blockNumber')]
    const { status, body } = await post(origin, batch)
    const replies = new Map(
      (body as { id: number; result?: unknown; error?: { code: number; message: string } }[]).map((each) => [each.id, each]),
    )
    expect(status).toBe(200)
    expect([replies.get(1)?.result, replies.get(4)?.result]).toEqual(['0x7a69', '0x0'])
    expect([replies.get(2)?.error?.code, replies.get(3)?.error?.code]).toEqual([-32_601, -32_601])
    expect(replies.get(2)?.error?.message).toBe(
      '"anvil_mine" is not passed on: this server shows another node and reads it only; send it to the node itself',
    )
  })

  test('answers a single request with one object', async () => {
    const origin = await explore(await nodeUrl())
    expect((await post(origin, call(1, 'eth_chainId'))).body).toEqual({ jsonrpc: '2.0', id: 1, result: '0x7a69' })
    expect((await post(origin, call(2, 'anvil_mine'))).body).toMatchObject({ id: 2, error: { code: -32_601 } })
  })

  test.each([
    ['text', '{', -32_700],
    ['no call', '[]', -32_700],
    ['a list of numbers', '[1]', -32_700],
  ])('refuses a body that is %s', async (_, body, code) => {
    const { status, body: reply } = await post(await explore(await nodeUrl()), body)
    expect([status, (reply as { error: { code: number } }).error.code]).toEqual([400, code])
  })

  test('says that the node cannot be reached, and works when it is back', async () => {
    const port = await freePort()
    const origin = await explore(`http://127.0.0.1:${port}`)
    const { status, body } = await post(origin, [call(1, 'eth_chainId')])
    expect(status).toBe(502)
    expect(body).toMatchObject({ id: null, error: { code: -32_000, message: expect.stringContaining('cannot be reached') } })
    const node = await createPocketchain({ cadence: 'instant', onNote: () => {} })
    closings.push(() => node.close())
    await node.listen({ port, tlsFolder: null })
    expect((await post(origin, [call(1, 'eth_chainId')])).body).toEqual([{ jsonrpc: '2.0', id: 1, result: '0x7a69' }])
  })

  test('refuses pages of other sites and names of other hosts', async () => {
    const origin = await explore(await nodeUrl())
    const response = await fetch(`${origin}/`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: 'https://evil.example' },
      body: JSON.stringify([call(1, 'eth_chainId')]),
    })
    expect(response.status).toBe(403)
  })

  test('passes on subscriptions, and nothing else over WebSocket', async () => {
    const url = await nodeUrl()
    const origin = await explore(url)
    const socket = new WebSocket(origin.replace('http', 'ws'))
    closings.push(() => Promise.resolve(socket.terminate()))
    const messages: { id?: number; error?: { code: number }; method?: string }[] = []
    const received = (count: number) =>
      new Promise<void>((resolve) => {
        socket.on('message', (data: Buffer) => {
          if (messages.push(JSON.parse(data.toString()) as never) === count) resolve()
        })
      })
    const all = received(3)
    await once(socket, 'open')
    socket.send(JSON.stringify(call(1, 'eth_subscribe', 'newHeads')))
    socket.send(JSON.stringify(call(2, 'evm_mine')))
    await new Promise<void>((resolve) => {
      socket.on('message', () => messages.some(({ id }) => id === 1) && resolve())
    })
    await post(url, call(3, 'evm_mine'))
    await all
    expect(messages.find(({ id }) => id === 2)?.error?.code).toBe(-32_601)
    expect(messages.find(({ method }) => method === 'eth_subscription')).toBeDefined()
  })

  test('has its pages alone: no wallet, no sponsor, no metrics', async () => {
    const origin = await explore(await nodeUrl())
    const statusOf = async (path: string) => (await fetch(`${origin}${path}`)).status
    const paths = ['/', '/block/1', '/tx/0x1', '/promises', '/wallet', '/sponsor', '/metrics', '/flashblocks']
    expect(await Promise.all(paths.map(statusOf))).toEqual([200, 200, 200, 200, 404, 404, 404, 404])
    expect(await (await fetch(`${origin}/`)).text()).toContain('data-features=""')
  })
})

async function freePort(): Promise<number> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // listens on TCP
  server.close()
  await once(server, 'close')
  return port
}
