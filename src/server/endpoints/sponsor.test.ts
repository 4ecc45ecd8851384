import { request } from 'node:http'
import { describe, expect, test } from 'vitest'
import { ask, call, dial, setUp, until } from '../bench.fixture.ts'
import type { TestRequest, Bench, Response } from '../bench.fixture.ts'
import { Server } from '../index.ts'
import type { ListenOptions, PaymasterApi } from '../index.ts'
import { PAYMASTER_BODY_BYTES } from '../limits.ts'
import { askSecurely } from '../tls/tls.fixture.ts'

const STUB = call('pm_getPaymasterStubData', [])
const KEY = 'a-secret-api-key'

interface ReceivedRequest {
  readonly body: string
  readonly apiKey: string | null
  readonly signal: AbortSignal | undefined
}

/** A server with a sponsor that answers by a function and records its requests; for tests of the HTTP side only. */
interface SponsorServer extends AsyncDisposable {
  readonly bench: Bench
  readonly server: Server
  readonly received: ReceivedRequest[]
  readonly errors: unknown[]
}

type Handle = PaymasterApi['handle']

async function startSponsor(
  handle: Handle = async () => ({ status: 200, body: '"sponsored"' }),
  listen: Partial<ListenOptions> = {},
): Promise<SponsorServer> {
  const bench = await setUp()
  const received: ReceivedRequest[] = []
  const errors: unknown[] = []
  const paymaster: PaymasterApi = {
    handle: (body, caller) => {
      received.push({ body: Buffer.from(body).toString(), apiKey: caller.apiKey, signal: caller.signal })
      return handle(body, caller)
    },
  }
  const rpc = { handle: () => ({ body: '"node"' }) }
  const server = await Server.listen(
    { ...bench.node, rpc, paymaster, onError: (error) => errors.push(error) },
    { port: 0, tlsFolder: null, ...listen },
  )
  const end = async () => {
    await server.close()
    await bench.node.close()
  }
  return { bench, server, received, errors, [Symbol.asyncDispose]: end }
}

