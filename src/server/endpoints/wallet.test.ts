import { request } from 'node:http'
import { describe, expect, test } from 'vitest'
import type { Pocketchain } from '../../index.ts'
import { ask, call, dial, raw, setUp } from '../bench.fixture.ts'
import type { TestRequest, Bench, Client, Response } from '../bench.fixture.ts'
import type { PageAccess, Server } from '../index.ts'
import { WALLET_BODY_BYTES, WALLET_LINKS } from '../limits.ts'

const APP = 'http://localhost:3000'
const OTHER = 'http://localhost:4000'
const FOREIGN = 'https://app.example'
const CONTROL_METHODS: readonly (readonly [string, readonly unknown[]])[] = [
  ['pocketchain_approvals', []],
  ['pocketchain_approve', ['0']],
  ['pocketchain_reject', ['0']],
  ['pocketchain_setApprovalPolicy', ['approve']],
  ['pocketchain_walletState', []],
  ['pocketchain_walletRequest', [APP, { method: 'eth_requestAccounts' }]],
  ['pocketchain_walletLink', []],
  ['pocketchain_disconnectSite', [APP]],
]

interface Answer {
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

/** One call to POST /wallet. */
async function post(
  server: Server,
  method: string,
  params: readonly unknown[] = [],
  headers: TestRequest['headers'] = {},
): Promise<Answer> {
  const { status, body } = await ask(server, { path: '/wallet', body: call(method, params), headers })
  expect(status).toBe(200)
  return JSON.parse(body) as Answer // what the server printed
}

function pageAccess({ wallet }: Server): PageAccess {
  if (wallet === null) throw new Error('the server has no wallet')
  return wallet
}

function bearer(server: Server) {
  return { authorization: `Bearer ${pageAccess(server).controlToken}` }
}

/** Path and query of a link. */
function pathOf(link: string): string {
  const { pathname, search } = new URL(link)
  return pathname + search
}

/** The headers with which a page sends its session. */
type Session = { readonly cookie: string; readonly 'x-pocketchain-page': string }

/** Redeems a link as a browser does. */
async function openSession(server: Server, link = pageAccess(server).link()): Promise<Session> {
  const { headers } = await ask(server, { method: 'GET', path: pathOf(link) })
  return { cookie: headers['set-cookie']?.[0]?.split(';')[0] ?? '', 'x-pocketchain-page': secretOf(link) }
}

function secretOf(link: string): string {
  return new URLSearchParams(new URL(link).hash.slice(1)).get('secret') ?? ''
}

/** Connects as the approval page does: the cookie in the handshake, the page secret in the first message. */
async function openPage(server: Server): Promise<Client> {
  const { cookie, 'x-pocketchain-page': page } = await openSession(server)
  const client = await dial(server, '/wallet', { headers: { origin: server.url, cookie } })
  client.send(call('pocketchain_authenticate', [{ page }]))
  expect(await answer(client)).toMatchObject({ result: true })
  return client
}

async function connect({ wallet }: Pocketchain, server: Server, origin: string): Promise<readonly string[]> {
  const asking = post(server, 'eth_requestAccounts', [], { origin })
  ;(await wallet.approvals.next({ origin })).approve()
  return (await asking).result as readonly string[] // what the method answers
}

/** A pending question, sent over its own connection. */
function waiting(server: Server, origin: string): { readonly hangUp: () => void } {
  const asking = request({
    host: server.host,
    port: server.port,
    path: '/wallet',
    method: 'POST',
    headers: { 'content-type': 'application/json', origin },
  })
  asking.on('error', () => undefined)
  asking.end(call('eth_requestAccounts'))
  return { hangUp: () => asking.destroy() }
}

/** Resolves when the next question is withdrawn. */
function withdrawal({ node }: Bench): Promise<string> {
  return new Promise((resolve) => {
    const end = node.wallet.approvals.subscribe((event) => {
      if (event.type !== 'withdrawn') return
      end()
      resolve(event.question.origin)
    })
  })
}

function isUnauthorized({ error }: Answer): boolean {
  return error?.code === 4100
}

describe('POST /wallet', () => {
  test('acts for the site in the Origin only', async () => {
    await using bench = await setUp()
    const { node, server } = bench
    expect(await post(server, 'eth_accounts', [], { origin: APP })).toMatchObject({ result: [] })
    const accounts = await connect(node, server, APP)
    expect(accounts).toContain(node.accounts[0]?.address)
    expect(await post(server, 'eth_accounts', [], { origin: APP })).toMatchObject({ result: accounts })
    expect(await post(server, 'eth_accounts', [], { origin: OTHER })).toMatchObject({ result: [] })
    expect(node.wallet.sites.list().map(({ origin }) => origin)).toEqual([APP])
  })

  test.each([undefined, 'null'])(
    'a request without a site (Origin %s) is rejected with a message that names the control token',
    async (origin) => {
      await using bench = await setUp()
      const { node, server } = bench
      const headers = origin === undefined ? {} : { origin }
      for (const method of ['eth_requestAccounts', 'eth_accounts', 'eth_chainId', 'personal_sign', 'pocketchain_approvals']) {
        const { error } = await post(server, method, [], headers)
        expect([error?.code, error?.message]).toEqual([4100, expect.stringContaining('control token')])
      }
      expect(node.wallet.approvals.pending).toEqual([])
      expect(await post(server, 'eth_chainId', [], { ...headers, ...bearer(server) })).toMatchObject({ result: '0x7a69' })
      expect(await post(server, 'pocketchain_approvals', [], { ...headers, ...bearer(server) })).toMatchObject({ result: [] })
    },
  )

  test('the control token gives access to approvals and to the site in the Origin', async () => {
    await using bench = await setUp()
    const { server } = bench
    const asking = post(server, 'eth_requestAccounts', [], { origin: APP })
    await bench.node.wallet.approvals.next()
    const headers = { ...bearer(server), origin: APP }
    const { result } = await post(server, 'pocketchain_approvals', [], headers)
    const [question] = result as readonly { readonly id: string }[]
    expect(question).toMatchObject({ kind: 'connect', origin: APP, method: 'eth_requestAccounts' })
    expect(await post(server, 'pocketchain_approve', [question?.id], headers)).toMatchObject({ result: null })
    const { result: accounts } = await asking
    expect(await post(server, 'eth_accounts', [], headers)).toMatchObject({ result: accounts })
  })

  test.each(['Bearer', 'Bearer 0', `Bearer ${'0'.repeat(64)}`, 'Basic Zm9v', ''])(
    'a wrong credential (%j) opens nothing',
    async (authorization) => {
      await using bench = await setUp()
      for (const [method, params] of CONTROL_METHODS) {
        expect(isUnauthorized(await post(bench.server, method, params, { authorization }))).toBe(true)
        expect(isUnauthorized(await post(bench.server, method, params, { authorization, origin: APP }))).toBe(true)
      }
    },
  )

  test('waits until the client disconnects, which withdraws the question', async () => {
    await using bench = await setUp()
    const gone = withdrawal(bench)
    const { hangUp } = waiting(bench.server, APP)
    await bench.node.wallet.approvals.next({ origin: APP })
    hangUp()
    expect(await gone).toBe(APP)
    expect(bench.node.wallet.approvals.pending).toEqual([])
  })

  test('pending requests are answered when the node closes', async () => {
    const bench = await setUp()
    const asking = post(bench.server, 'eth_requestAccounts', [], { origin: APP })
    await bench.node.wallet.approvals.next()
    await bench.node.close()
    expect((await asking).error?.code).toBeGreaterThan(0)
  })

  test('answers batches, notifications and invalid bodies as JSON-RPC specifies', async () => {
    await using bench = await setUp()
    const headers = { origin: APP }
    const at = { path: '/wallet', headers }
    const batch = await ask(bench.server, { ...at, body: `[${call('eth_chainId')},${call('eth_accounts', [], 2)}]` })
    expect(JSON.parse(batch.body)).toEqual([
      { jsonrpc: '2.0', id: 1, result: '0x7a69' },
      { jsonrpc: '2.0', id: 2, result: [] },
    ])
    expect((await ask(bench.server, { ...at, body: '{"jsonrpc":"2.0","method":"eth_chainId"}' })).body).toBe('')
    expect(JSON.parse((await ask(bench.server, { ...at, body: '{' })).body)).toMatchObject({ error: { code: -32700 } })
  })

  test('accepts only JSON within the size limit', async () => {
    await using bench = await setUp()
    const { server } = bench
    const typed = (type: string) =>
      ask(server, { path: '/wallet', body: call('eth_chainId'), headers: { origin: APP, 'content-type': type } })
    // The types that a form or a simple request of a page can send without a preflight.
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data', ''])
      expect((await typed(type)).status).toBe(415)
    const sized = (bytes: number) => ask(server, { path: '/wallet', body: call('eth_chainId').padEnd(bytes), headers: { origin: APP } })
    expect((await sized(WALLET_BODY_BYTES)).status).toBe(200)
    expect((await sized(WALLET_BODY_BYTES + 1)).status).toBe(413)
  })

  test.each([['PUT'], ['DELETE']])('rejects %s', async (method) => {
    await using bench = await setUp()
    expect((await ask(bench.server, { method, path: '/wallet' })).status).toBe(405)
    expect((await ask(bench.server, { path: '/wallet/app.js', body: call('eth_chainId') })).status).toBe(405)
  })

  test('/wallet is 404 without a wallet', async () => {
    await using bench = await setUp({}, { wallet: false })
    expect(bench.server.wallet).toBe(null)
    expect((await ask(bench.server, { path: '/wallet', body: call('eth_chainId'), headers: { origin: APP } })).status).toBe(404)
    expect((await ask(bench.server, { method: 'GET', path: '/wallet' })).status).toBe(404)
    await expect(dial(bench.server, '/wallet')).rejects.toThrow('404')
    expect(() => bench.node.wallet).toThrow('without a wallet')
  })
})

describe('access to /wallet', () => {
  test.each(['attacker.example:8545', 'evil:8545', '192.168.1.7:8545', 'localhost.evil'])(
    'the Host %s is rejected with an Origin, even with the control token: the name may belong to a foreign page',
    async (host) => {
      await using bench = await setUp()
      const { server } = bench
      for (const origin of [`http://${host}`, APP, 'null']) {
        const headers = { host, origin, ...bearer(server) }
        const { status, body } = await ask(server, { path: '/wallet', body: call('pocketchain_setApprovalPolicy', ['approve']), headers })
        expect([status, body]).toEqual([403, expect.stringContaining(`--allow-host ${host.split(':')[0]}`)])
        expect((await ask(server, { path: '/wallet', method: 'GET', headers })).status).toBe(403)
        expect((await ask(server, { path: '/session', headers })).status).toBe(403)
        await expect(dial(server, '/wallet', { headers })).rejects.toThrow('403')
      }
      expect(bench.node.wallet.approvals.policy).toBe('ask')
    },
  )

  test('a program, which sends no Origin, may use any Host', async () => {
    await using bench = await setUp()
    const headers = { host: 'pocketchain:8545', ...bearer(bench.server) }
    expect(await post(bench.server, 'pocketchain_approvals', [], headers)).toMatchObject({ result: [] })
    await using client = await dial(bench.server, '/wallet', { headers })
    client.send(call('eth_chainId'))
    expect(await answer(client)).toMatchObject({ result: '0x7a69' })
  })

  test.each(['cross-site', 'same-site', 'none'])('a foreign page (Sec-Fetch-Site: %s) is rejected', async (site) => {
    await using bench = await setUp()
    const headers = { origin: FOREIGN, 'sec-fetch-site': site }
    const answer = await ask(bench.server, { path: '/wallet', body: call('eth_requestAccounts'), headers })
    expect([answer.status, answer.body]).toEqual([403, expect.stringContaining('--allow-origin')])
    expect(answer.headers['access-control-allow-origin']).toBe(undefined)
    expect(bench.node.wallet.approvals.pending).toEqual([])
  })

  test('a program that sends a foreign Origin acts for that site, and no CORS header is sent', async () => {
    await using bench = await setUp()
    const { node, server } = bench
    await connect(node, server, FOREIGN)
    const { headers } = await ask(server, { path: '/wallet', body: call('eth_accounts'), headers: { origin: FOREIGN } })
    expect([headers['access-control-allow-origin'], headers['vary']]).toEqual([undefined, 'origin'])
    expect(node.wallet.sites.get(FOREIGN).accounts.length).toBeGreaterThan(0)
  })

  test('a WebSocket with a foreign Origin is rejected: browsers send no Sec-Fetch-Site with it', async () => {
    await using bench = await setUp()
    for (const origin of [FOREIGN, 'null']) await expect(dial(bench.server, '/wallet', { origin })).rejects.toThrow('403')
    await using allowed = await setUp({ allowOrigins: [FOREIGN] })
    await using client = await dial(allowed.server, '/wallet', { origin: FOREIGN })
    client.send(call('eth_chainId'))
    expect(await answer(client)).toMatchObject({ result: '0x7a69' })
  })

  test.each([
    'http://localhost:3000',
    'http://127.0.0.1:1',
    'https://dapp.localhost',
    'chrome-extension://abcdefghijklmnopabcdefghijklmnop',
  ])('a page of %s is admitted, and CORS names its origin only', async (origin) => {
    await using bench = await setUp()
    const headers = { origin, 'sec-fetch-site': 'cross-site' }
    const { status, headers: given } = await ask(bench.server, { path: '/wallet', body: call('eth_accounts'), headers })
    expect(status).toBe(200)
    expect(readers(given)).toEqual({ 'access-control-allow-origin': origin, vary: 'origin' })
  })

  test('--allow-origin admits a page, and CORS names its origin also with *', async () => {
    for (const allowed of [FOREIGN, '*']) {
      await using bench = await setUp({ allowOrigins: [allowed] })
      const headers = { origin: FOREIGN, 'sec-fetch-site': 'cross-site' }
      for (const pendingRequest of [
        { path: '/wallet', body: call('eth_accounts'), headers },
        { path: '/wallet', method: 'OPTIONS', headers },
        { path: '/wallet/provider.js', method: 'GET', headers },
      ]) {
        const { headers: given } = await ask(bench.server, pendingRequest)
        expect(readers(given)).toEqual({ 'access-control-allow-origin': FOREIGN, vary: 'origin' })
      }
    }
  })

  test('the preflight of a foreign page is rejected, so the browser does not send its JSON', async () => {
    await using bench = await setUp()
    const preflight = (origin: string) =>
      ask(bench.server, {
        path: '/wallet',
        method: 'OPTIONS',
        headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'content-type' },
      })
    for (const origin of [FOREIGN, 'null']) {
      const { status, headers } = await preflight(origin)
      expect([status, headers['access-control-allow-origin']]).toEqual([403, undefined])
    }
    const { status, headers } = await preflight(APP)
    expect([status, headers['access-control-allow-origin'], headers['access-control-allow-headers']]).toEqual([200, APP, 'content-type'])
  })

  test.each(['http://localhost:3000/path', 'localhost', 'http://', 'http://user@localhost', `http://${'a'.repeat(300)}`, 'http://a b'])(
    'what is no origin (%j) cannot pass for a site',
    async (origin) => {
      await using bench = await setUp()
      const { status } = await ask(bench.server, { path: '/wallet', body: call('eth_requestAccounts'), headers: { origin } })
      expect(status).toBe(403)
      await expect(dial(bench.server, '/wallet', { headers: { origin } })).rejects.toThrow('403')
    },
  )
})

