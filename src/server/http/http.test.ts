import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { describe, expect, test } from 'vitest'
import { Address, Hex, Transaction } from '../../eth/index.ts'
import { ask, call, raw, setUp } from '../bench.fixture.ts'
import { DEDICATED_BODY_BYTES, PUBLIC_BODY_BYTES } from '../limits.ts'

const TRANSFER = { from: '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266', to: '0x70997970c51812dc3a010c7d01b50e0d17dc79c8', value: '0x1' }
const CHAIN_ID = { jsonrpc: '2.0', id: 1, result: '0x7a69' }

describe('HTTP', () => {
  test('answers a call with its exact length', async () => {
    await using bench = await setUp()
    const { status, headers, body } = await ask(bench.server, { body: call('eth_chainId') })
    expect(status).toBe(200)
    expect(JSON.parse(body)).toEqual(CHAIN_ID)
    expect(headers['content-type']).toBe('application/json')
    expect(headers['content-length']).toBe(String(Buffer.byteLength(body)))
  })

  test.each([
    ['application/json', 200],
    ['application/json; charset=utf-8', 200],
    ['Application/JSON', 200],
    ['application/json-rpc', 200],
    ['application/jsonrequest', 200],
    ['text/plain', 415],
    ['application/x-www-form-urlencoded', 415],
    ['application/jsonx', 415],
    ['', 415],
  ])('content type %j: %i', async (type, wanted) => {
    await using bench = await setUp()
    const { status, body } = await ask(bench.server, { body: call('eth_chainId'), headers: { 'content-type': type } })
    expect(status).toBe(wanted)
    if (wanted === 415) expect(body).toBe('invalid content type, only application/json is supported\n')
  })

  test.each([
    ['GET', '/', 200],
    ['GET', '/?probe=1', 200],
    ['GET', '/public', 200],
    ['GET', '/rpc', 200],
    ['HEAD', '/', 200],
    ['OPTIONS', '/', 200],
    ['PUT', '/', 405],
    ['DELETE', '/', 405],
    ['PATCH', '/public', 405],
    ['GET', '/nowhere', 404],
    ['POST', '/nowhere', 404],
    ['POST', '/health', 405],
    ['POST', '/flashblocks', 405],
    ['GET', '/flashblocks', 426],
    ['GET', '/health', 200],
    ['GET', '/healthz', 200],
    ['GET', '/livez', 200],
    ['GET', '/readyz', 200],
    ['HEAD', '/readyz', 200],
  ])('%s %s: %i', async (method, path, wanted) => {
    await using bench = await setUp()
    const { status, headers, body } = await ask(bench.server, { method, path })
    expect(status).toBe(wanted)
    if (method !== 'HEAD') expect(headers['content-length']).toBe(String(Buffer.byteLength(body)))
    if (wanted === 405) expect(headers.allow).toContain('GET')
  })

  test('serves JSON-RPC at /, /rpc and /public whatever the query, with and without a slash at the end', async () => {
    await using bench = await setUp()
    const absolute = ['http://localhost/', 'http://localhost:8545/public?x', 'HTTP://localhost', 'http://localhost?x']
    for (const path of ['/', '/?key=1', '/rpc', '/rpc/', '/public', '/public/', '/public?x', ...absolute]) {
      expect(JSON.parse((await ask(bench.server, { path, body: call('eth_chainId') })).body)).toEqual(CHAIN_ID)
    }
  })

  test('answers notifications with an empty body', async () => {
    await using bench = await setUp()
    const notification = '{"jsonrpc":"2.0","method":"eth_chainId","params":[]}'
    for (const body of [notification, `[${notification},${notification}]`]) {
      const answer = await ask(bench.server, { body })
      expect([answer.status, answer.body, answer.headers['content-length']]).toEqual([200, '', '0'])
    }
  })

  test.each([
    ['/', DEDICATED_BODY_BYTES],
    ['/public', PUBLIC_BODY_BYTES],
  ])('accepts a body up to the limit at %s, with and without Content-Length', async (path, limitBytes) => {
    await using bench = await setUp()
    const fits = call('eth_chainId').padEnd(limitBytes)
    expect((await ask(bench.server, { path, body: fits })).status).toBe(200)
    const announced = await ask(bench.server, { path, body: `${fits} ` })
    expect([announced.status, announced.body]).toEqual([413, `request body too large: at most ${limitBytes} bytes\n`])
    const chunked = await ask(bench.server, { path, body: `${fits} `, headers: { 'transfer-encoding': 'chunked' } })
    expect(chunked.status).toBe(413)
  })

  test('rejects compressed bodies', async () => {
    await using bench = await setUp()
    const { status } = await ask(bench.server, { body: call('eth_chainId'), headers: { 'content-encoding': 'gzip' } })
    expect(status).toBe(415)
  })

  test('rejects eth_getBlockReceipts with 403 on the public tier alone, the error in the body', async () => {
    await using bench = await setUp()
    const receipts = call('eth_getBlockReceipts', ['latest'], 'seven')
    const refused = await ask(bench.server, { path: '/public', body: receipts })
    expect(refused.status).toBe(403)
    expect(JSON.parse(refused.body)).toMatchObject({ id: 'seven', error: { message: expect.stringContaining('eth_getBlockReceipts') } })
    expect((await ask(bench.server, { path: '/public', body: `[${receipts}]` })).status).toBe(200)
    expect((await ask(bench.server, { body: receipts })).status).toBe(200)
  })

  test('hides the dev accounts and dev methods on the public tier', async () => {
    await using bench = await setUp()
    for (const method of ['eth_accounts', 'eth_sendTransaction', 'evm_mine', 'anvil_setBalance', 'debug_getRawBlock']) {
      const { body } = await ask(bench.server, { path: '/public', body: call(method) })
      expect(JSON.parse(body)).toMatchObject({ error: { code: -32601 } })
    }
  })

  test('keeps a connection for the next request', async () => {
    await using bench = await setUp()
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const ports = new Set<number>()
    for (let i = 0; i < 3; i++) {
      const port = await new Promise<number>((resolve, reject) => {
        const asking = request(
          { host: bench.server.host, port: bench.server.port, method: 'POST', agent, headers: { 'content-type': 'application/json' } },
          (answer) => {
            answer.resume().on('end', () => resolve(asking.socket?.localPort ?? 0))
          },
        )
        asking.on('error', reject).end(call('eth_chainId'))
      })
      ports.add(port)
    }
    agent.destroy()
    expect(ports.size).toBe(1)
  })

  test('continues after a client that disconnects in the middle of its body', async () => {
    await using bench = await setUp()
    const leaving = request({
      host: bench.server.host,
      port: bench.server.port,
      method: 'POST',
      headers: { 'content-type': 'application/json', expect: '100-continue' },
    })
    leaving.on('error', () => undefined)
    leaving.flushHeaders()
    await once(leaving, 'continue')
    leaving.write('{"json')
    await new Promise((resolve) => leaving.on('close', resolve).destroy())
    expect(JSON.parse((await ask(bench.server, { body: call('eth_chainId') })).body)).toEqual(CHAIN_ID)
    expect(bench.errors).toEqual([])
  })

  test('serves a request with an Upgrade to another protocol, as the first one of a Java client has', async () => {
    await using bench = await setUp()
    const body = call('eth_chainId')
    const answer = await raw(
      bench.server,
      'POST / HTTP/1.1\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAAB\r\nHost: localhost\r\n' +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}` +
        'GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
    )
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200'])
    expect(answer).toContain(JSON.stringify(CHAIN_ID))
  })

  test('answers 500 with -32603 if the handler throws, and reports the error', async () => {
    await using bench = await setUp()
    const { Server } = await import('../index.ts')
    const errors: unknown[] = []
    const broken = await Server.listen(
      {
        ...bench.node,
        rpc: { handle: () => Promise.reject(new Error('boom')) },
        onError: (error) => errors.push(error),
      },
      { port: 0 },
    )
    const answers = [await ask(broken, { body: call('eth_chainId') }), await ask(broken, { body: call('eth_chainId') })]
    await broken.close()
    expect(answers.map(({ status }) => status)).toEqual([500, 500])
    expect(JSON.parse(answers[0]?.body ?? '')).toEqual({
      jsonrpc: '2.0',
      id: null,
      error: { code: -32603, message: 'method handler crashed' },
    })
    expect(errors).toEqual([new Error('boom'), new Error('boom')])
  })
})

describe('access to the node', () => {
  const PAGES = [
    ['none', undefined, true],
    ['localhost', 'http://localhost:3000', true],
    ['a name below localhost', 'https://app.localhost', true],
    ['127.0.0.1', 'http://127.0.0.1:5173', true],
    ['127.1.2.3', 'http://127.1.2.3', true],
    ['::1', 'http://[::1]:3000', true],
    ['a wallet extension', 'chrome-extension://nkbihfbeogaeaoehlefnkodbefgpgknn', true],
    ['a foreign page', 'https://evil.example', false],
    ['a page that looks like localhost', 'http://localhost.evil.example', false],
    ['a page that looks like 127.0.0.1', 'http://127.0.0.1.evil.example', false],
    ['a file or sandboxed frame', 'null', false],
    ['noise', 'garbage', false],
  ] as const

  test.each(PAGES)('by Origin: %s', async (_, origin, mayUse) => {
    await using bench = await setUp({}, { cadence: 'instant' })
    const headers = origin === undefined ? {} : { origin }
    const answer = await ask(bench.server, { headers, body: call('eth_sendTransaction', [TRANSFER]) })
    expect(answer.status).toBe(mayUse ? 200 : 403)
    expect(answer.headers['access-control-allow-origin']).toBe(mayUse ? origin : undefined)
    // Refused before anything was executed.
    expect(bench.node.chain.head.view.head.header.number).toBe(mayUse ? 1 : 0)
  })

  test.each([
    ['localhost', true],
    ['LOCALHOST:8545', true],
    ['app.localhost:8545', true],
    ['127.0.0.1', true],
    ['127.1.2.3:8545', true],
    ['[::1]:8545', true],
    ['evil:8545', false],
    ['pocketchain:8545', false],
    ['host.docker.internal:8545', false],
    ['192.168.1.7:8545', false],
    ['0.0.0.0:8545', false],
    ['evil.example', false],
    ['evil.example:8545', false],
    ['localhost.evil.example', false],
    ['127.0.0.1.nip.io:8545', false],
    ['evil.example.:8545', false],
  ])('by Host, with an Origin: %s', async (host, mayUse) => {
    for (const rawHttp of [true, false]) {
      await using bench = await setUp({ rawHttp }, { cadence: 'instant' })
      for (const path of ['/', '/public']) {
        const body = path === '/' ? call('eth_sendTransaction', [TRANSFER]) : call('eth_chainId')
        const { status, body: text } = await ask(bench.server, { path, headers: { host, origin: `http://${host}` }, body })
        expect([path, status]).toEqual([path, mayUse ? 200 : 403])
        if (!mayUse) expect(text).toContain('--allow-host')
      }
      // Refused before anything was executed.
      expect(bench.node.chain.head.view.head.header.number).toBe(mayUse ? 1 : 0)
    }
  })

  test.each(['pocketchain:8545', 'host.docker.internal:8545', '192.168.1.7:8545', 'node.example'])(
    'by Host, without an Origin, as programs ask: %s',
    async (host) => {
      for (const rawHttp of [true, false]) {
        await using bench = await setUp({ rawHttp })
        for (const path of ['/', '/public']) {
          expect((await ask(bench.server, { path, headers: { host }, body: call('eth_chainId') })).status).toBe(200)
        }
        expect((await ask(bench.server, { method: 'GET', path: '/health', headers: { host } })).status).toBe(200)
      }
    },
  )

  test.each(['a b', 'a%zz', '@', 'a:99999'])('an invalid Host header is rejected in any request: %j', async (host) => {
    await using bench = await setUp()
    expect((await ask(bench.server, { headers: { host }, body: call('eth_chainId') })).status).toBe(403)
    expect((await ask(bench.server, { method: 'GET', path: '/wallet', headers: { host } })).status).toBe(403)
  })

  test('admits the host that it listens on without an option', async () => {
    await using bench = await setUp({ host: '0.0.0.0' })
    const headers = { host: '0.0.0.0:8545', origin: 'http://0.0.0.0:8545' }
    expect((await ask(bench.server, { headers, body: call('eth_chainId') })).status).toBe(200)
  })

  test('admits configured origins and hosts', async () => {
    await using bench = await setUp({ allowOrigins: ['https://app.example/'], allowHosts: ['node.example'] })
    const admitted = await ask(bench.server, {
      headers: { origin: 'https://app.example', host: 'node.example' },
      body: call('eth_chainId'),
    })
    expect([admitted.status, admitted.headers['access-control-allow-origin']]).toEqual([200, 'https://app.example'])
    expect((await ask(bench.server, { headers: { origin: 'https://other.example' }, body: call('eth_chainId') })).status).toBe(403)
  })

  test.each(['node.example', 'Node.Example:8545', 'node.example:1'])(
    'lets in the host that was configured as %s, at any port',
    async (name) => {
      await using bench = await setUp({ allowHosts: [name] })
      for (const [host, status] of [
        ['node.example', 200],
        ['node.example:8545', 200],
        ['other.example:8545', 403],
      ] as const) {
        const headers = { host, origin: `http://${host}` }
        expect((await ask(bench.server, { headers, body: call('eth_chainId') })).status).toBe(status)
      }
    },
  )

  test('* admits every origin but no foreign Host', async () => {
    await using bench = await setUp({ allowOrigins: ['*'] })
    expect((await ask(bench.server, { headers: { origin: 'https://any.example' }, body: call('eth_chainId') })).status).toBe(200)
    const headers = { host: 'evil.example', origin: 'https://any.example' }
    expect((await ask(bench.server, { headers, body: call('eth_chainId') })).status).toBe(403)
  })

  test('answers the preflight of admitted pages only', async () => {
    await using bench = await setUp()
    const preflight = {
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'content-type,x-custom',
      'access-control-request-private-network': 'true',
    }
    const admitted = await ask(bench.server, { method: 'OPTIONS', headers: { ...preflight, origin: 'http://localhost:3000' } })
    expect(admitted.status).toBe(200)
    expect(admitted.headers).toMatchObject({
      'access-control-allow-origin': 'http://localhost:3000',
      'access-control-allow-methods': 'GET, POST, OPTIONS',
      'access-control-allow-headers': 'content-type,x-custom',
      'access-control-allow-private-network': 'true',
      vary: 'origin',
    })
    const refused = await ask(bench.server, { method: 'OPTIONS', headers: { ...preflight, origin: 'https://evil.example' } })
    expect(refused.status).toBe(403)
    expect(refused.headers['access-control-allow-origin']).toBeUndefined()
  })

  test('without CORS only pages of the node itself are admitted', async () => {
    await using bench = await setUp({ cors: false })
    const own = await ask(bench.server, { headers: { origin: bench.server.url }, body: call('eth_chainId') })
    expect([own.status, own.headers['access-control-allow-origin']]).toEqual([200, undefined])
    expect((await ask(bench.server, { headers: { origin: 'http://localhost:3000' }, body: call('eth_chainId') })).status).toBe(403)
  })
})

