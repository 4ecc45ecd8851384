import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { WebSocket } from 'ws'
import { afterEach, describe, expect, test } from 'vitest'
import { createPocketchain } from '../index.ts'
import { ExplorerServer } from './explorerserver.ts'
import { EXPLORED_BATCH_ITEMS } from './limits.ts'

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
async function explore(url: string, onError: (error: unknown) => void = (error) => expect.fail(String(error))): Promise<string> {
  const server = await ExplorerServer.listen({ url, host: '127.0.0.1', port: 0, onError })
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
      'anvil_mine is not passed on: --explorer-of reads the node and sends signed transactions only; send anvil_mine to the node itself',
    )
  })

  test('answers a single request with one object', async () => {
    const origin = await explore(await nodeUrl())
    expect((await post(origin, call(1, 'eth_chainId'))).body).toEqual({ jsonrpc: '2.0', id: 1, result: '0x7a69' })
    expect((await post(origin, call(2, 'anvil_mine'))).body).toMatchObject({ id: 2, error: { code: -32_601 } })
  })

  test.each([
    ['text', '{', 400, -32_700],
    ['an empty batch', '[]', 200, -32_600],
    ['a number', '1', 200, -32_600],
  ])('refuses a body that is %s', async (_, body, expected, code) => {
    const { status, body: reply } = await post(await explore(await nodeUrl()), body)
    expect([status, (reply as { error: { code: number } }).error.code]).toEqual([expected, code])
  })

  test('refuses an item of a batch that is no request, and a batch of more than 1,000', async () => {
    const origin = await explore(await nodeUrl())
    const mixed = await post(origin, [1, call(2, 'eth_chainId')])
    expect(mixed.body).toEqual([
      { jsonrpc: '2.0', id: 2, result: '0x7a69' },
      {
        jsonrpc: '2.0',
        id: null,
        error: { code: -32_600, message: expect.stringContaining('invalid request: expected an object') as unknown },
      },
    ])
    const large = Array.from({ length: EXPLORED_BATCH_ITEMS + 1 }, (_, id) => call(id, 'eth_chainId'))
    expect((await post(origin, large)).body).toMatchObject([{ error: { code: -32_600, message: expect.stringContaining('1001 items') } }])
  })

  test('passes on signed transactions, and no namespace that changes the node', async () => {
    const url = await nodeUrl()
    const origin = await explore(url)
    const reads = ['pocketchain_userOperationPool', 'pocketchain_userOperationWarnings']
    const passed = [
      'eth_sendRawTransaction',
      'eth_getBlockReceipts',
      'debug_traceTransaction',
      'ots_getApiLevel',
      'txpool_status',
      ...reads,
    ]
    const changes = ['pocketchain_bundlerRules', 'pocketchain_sponsorFault']
    const refused = [
      ...changes,
      'evm_mine',
      'hardhat_reset',
      'pocketchain_drop',
      'debug_bundler_clearState',
      'eth_sendUserOperation',
      'eth_accounts',
    ]
    const codeOf = async (method: string) => ((await post(origin, call(1, method))).body as { error?: { code: number } }).error?.code
    for (const method of passed) expect(await codeOf(method), method).not.toBe(-32_601)
    for (const method of refused) expect(await codeOf(method), method).toBe(-32_601)
  })

  test('answers a request that is nested too deeply to be written again, and closes such a WebSocket', async () => {
    const errors: unknown[] = []
    const origin = await explore(await nodeUrl(), (error) => errors.push(error))
    const deep = (method: string) => `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${'['.repeat(100_000)}${']'.repeat(100_000)}}`
    const { status, body } = await post(origin, deep('eth_call'))
    expect(status).toBe(500)
    expect(body).toMatchObject({ id: null, error: { code: -32_603 } })
    expect(errors).toEqual([expect.any(RangeError)])
    for (const method of ['eth_call', 'eth_subscribe']) {
      const socket = new WebSocket(origin.replace('http', 'ws'))
      await once(socket, 'open')
      socket.send(deep(method))
      await once(socket, 'close')
    }
    expect((await post(origin, call(1, 'eth_chainId'))).status).toBe(200)
  })

  test('shows a text of the node that is no JSON-RPC response as an error', async () => {
    const server = createServer((_, response) => response.writeHead(429).end('{"message":"slow down"}'))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    closings.push(() => new Promise((resolve) => server.close(resolve)))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/key` // listens on TCP
    const { status, body } = await post(await explore(url), call(7, 'eth_chainId'))
    expect(status).toBe(502)
    expect(body).toEqual({
      jsonrpc: '2.0',
      id: 7,
      error: { code: -32_000, message: `${new URL(url).origin} answered HTTP 429 without a JSON-RPC response` },
    })
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

  test('passes on subscriptions over WebSocket, and refuses dev methods there', async () => {
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

  test('checks each request of a batch on a WebSocket, and one whose method is given twice', async () => {
    const url = await nodeUrl()
    const socket = new WebSocket((await explore(url)).replace('http', 'ws'))
    closings.push(() => Promise.resolve(socket.terminate()))
    await once(socket, 'open')
    socket.send(JSON.stringify([call(1, 'eth_subscribe', 'newHeads'), call(2, 'evm_mine')]))
    const [batch] = (await once(socket, 'message')) as [Buffer] // the arguments of the event
    expect(JSON.parse(batch.toString())).toContainEqual(
      expect.objectContaining({ id: 2, error: expect.objectContaining({ code: -32_601 }) }),
    )
    socket.send('{"jsonrpc":"2.0","id":3,"method":"evm_mine","method":"eth_subscribe","params":["newHeads"]}')
    const [reply] = (await once(socket, 'message')) as [Buffer] // the arguments of the event
    expect(JSON.parse(reply.toString())).toMatchObject({ id: 3, result: expect.stringMatching(/^0x/) })
    socket.send(JSON.stringify(call(4, 'eth_blockNumber')))
    const [height] = (await once(socket, 'message')) as [Buffer] // the arguments of the event
    expect(JSON.parse(height.toString())).toEqual({ jsonrpc: '2.0', id: 4, result: '0x0' })
  })

  test('refuses the WebSocket of a page while the node has none, and of other sites', async () => {
    const origin = (await explore(`http://127.0.0.1:${await freePort()}`)).replace('http', 'ws')
    const statusOf = async (socket: WebSocket) => {
      const [error] = (await once(socket, 'error').catch((thrown: unknown) => [thrown])) as readonly [Error] // the arguments of the event
      return error.message
    }
    expect(await statusOf(new WebSocket(origin))).toContain('502')
    expect(await statusOf(new WebSocket(origin, { origin: 'https://evil.example' }))).toContain('403')
    expect(await statusOf(new WebSocket(`${origin}/wallet`))).toContain('404')
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