describe('a page can never approve its own request', () => {
  /** Sends the control methods in every way that a page can; all are rejected. */
  async function refused(bench: Bench, headers: TestRequest['headers']): Promise<void> {
    for (const [method, params] of CONTROL_METHODS) {
      const answered = await post(bench.server, method, params, headers)
      expect([method, answered.error?.code]).toEqual([method, 4100])
    }
    expect(bench.node.wallet.approvals.policy).toBe('ask')
  }

  test('not with its own Origin', async () => {
    await using bench = await setUp()
    await refused(bench, { origin: APP })
  })

  test('not from another port of the same host, although the browser sends the cookie', async () => {
    await using bench = await setUp()
    const session = await openSession(bench.server)
    await refused(bench, { origin: `http://${bench.server.host}:${bench.server.port + 1}`, ...session })
    await refused(bench, { origin: `http://${bench.server.host}`, ...session })
    await refused(bench, { origin: APP, ...session, 'sec-fetch-site': 'same-site' })
  })

  test('not with the cookie without the Origin of this server', async () => {
    await using bench = await setUp()
    const session = await openSession(bench.server)
    await refused(bench, session)
    await refused(bench, { ...session, origin: 'null' })
  })

  test('not from the origin of this server without the cookie, or with an invalid one', async () => {
    await using bench = await setUp()
    const origin = bench.server.url
    await refused(bench, { origin })
    const session = await openSession(bench.server)
    const name = session.cookie.split('=')[0]
    for (const value of ['', '0'.repeat(64), pageAccess(bench.server).controlToken])
      await refused(bench, { ...session, origin, cookie: `${name}=${value}` })
  })

  test('not by the server of another port, which receives the cookie and sends the Origin of this server, but lacks the page secret', async () => {
    await using bench = await setUp()
    const { node, server } = bench
    const asking = post(server, 'eth_requestAccounts', [], { origin: APP })
    const { id } = (await node.wallet.approvals.next({ origin: APP })).question
    const { cookie, 'x-pocketchain-page': secret } = await openSession(server)
    const other = await openSession(server)
    const unused = secretOf(pageAccess(server).link())
    const guesses = [
      '0'.repeat(64),
      secret.slice(1),
      cookie.split('=')[1],
      pageAccess(server).controlToken,
      other['x-pocketchain-page'],
      unused,
    ]
    const replayed = { origin: server.url, cookie, 'sec-fetch-site': 'same-origin' }
    for (const headers of [replayed, ...guesses.map((guess) => ({ ...replayed, 'x-pocketchain-page': guess }))]) {
      await refused(bench, headers)
      const { error } = await post(server, 'pocketchain_approve', [id], headers)
      expect([error?.code, error?.message]).toEqual([4100, expect.stringContaining('open a new link in this browser')])
    }
    await using socket = await dial(server, '/wallet', { headers: replayed })
    socket.send(call('pocketchain_approve', [id]))
    expect(await answer(socket)).toMatchObject({ error: { code: 4100, message: expect.stringContaining('open a new link') } })
    for (const page of ['', ...guesses]) {
      await using guessing = await dial(server, '/wallet', { headers: replayed })
      guessing.send(call('pocketchain_authenticate', [{ page }]))
      expect(await answer(guessing)).toMatchObject({ error: { code: 4100, message: expect.stringContaining('open a new link') } })
      expect((await guessing.closed).code).toBe(1008)
    }
    expect(node.wallet.approvals.pending).toMatchObject([{ id }])
    expect(node.wallet.sites.list()).toEqual([])
    node.wallet.approvals.reject(id)
    expect(await asking).toMatchObject({ error: { code: 4001 } })
  })

  test('the page secret without the cookie is no credential', async () => {
    await using bench = await setUp()
    const { server } = bench
    const { 'x-pocketchain-page': page } = await openSession(server)
    await refused(bench, { origin: server.url, 'x-pocketchain-page': page })
    await using socket = await dial(server, '/wallet', { origin: server.url })
    socket.send(call('pocketchain_authenticate', [{ page }]))
    expect(await answer(socket)).toMatchObject({ error: { code: 4100 } })
    await using site = await dial(server, '/wallet', { origin: APP, headers: { cookie: (await openSession(server)).cookie } })
    site.send(call('pocketchain_authenticate', [{ page }]))
    expect(await answer(site)).toMatchObject({ error: { code: 4100 } })
  })

  test('only a page of this server, port included, with the cookie and its secret may', async () => {
    await using bench = await setUp()
    const { node, server } = bench
    const session = await openSession(server)
    const own = { origin: server.url, ...session, 'sec-fetch-site': 'same-origin' }
    expect(await post(server, 'pocketchain_approvals', [], own)).toMatchObject({ result: [] })
    expect(await post(server, 'pocketchain_setApprovalPolicy', ['reject'], own)).toMatchObject({ result: null })
    expect(node.wallet.approvals.policy).toBe('reject')
    const second = await node.listen()
    await expect(post(second, 'pocketchain_approvals', [], { origin: second.url, ...session })).resolves.toMatchObject({
      error: { code: 4100 },
    })
  })

  test('not over a WebSocket, with or without the cookie', async () => {
    await using bench = await setUp()
    const { cookie } = await openSession(bench.server)
    const origin = bench.server.url
    for (const headers of [{ origin: APP }, { origin: APP, cookie }, { origin }, { origin, cookie }, { cookie }]) {
      await using client = await dial(bench.server, '/wallet', { headers })
      for (const [method, params] of CONTROL_METHODS) {
        client.send(call(method, params))
        expect(await answer(client)).toMatchObject({ error: { code: 4100 } })
      }
      expect(client.messages.some(({ data }) => data.includes('pocketchain_approvals"'))).toBe(false)
    }
  })

  test('a site that is not admitted cannot send a request through the page of the server either', async () => {
    await using bench = await setUp()
    const headers = { origin: bench.server.url, ...(await openSession(bench.server)) }
    const through = (origin: string) => post(bench.server, 'pocketchain_walletRequest', [origin, { method: 'eth_chainId' }], headers)
    expect(await through(FOREIGN)).toMatchObject({ error: { code: 4100, message: expect.stringContaining('--allow-origin') } })
    expect(await through(APP)).toMatchObject({ result: '0x7a69' })
  })
})