describe('probes', () => {
  test('return the head and its age', async () => {
    await using bench = await setUp()
    await bench.clock.advance(2_500)
    const { body } = await ask(bench.server, { method: 'GET', path: '/health' })
    expect(JSON.parse(body)).toMatchObject({
      client: bench.node.clientVersion,
      ready: true,
      chainId: 31_337,
      cadence: 'preconf',
      head: { number: bench.node.chain.head.view.head.header.number, hash: bench.node.chain.head.view.head.hash },
      pending: { flashblockIndex: expect.any(Number) },
      flashblockAgeMs: expect.any(Number),
      instanceId: bench.node.chain.instanceId,
    })
  })

  test('readyz and health turn to 503 when flashblocks are late, livez does not', async () => {
    await using bench = await setUp()
    await bench.node.chain.stop()
    await bench.clock.advance(5_000)
    const answers = await Promise.all(
      ['/readyz', '/health', '/healthz', '/livez'].map((path) => ask(bench.server, { method: 'GET', path })),
    )
    expect(answers.map(({ status }) => status)).toEqual([503, 503, 503, 200])
    expect(JSON.parse(answers[0]?.body ?? '')).toMatchObject({ ready: false, reason: expect.stringContaining('no flashblock for') })
  })

  test.each(['instant', 'manual'] as const)('%s is never late: nothing is due', async (cadence) => {
    await using bench = await setUp({}, { cadence })
    await bench.clock.advance(60_000)
    expect((await ask(bench.server, { method: 'GET', path: '/readyz' })).status).toBe(200)
  })

  test('returns HTML to browsers and JSON to other clients', async () => {
    await using bench = await setUp()
    const page = await ask(bench.server, { method: 'GET', headers: { accept: 'text/html,application/xhtml+xml' } })
    expect([page.headers['content-type'], page.body.slice(0, 15)]).toEqual(['text/html; charset=utf-8', '<!doctype html>'])
    expect(JSON.parse((await ask(bench.server, { method: 'GET' })).body)).toMatchObject({ chainId: 31_337 })
  })
})

