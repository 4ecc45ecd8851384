import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Address, ENTRY_POINTS, UserOperation } from '../../eth/index.ts'
import { RpcError } from '../../jsonrpc/index.ts'
import { TEST_CERTIFICATE } from '../../jsonrpc/client/tls.fixture.ts'
import { SPONSOR_ICON_CHARS, SPONSOR_MS, SPONSOR_REPLY_BYTES, SPONSOR_URLS } from '../limits.ts'
import { json, resulting, serviceOf } from './client.fixture.ts'
import type { Responder } from './client.fixture.ts'
import { SponsorClient } from './client.ts'
import type { SponsorRequest } from './client.ts'
import type { SponsorSettings } from './target.ts'

const PAYMASTER = Address.from(`0x${'9a'.repeat(20)}`)
const SENDER = Address.from(`0x${'5e'.repeat(20)}`)
const PARTS = { paymaster: PAYMASTER, paymasterData: '0x01ff', paymasterVerificationGasLimit: '0x7530', paymasterPostOpGasLimit: '0x0' }
const READ = {
  paymaster: PAYMASTER,
  paymasterData: Uint8Array.of(1, 255),
  paymasterVerificationGasLimit: 30_000n,
  paymasterPostOpGasLimit: 0n,
}
const LOOPBACK: SponsorSettings = { sponsor: null, allowHttpLoopback: true }
const REQUEST: SponsorRequest = {
  operation: UserOperation.of({ sender: SENDER, nonce: 7n, callData: Uint8Array.of(1), signature: Uint8Array.of(9, 9) }),
  chainId: 31_337,
  context: null,
}

function at(port: number, path = '/rpc', settings = LOOPBACK): SponsorClient {
  return new SponsorClient(`http://127.0.0.1:${port}${path}`, settings)
}

async function refusalOf(promise: Promise<unknown>): Promise<RpcError> {
  const error: unknown = await promise.then(
    (answer) => new Error(`it was not refused, but answered ${JSON.stringify(answer)}`),
    (thrown: unknown) => thrown,
  )
  if (error instanceof RpcError) return error
  throw error
}

/** Returns the reason of a 4300. */
async function failing(answer: Responder, ask: 'stub' | 'final' = 'final'): Promise<RpcError> {
  const { port } = await serviceOf(answer)
  const refusal = await refusalOf(at(port)[ask](REQUEST))
  expect(refusal).toMatchObject({ code: 4300, message: 'Paymaster service error', data: { host: `127.0.0.1:${port}` } })
  return refusal
}

