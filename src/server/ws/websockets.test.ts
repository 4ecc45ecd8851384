import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import type { Caller, Session } from '../../rpc/index.ts'
import { decodeFrame } from '../../stream/index.ts'
import { ask, call, dial, raw, setUp, until } from '../bench.fixture.ts'
import type { Bench, Client } from '../bench.fixture.ts'
import { Guard } from '../access/guard.ts'
import { Server } from '../index.ts'
import type { Reply } from '../index.ts'
import { PUBLIC_BODY_BYTES, REQUESTS_IN_FLIGHT, SLOW_SUBSCRIBER_BYTES, STREAM_MESSAGE_BYTES, STREAM_SUBSCRIBERS } from '../limits.ts'
import { WebSockets } from './websockets.ts'

const TRANSFER = { from: '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266', to: '0x70997970c51812dc3a010c7d01b50e0d17dc79c8', value: '0x1' }

describe('JSON-RPC over WebSocket', () => {
  test('answers calls, batches and invalid messages, and no notifications', async () => {
    await using bench = await setUp()
    await using client = await dial(bench.server)
    client.send('{"jsonrpc":"2.0","method":"eth_chainId","params":[]}')
    client.send(call('eth_chainId'))
    expect(await client.next()).toEqual({ jsonrpc: '2.0', id: 1, result: '0x7a69' })
    client.send(`[${call('eth_chainId', [], 2)},1]`)
    expect(await client.next()).toMatchObject([{ id: 2, result: '0x7a69' }, { error: { code: -32600 } }])
    client.send('{')
    expect(await client.next()).toMatchObject({ id: null, error: { code: -32700 } })
  })

  test('sends the id of a subscription before its first item, alone and in a batch', async () => {
    await using bench = await setUp({}, { cadence: 'instant' })
    await using client = await dial(bench.server)
    client.send(call('eth_subscribe', ['newHeads']))
    client.send(call('eth_sendTransaction', [TRANSFER], 2))
    const { result: id } = (await client.next()) as { result: string }
    const rest = [await client.next(), await client.next()]
    expect(rest).toContainEqual(
      expect.objectContaining({ method: 'eth_subscription', params: expect.objectContaining({ subscription: id }) }),
    )
    client.send(`[${call('eth_subscribe', ['newHeads'])},${call('eth_sendTransaction', [TRANSFER], 3)}]`)
    const messages = [await client.next(), await client.next(), await client.next()]
    const at = messages.findIndex((message) => Array.isArray(message))
    const [{ result: second }] = messages[at] as [{ result: string }]
    const ids = messages.map((message) => (message as Partial<Item>).params?.subscription)
    expect(new Set(ids)).toEqual(new Set([id, second, undefined]))
    expect(ids.indexOf(second)).toBeGreaterThan(at)
    const waits = call('eth_sendTransactionSync', [{ ...TRANSFER, nonce: '0x99' }, 20], 5)
    client.send(` \r\n\t[${call('eth_subscribe', ['newHeads'])},${call('eth_sendTransaction', [TRANSFER], 4)},${waits}]`)
    const early = [(await client.next()) as Item, (await client.next()) as Item]
    expect(early.map(({ params }) => params.subscription).toSorted()).toEqual([id, second].toSorted())
    const batch = (await client.next()) as [{ result: string }]
    expect(batch).toMatchObject([{ result: expect.stringMatching(/^0x/) }, { id: 4 }, { id: 5, error: { code: 4 } }])
    expect(await client.next()).toMatchObject({ params: { subscription: batch[0].result } })
  })

  test('sends notifications while a batch is being answered, and those of its own subscriptions after it', async () => {
    await using bench = await setUp()
    let answer: (result: { body: string }) => void = () => undefined
    const callers: Caller[] = []
    const handle = (message: string | Uint8Array, caller: Caller) => {
      callers.push(caller)
      return message.toString() === '[]' ? new Promise<{ body: string }>((resolve) => (answer = resolve)) : { body: '"answered"' }
    }
    const server = await Server.listen({ ...bench.node, rpc: { handle }, onError: () => undefined }, { port: 0 })
    const client = await dial(server)
    client.send('{}')
    expect(await client.next()).toBe('answered')
    client.send('[]')
    client.send('{}')
    expect(await client.next()).toBe('answered')
    const [{ session }, batch] = callers as [Caller, Caller]
    batch.onSubscribe?.('0x2')
    session?.notify('0x2', 'held')
    session?.notify('0x1', 'news')
    expect(await client.next()).toMatchObject({ params: { subscription: '0x1', result: 'news' } })
    session?.notify('0x1', 'more')
    expect(await client.next()).toMatchObject({ params: { subscription: '0x1', result: 'more' } })
    answer({ body: '"ids"' })
    expect(await client.next()).toBe('ids')
    expect(await client.next()).toMatchObject({ params: { subscription: '0x2', result: 'held' } })
    session?.notify('0x2', 'news')
    expect(await client.next()).toMatchObject({ params: { subscription: '0x2', result: 'news' } })
    await client[Symbol.asyncDispose]()
    await server.close()
  })

  test('reports the end of the connection to its subscriptions, and accepts no notifications afterwards', async () => {
    await using bench = await setUp()
    const sessions: Session[] = []
    const handle = async (_: string | Uint8Array, { session }: Caller) => {
      if (session !== null) sessions.push(session)
      return { body: '"opened"' }
    }
    const server = await Server.listen({ ...bench.node, rpc: { handle }, onError: () => undefined }, { port: 0 })
    const client = await dial(server)
    client.send('{}')
    expect(await client.next()).toBe('opened')
    const [session] = sessions
    expect(session?.notify('0x1', 'news')).toBe(true)
    expect(await client.next()).toMatchObject({ params: { subscription: '0x1', result: 'news' } })
    const ended = new Promise<void>((resolve) => session?.onClose(resolve))
    await client[Symbol.asyncDispose]()
    await ended
    expect(session?.notify('0x1', 'news')).toBe(false)
    await server.close()
  })

  test('serves all methods at /rpc, as at /', async () => {
    await using bench = await setUp()
    await using client = await dial(bench.server, '/rpc')
    client.send(call('anvil_mine'))
    expect(await client.next()).toEqual({ jsonrpc: '2.0', id: 1, result: null })
  })

  test('serves the public tier at /public', async () => {
    await using bench = await setUp()
    await using client = await dial(bench.server, '/public')
    client.send(call('eth_accounts'))
    expect(await client.next()).toMatchObject({ error: { code: -32601 } })
    client.send(call('eth_getBlockReceipts', ['latest']))
    expect(await client.next()).toMatchObject({ id: 1, error: { message: expect.stringContaining('eth_getBlockReceipts') } })
  })

  test('closes with 1009 after a message over the limit', async () => {
    await using bench = await setUp()
    await using client = await dial(bench.server, '/public')
    client.send(call('eth_chainId').padEnd(PUBLIC_BODY_BYTES))
    await client.next()
    client.send(call('eth_chainId').padEnd(PUBLIC_BODY_BYTES + 1))
    expect((await client.closed).code).toBe(1009)
  })

  test('pauses reading while REQUESTS_IN_FLIGHT requests are open, and answers all of them', async () => {
    await using bench = await setUp()
    const waiting: (() => void)[] = []
    const handle = (body: string | Uint8Array) =>
      new Promise<Reply>((resolve) => waiting.push(() => resolve({ body: String(JSON.parse(Buffer.from(body).toString()).id) })))
    const patient = await Server.listen({ ...bench.node, rpc: { handle }, onError: () => undefined }, { port: 0 })
    await using client = await dial(patient)
    const requests = 2 * REQUESTS_IN_FLIGHT + 500
    for (let id = 0; id < requests; id++) client.send(call('eth_chainId', [], id).padEnd(1_024))
    await until(() => waiting.length >= REQUESTS_IN_FLIGHT)
    for (let i = 0; i < 20; i++) await ask(patient, { method: 'GET', path: '/livez' })
    // Requests in the same 64 KiB chunk as the last one are read already.
    expect(waiting.length).toBeLessThan(REQUESTS_IN_FLIGHT + 64)
    await until(() => {
      for (const answer of waiting.splice(0)) answer()
      return client.messages.length === requests
    })
    expect(new Set(client.messages.map(({ data }) => data.toString())).size).toBe(requests)
    await patient.close()
  })
})

