import { spawn } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { connect as connectSecurely } from 'node:tls'
import type { TLSSocket } from 'node:tls'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { JsonStream } from '../../rpc/index.ts'
import { ask, call, dial, setUp, until } from '../bench.fixture.ts'
import { Server } from '../index.ts'
import type { Reply } from '../index.ts'
import { CHAIN_ID, GOOD, post } from '../http/raw.fixture.ts'
import { HANDSHAKE_MS, MAX_CONNECTIONS, TLS_NAMES } from '../limits.ts'
import { NO_OPENSSL, all, askSecurely, scratch, shake } from './tls.fixture.ts'
import { Tls } from './tls.ts'
import type { TlsOptions } from './tls.ts'

/** in memory */
const PASSING = { tlsFolder: null } as const

describe.each([true, false])('TLS on the port of HTTP (rawHttp: %s)', (rawHttp) => {
  const listen = { ...PASSING, rawHttp }

  test('answers clients that trust the authority as it does without TLS', async () => {
    await using bench = await setUp(listen)
    const { server } = bench
    const ca = server.ca()
    expect(server.httpsUrl).toBe(`https://127.0.0.1:${server.port}`)
    for (const pendingRequest of [
      { body: CHAIN_ID },
      { body: CHAIN_ID, path: '/public' },
      { body: CHAIN_ID, path: '/?x=1' },
      { body: `[${CHAIN_ID},${CHAIN_ID}]` },
      { body: call('eth_getBlockByNumber', ['latest', true]) },
      { body: CHAIN_ID, headers: { origin: 'http://localhost:3000' } },
      { body: CHAIN_ID, headers: { origin: `https://localhost:${server.port}` } },
      { body: CHAIN_ID, headers: { origin: 'https://evil.example' } },
      { body: 'x', headers: { 'content-type': 'text/plain' } },
      { method: 'GET', path: '/nowhere' },
      { method: 'PUT' },
      { method: 'GET', path: '/ca.pem' },
    ]) {
      const [secure, plain] = [
        await askSecurely(server, { ...pendingRequest, ca }),
        await ask(server, { ...pendingRequest, headers: { host: 'localhost', ...pendingRequest.headers } }),
      ]
      delete secure.headers.date
      delete plain.headers.date
      expect(secure).toEqual(plain)
    }
    expect(bench.errors).toEqual([])
  })

  test.each([
    ['by its address', { host: '127.0.0.1', servername: '' }],
    ['as localhost', { servername: 'localhost' }],
    ['by a name below localhost', { servername: 'app.localhost' }],
    ['by a deeper name', { servername: 'a.b-2.localhost' }],
  ])('has a certificate for the server name %s', async (_, where) => {
    await using bench = await setUp(listen)
    const socket = await shake(bench.server, { ca: bench.server.ca(), ...where })
    expect(socket.authorized).toBe(true)
    socket.destroy()
  })

  test('is rejected by clients that do not trust the authority', async () => {
    await using bench = await setUp(listen)
    await using other = await setUp(listen)
    await expect(askSecurely(bench.server, { body: CHAIN_ID })).rejects.toMatchObject({ code: 'SELF_SIGNED_CERT_IN_CHAIN' })
    await expect(askSecurely(bench.server, { body: CHAIN_ID, ca: other.server.ca() })).rejects.toThrow(/certificate/)
    await expect(askSecurely(bench.server, { body: CHAIN_ID, ca: bench.server.ca(), name: 'evil.example' })).rejects.toMatchObject({
      code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    })
    expect((await askSecurely(bench.server, { body: CHAIN_ID, ca: bench.server.ca() })).status).toBe(200)
    expect(bench.errors).toEqual([])
  })

  test('accepts a WebSocket', async () => {
    await using bench = await setUp(listen)
    await using client = await dial({ wsUrl: `wss://localhost:${bench.server.port}` }, '/', { ca: bench.server.ca() })
    client.send(CHAIN_ID)
    expect(await client.next()).toMatchObject({ result: '0x7a69' })
    client.send(call('eth_subscribe', ['newHeads'], 2))
    expect(await client.next()).toMatchObject({ id: 2 })
    client.send(call('evm_mine', [], 3))
    expect([await client.next(), await client.next()]).toContainEqual(expect.objectContaining({ method: 'eth_subscription' }))
    await using stream = await dial({ wsUrl: `wss://localhost:${bench.server.port}` }, '/flashblocks', { ca: bench.server.ca() })
    expect(stream.ws.readyState).toBe(stream.ws.OPEN)
    expect(bench.server.socketCount).toBe(2)
  })

  test('serves several requests of a connection, and complete large answers', async () => {
    await using bench = await setUp(listen)
    const chunks = function* () {
      for (let i = 0; i < 40; i++) yield Buffer.alloc(100_000, `${i % 10}`)
    }
    const replies: readonly (() => Reply)[] = [
      () => ({ body: '"small"' }),
      () => ({ body: 'x'.repeat(5_000_000) }),
      () => ({ body: new JsonStream(chunks()) }),
    ]
    let calls = 0
    const rpc = { handle: () => replies[calls++ % 3]?.() ?? { body: null } }
    const server = await Server.listen({ ...bench.node, rpc, onError: (error) => bench.errors.push(error) }, { port: 0, ...listen })
    const socket = await shake(server, { ca: server.ca() })
    let text = ''
    socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')))
    for (let i = 0; i < 6; i++) {
      text = ''
      socket.write(GOOD)
      const isWhole = [
        () => text.endsWith('"small"'),
        () => text.endsWith('x'.repeat(1_000)) && text.length > 5_000_000,
        () => text.endsWith('\r\n0\r\n\r\n') && text.length > 4_000_000,
      ][i % 3]
      await until(() => isWhole?.() ?? true)
    }
    expect(server.rawConnectionCount).toBe(rawHttp ? 1 : 0)
    socket.destroy()
    await server.close()
    expect(bench.errors).toEqual([])
  })

  test('invalid data, a partial ClientHello and silence do not affect other clients', async () => {
    await using bench = await setUp(listen)
    const { server } = bench
    const kept = await shake(server, { ca: server.ca() })
    const open: Socket[] = []
    const speak = (bytes: string) =>
      new Promise<void>((resolve) => {
        const socket = connect(server.port, server.host, () => socket.write(bytes, 'latin1'))
        socket.resume()
        socket.on('error', () => undefined)
        socket.on('close', () => resolve())
        open.push(socket)
      })
    // Incomplete ones stay open.
    for (const half of ['', '\x16', '\x16\x03', '\x16\x03\x01', '\x16\x03\x01\x02\0\x01\0\x01\xfc']) void speak(half)
    // Invalid ones are closed.
    for (const noise of [
      '\x16garbage'.padEnd(3_000, 'x'),
      '\x16\x03\x01\0\x05\x01\0\0\x01\x03',
      '\x16\x03\x01\xff\xff',
      '\x16POST / HTTP/1.1\r\n\r\n',
    ])
      await speak(noise)
    const answer = all(kept)
    kept.end(GOOD.replace('\r\n', '\r\nConnection: close\r\n'))
    expect(await answer).toContain('0x7a69')
    for (const socket of open) socket.destroy()
    expect(bench.errors).toEqual([])
  })

  test('a client may disconnect after any byte of the ClientHello', async () => {
    await using bench = await setUp(listen)
    const greeting = await greetingOf()
    for (let length = 1; length < greeting.length; length += 13) {
      const socket = connect(bench.server.port, bench.server.host, () => {
        socket.write(greeting.subarray(0, length), () => socket.resetAndDestroy())
      })
      socket.on('error', () => undefined)
      await new Promise((resolve) => socket.on('close', resolve))
    }
    expect((await askSecurely(bench.server, { body: CHAIN_ID, ca: bench.server.ca() })).status).toBe(200)
    expect(bench.errors).toEqual([])
  })

  test('a client that disconnects during the handshake no longer counts as a connection', async () => {
    await using bench = await setUp(listen)
    const { server } = bench
    const ca = server.ca()
    const greeting = await greetingOf()
    // More than the connection limit; each closes before the next one opens.
    for (let i = 0; i < MAX_CONNECTIONS + 50; i++) {
      const socket = connect(server.port, server.host, () => socket.write(greeting.subarray(0, 50), () => socket.destroy()))
      socket.on('error', () => undefined)
      await new Promise((resolve) => socket.once('close', resolve))
    }
    expect((await askSecurely(server, { body: CHAIN_ID, ca })).status).toBe(200)
    expect(bench.errors).toEqual([])
  })

  test('a ClientHello may arrive byte by byte', async () => {
    await using bench = await setUp(listen)
    const greeting = await greetingOf()
    const socket = connect({ port: bench.server.port, host: bench.server.host, noDelay: true })
    const first = new Promise<Buffer>((resolve) => socket.once('data', resolve))
    for (const byte of greeting) {
      await new Promise((resolve) => socket.write(Uint8Array.of(byte), resolve))
      await new Promise((resolve) => setImmediate(resolve))
    }
    // A handshake record with the ServerHello.
    expect([...(await first).subarray(0, 6)]).toEqual([0x16, 3, 3, 0, expect.any(Number), 2])
    socket.destroy()
  })

  test('counts towards the connection limit', async () => {
    await using bench = await setUp(listen)
    const ca = bench.server.ca()
    const open: (Socket | TLSSocket)[] = []
    for (let i = 0; i < MAX_CONNECTIONS - 1; i++) {
      const socket = connect(bench.server.port, bench.server.host)
      await new Promise((resolve) => socket.once('connect', resolve))
      socket.on('error', () => undefined)
      open.push(socket)
    }
    open.push(await shake(bench.server, { ca }))
    await expect(shake(bench.server, { ca })).rejects.toMatchObject({ code: 'ECONNRESET' })
    // The connection counts until the server has processed its close.
    open.pop()?.destroy()
    const again = () => shake(bench.server, { ca }).catch(() => null)
    let next = await again()
    while (next === null) next = await again()
    next.destroy()
    for (const socket of open) socket.destroy()
  })

  test('closing ends idle connections and handshakes at once, and the others after their response', async () => {
    await using bench = await setUp(listen)
    const waiting: ((reply: Reply) => void)[] = []
    const rpc = { handle: () => new Promise<Reply>((resolve) => waiting.push(resolve)) }
    const server = await Server.listen({ ...bench.node, rpc, onError: (error) => bench.errors.push(error) }, { port: 0, ...listen })
    const ca = server.ca()
    const greeting = await greetingOf()
    const [idle, busy] = [await shake(server, { ca }), await shake(server, { ca })]
    const unfinished = connect(server.port, server.host, () => unfinished.write(greeting.subarray(0, 50)))
    unfinished.on('error', () => undefined)
    // These responses confirm that the server has read the previous bytes.
    for (let i = 0; i < 3; i++) await ask(server, { method: 'GET', path: '/livez' })
    const ends = [idle, unfinished].map((socket) => new Promise((resolve) => socket.resume().on('close', resolve)))
    const answer = all(busy)
    busy.write(GOOD)
    await until(() => waiting.length === 1)
    const closed = server.close()
    await Promise.all(ends)
    waiting.shift()?.({ body: '"done"' })
    expect(await answer).toMatch(/^HTTP\/1\.1 200 OK\r\n.*"done"$/s)
    await closed
    expect(bench.errors).toEqual([])
  })

  test('a body of many TLS records, and a request after it', async () => {
    await using bench = await setUp(listen)
    const socket = await shake(bench.server, { ca: bench.server.ca() })
    for (const request of [post(CHAIN_ID.padEnd(300_000)), GOOD]) {
      let text = ''
      const read = (chunk: Buffer) => (text += chunk.toString('latin1'))
      socket.on('data', read)
      socket.write(request)
      await until(() => text.includes('0x7a69'))
      socket.off('data', read)
      expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    }
    expect(bench.server.rawConnectionCount).toBe(rawHttp ? 1 : 0)
    socket.destroy()
  })

  test('TLS inside TLS, and in the middle of a connection, is invalid data', async () => {
    await using bench = await setUp(listen)
    const greeting = await greetingOf()
    const inside = await shake(bench.server, { ca: bench.server.ca() })
    const answer = all(inside)
    inside.write(greeting)
    expect(await answer).toMatch(/^HTTP\/1\.1 400 /)
    const plain = connect(bench.server.port, bench.server.host, () => plain.write(GOOD))
    let text = ''
    plain.on('data', (chunk) => (text += chunk.toString('latin1')))
    await until(() => text.includes('0x7a69'))
    plain.write(greeting)
    await until(() => plain.destroyed || plain.readableEnded)
    expect(text).toMatch(/^HTTP\/1\.1 200 .*HTTP\/1\.1 400 /s)
  })
})