describe('the port', () => {
  test('that is in use is named in the error', async () => {
    await using bench = await setUp()
    const { ListenError } = await import('../index.ts')
    const second = bench.node.listen({ port: bench.server.port })
    await expect(second).rejects.toThrow(ListenError)
    await expect(second).rejects.toThrow(`port ${bench.server.port} on 127.0.0.1 is in use`)
  })

  test('is free again after close, which can be called twice', async () => {
    await using bench = await setUp()
    await ask(bench.server, { body: call('eth_chainId') })
    await Promise.all([bench.server.close(), bench.server.close()])
    const again = await bench.node.listen({ port: bench.server.port })
    expect(again.port).toBe(bench.server.port)
  })

  test('is not opened after the node is closed, and is closed with it while it is opening', async () => {
    const bench = await setUp()
    const opening = bench.node.listen()
    await bench.node.close()
    const { url } = await opening
    await expect(fetch(`${url}/livez`)).rejects.toThrow('fetch failed')
    await expect(bench.node.listen()).rejects.toThrow('the node is closed')
    await bench.node.close()
  })

  test('lets a running request finish before it closes', async () => {
    await using bench = await setUp({}, { cadence: 'manual' })
    const key = bench.node.accounts[0]?.privateKey ?? new Uint8Array(32)
    const tx = Transaction.sign({ type: 2, chainId: 31_337, nonce: 0n, to: Address.zero, gas: 21_000n, maxFeePerGas: 10n ** 10n }, key)
    const waiting = ask(bench.server, { body: call('eth_sendRawTransactionSync', [Hex.fromBytes(tx.raw)]) })
    while (!bench.node.chain.pool.has(tx.hash)) await new Promise((resolve) => setImmediate(resolve))
    const closing = bench.server.close()
    await bench.node.chain.mine(1)
    expect(JSON.parse((await waiting).body)).toMatchObject({ result: { transactionHash: tx.hash } })
    await closing
  })
})