describe('a sponsor', () => {
  it('gets four parameters without a signature, and no other data of the wallet', async () => {
    const { port, received } = await serviceOf(resulting({ ...PARTS, sponsor: { name: 'Acme' } }))
    const service = at(port)
    expect(service.host).toBe(`127.0.0.1:${port}`)
    expect(await service.stub(REQUEST)).toEqual({ ...READ, sponsor: { name: 'Acme', icon: null }, isFinal: false })
    expect(await service.final({ ...REQUEST, context: { policy: 'all' } })).toEqual(READ)
    const params = [
      {
        sender: Address.checksum(SENDER),
        nonce: '0x7',
        callData: '0x01',
        callGasLimit: '0x0',
        verificationGasLimit: '0x0',
        preVerificationGas: '0x0',
        maxFeePerGas: '0x0',
        maxPriorityFeePerGas: '0x0',
      },
      ENTRY_POINTS['0.8'],
      '0x7a69',
      {},
    ]
    expect(received.map(({ body }) => body)).toEqual([
      { jsonrpc: '2.0', id: 1, method: 'pm_getPaymasterStubData', params },
      { jsonrpc: '2.0', id: 1, method: 'pm_getPaymasterData', params: [...params.slice(0, 3), { policy: 'all' }] },
    ])
    const [{ headers }] = received as [(typeof received)[number], ...typeof received] // it got two requests
    expect(headers).toMatchObject({ 'content-type': 'application/json', accept: 'application/json' })
    expect(headers).not.toHaveProperty('origin')
    expect(headers).not.toHaveProperty('cookie')
    expect(headers).not.toHaveProperty('referer')
  })

  it('may omit gas limits', async () => {
    const { port } = await serviceOf(resulting({ paymaster: PAYMASTER, paymasterData: '0x', paymasterPostOpGasLimit: null }))
    const limits = { paymasterVerificationGasLimit: null, paymasterPostOpGasLimit: null }
    expect(await at(port).final(REQUEST)).toEqual({ paymaster: PAYMASTER, paymasterData: new Uint8Array(), ...limits })
  })

  it('is shown with a name of visible text, and an icon that needs no request', async () => {
    const png = 'data:image/png;base64,iVBORw0KGgo='
    const shown: readonly (readonly [unknown, unknown])[] = [
      [
        { name: 'Acme', icon: png },
        { name: 'Acme', icon: png },
      ],
      [
        { name: '  A\u202eb\n ', icon: 'https://s.example/icon.png' },
        { name: 'A\\u{202e}b', icon: null },
      ],
      [
        { name: 'x'.repeat(1_000), icon: 'data:text/html,<script>' },
        { name: `${'x'.repeat(60)}…`, icon: null },
      ],
      [
        { name: '', icon: `data:image/png;base64,${'A'.repeat(SPONSOR_ICON_CHARS)}` },
        { name: null, icon: null },
      ],
      [
        { name: 7, icon: 'data:image/png;base64,AA" onerror="alert(1)' },
        { name: null, icon: null },
      ],
      [{ icon: 'data:image/svg+xml;utf8,%3Csvg/%3E' }, { name: null, icon: 'data:image/svg+xml;utf8,%3Csvg/%3E' }],
      ['Acme', { name: null, icon: null }],
      [null, { name: null, icon: null }],
      [[], { name: null, icon: null }],
    ]
    let sponsor: unknown
    const { port } = await serviceOf((received, response) => resulting({ ...PARTS, sponsor })(received, response))
    for (const [given, expected] of shown) {
      sponsor = given
      expect((await at(port).stub(REQUEST)).sponsor).toEqual(expected)
    }
  })
})