describe('handshakes that do not end', () => {
  // On the raw HTTP path: node:http ends a connection whose other side has closed, over TLS or not.
  test('a client that closes its side after the request gets the response', async () => {
    await using bench = await setUp(PASSING)
    const { server } = bench
    const waiting: ((reply: Reply) => void)[] = []
    const rpc = { handle: () => new Promise<Reply>((resolve) => waiting.push(resolve)) }
    const slow = await Server.listen({ ...bench.node, rpc, onError: (error) => bench.errors.push(error) }, { port: 0, ...PASSING })
    const socket = await shake(slow, { ca: slow.ca() })
    const answer = all(socket)
    socket.end(GOOD)
    await until(() => waiting.length === 1)
    // This response confirms that the server has read the close of the other side.
    await ask(server, { method: 'GET', path: '/livez' })
    waiting.shift()?.({ body: '"done"' })
    expect(await answer).toMatch(/"done"$/)
    await slow.close()
  })

  test('200 connections that never finish the greeting are closed after a while, and take nothing from others', async () => {
    await using bench = await setUp(PASSING)
    const greeting = await greetingOf()
    const begunMs = performance.now()
    const sockets = Array.from({ length: 200 }, (_, i) => {
      const socket = connect(bench.server.port, bench.server.host, () => socket.write(greeting.subarray(0, 1 + i)))
      socket.on('error', () => undefined)
      return new Promise((resolve) => socket.on('close', resolve))
    })
    for (let i = 0; i < 20; i++) expect((await askSecurely(bench.server, { body: CHAIN_ID, ca: bench.server.ca() })).status).toBe(200)
    expect((await ask(bench.server, { body: CHAIN_ID })).status).toBe(200)
    await Promise.all(sockets)
    const tookMs = performance.now() - begunMs
    expect(tookMs).toBeGreaterThan(HANDSHAKE_MS - 500)
    expect(tookMs).toBeLessThan(HANDSHAKE_MS + 5_000)
    expect(bench.errors).toEqual([])
  })

  test('single bytes do not extend the time limit', async () => {
    const tls = tlsOf({ folder: null, handshakeMs: 1_000 })
    await using door = await doorTo(tls)
    const greeting = await greetingOf()
    const begunMs = performance.now()
    const socket = connect(door.port, '127.0.0.1')
    let sent = 0
    const dripping = setInterval(() => socket.write(greeting.subarray(sent, ++sent)), 50)
    socket.on('error', () => undefined)
    await new Promise((resolve) => socket.on('close', resolve))
    clearInterval(dripping)
    expect(performance.now() - begunMs).toBeLessThan(5_000)
    expect(sent).toBeGreaterThan(10)
  })

  test.each([
    ['does not trust us', (port: number) => connectSecurely({ port, host: '127.0.0.1' })],
    [
      'goes in the middle',
      (port: number) =>
        connect(port, '127.0.0.1', function (this: Socket) {
          this.end('\x16')
        }),
    ],
  ])('a client that %s is disconnected', async (_, dial) => {
    const tls = tlsOf({ folder: null })
    let gone: () => void = () => undefined
    const isGone = new Promise<void>((resolve) => (gone = resolve))
    await using door = await listening((socket) => {
      socket.once('close', gone)
      socket.once('data', (piece) => {
        socket.pause()
        socket.allowHalfOpen = true // like an http.Server
        socket.unshift(piece)
        tls.accept(socket)
      })
    })
    const begunMs = performance.now()
    const client = dial(door.port)
    client.on('error', () => undefined)
    await isGone
    expect(performance.now() - begunMs).toBeLessThan(HANDSHAKE_MS / 2)
    client.destroy()
  })
})