describe('the flashblock stream', () => {
  test.each(['/flashblocks', '/ws', '/flashblocks/', '/flashblocks?compression=none'])('is text at %s', async (path) => {
    await using bench = await setUp()
    await using client = await dial(bench.server, path)
    await bench.clock.advance(2_000)
    await until(() => client.messages.length >= 10)
    expect(client.messages.every(({ binary }) => !binary)).toBe(true)
    expect(JSON.parse(client.messages[0]?.data.toString() ?? '')).toHaveProperty('payload_id')
  })

  test('is the same in binary with brotli', async () => {
    await using bench = await setUp()
    await using plain = await dial(bench.server, '/flashblocks')
    await using packed = await dial(bench.server, '/ws?compression=brotli')
    for (let i = 0; i < 12; i++) {
      await bench.clock.advance(200)
      await until(() => plain.messages.length > i && packed.messages.length === plain.messages.length)
    }
    expect(packed.messages.every(({ binary }) => binary)).toBe(true)
    expect(packed.messages.map(({ data }) => decodeFrame(data))).toEqual(plain.messages.map(({ data }) => decodeFrame(data)))
  })

  test('replays nothing for a late subscriber', async () => {
    await using bench = await setUp()
    await using early = await dial(bench.server, '/flashblocks')
    await bench.clock.advance(1_000)
    await until(() => early.messages.length >= 5)
    const seen = early.messages.length
    await using late = await dial(bench.server, '/flashblocks')
    await bench.clock.advance(600)
    await until(() => late.messages.length >= 3 && early.messages.length >= seen + 3)
    expect(late.messages).toEqual(early.messages.slice(seen))
  })

  test('continues after the last flashblock of a subscriber that comes back', async () => {
    await using bench = await setUp()
    await using whole = await dial(bench.server, '/flashblocks')
    await bench.clock.advance(1_000)
    await until(() => whole.messages.length >= 5)
    const { payload_id: payloadId, index, metadata } = JSON.parse(whole.messages[2]?.data.toString() ?? '') as Message
    await bench.clock.advance(600)
    for (const after of [`${metadata.block_number}.${index}`, `${metadata.block_number}.${index}.${payloadId}`]) {
      await using late = await dial(bench.server, `/flashblocks?after=${after}`)
      await until(() => late.messages.length >= whole.messages.length - 3)
      expect(late.messages).toEqual(whole.messages.slice(3))
    }
  })

  test.each([
    ['12', 400],
    ['a.b', 400],
    ['1.2.0x12', 400],
    ['999.0', 410],
    ['0.0.0x0000000000000000', 410],
  ])('refuses the position %s with %i', async (after, status) => {
    await using bench = await setUp()
    await bench.clock.advance(1_000)
    await expect(dial(bench.server, `/flashblocks?after=${after}`)).rejects.toThrow(String(status))
    expect(bench.server.socketCount).toBe(0)
  })

  test('continues after a retracted flashblock by its payload, and refuses its place alone', async () => {
    await using bench = await setUp()
    await using whole = await dial(bench.server, '/flashblocks')
    await bench.node.request({ method: 'eth_sendTransaction', params: [TRANSFER] })
    await bench.clock.advance(600)
    await bench.node.promises.retract('all')
    await bench.clock.advance(600)
    const { newest } = bench.node.publisher
    await until(() =>
      whole.messages.some(({ data }) => JSON.parse(data.toString()).payload_id === newest?.payloadId && whole.messages.length > 4),
    )
    const places = whole.messages.map(({ data }) => JSON.parse(data.toString()) as Message)
    expect(new Set(places.map(({ payload_id: id }) => id)).size).toBe(2)
    for (const [place, { payload_id: id, index, metadata }] of places.entries()) {
      await using late = await dial(bench.server, `/flashblocks?after=${metadata.block_number}.${index}.${id}`)
      await until(() => late.messages.length >= places.length - place - 1)
      expect(late.messages).toEqual(whole.messages.slice(place + 1, places.length))
    }
    await expect(dial(bench.server, `/flashblocks?after=${places[0]?.metadata.block_number}.0`)).rejects.toThrow('409')
  })

  test('does not continue after a flashblock of a chain that was reset', async () => {
    await using bench = await setUp()
    await bench.clock.advance(1_000)
    const { blockNumber, index, payloadId } = bench.node.publisher.newest ?? { blockNumber: 0, index: 0, payloadId: '' }
    await bench.node.request({ method: 'anvil_reset' })
    await bench.clock.advance(1_000)
    await expect(dial(bench.server, `/flashblocks?after=${blockNumber}.${index}.${payloadId}`)).rejects.toThrow('410')
    await expect(dial(bench.server, `/flashblocks?after=${blockNumber}.${index}`)).rejects.toThrow(/409|410/)
  })

  test('closes a subscriber that sends messages over the limit', async () => {
    await using bench = await setUp()
    await using client = await dial(bench.server, '/flashblocks')
    client.send('hello')
    client.send('x'.repeat(STREAM_MESSAGE_BYTES + 1))
    expect((await client.closed).code).toBe(1009)
  })

  test('accepts a limited number of subscribers', async () => {
    await using bench = await setUp()
    const clients = await Promise.all(Array.from({ length: STREAM_SUBSCRIBERS }, () => dial(bench.server, '/flashblocks')))
    await expect(dial(bench.server, '/flashblocks')).rejects.toThrow('429')
    await clients[0]?.[Symbol.asyncDispose]()
    await until(() => bench.server.socketCount < STREAM_SUBSCRIBERS)
    await using another = await dial(bench.server, '/flashblocks')
    expect(another.ws.readyState).toBe(another.ws.OPEN)
  })
})