describe('an invalid response is 4300', () => {
  const wrong: readonly (readonly [string, unknown])[] = [
    ['nothing', null],
    ['a text', 'sponsored'],
    ['a list', [PARTS]],
    ['no paymaster', { ...PARTS, paymaster: undefined }],
    ['the zero address, with which the account would pay', { ...PARTS, paymaster: Address.zero }],
    ['a paymaster that is too short', { ...PARTS, paymaster: '0x9a' }],
    ['a paymaster that is a number', { ...PARTS, paymaster: 1 }],
    ['no data', { ...PARTS, paymasterData: undefined }],
    ['half a byte of data', { ...PARTS, paymasterData: '0x1' }],
    ['data that is no hex', { ...PARTS, paymasterData: 'ff' }],
    ['a limit in decimal', { ...PARTS, paymasterVerificationGasLimit: '30000' }],
    ['a limit that is a number', { ...PARTS, paymasterPostOpGasLimit: 30_000 }],
    ['a limit that is negative', { ...PARTS, paymasterPostOpGasLimit: '-0x1' }],
    ['a limit of more than 120 bits', { ...PARTS, paymasterPostOpGasLimit: `0x1${'0'.repeat(30)}` }],
    ['a limit of more than 256 bits', { ...PARTS, paymasterPostOpGasLimit: `0x${'f'.repeat(65)}` }],
    ['a limit of a thousand digits', { ...PARTS, paymasterVerificationGasLimit: `0x${'f'.repeat(1_000)}` }],
    ['the shape of 0.6', { paymasterAndData: `${PAYMASTER}01ff` }],
  ]
  it.each(wrong)('whose result is %s', async (_, result) => {
    expect((await failing(resulting(result))).data).toMatchObject({ reason: 'malformed' })
    expect((await failing(resulting(result), 'stub')).data).toMatchObject({ reason: 'malformed' })
  })

  it('whose isFinal is no boolean', async () => {
    expect((await failing(resulting({ ...PARTS, isFinal: 'yes' }), 'stub')).data).toMatchObject({ reason: 'malformed' })
  })

  const bodies: readonly (readonly [string, string])[] = [
    ['HTML', '<!doctype html><title>Sponsor</title>'],
    ['empty', ''],
    ['a number', '1'],
    ['NaN', '{"jsonrpc":"2.0","id":1,"result":NaN}'],
    ['a batch', JSON.stringify([{ jsonrpc: '2.0', id: 1, result: PARTS }])],
    ['the response to another request', JSON.stringify({ jsonrpc: '2.0', id: 2, result: PARTS })],
    ['the response to a request without id', JSON.stringify({ jsonrpc: '2.0', id: null, result: PARTS })],
    ['the response to a request with a string id', JSON.stringify({ jsonrpc: '2.0', id: '1', result: PARTS })],
    ['neither a result nor an error', JSON.stringify({ jsonrpc: '2.0', id: 1 })],
    ['cut off', JSON.stringify({ jsonrpc: '2.0', id: 1, result: PARTS }).slice(0, -2)],
    ['a deeply nested text', '['.repeat(50_000)],
  ]
  it.each(bodies)('that is %s', async (_, body) => {
    const refusal = await failing((__, response) => response.writeHead(200, { 'content-type': 'application/json' }).end(body))
    expect(refusal.data).toMatchObject({ reason: 'malformed', status: 200 })
  })

  it('that is no UTF-8', async () => {
    const bytes = Buffer.from('{"jsonrpc":"2.0","id":1,"result":"\xff"}', 'latin1')
    expect((await failing((_, response) => response.end(bytes))).data).toMatchObject({ reason: 'malformed' })
  })

  it.each([400, 401, 403, 429, 500, 502, 503])('with HTTP %i', async (status) => {
    expect((await failing((_, response) => response.writeHead(status).end('no'))).data).toMatchObject({ reason: 'malformed', status })
  })

  it.each([301, 302, 307, 308])('with HTTP %i, which is not followed', async (status) => {
    const { port: other, received } = await serviceOf(resulting(PARTS))
    const location = `http://127.0.0.1:${other}/rpc`
    expect((await failing((_, response) => response.writeHead(status, { location }).end())).data).toMatchObject({ reason: 'redirect' })
    expect(received).toEqual([])
  })

  it('that exceeds the size limit by one byte', async () => {
    const padded =
      (bytes: number): Responder =>
      ({ body: { id } }, response) => {
        const text = JSON.stringify({ jsonrpc: '2.0', id, result: PARTS })
        response.end(text + ' '.repeat(bytes - text.length))
      }
    const { port } = await serviceOf(padded(SPONSOR_REPLY_BYTES))
    expect(await at(port).final(REQUEST)).toEqual(READ)
    expect((await failing(padded(SPONSOR_REPLY_BYTES + 1))).data).toMatchObject({ reason: 'too-large' })
  })

  it('that ends early', async () => {
    const broken: Responder = (_, response) => {
      response.writeHead(200, { 'content-length': '100' })
      response.write('{"jsonrpc"', () => response.destroy())
    }
    expect((await failing(broken)).data).toMatchObject({ reason: 'unreachable' })
    expect((await failing((_, response) => response.destroy())).data).toMatchObject({ reason: 'unreachable' })
  })

  it('that never starts, or arrives slowly, and fails after the time limit', { timeout: 2 * SPONSOR_MS + 5_000 }, async () => {
    const began = performance.now()
    const drip: Responder = (_, response) => {
      const timer = setInterval(() => response.write(' '), 100)
      response.on('close', () => clearInterval(timer))
    }
    const refusals = await Promise.all([failing(() => {}), failing(drip)])
    for (const { data } of refusals) expect(data).toMatchObject({ reason: 'timeout' })
    const took = performance.now() - began
    expect(took).toBeGreaterThan(SPONSOR_MS - 100)
    expect(took).toBeLessThan(SPONSOR_MS + 2_000)
  })
})