describe('links to the page', () => {
  const follow = (server: Server, path: string, headers: TestRequest['headers'] = {}): Promise<Response> =>
    ask(server, { method: 'GET', path, headers })

  test('give one browser a session, once', async () => {
    await using bench = await setUp()
    const path = pathOf(pageAccess(bench.server).link())
    const first = await follow(bench.server, path)
    expect([first.status, first.headers.location]).toEqual([303, '/wallet'])
    const [cookie = ''] = first.headers['set-cookie'] ?? []
    expect(cookie).toMatch(new RegExp(`^pocketchain_wallet_${bench.server.port}=[0-9a-f]{64}; Path=/; HttpOnly; SameSite=Strict$`))
    const second = await follow(bench.server, path)
    expect([second.status, second.headers['set-cookie']]).toEqual([403, undefined])
    expect(second.body).toContain('pocketchain_walletLink')
    expect(second.body).toContain('“Link another browser”')
    expect(second.headers['content-type']).toBe('text/html; charset=utf-8')
    expect(second.body).toContain('<title>Invalid link - pocketchain</title>')
    // A browser with a session may follow a used link: the empty fragment removes the old page secret.
    const again = await follow(bench.server, `${path}&sdkName=a`, { cookie: cookie.split(';')[0] })
    expect([again.status, again.headers.location, again.headers['set-cookie']]).toEqual([303, '/wallet?sdkName=a#', undefined])
  })

  test('keep the rest of the query, and are not redeemed by HEAD', async () => {
    await using bench = await setUp()
    const path = `${pathOf(pageAccess(bench.server).link())}&sdkName=a`
    const head = await ask(bench.server, { method: 'HEAD', path })
    expect(head.headers['set-cookie']).toBe(undefined)
    expect((await follow(bench.server, path)).headers.location).toBe('/wallet?sdkName=a')
  })

  test('are not redeemed by a prefetch', async () => {
    await using bench = await setUp()
    const path = pathOf(pageAccess(bench.server).link())
    for (const headers of [
      { 'sec-purpose': 'prefetch;prerender' },
      { 'sec-purpose': 'prefetch' },
      { purpose: 'prefetch' },
      { 'x-moz': 'prefetch' },
    ]) {
      const ahead = await ask(bench.server, { method: 'GET', path, headers })
      expect([ahead.status, ahead.headers['set-cookie']]).toEqual([503, undefined])
    }
    expect((await follow(bench.server, path)).headers['set-cookie']).toHaveLength(1)
  })

  test('cannot be guessed', async () => {
    await using bench = await setUp()
    const { controlToken, link } = pageAccess(bench.server)
    const links = Array.from({ length: 20 }, link)
    const secrets = [controlToken, ...links.flatMap((each) => [new URL(each).searchParams.get('key') ?? '', secretOf(each)])]
    expect(new Set(secrets).size).toBe(41)
    for (const secret of secrets) expect(secret).toMatch(/^[0-9a-f]{64}$/)
    for (const guess of ['', '0', '0'.repeat(64), controlToken, ...links.map(secretOf)]) {
      expect((await follow(bench.server, `/wallet?key=${guess}`)).headers['set-cookie']).toBe(undefined)
    }
  })

  test('are created with the control token; beyond the limit the oldest is dropped', async () => {
    await using bench = await setUp()
    const { server } = bench
    const mint = async () => pathOf(String((await post(server, 'pocketchain_walletLink', [], bearer(server))).result))
    const oldest = await mint()
    expect((await follow(server, await mint())).status).toBe(303)
    for (let i = 0; i < WALLET_LINKS; i++) pageAccess(server).link()
    expect((await follow(server, oldest)).status).toBe(403)
  })

  test('are created by the page of a browser with a session, for another browser', async () => {
    await using bench = await setUp()
    const { server } = bench
    const first = { origin: server.url, ...(await openSession(server)) }
    const link = String((await post(server, 'pocketchain_walletLink', [], first)).result)
    const second = { origin: server.url, ...(await openSession(server, link)) }
    expect(second.cookie).not.toBe(first.cookie)
    for (const browser of [first, second]) expect(await post(server, 'pocketchain_approvals', [], browser)).toMatchObject({ result: [] })
    expect((await follow(server, pathOf(link))).status).toBe(403)
    // The cookie alone, which other servers of this host receive, creates none.
    const cookieOnly = { origin: server.url, cookie: first.cookie }
    expect(await post(server, 'pocketchain_walletLink', [], cookieOnly)).toMatchObject({ error: { code: 4100 } })
  })

  test('do not exist while no port is open', async () => {
    await using bench = await setUp()
    await bench.server.close()
    await expect(bench.node.wallet.control.request({ method: 'pocketchain_walletLink' })).rejects.toThrow('no port is open')
  })
})