describe.each(['/paymaster', '/paymaster/rpc'])('POST %s', (path) => {
  test('passes the body on unchanged, and returns the answer', async () => {
    await using at = await startSponsor()
    const { status, headers, body } = await ask(at.server, { path, body: STUB })
    expect([status, body, headers['content-type'], headers['content-length']]).toEqual([200, '"sponsored"', 'application/json', '11'])
    expect(at.received).toMatchObject([{ body: STUB, apiKey: null }])
    expect((await ask(at.server, { path: `${path}/`, body: STUB })).status).toBe(200)
    expect((await ask(at.server, { path: `${path}?policy=1`, body: STUB })).status).toBe(200)
  })

  test('does the same over TLS', async () => {
    await using at = await startSponsor()
    const { status, body } = await askSecurely(at.server, { path: `${path}?apikey=${KEY}`, body: STUB, ca: at.server.ca() })
    expect([status, body]).toEqual([200, '"sponsored"'])
    expect(at.received).toMatchObject([{ body: STUB, apiKey: KEY }])
  })

  test.each<readonly [name: string, input: TestRequest, key: string | null]>([
    ['Authorization', { headers: { authorization: `Bearer ${KEY}` } }, KEY],
    ['Authorization, odd', { headers: { authorization: `bearer   ${KEY} ` } }, KEY],
    ['x-api-key', { headers: { 'x-api-key': KEY } }, KEY],
    ['?apikey=', { path: `${path}?apikey=${KEY}` }, KEY],
    ['?apikey= among others, encoded', { path: `${path}/?a=1&apikey=a%2Bb%20c&b=2` }, 'a+b c'],
    ['all three: the first counts', { headers: { authorization: `Bearer ${KEY}`, 'x-api-key': 'b' }, path: `${path}?apikey=c` }, KEY],
    ['two: the header counts', { headers: { 'x-api-key': KEY }, path: `${path}?apikey=c` }, KEY],
    ['another kind of Authorization', { headers: { authorization: 'Basic YTpi' }, path: `${path}?apikey=c` }, 'c'],
    ['empty ones', { headers: { authorization: 'Bearer ', 'x-api-key': '' }, path: `${path}?apikey=` }, null],
    ['none', {}, null],
  ])('takes an API key: %s', async (_, input, key) => {
    await using at = await startSponsor()
    expect((await ask(at.server, { path, body: STUB, ...input })).status).toBe(200)
    expect(at.received.map(({ apiKey }) => apiKey)).toEqual([key])
  })

  test.each<readonly [name: string, wanted: number, input: TestRequest]>([
    ['another media type', 415, { body: STUB, headers: { 'content-type': 'text/plain' } }],
    ['compression', 415, { body: STUB, headers: { 'content-encoding': 'gzip' } }],
    ['a body over the limit', 413, { body: STUB.padEnd(PAYMASTER_BODY_BYTES + 1) }],
    [
      'one whose length is not announced',
      413,
      { body: STUB.padEnd(PAYMASTER_BODY_BYTES + 1), headers: { 'transfer-encoding': 'chunked' } },
    ],
    ['PUT', 405, { method: 'PUT', body: STUB }],
    ['DELETE', 405, { method: 'DELETE' }],
    ['a foreign page', 403, { body: STUB, headers: { origin: 'https://evil.example' } }],
    ['a name that was pointed here', 403, { body: STUB, headers: { host: 'evil.example', origin: 'http://evil.example' } }],
    ['a name without a dot that was pointed here', 403, { body: STUB, headers: { host: 'evil:8545', origin: 'http://evil:8545' } }],
  ])('%s: %i, and the sponsor receives no request', async (_, wanted, input) => {
    await using at = await startSponsor()
    const { status, body, headers } = await ask(at.server, { path: `${path}?apikey=${KEY}`, ...input })
    expect(status).toBe(wanted)
    expect(body).not.toContain(KEY)
    if (wanted === 405) expect(headers.allow).toContain('POST')
    expect([at.received, at.errors]).toEqual([[], []])
  })

  test('accepts a body of exactly the limit', async () => {
    await using at = await startSponsor()
    expect((await ask(at.server, { path, body: STUB.padEnd(PAYMASTER_BODY_BYTES) })).status).toBe(200)
  })

  test('a program may use any Host', async () => {
    await using at = await startSponsor()
    expect((await ask(at.server, { path, body: STUB, headers: { host: 'pocketchain:8545' } })).status).toBe(200)
  })

  test('describes itself on GET', async () => {
    await using at = await startSponsor()
    const { status, headers, body } = await ask(at.server, { method: 'GET', path })
    expect([status, headers['content-type'], body]).toEqual([
      200,
      'text/plain; charset=utf-8',
      expect.stringContaining('pm_getPaymasterData'),
    ])
    expect((await ask(at.server, { method: 'HEAD', path })).status).toBe(200)
  })

  test('pages on loopback may read the answer and send an API key', async () => {
    await using at = await startSponsor()
    const origin = 'http://localhost:3000'
    const answered = await ask(at.server, { path, body: STUB, headers: { origin } })
    expect([answered.headers['access-control-allow-origin'], answered.headers['vary']]).toEqual([origin, 'origin'])
    const input = {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type,x-api-key',
    }
    const { status, headers } = await ask(at.server, { method: 'OPTIONS', path, headers: input })
    expect([status, headers['access-control-allow-headers']]).toEqual([200, 'authorization,content-type,x-api-key'])
    const own = { origin: `https://127.0.0.1:${at.server.port}`, host: `127.0.0.1:${at.server.port}` }
    expect((await askSecurely(at.server, { path, body: STUB, headers: own, ca: at.server.ca() })).status).toBe(200)
  })

  test('passes on the status of the sponsor, such as that of a simulated outage', async () => {
    await using at = await startSponsor(async () => ({ status: 500, body: '{"error":"down"}' }))
    const { status, body, headers } = await ask(at.server, { path, body: STUB })
    expect([status, body, headers['content-type']]).toEqual([500, '{"error":"down"}', 'application/json'])
    expect(at.errors).toEqual([])
  })

  test('answers 500 without the API key if the sponsor throws', async () => {
    await using at = await startSponsor(() => Promise.reject(new Error('broken inside')))
    const { status, body } = await ask(at.server, { path: `${path}?apikey=${KEY}`, body: STUB, headers: { 'x-api-key': KEY } })
    expect([status, JSON.parse(body)]).toEqual([500, expect.objectContaining({ error: expect.objectContaining({ code: -32603 }) })])
    expect(at.errors).toMatchObject([{ message: 'broken inside' }])
    expect(body + String(at.errors[0])).not.toContain(KEY)
    expect((await ask(at.server, { body: STUB })).body).toBe('"node"')
  })

  test('aborts the request to the sponsor when the client disconnects', async () => {
    await using at = await startSponsor(
      (_, { signal }) => new Promise((resolve) => signal?.addEventListener('abort', () => resolve({ status: 200, body: '' }))),
    )
    const asking = request({
      host: at.server.host,
      port: at.server.port,
      path,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
    })
    asking.on('error', () => undefined)
    asking.end(STUB)
    await until(() => at.received.length === 1)
    expect(at.received[0]?.signal?.aborted).toBe(false)
    asking.destroy()
    await until(() => at.received[0]?.signal?.aborted === true)
    expect(at.errors).toEqual([])
  })
})