describe('an error of a sponsor is 4300 with its own error', () => {
  const error = { code: -32_001, message: 'the budget is spent', data: { reason: 'total' } }

  it.each([200, 400, 403, 500])('under HTTP %i', async (status) => {
    const refusal = await failing(({ body: { id } }, response) => json(response, { jsonrpc: '2.0', id, error }, status))
    expect(refusal.data).toMatchObject({ reason: 'refused', status, cause: error })
    expect((refusal.data as { detail: string }).detail).toContain('the budget is spent')
  })

  it('within the limits of its fields', async () => {
    const long = { code: 1.5, message: `\u202e${'m'.repeat(10_000)}`, data: 'd'.repeat(10_000) }
    const { data } = await failing(({ body: { id } }, response) => json(response, { jsonrpc: '2.0', id, error: long }))
    const { cause } = data as { cause: { code: unknown; message: string; data?: unknown } }
    expect(cause).toEqual({ code: null, message: expect.stringMatching(/^\\u\{202e\}m+…$/) })
    expect(cause.message.length).toBeLessThan(400)
    const deep = `{"jsonrpc":"2.0","id":1,"error":{"message":"deep","data":${'['.repeat(20_000)}${']'.repeat(20_000)}}}`
    const nested = await failing((_, response) => response.writeHead(200).end(deep))
    expect(nested.data).toMatchObject({ reason: 'refused', cause: { code: null, message: 'deep' } })
    const silent = await failing(({ body: { id } }, response) => json(response, { jsonrpc: '2.0', id, error: {} }))
    expect(silent.data).toMatchObject({ cause: { code: null, message: 'it does not say why' } })
  })
})

describe('an unreachable url is 4200', () => {
  it('with a closed port', async () => {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo // it listens on a port
    await new Promise((resolve) => server.close(resolve))
    const refusal = await refusalOf(at(port, '/secret?key=KEY').stub(REQUEST))
    expect(refusal).toMatchObject({ code: 4200, message: 'Invalid paymaster URL', data: { reason: 'unreachable' } })
    expect(JSON.stringify(refusal.data)).not.toMatch(/secret|KEY/)
  })

  it('with an unknown host name', async () => {
    const service = new SponsorClient('https://unknown.invalid/secret', LOOPBACK)
    expect(await refusalOf(service.stub(REQUEST))).toMatchObject({ code: 4200, data: { reason: 'unreachable' } })
  })

  it('whose name resolves to loopback, unless that is allowed', async () => {
    const { port, received } = await serviceOf(resulting(PARTS), { secure: true })
    const service = new SponsorClient(`https://localhost:${port}/rpc`, { sponsor: null, allowHttpLoopback: false })
    expect(await refusalOf(service.stub(REQUEST))).toMatchObject({ code: 4200, data: { reason: 'forbidden' } })
    expect(received).toEqual([])
  })

  it('with an untrusted certificate', async () => {
    const { port, received } = await serviceOf(resulting(PARTS), { secure: true })
    const service = new SponsorClient(`https://localhost:${port}/rpc`, LOOPBACK)
    expect(await refusalOf(service.stub(REQUEST))).toMatchObject({ code: 4200, data: { reason: 'unreachable' } })
    expect(received).toEqual([])
  })

  it('whose server accepts the connection without TLS, or never responds', { timeout: SPONSOR_MS + 10_000 }, async () => {
    const { port } = await serviceOf(resulting(PARTS))
    const speaking = new SponsorClient(`https://127.0.0.1:${port}/rpc`, LOOPBACK)
    expect(await refusalOf(speaking.stub(REQUEST))).toMatchObject({ code: 4200, data: { reason: 'unreachable' } })
    const mute = createServer(() => {})
    onTestFinished(() => void mute.close())
    await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve))
    const silent = new SponsorClient(`https://127.0.0.1:${(mute.address() as AddressInfo).port}/rpc`, LOOPBACK) // it listens on a port
    expect(await refusalOf(silent.stub(REQUEST))).toMatchObject({ code: 4200, data: { reason: 'timeout' } })
  })
})