describe('the page', () => {
  const read = (server: Server, path: string): Promise<Response> => ask(server, { method: 'GET', path })

  test('allows no framing, no foreign scripts and no opener', async () => {
    await using bench = await setUp()
    const { status, headers } = await read(bench.server, '/wallet')
    expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
    const policy = String(headers['content-security-policy'])
    for (const part of [
      "default-src 'none'",
      "script-src 'self';",
      "style-src 'self';",
      `connect-src 'self' ws://${bench.server.host}:${bench.server.port};`,
      'img-src data:',
      "frame-ancestors 'none'",
      "base-uri 'none'",
      "form-action 'none'",
    ])
      expect(policy).toContain(part)
    expect(headers).toMatchObject({
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
    })
  })

  test('its content security policy names its own WebSocket origin under every Host', async () => {
    await using bench = await setUp()
    const { port } = bench.server
    const policyAt = async (host: string) => {
      const { headers } = await ask(bench.server, { method: 'GET', path: '/wallet', headers: { host: `${host}:${port}` } })
      return /connect-src ([^;]*);/.exec(String(headers['content-security-policy']))?.[1]
    }
    expect(await policyAt('LOCALHOST')).toBe(`'self' ws://localhost:${port}`)
    expect(await policyAt('[::1]')).toBe("'self'") // a policy cannot contain an IPv6 address
  })

  test('keeps its opener as a popup', async () => {
    await using bench = await setUp()
    for (const query of ['sdkName=%40base-org%2Faccount&sdkVersion=2', 'popup=1']) {
      const { headers } = await read(bench.server, `/wallet?${query}`)
      expect(headers['cross-origin-opener-policy']).toBe('unsafe-none')
      expect(String(headers['content-security-policy'])).toContain("frame-ancestors 'none'")
    }
  })

  test.each([
    ['/wallet/app.js', 'text/javascript; charset=utf-8', 'same-origin'],
    ['/wallet/app.css', 'text/css; charset=utf-8', 'same-origin'],
    ['/wallet/provider.js', 'text/javascript; charset=utf-8', 'cross-origin'],
  ])('%s has its type and its cross-origin resource policy', async (path, type, policy) => {
    await using bench = await setUp()
    const { status, headers, body } = await read(bench.server, path)
    expect([status, headers['content-type'], headers['cross-origin-resource-policy']]).toEqual([200, type, policy])
    expect(headers['x-content-type-options']).toBe('nosniff')
    expect(body.length).toBeGreaterThan(0)
  })

  test('serves no other files, and none outside its folder', async () => {
    await using bench = await setUp()
    for (const path of ['/wallet/nothing.js', '/wallet/wallet.html', '/wallet/../index.ts', '/wallet/%2e%2e/index.ts'])
      expect((await read(bench.server, path)).status).toBe(404)
    const answered = await raw(bench.server, `GET /wallet/../package.json HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n`)
    expect(answered).toContain('404')
  })
})