describe('the paths of the sponsor', () => {
  test.each([
    ['POST', '/paymaster/else', 404],
    ['GET', '/paymaster/else', 404],
    ['POST', '/paymasters', 404],
    ['POST', '/sponsor', 405],
    ['PUT', '/sponsor', 405],
    ['GET', '/sponsor/else', 404],
    ['POST', '/sponsor/app.js', 405],
  ])('%s %s: %i', async (method, path, wanted) => {
    await using at = await startSponsor()
    const { status, body } = await ask(at.server, { method, path: `${path}?apikey=${KEY}`, ...(method === 'POST' ? { body: STUB } : {}) })
    expect([status, body.includes(KEY)]).toEqual([wanted, false])
    expect(at.received).toEqual([])
  })

  test('are 404 without a sponsor', async () => {
    await using bench = await setUp({ tlsFolder: null })
    const server = await Server.listen(
      { ...bench.node, rpc: { handle: () => ({ body: '1' }) }, paymaster: null, onError: () => undefined },
      { port: 0 },
    )
    for (const path of ['/paymaster', '/paymaster/rpc', '/sponsor', '/sponsor/app.js']) {
      expect((await ask(server, { path, body: STUB })).status).toBe(404)
      expect((await ask(server, { path, method: 'GET' })).status).toBe(404)
    }
    const front = await ask(server, { method: 'GET', headers: { accept: 'text/html' } })
    expect(front.body).toContain('data-features="node tls"')
    await server.close()
  })

  test('the explorer receives the names of the parts that exist', async () => {
    await using at = await startSponsor()
    const { body } = await ask(at.server, { method: 'GET', headers: { accept: 'text/html' } })
    expect(body).toContain('data-features="node sponsor tls"')
  })

  test.each([
    ['/sponsor', 'text/html; charset=utf-8'],
    ['/sponsor/app.js', 'text/javascript; charset=utf-8'],
    ['/sponsor/app.css', 'text/css; charset=utf-8'],
  ])('%s is served, and loads nothing from elsewhere', async (path, type) => {
    await using at = await startSponsor()
    const { status, headers } = await ask(at.server, { method: 'GET', path, headers: { host: `localhost:${at.server.port}` } })
    expect([status, headers['content-type'], headers['cache-control'], headers['cross-origin-resource-policy']]).toEqual([
      200,
      type,
      'no-store',
      'same-origin',
    ])
    if (path !== '/sponsor') return
    const policies = async (response: Promise<Response>) => String((await response).headers['content-security-policy'])
    expect(headers['x-frame-options']).toBe('DENY')
    expect(String(headers['content-security-policy'])).toContain(`connect-src 'self' ws://localhost:${at.server.port};`)
    const secure = await policies(askSecurely(at.server, { method: 'GET', path, ca: at.server.ca() }))
    expect(secure).toContain(`connect-src 'self' wss://localhost:${at.server.port};`)
    for (const word of ["default-src 'none'", "frame-ancestors 'none'", "script-src 'self';"]) expect(secure).toContain(word)
  })
})

