import { request } from 'node:http'
import { describe, expect, test } from 'vitest'
import { ask, call, setUp, until } from './bench.fixture.ts'
import type { Asked, Bench, Response } from './bench.fixture.ts'
import { Server } from './index.ts'
import type { ListenOptions, PaymasterFace } from './index.ts'
import { PAYMASTER_BODY_BYTES } from './limits.ts'
import { askSecurely } from './tls/tls.fixture.ts'

const STUB = call('pm_getPaymasterStubData', [])
const KEY = 'key-that-nobody-may-see'

interface Heard {
  readonly body: string
  readonly apiKey: string | null
  readonly signal: AbortSignal | undefined
}

/** A server whose sponsor answers as it is told, and keeps what it heard. The sponsor itself is another room's. */
interface Stage extends AsyncDisposable {
  readonly bench: Bench
  readonly server: Server
  readonly heard: Heard[]
  readonly errors: unknown[]
}

type Handle = PaymasterFace['handle']

async function stage(
  handle: Handle = async () => ({ status: 200, body: '"sponsored"' }),
  listen: Partial<ListenOptions> = {},
): Promise<Stage> {
  const bench = await setUp()
  const heard: Heard[] = []
  const errors: unknown[] = []
  const paymaster: PaymasterFace = {
    handle: (body, caller) => {
      heard.push({ body: Buffer.from(body).toString(), apiKey: caller.apiKey, signal: caller.signal })
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
  return { bench, server, heard, errors, [Symbol.asyncDispose]: end }
}

describe.each(['/paymaster', '/paymaster/rpc'])('POST %s', (path) => {
  test('hands the body on as it came, and the answer back', async () => {
    await using at = await stage()
    const { status, headers, body } = await ask(at.server, { path, body: STUB })
    expect([status, body, headers['content-type'], headers['content-length']]).toEqual([200, '"sponsored"', 'application/json', '11'])
    expect(at.heard).toMatchObject([{ body: STUB, apiKey: null }])
    expect((await ask(at.server, { path: `${path}/`, body: STUB })).status).toBe(200)
    expect((await ask(at.server, { path: `${path}?policy=1`, body: STUB })).status).toBe(200)
  })

  test('over TLS the same', async () => {
    await using at = await stage()
    const { status, body } = await askSecurely(at.server, { path: `${path}?apikey=${KEY}`, body: STUB, ca: at.server.ca() })
    expect([status, body]).toEqual([200, '"sponsored"'])
    expect(at.heard).toMatchObject([{ body: STUB, apiKey: KEY }])
  })

  test.each<readonly [name: string, asked: Asked, key: string | null]>([
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
  ])('takes an API key: %s', async (_, asked, key) => {
    await using at = await stage()
    expect((await ask(at.server, { path, body: STUB, ...asked })).status).toBe(200)
    expect(at.heard.map(({ apiKey }) => apiKey)).toEqual([key])
  })

  test.each<readonly [name: string, wanted: number, asked: Asked]>([
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
    ['a page of somebody else', 403, { body: STUB, headers: { origin: 'https://evil.example' } }],
    ['a name that is none of ours', 403, { body: STUB, headers: { host: 'evil.example' } }],
  ])('%s: %i, and the sponsor hears nothing', async (_, wanted, asked) => {
    await using at = await stage()
    const { status, body, headers } = await ask(at.server, { path: `${path}?apikey=${KEY}`, ...asked })
    expect(status).toBe(wanted)
    expect(body).not.toContain(KEY)
    if (wanted === 405) expect(headers.allow).toContain('POST')
    expect([at.heard, at.errors]).toEqual([[], []])
  })

  test('takes a body of the limit', async () => {
    await using at = await stage()
    expect((await ask(at.server, { path, body: STUB.padEnd(PAYMASTER_BODY_BYTES) })).status).toBe(200)
  })

  test('says by GET what it is', async () => {
    await using at = await stage()
    const { status, headers, body } = await ask(at.server, { method: 'GET', path })
    expect([status, headers['content-type'], body]).toEqual([
      200,
      'text/plain; charset=utf-8',
      expect.stringContaining('pm_getPaymasterData'),
    ])
    expect((await ask(at.server, { method: 'HEAD', path })).status).toBe(200)
  })

  test('pages on loopback may read along, and may send a key', async () => {
    await using at = await stage()
    const origin = 'http://localhost:3000'
    const answered = await ask(at.server, { path, body: STUB, headers: { origin } })
    expect([answered.headers['access-control-allow-origin'], answered.headers['vary']]).toEqual([origin, 'origin'])
    const asked = {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type,x-api-key',
    }
    const { status, headers } = await ask(at.server, { method: 'OPTIONS', path, headers: asked })
    expect([status, headers['access-control-allow-headers']]).toEqual([200, 'authorization,content-type,x-api-key'])
    const own = { origin: `https://127.0.0.1:${at.server.port}`, host: `127.0.0.1:${at.server.port}` }
    expect((await askSecurely(at.server, { path, body: STUB, headers: own, ca: at.server.ca() })).status).toBe(200)
  })

  test('passes on whatever status the sponsor gives, such as an outage on demand', async () => {
    await using at = await stage(async () => ({ status: 500, body: '{"error":"down"}' }))
    const { status, body, headers } = await ask(at.server, { path, body: STUB })
    expect([status, body, headers['content-type']]).toEqual([500, '{"error":"down"}', 'application/json'])
    expect(at.errors).toEqual([])
  })

  test('answers when the sponsor breaks, with nothing of the key', async () => {
    await using at = await stage(() => Promise.reject(new Error('broken inside')))
    const { status, body } = await ask(at.server, { path: `${path}?apikey=${KEY}`, body: STUB, headers: { 'x-api-key': KEY } })
    expect([status, JSON.parse(body)]).toEqual([500, expect.objectContaining({ error: expect.objectContaining({ code: -32603 }) })])
    expect(at.errors).toMatchObject([{ message: 'broken inside' }])
    expect(body + String(at.errors[0])).not.toContain(KEY)
    expect((await ask(at.server, { body: STUB })).body).toBe('"node"')
  })

  test('tells the sponsor when the client goes', async () => {
    await using at = await stage(
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
    await until(() => at.heard.length === 1)
    expect(at.heard[0]?.signal?.aborted).toBe(false)
    asking.destroy()
    await until(() => at.heard[0]?.signal?.aborted === true)
    expect(at.errors).toEqual([])
  })
})

describe('the doors of the sponsor', () => {
  test.each([
    ['POST', '/paymaster/else', 404],
    ['GET', '/paymaster/else', 404],
    ['POST', '/paymasters', 404],
    ['POST', '/sponsor', 405],
    ['PUT', '/sponsor', 405],
    ['GET', '/sponsor/else', 404],
    ['POST', '/sponsor/app.js', 405],
  ])('%s %s: %i', async (method, path, wanted) => {
    await using at = await stage()
    const { status, body } = await ask(at.server, { method, path: `${path}?apikey=${KEY}`, ...(method === 'POST' ? { body: STUB } : {}) })
    expect([status, body.includes(KEY)]).toEqual([wanted, false])
    expect(at.heard).toEqual([])
  })

  test('are not there when there is no sponsor', async () => {
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
    expect(front.body).not.toContain('/sponsor')
    await server.close()
  })

  test('the front page has links to what there is', async () => {
    await using at = await stage()
    const { body } = await ask(at.server, { method: 'GET', headers: { accept: 'text/html' } })
    for (const link of ['<a href="/sponsor">', '<a href="/ca.pem">', '/paymaster/rpc']) expect(body).toContain(link)
  })

  test.each([
    ['/sponsor', 'text/html; charset=utf-8'],
    ['/sponsor/app.js', 'text/javascript; charset=utf-8'],
    ['/sponsor/app.css', 'text/css; charset=utf-8'],
  ])('%s is served, and loads nothing of others', async (path, type) => {
    await using at = await stage()
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
