import { createServer } from 'node:http'
import type { Duplex } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { JsonStream } from '../../rpc/index.ts'
import { call, dial, setUp, until } from '../bench.fixture.ts'
import { takeConnectionListener } from './connections.ts'
import { Guard } from '../access/guard.ts'
import { Health } from '../endpoints/health.ts'
import { Http } from './http.ts'
import { Metrics } from '../endpoints/metrics.ts'
import type { Reply, ServerDeps } from '../index.ts'
import { DEDICATED_BODY_BYTES, MAX_CONNECTIONS, PUBLIC_BODY_BYTES, RAW_CACHED_HEADS, RAW_HEAD_BYTES } from '../limits.ts'
import { CHAIN_ID, Connection, GOOD, HEAD, listening, post, turns, twoServers, undated, withoutAge } from './raw.fixture.ts'
import type { Handle } from './raw.fixture.ts'
import { RawHttp } from './raw.ts'

const NOTIFICATION = '{"jsonrpc":"2.0","method":"eth_chainId"}'

function httpOf(deps: ServerDeps): Http {
  return new Http(deps, new Guard({}), { health: new Health(deps.chain), metrics: new Metrics(deps, () => 0) })
}

describe('the raw HTTP path answers as node:http does', () => {
  const PLAIN: readonly (readonly [name: string, request: string])[] = [
    ['a call', post(CHAIN_ID)],
    ['a call with Connection: keep-alive', post(CHAIN_ID, ['Connection: Keep-Alive'])],
    ['a call without a blank after the colons', post(CHAIN_ID, ['accept:*/*', 'X-Trace-Id:7'])],
    ['what browsers add', post(CHAIN_ID, ['Origin: http://localhost:3000', 'User-Agent: Mozilla/5.0 (X11)', 'Accept-Encoding: gzip, br'])],
    ['a wallet extension', post(CHAIN_ID, ['Origin: chrome-extension://nkbihfbeogaeaoehlefnkodbefgpgknn'])],
    ['a media type with parameters', post(CHAIN_ID, [], '/', 'Application/JSON; charset=utf-8')],
    ['the public tier', post(CHAIN_ID, [], '/public')],
    ['a refusal of the public tier', post(call('eth_getBlockReceipts', ['latest']), [], '/public')],
    ['a method that the public tier lacks', post(call('anvil_setBalance'), [], '/public')],
    ['an unknown method', post(call('eth_noSuch'))],
    ['a name that is not ASCII', post(call('eth_☃', [], '🜁'))],
    ['a name of Latin letters', post(call('eth_é'))],
    ['wrong params', post(call('eth_getBalance', ['0x1']))],
    ['a notification', post(NOTIFICATION)],
    ['a batch', post(`[${CHAIN_ID},${call('eth_blockNumber', [], 2)},${NOTIFICATION},7]`)],
    ['a batch of notifications', post(`[${NOTIFICATION},${NOTIFICATION}]`)],
    ['an empty batch', post('[]')],
    ['no JSON', post('{"jsonrpc"')],
    ['bytes that are no UTF-8', post('"\xff"')],
    ['a block', post(call('eth_getBlockByNumber', ['latest', true]))],
    ['a host with a port', GOOD.replace('localhost', '127.0.0.1:8545')],
    ['a program that uses a name of its own network', GOOD.replace('localhost', 'pocketchain:8545')],
    ['a page that may not change the sponsor', post(call('pocketchain_sponsorFault', [null]), ['Origin: http://localhost:3000'])],
  ]

  test.each(PLAIN)('%s', async (_, request) => {
    await using pair = await twoServers()
    const [raw, nodeHttp] = [await Connection.open(pair.raw), await Connection.open(pair.nodeHttp)]
    for (let round = 0; round < 2; round++) {
      const answer = await raw.ask(request)
      expect(answer).toMatch(
        /\r\nDate: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT\r\nConnection: keep-alive\r\nKeep-Alive: timeout=75\r\n\r\n/,
      )
      expect(undated(answer)).toBe(undated(await nodeHttp.ask(request)))
    }
    expect([pair.raw.rawConnectionCount, pair.nodeHttp.rawConnectionCount]).toEqual([1, 0])
    raw.destroy()
    nodeHttp.destroy()
  })

  const IN_PIECES: readonly (readonly [name: string, ...pieces: string[]])[] = [
    ['a body in two pieces', GOOD.slice(0, -10), GOOD.slice(-10)],
    ['head and body in separate pieces', GOOD.slice(0, -CHAIN_ID.length), CHAIN_ID],
    ['a body of bytes that arrive one by one', GOOD.slice(0, -CHAIN_ID.length), ...CHAIN_ID.split('')],
    // More than one read of the socket.
    ['a body of many pieces', post(CHAIN_ID.padEnd(300_000))],
    ['the largest body', post(CHAIN_ID.padEnd(PUBLIC_BODY_BYTES), [], '/public')],
  ]

  test.each(IN_PIECES)('%s', async (_, ...pieces) => {
    await using pair = await twoServers()
    const [raw, nodeHttp] = [await Connection.open(pair.raw), await Connection.open(pair.nodeHttp)]
    for (let round = 0; round < 2; round++) {
      await raw.deliver(pieces)
      await nodeHttp.deliver(pieces)
      expect(undated(await raw.answer())).toBe(undated(await nodeHttp.answer()))
      expect(undated(await raw.ask(GOOD))).toBe(undated(await nodeHttp.ask(GOOD)))
    }
    expect(pair.raw.rawConnectionCount).toBe(1)
    raw.destroy()
    nodeHttp.destroy()
  })

  test('large bodies between small ones', async () => {
    const seen: number[] = []
    await using pair = await twoServers((body) => {
      seen.push(body.length)
      return { body: '1' }
    })
    const connection = await Connection.open(pair.raw)
    for (const length of [10, 3_000_000, 4_000_000, 10]) await connection.ask(post('1'.padEnd(length)))
    expect(seen).toEqual([10, 3_000_000, 4_000_000, 10])
    expect(pair.raw.rawConnectionCount).toBe(1)
    connection.destroy()
  })

  test('a body that ends early', async () => {
    await using pair = await twoServers()
    const [raw, nodeHttp] = [await Connection.open(pair.raw), await Connection.open(pair.nodeHttp)]
    for (const connection of [raw, nodeHttp]) {
      await connection.ask(GOOD)
      await connection.deliver([GOOD.slice(0, -1)])
    }
    expect(pair.raw.rawConnectionCount).toBe(1)
    for (const connection of [raw, nodeHttp]) connection.end()
    const refusal = await raw.rest()
    expect(refusal).toBe('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n')
    expect(await nodeHttp.rest()).toBe(refusal)
    await until(() => pair.raw.rawConnectionCount === 0)
  })

  test('an exception in the handler', async () => {
    const errors: unknown[] = []
    const crashes = [() => Promise.reject(new Error('late')), () => raise(new Error('at once'))]
    for (const handle of crashes) {
      await using pair = await twoServers(handle, errors)
      const [raw, nodeHttp] = [await Connection.open(pair.raw), await Connection.open(pair.nodeHttp)]
      const answer = await raw.ask(GOOD)
      expect(answer).toMatch(/^HTTP\/1\.1 500 Internal Server Error\r\n.*-32603/s)
      expect(undated(answer)).toBe(undated(await nodeHttp.ask(GOOD)))
      expect(pair.raw.rawConnectionCount).toBe(1)
      raw.destroy()
      nodeHttp.destroy()
    }
    expect(errors).toHaveLength(4)
  })

  test('a body of bytes, and bodies larger than one socket write', async () => {
    for (const body of [Buffer.from('{"é":1}'), 'x'.repeat(9_000_000), 'é'.repeat(4_000_000)]) {
      await using pair = await twoServers(() => ({ body }))
      const [raw, nodeHttp] = [await Connection.open(pair.raw), await Connection.open(pair.nodeHttp)]
      expect(undated(await raw.ask(GOOD)) === undated(await nodeHttp.ask(GOOD))).toBe(true)
      expect(undated(await raw.ask(GOOD)) === undated(await nodeHttp.ask(GOOD))).toBe(true)
      expect(pair.raw.rawConnectionCount).toBe(1)
      raw.destroy()
      nodeHttp.destroy()
    }
  })
})