describe('the certificates of a server', () => {
  test('are created when first needed and stored in the folder', async () => {
    using place = scratch()
    const folder = join(place.path, 'tls')
    await using bench = await setUp({ tlsFolder: folder })
    expect((await ask(bench.server, { body: CHAIN_ID })).status).toBe(200)
    expect(existsSync(folder)).toBe(false)
    const socket = await shake(bench.server, { rejectUnauthorized: false })
    socket.destroy()
    const ca = bench.server.ca()
    expect(ca).toBe(readFileSync(join(folder, 'ca.pem'), 'utf8'))
    expect((await ask(bench.server, { method: 'GET', path: '/ca.pem' })).body).toBe(ca)
    await using second = await setUp({ tlsFolder: folder })
    expect(second.server.ca()).toBe(ca)
    expect((await askSecurely(second.server, { body: CHAIN_ID, ca })).status).toBe(200)
  })

  test.each(['', 'some/where'])('a user without a home (HOME=%j) has none where the process was started', async (home) => {
    const before = process.env['HOME']
    process.env['HOME'] = home
    try {
      await using bench = await setUp({})
      const { status, body } = await ask(bench.server, { method: 'GET', path: '/ca.pem' })
      expect([status, body]).toEqual([503, expect.stringContaining('there is no home folder for the TLS certificates')])
      expect(existsSync(join(home, '.pocketchain'))).toBe(false)
      await expect(shake(bench.server)).rejects.toThrow('alert internal error')
      expect(bench.errors).toEqual([expect.objectContaining({ name: 'AuthorityError' })])
    } finally {
      if (before === undefined) delete process.env['HOME']
      else process.env['HOME'] = before
    }
  })

  test('GET /ca.pem creates them, and serves every admitted client', async () => {
    using place = scratch()
    const folder = join(place.path, 'tls')
    await using bench = await setUp({ tlsFolder: folder })
    const refused = await ask(bench.server, { method: 'GET', path: '/ca.pem', headers: { origin: 'https://evil.example' } })
    expect([refused.status, existsSync(folder)]).toEqual([403, false])
    const { status, headers, body } = await ask(bench.server, { method: 'GET', path: '/ca.pem' })
    expect([status, headers['content-type'], new X509Certificate(body).ca]).toEqual([200, 'application/x-x509-ca-cert', true])
    expect(readdirSync(folder)).toHaveLength(2)
    for (const method of ['POST', 'PUT']) expect((await ask(bench.server, { method, path: '/ca.pem' })).status).toBe(405)
  })

  test('a damaged folder is reported once, HTTP works, and TLS works once it is repaired', async () => {
    using place = scratch()
    writeFileSync(join(place.path, 'ca.pem'), 'scribble')
    writeFileSync(join(place.path, 'ca-key.pem'), 'scribble')
    await using bench = await setUp({ tlsFolder: place.path })
    const { server, errors } = bench
    expect(() => server.ca()).toThrow(/ca-key\.pem cannot be used for TLS: it is not a private key\. Nothing was overwritten/)
    const { status, body } = await ask(server, { method: 'GET', path: '/ca.pem' })
    expect([status, body]).toEqual([503, expect.stringMatching(/ca-key\.pem cannot be used for TLS.*--tls-folder\n$/)])
    for (let i = 0; i < 3; i++) await expect(shake(server, { rejectUnauthorized: false })).rejects.toThrow('alert internal error')
    expect(errors).toMatchObject([{ name: 'AuthorityError', message: expect.stringContaining('Nothing was overwritten') }])
    expect((await ask(server, { body: CHAIN_ID })).status).toBe(200)
    expect(readFileSync(join(place.path, 'ca.pem'), 'utf8')).toBe('scribble')
    writeFileSync(join(place.path, 'ca.pem'), '')
    using good = scratch()
    await using other = await setUp({ tlsFolder: good.path })
    const ca = other.server.ca()
    for (const name of ['ca.pem', 'ca-key.pem']) writeFileSync(join(place.path, name), readFileSync(join(good.path, name)))
    expect((await askSecurely(server, { body: CHAIN_ID, ca })).status).toBe(200)
    expect(server.ca()).toBe(ca)
  })

  test('an address other than loopback has its own authority in memory', async () => {
    using place = scratch()
    const tls = tlsOf({ folder: place.path, host: '192.168.1.5' })
    const text = tls.ca()
    expect(readdirSync(place.path)).toEqual([])
    expect(tls.ca()).toBe(text)
    for (const host of ['0.0.0.0', '::', '127.0.0.3', 'localhost', '::1', 'node.localhost']) {
      expect(tlsOf({ folder: place.path, host }).ca()).toBe(readFileSync(join(place.path, 'ca.pem'), 'utf8'))
    }
  })

  test('are renewed while the server runs, and cached for a limited number of names', async () => {
    using place = scratch()
    await using bench = await setUp(PASSING)
    const { errors } = bench
    let nowMs = Date.UTC(2026, 0, 1)
    const admitted: TLSSocket[] = []
    const tls = new Tls({
      folder: place.path,
      host: '127.0.0.1',
      admit: (socket) => admitted.push(socket),
      onError: (error) => errors.push(error),
      now: () => nowMs,
    })
    await using door = await doorTo(tls)
    const shown = async (servername: string) => {
      const socket = connectSecurely({ port: door.port, host: '127.0.0.1', servername, rejectUnauthorized: false })
      await new Promise((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject))
      const certificate = new X509Certificate(socket.getPeerX509Certificate()?.raw ?? '')
      socket.destroy()
      return certificate
    }
    const first = await shown('localhost')
    expect((await shown('localhost')).serialNumber).toBe(first.serialNumber)
    const named = await shown('app.localhost')
    expect(named.checkHost('app.localhost')).toBe('app.localhost')
    expect((await shown('APP.localhost')).serialNumber).toBe(named.serialNumber)
    for (const name of ['evil.example', 'x.localhost.evil.example', '*.localhost', '.localhost', 'a..localhost', 'localhost'])
      expect((await shown(name)).serialNumber, name).toBe(first.serialNumber)
    for (let i = 0; i < TLS_NAMES; i++) await shown(`app${i}.localhost`)
    expect((await shown('app.localhost')).serialNumber).not.toBe(named.serialNumber)
    const ca = tls.ca()
    nowMs += 368 * 86_400_000
    const second = await shown('localhost')
    expect(second.serialNumber).not.toBe(first.serialNumber)
    expect(Date.parse(second.validTo)).toBe(nowMs + 397 * 86_400_000)
    expect(tls.ca()).toBe(ca)
    nowMs += 3_000 * 86_400_000
    const last = await shown('localhost')
    expect(tls.ca()).not.toBe(ca)
    expect(last.verify(new X509Certificate(ca).publicKey)).toBe(true)
    for (const socket of admitted) socket.destroy()
    expect(errors).toEqual([])
  })
})