describe('the embedded sponsor', () => {
  const embedded = (port: number): SponsorSettings => ({
    sponsor: { origins: () => [`https://localhost:${port}`], ca: () => TEST_CERTIFICATE },
    allowHttpLoopback: false,
  })

  it('is reached on loopback with its own certificate', async () => {
    const { port, received } = await serviceOf(resulting(PARTS), { secure: true })
    const service = new SponsorClient(`https://localhost:${port}/paymaster/rpc`, embedded(port))
    expect(await service.final(REQUEST)).toEqual(READ)
    expect(received.map(({ path }) => path)).toEqual(['/paymaster/rpc'])
  })

  it('is the only one whose certificate is trusted, also if loopback is allowed', async () => {
    const { port, received } = await serviceOf(resulting(PARTS), { secure: true })
    const other = new SponsorClient(`https://127.0.0.1:${port}/rpc`, { ...embedded(port), allowHttpLoopback: true })
    expect(await refusalOf(other.final(REQUEST))).toMatchObject({ code: 4200, data: { reason: 'unreachable' } })
    expect(received).toEqual([])
  })
})

describe('the url of a service', () => {
  const only =
    (place: string): Responder =>
    (received, response) =>
      new URL(received.path, 'http://s').pathname === place ? resulting(PARTS)(received, response) : response.writeHead(404).end()

  it.each([
    ['', '/rpc', ['/rpc']],
    ['', '/', ['/rpc', '/']],
    ['/key', '/key', ['/key']],
    ['/key', '/key/rpc', ['/key', '/key/rpc']],
    ['/key?a=1', '/key/rpc', ['/key?a=1', '/key/rpc?a=1']],
    ['/v1/rpc', '/v1/rpc', ['/v1/rpc']],
  ])('with path %j that responds at %s is found by requests to %j, and cached', async (path, place, tried) => {
    const { port, received } = await serviceOf(only(place))
    const settings = { ...LOOPBACK }
    expect(await at(port, path, settings).stub(REQUEST)).toMatchObject(READ)
    expect(received.map((each) => each.path)).toEqual(tried)
    received.length = 0
    // Another object for the same url: the cache belongs to the wallet.
    expect(await at(port, path, settings).final(REQUEST)).toEqual(READ)
    expect(received.map((each) => each.path)).toEqual(tried.slice(-1))
  })

  it('is cached for SPONSOR_URLS urls; the oldest is removed', async () => {
    const { port, received } = await serviceOf((one, response) =>
      one.path.endsWith('/rpc') ? resulting(PARTS)(one, response) : response.writeHead(405).end(),
    )
    const settings = { ...LOOPBACK }
    for (let i = 0; i <= SPONSOR_URLS; i++) await at(port, `/${i}`, settings).stub(REQUEST)
    received.length = 0
    await at(port, `/${SPONSOR_URLS}`, settings).stub(REQUEST)
    await at(port, '/0', settings).stub(REQUEST)
    expect(received.map(({ path }) => path)).toEqual([`/${SPONSOR_URLS}/rpc`, '/0', '/0/rpc'])
  })

  it('is searched again after the service has moved', async () => {
    let place = '/'
    const { port, received } = await serviceOf((one, response) => only(place)(one, response))
    const service = at(port, '', { ...LOOPBACK })
    await service.stub(REQUEST)
    place = '/rpc'
    received.length = 0
    expect(await service.final(REQUEST)).toEqual(READ)
    expect(received.map(({ path }) => path)).toEqual(['/', '/rpc'])
  })

  it('is final if the first candidate rejects with another status', async () => {
    const { port, received } = await serviceOf((_, response) => response.writeHead(500).end())
    expect(await refusalOf(at(port, '').stub(REQUEST))).toMatchObject({ code: 4300, data: { status: 500 } })
    expect(received).toHaveLength(1)
  })

  it.each([404, 405])('is 4300 after two requests if no candidate exists (HTTP %i)', async (status) => {
    const { port, received } = await serviceOf((_, response) => response.writeHead(status).end('<html>'))
    expect(await refusalOf(at(port, '/a/KEY').stub(REQUEST))).toMatchObject({ code: 4300, data: { status } })
    expect(received).toHaveLength(2)
    expect(await refusalOf(at(port, '/rpc').stub(REQUEST))).toMatchObject({ code: 4300, data: { status } })
    expect(received).toHaveLength(3)
  })

  it('may return its JSON-RPC error with HTTP 404', async () => {
    const error = { code: -32_601, message: 'the method is not there' }
    const { port } = await serviceOf((received, response) =>
      received.path === '/key' ? json(response, { jsonrpc: '2.0', id: 1, error }, 404) : response.writeHead(404).end('<html>'),
    )
    expect(await refusalOf(at(port, '/key').stub(REQUEST))).toMatchObject({ code: 4300, data: { cause: error } })
  })
})