describe('the raw HTTP path hands to node:http', () => {
  const LENGTH = `Content-Length: ${CHAIN_ID.length}`
  const odd = (line: string) => GOOD.replace(LENGTH, `${LENGTH}\r\n${line}`)
  const ODD: readonly (readonly [name: string, ...pieces: string[]])[] = [
    ['GET', 'GET / HTTP/1.1\r\nHost: localhost\r\nAccept: text/plain\r\n\r\n'],
    ['OPTIONS', 'OPTIONS / HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n\r\n'],
    ['HTTP/1.0', GOOD.replace('1.1', '1.0')],
    ['HTTP/1.0 that is to be kept', odd('Connection: keep-alive').replace('1.1', '1.0')],
    ['a method in lower case', GOOD.replace('POST', 'post')],
    ['another path', GOOD.replace(' / ', ' /nowhere ')],
    ['a query', GOOD.replace(' / ', ' /?key=1 ')],
    ['a slash at the end', GOOD.replace(' / ', ' /public/ ')],
    ['an absolute target', GOOD.replace(' / ', ' http://localhost/ ')],
    ['an empty line before it', `\r\n${GOOD}`],
    ['connection: close', odd('Connection: close')],
    ['an offer of another protocol', odd('Connection: Upgrade\r\nUpgrade: h2c')],
    ['expect', odd('Expect: 100-continue')],
    ['a foreign page', odd('Origin: https://evil.example')],
    ['a foreign host', odd('Origin: http://evil:8545').replace('localhost', 'evil:8545')],
    ['an invalid host', GOOD.replace('localhost', 'a%zz')],
    ['no host', GOOD.replace('Host: localhost\r\n', '')],
    ['two hosts', odd('host: localhost')],
    ['another media type', GOOD.replace('application/json', 'text/plain')],
    ['no media type', GOOD.replace('Content-Type: application/json\r\n', '')],
    ['compression', odd('Content-Encoding: gzip')],
    ['chunks', `${HEAD}Transfer-Encoding: chunked\r\n\r\n${CHAIN_ID.length.toString(16)}\r\n${CHAIN_ID}\r\n0\r\n\r\n`],
    ['chunks and a length', odd('Transfer-Encoding: chunked')],
    ['no length', GOOD.replace(`${LENGTH}\r\n`, '')],
    ['two lengths', odd(LENGTH)],
    ['two lengths that differ', odd('content-length: 1')],
    ['a length of nothing', `${HEAD}Content-Length: 0\r\n\r\n`],
    ['a signed length', GOOD.replace(LENGTH, `Content-Length: +${CHAIN_ID.length}`)],
    ['a length with a zero before it', GOOD.replace(LENGTH, `Content-Length: 0${CHAIN_ID.length}`)],
    ['a list of lengths', GOOD.replace(LENGTH, `${LENGTH}, ${CHAIN_ID.length}`)],
    ['a hexadecimal length', GOOD.replace(LENGTH, `Content-Length: 0x${CHAIN_ID.length.toString(16)}`)],
    ['a length with a blank behind it', GOOD.replace(LENGTH, `${LENGTH} `)],
    ['a blank before a colon', GOOD.replace(LENGTH, LENGTH.replace(':', ' :'))],
    ['a tab', odd('X-Tab: a\tb')],
    ['a folded line', odd('X-Folded: a\r\n b')],
    ['a bare line feed', odd('X-Bare: a\nContent-Length: 1')],
    ['a bare carriage return', odd('X-Bare: a\rContent-Length: 1')],
    ['a zero byte', odd('X-Zero: \0')],
    ['a letter that is not ASCII', odd('X-Latin: \xe9')],
    ['an empty value', odd('X-Empty:')],
    ['a name that is none', odd('X Name: 1')],
    ['no name', odd(': 1')],
    ['a line without colon', odd('Host')],
    ['a long head', odd(`X-Long: ${'a'.repeat(RAW_HEAD_BYTES)}`)],
    ['a head over every limit', odd(`X-Long: ${'a'.repeat(20_000)}`)],
    ['a head in two pieces', GOOD.slice(0, 40), GOOD.slice(40)],
    ['an end of the head in two pieces', GOOD.slice(0, -CHAIN_ID.length - 2), GOOD.slice(-CHAIN_ID.length - 2)],
    ['two requests in one piece', `${GOOD}${GOOD}`],
    ['one request and a half', `${GOOD}${GOOD.slice(0, 30)}`, GOOD.slice(30)],
    ['a body in two pieces, and a request behind it', GOOD.slice(0, -10), `${GOOD.slice(-10)}${GOOD}`],
    ['a length that hides a request', `${GOOD}GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n`],
    ['a body over the limit of the dedicated tier', post(CHAIN_ID.padEnd(DEDICATED_BODY_BYTES + 1)).slice(0, 60_000)],
    ['a body over the limit', post(CHAIN_ID.padEnd(PUBLIC_BODY_BYTES + 1), [], '/public').slice(0, 60_000)],
    ['another protocol', '\x16\x03\x01\x02\0'],
  ]

  test.each(ODD)('%s', async (_, ...pieces) => {
    await using pair = await twoServers()
    const [raw, nodeHttp] = [await Connection.open(pair.raw), await Connection.open(pair.nodeHttp)]
    // An accepted request first, so that the connection is on the raw HTTP path.
    expect(undated(await raw.ask(GOOD))).toBe(undated(await nodeHttp.ask(GOOD)))
    expect(pair.raw.rawConnectionCount).toBe(1)
    await raw.deliver(pieces)
    await nodeHttp.deliver(pieces)
    await until(() => pair.raw.rawConnectionCount === 0)
    const [answer, wanted] = [await raw.last(), await nodeHttp.last()]
    expect(withoutAge(undated(answer))).toBe(withoutAge(undated(wanted)))
    expect(answer).toMatch(/^HTTP\/1\.1 \d\d\d /)
  })

  test('a slow body, which completes later', async () => {
    await using bench = await setUp()
    const bodies: number[] = []
    const handle: Handle = (body) => {
      bodies.push(body.length)
      return { body: '1' }
    }
    let handedOver = 0
    const http = createServer((request, response) => pages.serve(request, response))
    const connect = takeConnectionListener(http)
    const pages = httpOf({ ...bench.node, rpc: { handle }, onError: () => undefined })
    const handOver = (socket: Duplex) => {
      handedOver++
      connect(socket)
    }
    const raw = new RawHttp(pages, new Guard({}), handOver, { bodyMs: 50 })
    http.on('connection', raw.accept)
    await using server = await listening(http)
    const large = post('1'.padEnd(500_000))
    const [slow, ended, reset] = [await Connection.open(server), await Connection.open(server), await Connection.open(server)]
    await slow.deliver([large.slice(0, 200_000), large.slice(200_000, -5)])
    await ended.deliver([GOOD.slice(0, -5)])
    await until(() => handedOver === 2)
    await reset.deliver([GOOD.slice(0, -5)])
    reset.reset()
    await until(() => raw.count === 0)
    await slow.deliver([large.slice(-5)])
    expect(await slow.answer()).toMatch(/^HTTP\/1\.1 200 OK\r\n.*\r\n\r\n1$/s)
    ended.end()
    expect(await ended.rest()).toContain('400 Bad Request')
    expect(bodies).toEqual([500_000])
    slow.destroy()
  })

  test('a WebSocket, on a connection with earlier requests and on a new one', async () => {
    await using bench = await setUp()
    const connection = await Connection.open(bench.server)
    await connection.ask(GOOD)
    const ws = new WebSocket(bench.server.wsUrl, { createConnection: () => connection.release() })
    await new Promise((resolve) => ws.on('open', resolve))
    const answer = new Promise((resolve) => ws.on('message', (data: Buffer) => resolve(data.toString())))
    ws.send(CHAIN_ID)
    expect(JSON.parse(String(await answer))).toMatchObject({ result: '0x7a69' })
    await using beside = await dial(bench.server)
    beside.send(CHAIN_ID)
    expect(await beside.next()).toMatchObject({ result: '0x7a69' })
    expect([bench.server.rawConnectionCount, bench.server.socketCount]).toEqual([0, 2])
    ws.close()
  })
})