describe('a WebSocket', () => {
  test.each([
    ['/nowhere', {}, '404'],
    ['/health', {}, '404'],
    ['/flashblocks?compression=zstd', {}, '400'],
    ['/', { origin: 'https://evil.example' }, '403'],
    ['/public', { origin: 'https://evil.example' }, '403'],
    ['/flashblocks', { origin: 'null' }, '403'],
    ['/', { headers: { host: 'evil.example', origin: 'http://evil.example' } }, '403'],
    ['/', { headers: { host: 'evil:8545', origin: 'http://evil:8545' } }, '403'],
    ['/public', { headers: { host: 'evil:8545', origin: 'http://evil:8545' } }, '403'],
    ['/flashblocks', { headers: { host: 'evil:8545', origin: 'http://localhost' } }, '403'],
  ])('%s with %j is rejected with %s', async (path, options, status) => {
    await using bench = await setUp()
    await expect(dial(bench.server, path, options)).rejects.toThrow(status)
  })

  test('of a loopback page is accepted', async () => {
    await using bench = await setUp()
    await using client = await dial(bench.server, '/', { origin: 'http://localhost:3000' })
    client.send(call('eth_chainId'))
    expect(await client.next()).toMatchObject({ result: '0x7a69' })
  })

  test('of a program is accepted under any Host', async () => {
    await using bench = await setUp()
    for (const path of ['/', '/public', '/flashblocks']) {
      await using client = await dial(bench.server, path, { headers: { host: 'pocketchain:8545' } })
      expect(client.ws.readyState).toBe(client.ws.OPEN)
    }
  })

  test('whose upgrade is malformed gets an HTTP error', async () => {
    await using bench = await setUp()
    const answer = await raw(bench.server, 'GET / HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n')
    expect(answer).toMatch(/^HTTP\/1\.1 400/)
    expect((await ask(bench.server, { body: call('eth_chainId') })).status).toBe(200)
  })

  test('that is rejected is closed, also if its client leaves its side open', async () => {
    await using bench = await setUp()
    const client = connect({ port: bench.server.port, host: bench.server.host, allowHalfOpen: true })
    client.write('GET /nowhere HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n')
    client.resume()
    await once(client, 'end')
    await bench.server.close()
    client.destroy()
  })

  test('of a client that does not read is disconnected, others are served', async () => {
    await using bench = await setUp()
    const slow = await dial(bench.server, '/public')
    slow.send(call('eth_subscribe', ['newFlashblocks']))
    await slow.next()
    await using quick = await dial(bench.server, '/public')
    slow.ws.pause()
    // Each request has a response of some 12 kB, and none is read.
    await flood(bench, slow, SLOW_SUBSCRIBER_BYTES * 3)
    await until(() => bench.server.socketCount === 1)
    quick.send(call('eth_chainId'))
    expect(await quick.next()).toMatchObject({ result: '0x7a69' })
    slow.ws.terminate()
  })

  test('with a subscription is not disconnected by one large answer, but by what it leaves unread beside it', async () => {
    await using bench = await setUp()
    let session: Session | null = null
    const body = JSON.stringify('x'.repeat(3 * SLOW_SUBSCRIBER_BYTES))
    const handle = (_: string | Uint8Array, caller: Caller): Reply => {
      session = caller.session
      return { body }
    }
    const sockets = new WebSockets({ ...bench.node, rpc: { handle }, onError: () => undefined }, new Guard({}))
    const http = createServer().on('upgrade', (request, socket, head) => sockets.upgrade(request, socket, head))
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
    const client = await dial({ wsUrl: `ws://127.0.0.1:${(http.address() as AddressInfo).port}` }, '/public')
    const notify = (result: string): boolean => session!.notify('0x1', result)
    client.ws.pause()
    client.send('{}')
    await until(() => session !== null)
    await new Promise((resolve) => setImmediate(resolve))
    expect(notify('small')).toBe(true)
    client.ws.resume()
    expect(await client.next()).toBe(JSON.parse(body))
    expect(await client.next()).toMatchObject({ params: { result: 'small' } })
    client.ws.pause()
    expect(notify('y'.repeat(2 * SLOW_SUBSCRIBER_BYTES))).toBe(false)
    client.ws.resume()
    expect((await client.closed).code).toBe(1006)
    sockets.close()
    http.close()
  })

  test('that does not answer a ping is closed at the next one', async () => {
    await using bench = await setUp()
    const sockets = new WebSockets(
      { ...bench.node, rpc: { handle: async () => ({ body: null }) }, onError: () => undefined },
      new Guard({}),
    )
    const http = createServer().on('upgrade', (request, socket, head) => sockets.upgrade(request, socket, head))
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
    const wsUrl = `ws://127.0.0.1:${(http.address() as AddressInfo).port}`
    const deaf = await dial({ wsUrl }, '/', { autoPong: false })
    const lively = await dial({ wsUrl })
    const pinged = new Promise((resolve) => lively.ws.once('ping', resolve))
    sockets.ping()
    await pinged
    // The response shows that the server has read the pong sent before.
    await new Promise((resolve) => lively.ws.once('pong', resolve).ping())
    sockets.ping()
    expect((await deaf.closed).code).toBe(1006)
    expect(lively.ws.readyState).toBe(lively.ws.OPEN)
    sockets.close()
    await lively.closed
    http.close()
  })

  test('that sends requests, or whose requests are not read, is kept without a pong', async () => {
    await using bench = await setUp()
    const waiting: (() => void)[] = []
    const handle = (body: string | Uint8Array): Reply | Promise<Reply> =>
      Buffer.from(body).toString() === '"wait"' ? new Promise((resolve) => waiting.push(() => resolve({ body: '2' }))) : { body: '1' }
    const sockets = new WebSockets({ ...bench.node, rpc: { handle }, onError: () => undefined }, new Guard({}))
    const http = createServer().on('upgrade', (request, socket, head) => sockets.upgrade(request, socket, head))
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
    const wsUrl = `ws://127.0.0.1:${(http.address() as AddressInfo).port}`
    const client = await dial({ wsUrl }, '/', { autoPong: false })
    sockets.ping()
    client.send('{}')
    expect(await client.next()).toBe(1)
    sockets.ping()
    for (let i = 0; i < REQUESTS_IN_FLIGHT; i++) client.send('"wait"')
    await until(() => waiting.length === REQUESTS_IN_FLIGHT)
    for (let i = 0; i < 3; i++) sockets.ping()
    for (const answer of waiting) answer()
    for (let i = 0; i < REQUESTS_IN_FLIGHT; i++) expect(await client.next()).toBe(2)
    sockets.close()
    expect((await client.closed).code).toBe(1001)
    http.close()
  })

  test('receives the notifications of the turn in which the server closes', async () => {
    await using bench = await setUp()
    const sessions: Session[] = []
    const handle = (_: string | Uint8Array, { session }: Caller): Reply => {
      if (session !== null) sessions.push(session)
      return { body: Buffer.from('"opened"') }
    }
    const server = await Server.listen({ ...bench.node, rpc: { handle }, onError: () => undefined }, { port: 0 })
    const client = await dial(server)
    client.send('{}')
    expect(await client.next()).toBe('opened')
    sessions[0]?.notify('0x1', 'news')
    const closed = server.close()
    expect(await client.next()).toMatchObject({ params: { subscription: '0x1', result: 'news' } })
    expect((await client.closed).code).toBe(1001)
    await closed
  })

  test('is closed with 1001 when the server closes', async () => {
    await using bench = await setUp()
    const client = await dial(bench.server)
    await bench.server.close()
    expect(await client.closed).toEqual({
      code: 1001,
      reason: expect.stringMatching(/^the node is stopping(; after=\d+\.\d+\.0x[0-9a-f]{16})?$/),
    })
  })
})

interface Item {
  readonly params: { readonly subscription: string }
}

/** Requests the code of a large contract at genesis until the responses amount to `bytes`. */
async function flood(bench: Bench, client: Client, bytes: number): Promise<void> {
  const question = call('eth_getCode', ['0x0000000071727de22e5e9d8baf0edac6f37da032', 'latest'])
  const answer = (await ask(bench.server, { path: '/public', body: question })).body.length
  expect(answer).toBeGreaterThan(1_000)
  for (let sent = 0; sent < bytes; sent += answer) client.send(question)
}

/** A message of the stream. */
interface Message {
  readonly payload_id: string
  readonly index: number
  readonly metadata: { readonly block_number: number }
}