describe('a request to a sponsor', () => {
  it('ends with the reason of its signal', async () => {
    const gone = new AbortController()
    const { port } = await serviceOf(() => gone.abort(new Error('the app has gone')))
    await expect(at(port).stub({ ...REQUEST, signal: gone.signal })).rejects.toThrow('the app has gone')
  })

  it('that hangs delays no other one', async () => {
    const { port, received } = await serviceOf((one, response) => {
      if (one.body.method === 'pm_getPaymasterData') resulting(PARTS)(one, response)
    })
    const gone = new AbortController()
    const settings = { ...LOOPBACK }
    const hanging = Array.from({ length: 20 }, () => at(port, '/rpc', settings).stub({ ...REQUEST, signal: gone.signal }))
    await expect.poll(() => received).toHaveLength(20)
    expect(await at(port, '/rpc', settings).final(REQUEST)).toEqual(READ)
    gone.abort(new Error('enough'))
    for (const each of await Promise.allSettled(hanging)) expect(each.status).toBe('rejected')
  })

  it('contains the authorization of an account that is upgraded', async () => {
    const { port, received } = await serviceOf(resulting(PARTS))
    const authorization = { chainId: 31_337n, address: PAYMASTER, nonce: 1n, yParity: 0, r: 1n, s: 2n, authority: SENDER }
    const operation = { ...REQUEST.operation, factory: UserOperation.DELEGATION, authorization }
    await at(port).stub({ ...REQUEST, operation })
    expect(received[0]?.body.params[0]).toMatchObject({ factory: '0x7702', factoryData: '0x', eip7702Auth: { nonce: '0x1' } })
  })

  it('uses the fetch of the settings, with the same size limit', async () => {
    const urls: string[] = []
    const reply = JSON.stringify({ jsonrpc: '2.0', id: 1, result: PARTS })
    const fetch: typeof globalThis.fetch = async (input) => {
      urls.push(input as string) // the wallet passes a string
      return new Response(urls.length === 1 ? reply : reply + ' '.repeat(SPONSOR_REPLY_BYTES))
    }
    const service = new SponsorClient('https://s.example/api', { sponsor: null, allowHttpLoopback: false, fetch })
    expect(await service.final(REQUEST)).toEqual(READ)
    expect(await refusalOf(service.final(REQUEST))).toMatchObject({ code: 4300, data: { reason: 'too-large' } })
    expect(urls).toEqual(['https://s.example/api', 'https://s.example/api'])
  })
})