describe('a connection of the raw HTTP path', () => {
  test('answers requests in order while a method is pending', async () => {
    const waiting: ((reply: Reply) => void)[] = []
    await using pair = await twoServers(() => new Promise((resolve) => waiting.push(resolve)))
    const connection = await Connection.open(pair.raw)
    for (let i = 0; i < 3; i++) await connection.deliver([GOOD])
    await until(() => waiting.length === 1)
    const order: string[] = []
    for (const body of ['"first"', '"second"', '"third"']) {
      await until(() => waiting.length === 1)
      waiting.shift()?.({ body })
      order.push((await connection.answer()).split('\r\n\r\n')[1] ?? '')
    }
    expect(order).toEqual(['"first"', '"second"', '"third"'])
    expect(waiting).toEqual([])
    connection.destroy()
  })

  test('answers in order when node:http takes over after a pending method', async () => {
    const waiting: ((reply: Reply) => void)[] = []
    await using pair = await twoServers(() => new Promise((resolve) => waiting.push(resolve)))
    const connection = await Connection.open(pair.raw)
    await connection.deliver([GOOD, 'GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'])
    await until(() => waiting.length === 1)
    waiting.shift()?.({ body: '"first"' })
    expect(await connection.rest()).toMatch(/^HTTP\/1\.1 200 OK.*"first"HTTP\/1\.1 200 OK.*"ready"/s)
  })

  test('answers a client that has closed its side meanwhile, then closes', async () => {
    const waiting: ((reply: Reply) => void)[] = []
    await using pair = await twoServers(() => new Promise((resolve) => waiting.push(resolve)))
    const connection = await Connection.open(pair.raw)
    await connection.deliver([GOOD])
    connection.end()
    await until(() => waiting.length === 1)
    await turns()
    waiting.shift()?.({ body: '"late"' })
    expect(await connection.rest()).toContain('"late"')
    await until(() => pair.raw.rawConnectionCount === 0)
  })

  test('is closed when the client closes its side, and removed after a reset', async () => {
    await using pair = await twoServers()
    const [half, cut] = [await Connection.open(pair.raw), await Connection.open(pair.raw)]
    await half.ask(GOOD)
    await cut.ask(GOOD)
    expect(pair.raw.rawConnectionCount).toBe(2)
    half.end()
    expect(await half.rest()).toBe('')
    cut.reset()
    await until(() => pair.raw.rawConnectionCount === 0)
  })

  test('that is reset while a method is pending causes no error', async () => {
    const waiting: ((reply: Reply) => void)[] = []
    const errors: unknown[] = []
    await using pair = await twoServers(() => new Promise((resolve) => waiting.push(resolve)), errors)
    const connection = await Connection.open(pair.raw)
    await connection.deliver([GOOD])
    await until(() => waiting.length === 1)
    connection.reset()
    await until(() => pair.raw.rawConnectionCount === 0)
    waiting.shift()?.({ body: '"late"' })
    const next = await Connection.open(pair.raw)
    await next.deliver([GOOD])
    await until(() => waiting.length === 1)
    waiting.shift()?.({ body: '"next"' })
    expect(await next.answer()).toContain('"next"')
    next.destroy()
    expect(errors).toEqual([])
  })

  test('reads no further requests while the client does not read responses', async () => {
    const body = 'x'.repeat(8_000_000)
    let calls = 0
    await using pair = await twoServers(() => {
      calls++
      return { body }
    })
    const connection = await Connection.open(pair.raw)
    connection.pause()
    for (let i = 0; i < 5; i++) await connection.deliver([GOOD])
    await until(() => calls > 0)
    for (let i = 0; i < 20; i++) await turns()
    expect(calls).toBe(1)
    connection.resume()
    for (let i = 0; i < 5; i++) expect((await connection.answer()).length).toBeGreaterThan(body.length)
    expect([calls, pair.raw.rawConnectionCount]).toEqual([5, 1])
    connection.destroy()
  })

  test('is closed after the idle time, but not while a method is pending', async () => {
    await using bench = await setUp()
    const waiting: ((reply: Reply) => void)[] = []
    const rpc = { handle: () => new Promise<Reply>((resolve) => waiting.push(resolve)) }
    const pages = httpOf({ ...bench.node, rpc, onError: () => undefined })
    const http = createServer()
    const raw = new RawHttp(pages, new Guard({}), takeConnectionListener(http), { idleMs: 50 })
    http.on('connection', raw.accept)
    await using server = await listening(http)
    const [idle, busy] = [await Connection.open(server), await Connection.open(server)]
    await busy.deliver([GOOD])
    expect(await idle.rest()).toBe('')
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(raw.count).toBe(1)
    waiting.shift()?.({ body: '"late"' })
    expect(await busy.rest()).toContain('"late"')
    await until(() => raw.count === 0)
  })

  test('is closed when a stream stays unread, not when it is read slowly', async () => {
    await using bench = await setUp()
    let ended = 0
    function* chunks() {
      try {
        for (;;) yield Buffer.alloc(1_000_000)
      } finally {
        ended++
      }
    }
    const rpc = { handle: () => ({ body: new JsonStream(chunks()) }) }
    const pages = httpOf({ ...bench.node, rpc, onError: () => undefined })
    const http = createServer()
    const raw = new RawHttp(pages, new Guard({}), takeConnectionListener(http), { stalledMs: 300 })
    http.on('connection', raw.accept)
    await using server = await listening(http)
    const [unread, slow] = [await Connection.open(server), await Connection.open(server)]
    for (const connection of [unread, slow]) connection.pause()
    await unread.deliver([GOOD])
    await slow.deliver([GOOD])
    for (let i = 0; i < 10; i++) {
      slow.resume()
      await new Promise((resolve) => setTimeout(resolve, 10))
      slow.pause()
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    expect([raw.count, ended]).toEqual([1, 1])
    slow.reset()
    await until(() => raw.count === 0 && ended === 2)
    unread.destroy()
  })

  test('counts towards the limit: those beyond it are closed', async () => {
    await using bench = await setUp()
    const connections: Connection[] = []
    for (let i = 0; i < MAX_CONNECTIONS + 500; i++) connections.push(await Connection.open(bench.server))
    const kept = connections.slice(0, MAX_CONNECTIONS)
    for (let round = 0; round < 2; round++) {
      const answers = await Promise.all(kept.map((connection) => connection.ask(GOOD)))
      expect(answers.every((answer) => answer.startsWith('HTTP/1.1 200'))).toBe(true)
    }
    expect(bench.server.rawConnectionCount).toBe(MAX_CONNECTIONS)
    expect(await Promise.all(connections.slice(MAX_CONNECTIONS).map((connection) => connection.rest()))).toEqual(Array(500).fill(''))
    for (const connection of kept) connection.destroy()
    await until(() => bench.server.rawConnectionCount === 0)
    const next = await Connection.open(bench.server)
    expect(await next.ask(GOOD)).toContain('0x7a69')
    next.destroy()
  })

  test('stays when more heads arrive than are cached', async () => {
    await using bench = await setUp()
    const connection = await Connection.open(bench.server)
    for (let i = 0; i <= RAW_CACHED_HEADS + 10; i++) {
      const answer = await connection.ask(post(CHAIN_ID, [`X-Trace: ${i}`, `Origin: http://localhost:${i + 1}`]))
      expect(answer).toContain(`\r\naccess-control-allow-origin: http://localhost:${i + 1}\r\n`)
    }
    expect(bench.server.rawConnectionCount).toBe(1)
    connection.destroy()
  })
})

describe('closing', () => {
  test('closes idle connections at once and the others after their response', async () => {
    const waiting: ((reply: Reply) => void)[] = []
    await using pair = await twoServers(() => new Promise((resolve) => waiting.push(resolve)))
    const [idle, busy] = [await Connection.open(pair.raw), await Connection.open(pair.raw)]
    await busy.deliver([GOOD, GOOD])
    await until(() => waiting.length === 1)
    const closed = pair.raw.close()
    expect(await idle.rest()).toBe('')
    waiting.shift()?.({ body: '"done"' })
    expect(await busy.rest()).toMatch(/^HTTP\/1\.1 200 OK\r\n.*\r\nConnection: close\r\n\r\n"done"$/s)
    await closed
    await until(() => pair.raw.rawConnectionCount === 0)
    expect(waiting).toEqual([])
  })

  test('completes a request whose body is incomplete', async () => {
    await using pair = await twoServers(() => ({ body: '"done"' }))
    const connection = await Connection.open(pair.raw)
    await connection.deliver([GOOD.slice(0, -5)])
    const closed = pair.raw.close()
    await connection.deliver([GOOD.slice(-5)])
    expect(await connection.rest()).toMatch(/^HTTP\/1\.1 200 OK\r\n.*\r\nConnection: close\r\n\r\n"done"$/s)
    await closed
  })

  test('does not wait for methods that never return, or for clients that never read or never complete a request', async () => {
    const body = 'x'.repeat(8_000_000)
    let calls = 0
    await using pair = await twoServers(() => (calls++ === 0 ? { body } : new Promise(() => undefined)))
    const [unread, unanswered, half] = [await Connection.open(pair.raw), await Connection.open(pair.raw), await Connection.open(pair.raw)]
    await half.deliver([GOOD.slice(0, -1)])
    unread.pause()
    await unread.deliver([GOOD])
    await until(() => calls === 1)
    await unanswered.deliver([GOOD])
    await until(() => calls === 2)
    expect(pair.raw.rawConnectionCount).toBe(3)
    await pair.raw.close()
    await until(() => pair.raw.rawConnectionCount === 0)
    expect([await unanswered.rest(), await half.rest()]).toEqual(['', ''])
    unread.destroy()
  })
})

function raise(error: Error): never {
  throw error
}