describe('WS /wallet', () => {
  test('acts for the site of its Origin and receives its events', async () => {
    await using bench = await setUp()
    const { node, server } = bench
    await using client = await dial(server, '/wallet', { origin: APP })
    client.send(call('eth_requestAccounts', [], 7))
    const prompt = await node.wallet.approvals.next({ origin: APP })
    expect(prompt.question.origin).toBe(APP)
    prompt.approve()
    const seen = await until(client, ({ id }) => id === 7)
    const changed = (value: Message) => value.params?.event === 'accountsChanged'
    const event = seen.find(changed) ?? (await until(client, changed)).at(-1)
    const accounts = seen.find(({ id }) => id === 7)?.result
    expect(event).toEqual({ jsonrpc: '2.0', method: 'pocketchain_event', params: { event: 'accountsChanged', data: accounts } })
  })

  test('the id of a subscription is sent before its items, which are messages of the provider', async () => {
    await using bench = await setUp({}, { cadence: 'instant' })
    await using client = await dial(bench.server, '/wallet', { origin: APP })
    client.send(call('eth_subscribe', ['newHeads'], 3))
    const { result } = (await until(client, ({ id }) => id === 3)).at(-1) ?? {}
    await bench.node.request({ method: 'evm_mine' })
    const item = (await until(client, ({ params }) => params?.event === 'message')).at(-1)
    expect(item?.params?.data).toMatchObject({ type: 'eth_subscription', data: { subscription: result, result: { number: '0x1' } } })
  })

  test('without an Origin every request is rejected before authentication', async () => {
    await using bench = await setUp()
    await using client = await dial(bench.server, '/wallet')
    for (const method of ['eth_chainId', 'eth_requestAccounts', 'pocketchain_approvals']) {
      client.send(call(method))
      expect(await answer(client)).toMatchObject({ error: { code: 4100 } })
    }
    client.send(call('pocketchain_authenticate', [pageAccess(bench.server).controlToken, APP], 9))
    expect(await answer(client)).toMatchObject({ id: 9, result: true })
    const pending = (await until(client, ({ method }) => method === 'pocketchain_approvals')).at(-1)
    expect(pending?.params).toEqual({ pending: [] })
    client.send(call('eth_requestAccounts', [], 10))
    const pendingRequest = (await until(client, ({ params }) => (params?.pending?.length ?? 0) > 0)).at(-1)
    const [question] = pendingRequest?.params?.pending ?? []
    expect(question).toMatchObject({ kind: 'connect', origin: APP })
    client.send(call('pocketchain_approve', [question?.id], 11))
    const rest = await until(client, ({ id }) => id === 10)
    expect(rest.at(-1)?.result).toContain(bench.node.accounts[0]?.address)
    await until(client, ({ params }) => params?.pending?.length === 0, rest)
  })

  test('a wrong token closes the connection', async () => {
    await using bench = await setUp()
    await using client = await dial(bench.server, '/wallet')
    client.send(call('pocketchain_authenticate', ['0'.repeat(64)]))
    expect(await answer(client)).toMatchObject({ error: { code: 4100 } })
    expect((await client.closed).code).toBe(1008)
  })

  test('a connection with an Origin cannot act for another site', async () => {
    await using bench = await setUp()
    const { controlToken } = pageAccess(bench.server)
    await using client = await dial(bench.server, '/wallet', { origin: APP })
    client.send(call('pocketchain_authenticate', [controlToken, OTHER]))
    expect(await answer(client)).toMatchObject({ error: { code: -32602 } })
    client.send(call('pocketchain_approvals'))
    expect(await answer(client)).toMatchObject({ error: { code: 4100 } })
    client.send(call('pocketchain_authenticate', [controlToken, APP]))
    expect(await answer(client)).toMatchObject({ result: true })
  })

  test('the approval page receives the pending approvals at once and after each change', async () => {
    await using bench = await setUp()
    const { node, server } = bench
    const { hangUp } = waiting(server, APP)
    await node.wallet.approvals.next()
    await using page = await openPage(server)
    const shown = (await until(page, ({ method }) => method === 'pocketchain_approvals')).at(-1)
    expect(shown?.params?.pending).toMatchObject([{ kind: 'connect', origin: APP }])
    hangUp()
    await until(page, ({ params }) => params?.pending?.length === 0)
  })

  test('the approval page is not disconnected for reading slowly while a site sends many requests, and then receives the current approvals', async () => {
    await using bench = await setUp()
    const { node, server } = bench
    const [account] = await connect(node, server, APP)
    await using page = await openPage(server)
    await until(page, ({ method }) => method === 'pocketchain_approvals')
    page.ws.pause()
    await using site = await dial(server, '/wallet', { origin: APP })
    const message = `0x${'61'.repeat(256 * 1024)}`
    for (let i = 0; i < 20; i++) {
      site.send(call('personal_sign', [message, account]))
      await node.wallet.approvals.next()
    }
    page.ws.resume()
    const last = (await until(page, ({ params }) => params?.pending?.length === 20)).at(-1)
    expect(last?.params?.pending).toHaveLength(20)
  })

  test('a site receives approvalWaiting for each of its requests that waits, with whether an approval page is connected', async () => {
    await using bench = await setUp()
    const { node, server } = bench
    const isCall = ({ params }: Message) => params?.event === 'approvalWaiting'
    const isShown = (messages: readonly Message[]) => messages.filter(isCall).map(({ params }) => params?.data)
    await using other = await dial(server, '/wallet', { origin: OTHER })
    await using client = await dial(server, '/wallet', { origin: APP })
    for (let i = 0; i < 2; i++) {
      client.send(call('eth_requestAccounts')) // the second one joins the question of the first
      expect(isShown(await until(client, isCall))).toEqual([{ isShown: false }])
    }
    node.wallet.approvals.reject()

    await using page = await openPage(server)
    client.send(call('eth_requestAccounts'))
    await until(page, ({ params }) => params?.pending?.length === 1)
    expect(isShown(await until(client, isCall))).toEqual([{ isShown: true }])
    node.wallet.approvals.setPolicy('approve')
    client.send(call('wallet_requestPermissions', [{ eth_accounts: {} }], 98))
    await until(client, ({ id }) => id === 98)
    for (const each of [client, other]) {
      each.send(call('eth_chainId', [], 99))
      expect(isShown(await until(each, ({ id }) => id === 99))).toEqual([])
    }
  })

  test('a page whose window of the wallet was closed gets 4001 for the requests before, unless another approval page is open', async () => {
    await using bench = await setUp()
    const { node, server } = bench
    await using client = await dial(server, '/wallet', { origin: APP })
    await using other = await dial(server, '/wallet', { origin: APP })
    const ask = async (of: Client, id: number, isJoining = false) => {
      of.send(call('eth_requestAccounts', [], id))
      if (!isJoining) await node.wallet.approvals.next({ origin: APP })
      await until(of, ({ params }) => params?.event === 'approvalWaiting')
    }
    const close = async (read: unknown) => {
      client.send(call('pocketchain_windowClosed', [read], 9))
      return until(client, ({ id }) => id === 9)
    }
    await ask(client, 1)
    await ask(client, 2, true)
    await ask(other, 3, true)
    expect((await close('1')).at(-1)).toMatchObject({ error: { code: -32602 } })
    {
      await using page = await openPage(server)
      expect((await close(2)).filter(({ error }) => error !== undefined)).toEqual([])
      page.ws.close()
      await page.closed
    }
    client.send(call('eth_chainId', [], 4))
    await until(client, ({ id }) => id === 4)
    await close(1)
    expect(await answer(client)).toMatchObject({ id: 1, error: { code: 4001, data: { reason: 'window-closed' } } })
    await close(2)
    expect(await answer(client)).toMatchObject({ id: 2, error: { code: 4001 } })
    expect(node.wallet.approvals.pending).toMatchObject([{ kind: 'connect' }]) // of the other connection
    node.wallet.approvals.approve()
    expect((await answer(other)).result).toHaveLength(node.accounts.length)
  })

  test('a stopping node says how many messages it has read, and reads no more', async () => {
    await using bench = await setUp()
    await using client = await dial(bench.server, '/wallet', { origin: APP })
    client.send(call('eth_chainId', [], 1))
    await until(client, ({ id }) => id === 1)
    const closed = bench.server.close()
    client.send(call('eth_chainId', [], 2))
    expect((await client.closed).code).toBe(1001)
    await closed
    const messages = client.messages.map(({ data }) => JSON.parse(data.toString()) as Message)
    expect(messages.at(-1)?.params).toEqual({ event: 'stopping', data: { read: 1 } })
    expect(messages.some(({ id }) => id === 2)).toBe(false)
  })

  test('the end of the connection withdraws its questions', async () => {
    await using bench = await setUp()
    const gone = withdrawal(bench)
    const client = await dial(bench.server, '/wallet', { origin: APP })
    client.send(call('eth_requestAccounts'))
    await bench.node.wallet.approvals.next({ origin: APP })
    client.ws.terminate()
    expect(await gone).toBe(APP)
  })

  test('a message over the limit closes the connection with 1009', async () => {
    await using bench = await setUp()
    await using client = await dial(bench.server, '/wallet', { origin: APP })
    client.send(call('eth_chainId').padEnd(WALLET_BODY_BYTES + 1))
    expect((await client.closed).code).toBe(1009)
  })
})