describe('the wallet over TLS', () => {
  test('a link gives a browser a Secure cookie, and the approval page may approve', async () => {
    await using bench = await setUp(PASSING)
    const { server } = bench
    const ca = server.ca()
    const link = new URL(server.wallet?.link() ?? '')
    const entered = await askSecurely(server, { method: 'GET', path: link.pathname + link.search, ca })
    const cookie = entered.headers['set-cookie']?.[0] ?? ''
    expect([entered.status, entered.headers['location']]).toEqual([303, '/wallet'])
    expect(cookie).toMatch(
      new RegExp(`^__Secure-pocketchain_wallet_${server.port}=[0-9a-f]{64}; Path=/; HttpOnly; SameSite=Strict; Secure$`),
    )
    const page = await askSecurely(server, { method: 'GET', path: '/wallet', ca })
    expect(page.headers['content-security-policy']).toContain(`connect-src 'self' wss://localhost:${server.port};`)
    const approvals = async (origin: string) => {
      const headers = { cookie: cookie.split(';')[0], 'x-pocketchain-page': link.hash.slice('#secret='.length), origin }
      return JSON.parse((await askSecurely(server, { path: '/wallet', body: call('pocketchain_approvals'), headers, ca })).body)
    }
    expect(await approvals(`https://localhost:${server.port}`)).toMatchObject({ result: [] })
    for (const origin of ['https://localhost:1', 'http://localhost:3000']) expect(await approvals(origin)).toMatchObject({ error: {} })
  })

  test('without TLS the cookie has no prefix', async () => {
    await using bench = await setUp(PASSING)
    const link = new URL(bench.server.wallet?.link() ?? '')
    const { headers } = await ask(bench.server, { method: 'GET', path: link.pathname + link.search })
    expect(headers['set-cookie']?.[0]).toMatch(/^pocketchain_wallet_\d+=[0-9a-f]{64}; Path=\/; HttpOnly; SameSite=Strict$/)
  })

  test('the approval page receives questions over its WebSocket', async () => {
    await using bench = await setUp(PASSING)
    const { server } = bench
    await using client = await dial({ wsUrl: `wss://localhost:${server.port}` }, '/wallet', { ca: server.ca() })
    client.send(call('pocketchain_authenticate', [server.wallet?.controlToken, 'http://localhost:3000']))
    expect(await client.next()).toMatchObject({ result: true })
    expect([await client.next(), await client.next()]).toContainEqual(expect.objectContaining({ method: 'pocketchain_approvals' }))
  })
})