describe('methods that change the sponsor', () => {
  const SITE = 'http://localhost:3000'
  const DEPOSIT = ['pocketchain_sponsorDeposit', ['0.8', '0xde0b6b3a7640000']] as const
  const CHANGES: readonly (readonly [method: string, params: readonly unknown[]])[] = [
    ['pocketchain_sponsorFault', [{ kind: 'refuse' }]],
    ['pocketchain_sponsorFault', [null]],
    ['pocketchain_sponsorPolicies', [[{ name: 'mine' }]]],
    ['pocketchain_sponsorPolicies', [[]]],
    DEPOSIT,
  ]
  const READS = ['pocketchain_sponsorStatus', 'pocketchain_sponsorLedger', 'pocketchain_sponsorPolicies']
  type Credential = Readonly<Record<string, string>>

  /** A node with a manual clock, whose sponsor has a policy. */
  async function node(listen: Partial<ListenOptions> = {}, wallet = true): Promise<Bench> {
    const sponsor = { policies: [{ name: 'coffee' }] }
    return setUp(listen, { cadence: 'instant', sponsor, ...(wallet ? {} : { wallet: false }) })
  }

  async function request(server: Server, body: string, headers: Credential): Promise<unknown> {
    return JSON.parse((await ask(server, { body, headers })).body)
  }

  async function state({ node: { request: input, chain } }: Bench): Promise<unknown> {
    return [await input({ method: 'pocketchain_sponsorStatus' }), chain.head.view.head.header.number]
  }

  /** Returns the headers that a browser sends from `/sponsor` after following a link to it. */
  async function openSession(server: Server): Promise<Credential> {
    const link = new URL(server.sponsor?.link() ?? '')
    const { status, headers } = await ask(server, { method: 'GET', path: link.pathname + link.search })
    expect([status, headers.location]).toEqual([303, '/sponsor'])
    return {
      origin: server.url,
      cookie: headers['set-cookie']?.[0]?.split(';')[0] ?? '',
      'x-pocketchain-page': link.hash.slice('#secret='.length),
    }
  }

  test.each([true, false])('require the control credential from a page (rawHttp: %s)', async (rawHttp) => {
    await using bench = await node({ rawHttp })
    const { server } = bench
    const own = await openSession(server)
    const other = await openSession(server)
    const before = await state(bench)
    const refused: readonly Credential[] = [
      { origin: SITE },
      { origin: 'chrome-extension://abcdefghijklmnopabcdefghijklmnop' },
      { ...own, origin: SITE },
      { origin: server.url },
      { origin: server.url, cookie: own['cookie'] ?? '' },
      { ...own, 'x-pocketchain-page': other['x-pocketchain-page'] ?? '' },
      { ...own, 'x-pocketchain-page': '0'.repeat(64) },
      { origin: SITE, authorization: `Bearer ${'0'.repeat(64)}` },
    ]
    for (const headers of refused) {
      for (const [method, params] of CHANGES) {
        const sentence = {
          code: 4100,
          message: expect.stringMatching(new RegExp(`^${method} requires the control credential.*open a link to /sponsor`)),
        }
        expect(await request(server, call(method, params), headers)).toMatchObject({ error: sentence })
        expect(await request(server, `[${call(method, params)}]`, headers)).toMatchObject([{ error: sentence }])
      }
      await using socket = await dial(server, '/', { headers })
      for (const [method, params] of CHANGES) {
        socket.send(call(method, params))
        expect(await socket.next()).toMatchObject({ error: { code: 4100 } })
      }
    }
    expect(await state(bench)).toEqual(before)
  })

  test.each([true, false])('are allowed for a page of the server, the control token and programs (rawHttp: %s)', async (rawHttp) => {
    await using bench = await node({ rawHttp })
    const { server } = bench
    const token = { authorization: `Bearer ${server.sponsor?.controlToken}` }
    for (const headers of [await openSession(server), { origin: SITE, ...token }, {}]) {
      expect(await request(server, call('pocketchain_sponsorFault', [{ kind: 'refuse' }]), headers)).toMatchObject({
        result: { kind: 'refuse' },
      })
      expect(await request(server, call('pocketchain_sponsorFault', [null]), headers)).toMatchObject({ result: null })
      expect(await request(server, call('pocketchain_sponsorPolicies', [[{ name: 'mine' }]]), headers)).toMatchObject({
        result: [{ name: 'mine' }],
      })
      expect(await request(server, call(...DEPOSIT), headers)).toMatchObject({ result: expect.stringMatching(/^0x[0-9a-f]{64}$/) })
    }
    await using socket = await dial(server, '/', { origin: SITE, headers: token })
    socket.send(call('pocketchain_sponsorFault', [null]))
    expect(await socket.next()).toMatchObject({ result: null })
  })

  test('reading requires no credential', async () => {
    await using bench = await node()
    for (const method of READS) {
      for (const params of [[], [null]].slice(0, method.endsWith('Status') ? 1 : 2)) {
        expect(await request(bench.server, call(method, params), { origin: SITE })).not.toHaveProperty('error')
      }
    }
  })

  test('the same link and session work without a wallet', async () => {
    await using bench = await node({}, false)
    const { server } = bench
    expect(server.wallet).toBe(null)
    const own = await openSession(server)
    const isControl = async (headers: Credential) => JSON.parse((await ask(server, { path: '/session', headers })).body)
    expect(await isControl(own)).toEqual({ isControl: true })
    expect(await isControl({ ...own, 'x-pocketchain-page': '' })).toEqual({ isControl: false })
    expect(await request(server, call('pocketchain_sponsorFault', [{ kind: 'slow' }]), own)).toMatchObject({ result: { kind: 'slow' } })
  })

  test('a link to one page admits the browser to the other', async () => {
    await using bench = await node()
    const { server } = bench
    const own = await openSession(server)
    const { body } = await ask(server, { path: '/wallet', body: call('pocketchain_approvals'), headers: own })
    expect(JSON.parse(body)).toMatchObject({ result: [] })
  })

  test('a link is redeemed by GET only', async () => {
    await using bench = await node()
    const { server } = bench
    const { pathname, search } = new URL(server.sponsor?.link() ?? '')
    const path = pathname + search
    for (const [method, wanted] of [
      ['HEAD', 200],
      ['POST', 405],
      ['OPTIONS', 200],
      ['GET', 303],
      ['GET', 403],
    ] as const) {
      const { status, headers } = await ask(server, { method, path })
      expect([method, status, headers['set-cookie'] !== undefined]).toEqual([method, wanted, wanted === 303])
    }
  })

  test('POST /session is 404 without wallet and sponsor', async () => {
    await using bench = await setUp({}, { wallet: false, sponsor: false })
    expect([bench.server.wallet, bench.server.sponsor]).toEqual([null, null])
    expect((await ask(bench.server, { path: '/session' })).status).toBe(404)
  })
})