describe('wallet_getCallsStatus at the node', () => {
  const CALLS = { version: '2.0.0', chainId: '0x7a69', atomicRequired: false, calls: [{ to: `0x${'11'.repeat(20)}`, value: '0x1' }] }
  const status = async (server: Server, id: unknown, headers: TestRequest['headers'] = {}, path = '/'): Promise<Answer> =>
    JSON.parse((await ask(server, { path, body: call('wallet_getCallsStatus', [id]), headers })).body) as Answer

  async function sent({ node, server }: Bench, id?: string): Promise<string> {
    const [from] = await connect(node, server, APP)
    const asking = post(server, 'wallet_sendCalls', [{ ...CALLS, from, ...(id === undefined ? {} : { id }) }], { origin: APP })
    ;(await node.wallet.approvals.next({ kind: 'batch' })).approve()
    const { result, error } = await asking
    expect(error).toBe(undefined)
    return (result as { readonly id: string }).id // what the method answers
  }

  test('a batch id generated by the wallet is answered for every caller', async () => {
    await using bench = await setUp({}, { cadence: 'instant' })
    const id = await sent(bench)
    expect(id).toMatch(/^0x[0-9a-f]{64}$/)
    for (const headers of [{}, { origin: APP }, { origin: OTHER }])
      expect(await status(bench.server, id, headers)).toMatchObject({ result: { id, chainId: '0x7a69', status: 200 } })
  })

  test('a batch id chosen by an app is answered for its origin only', async () => {
    await using bench = await setUp({}, { cadence: 'instant' })
    const id = await sent(bench, '0x01')
    expect(await status(bench.server, id, { origin: APP })).toMatchObject({ result: { id: '0x01' } })
    expect(await status(bench.server, id, { origin: OTHER })).toMatchObject({ error: { code: 5730 } })
    expect(await status(bench.server, id)).toMatchObject({ error: { code: 5730 } })
    await using client = await dial(bench.server, '/', { origin: OTHER })
    client.send(call('wallet_getCallsStatus', [id]))
    expect(await answer(client)).toMatchObject({ error: { code: 5730 } })
  })

  test('an unknown id is 5730, an invalid one -32602', async () => {
    await using bench = await setUp()
    expect(await status(bench.server, `0x${'00'.repeat(32)}`)).toMatchObject({ error: { code: 5730 } })
    expect(await status(bench.server, 1)).toMatchObject({ error: { code: -32602 } })
  })

  test('the method does not exist in the public tier or without a wallet', async () => {
    await using bench = await setUp()
    expect(await status(bench.server, '0x01', {}, '/public')).toMatchObject({ error: { code: -32601 } })
    await using alone = await setUp({}, { wallet: false })
    expect(await status(alone.server, '0x01')).toMatchObject({ error: { code: -32601 } })
    expect(JSON.parse((await ask(alone.server, { body: call('rpc_modules') })).body)).not.toHaveProperty('result.wallet')
    expect(JSON.parse((await ask(bench.server, { body: call('rpc_modules') })).body)).toHaveProperty('result.wallet')
  })
})

interface Message extends Answer {
  readonly id?: unknown
  readonly method?: string
  readonly params?: {
    readonly event?: string
    readonly data?: unknown
    readonly pending?: readonly { readonly id: string }[]
  }
}

/** Returns the next response, skipping notifications. */
async function answer(client: Client): Promise<Message> {
  return (await until(client, ({ method }) => method === undefined)).at(-1) ?? {}
}

/** Returns the messages up to the first that matches; none if one in `before` matches. */
async function until(client: Client, fits: (message: Message) => boolean, before: readonly Message[] = []): Promise<readonly Message[]> {
  if (before.some(fits)) return []
  const seen: Message[] = []
  while (true) {
    const message = (await client.next()) as Message // what the server printed
    seen.push(message)
    if (fits(message)) return seen
  }
}

/** Returns the CORS headers of a response. */
function readers(headers: Response['headers']): Readonly<Record<string, unknown>> {
  const shown = Object.entries(headers).filter(([name]) => name === 'vary' || /^access-control-allow-(origin|credentials)$/.test(name))
  return Object.fromEntries(shown)
}