// Skipped if openssl is not installed.
describe.skipIf(NO_OPENSSL !== null)('openssl s_client', () => {
  test.each([
    ['localhost', ['-servername', 'localhost', '-verify_hostname', 'localhost'], true],
    ['127.0.0.1', ['-noservername', '-verify_ip', '127.0.0.1'], true],
    ['TLS 1.2', ['-tls1_2', '-servername', 'localhost', '-verify_hostname', 'localhost'], true],
    ['a client that offers HTTP/2 and HTTP/1.1', ['-alpn', 'h2,http/1.1', '-verify_ip', '127.0.0.1'], true],
    ['another name', ['-servername', 'evil.example', '-verify_hostname', 'evil.example'], false],
    ['another address', ['-noservername', '-verify_ip', '10.0.0.1'], false],
    ['TLS 1.1', ['-tls1_1', '-cipher', 'ALL:@SECLEVEL=0'], false],
  ])('%s', async (_, args, isGood) => {
    using place = scratch()
    await using bench = await setUp({ tlsFolder: place.path })
    bench.server.ca()
    const where = ['-connect', `127.0.0.1:${bench.server.port}`, '-CAfile', join(place.path, 'ca.pem'), '-no-CApath']
    const { code, output } = await client(
      ['s_client', '-verify_return_error', '-x509_strict', '-ign_eof', ...where, ...args],
      GOOD.replace('\r\n', '\r\nConnection: close\r\n'),
    )
    expect([code === 0, output.includes('0x7a69')], output).toEqual([isGood, isGood])
    if (isGood) expect(output).toContain('Verify return code: 0 (ok)')
  })

  test.each([true, false])('distinguishes a complete HTTP/1.0 response from an aborted one (complete: %s)', async (isWhole) => {
    await using bench = await setUp(PASSING)
    const chunks = function* () {
      yield Buffer.from('[1,')
      if (!isWhole) throw new Error('broken')
      yield Buffer.from('2]')
    }
    const rpc = { handle: () => ({ body: new JsonStream(chunks()) }) }
    const server = await Server.listen({ ...bench.node, rpc, onError: (error) => bench.errors.push(error) }, { port: 0, ...PASSING })
    const { output } = await client(['s_client', '-quiet', '-connect', `127.0.0.1:${server.port}`], GOOD.replace('HTTP/1.1', 'HTTP/1.0'))
    expect(output).toContain('200 OK')
    expect([output.includes('[1,2]'), output.includes('unexpected eof')]).toEqual([isWhole, !isWhole])
    expect(bench.errors).toMatchObject(isWhole ? [] : [{ message: 'broken' }])
    await server.close()
  })
})

function client(args: readonly string[], input: string): Promise<{ readonly code: number | null; readonly output: string }> {
  const child = spawn('openssl', args)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  child.stdin.on('error', () => undefined)
  child.stdin.write(input)
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, output })))
}

interface Listening extends AsyncDisposable {
  readonly port: number
}

function listening(meet: (socket: Socket) => void): Promise<Listening> {
  const server = createServer(meet)
  const end = () => new Promise<void>((resolve) => server.close(() => resolve()))
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo // listens on TCP
      resolve({ port, [Symbol.asyncDispose]: end })
    })
  })
}

function doorTo(tls: Tls): Promise<Listening> {
  return listening((socket) => tls.accept(socket))
}

function tlsOf(options: Partial<TlsOptions>): Tls {
  const fail = (error: unknown) => {
    throw error
  }
  return new Tls({ host: '127.0.0.1', admit: fail, onError: fail, ...options })
}

/** The ClientHello of Node's client. */
async function greetingOf(): Promise<Buffer> {
  let hear: (bytes: Buffer) => void = () => undefined
  const heard = new Promise<Buffer>((resolve) => (hear = resolve))
  await using ear = await listening((socket) => {
    socket.once('data', hear)
    socket.on('error', () => undefined)
  })
  const client = connectSecurely({ port: ear.port, host: '127.0.0.1', servername: 'localhost', rejectUnauthorized: false })
  client.on('error', () => undefined)
  const bytes = await heard
  client.destroy()
  return bytes
}
