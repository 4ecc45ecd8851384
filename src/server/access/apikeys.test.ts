import { createHash } from 'node:crypto'
import { mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { BATCH_ITEMS } from '../../jsonrpc/index.ts'
import { ask, call, dial, setUp } from '../bench.fixture.ts'
import type { Bench } from '../bench.fixture.ts'
import { API_KEYS, API_KEYS_FILE_BYTES, LIMITED_ADDRESSES } from '../limits.ts'
import { ApiKeys, ApiKeysError } from './apikeys.ts'

const KEY = 'k-7f1c0f9d52'
const READER = 'k-reader'
const RECIPIENT = '0x00000000000000000000000000000000000000aa'

let folder: string
let path: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'keys-'))
  path = join(folder, 'keys.json')
})
afterEach(() => rmSync(folder, { recursive: true }))

/** Replaces the file in one step, as an editor does. */
function write(value: unknown): void {
  writeFileSync(`${path}.new`, typeof value === 'string' ? value : JSON.stringify(value))
  renameSync(`${path}.new`, path)
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

const FILE = {
  anonymous: { requestsPerSecond: 0.001, burst: 2, methods: ['read'] },
  keys: [
    { name: 'indexer', key: KEY, requestsPerSecond: 0.001, burst: 3 },
    { name: 'reader', sha256: sha256(READER), requestsPerSecond: 1_000, methods: ['read', 'subscribe'] },
    { name: 'past', key: 'k-past', requestsPerSecond: 10, until: '2026-01-01T00:00:00Z' },
  ],
}

/** A node with these keys, and the lines that it prints. */
async function keyed(file: unknown = FILE): Promise<{ readonly bench: Bench; readonly notes: readonly string[] }> {
  write(file)
  const notes: string[] = []
  return { bench: await setUp({ keys: path }, { onNote: (line) => notes.push(line) }), notes }
}

interface Reply {
  readonly status: number
  readonly retryAfter: string | undefined
  readonly body: {
    readonly id: unknown
    readonly result?: unknown
    readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
  }
}

async function post({ server }: Bench, body: string, headers: Record<string, string> = {}, at = '/public'): Promise<Reply> {
  const reply = await ask(server, { path: at, headers, body })
  return { status: reply.status, retryAfter: reply.headers['retry-after'], body: JSON.parse(reply.body) as Reply['body'] }
}

const CHAIN_ID = call('eth_chainId')

describe('the public tier with API keys', () => {
  test('takes a key from a header, as a bearer token or from the path', async () => {
    const { bench } = await keyed({ keys: [{ name: 'indexer', key: KEY, requestsPerSecond: 1_000 }] })
    await using _ = bench
    for (const [headers, at] of [
      [{ 'x-api-key': KEY }, '/public'],
      [{ authorization: `Bearer ${KEY}` }, '/public'],
      [{}, `/public/${KEY}`],
      [{ 'x-api-key': 'wrong' }, `/public/${KEY}`],
    ] as const)
      expect(await post(bench, CHAIN_ID, headers, at)).toMatchObject({ status: 200, body: { id: 1, result: '0x7a69' } })
    for (const place of [`/public/${KEY}/x`, '/public/x/y', `/publi/${KEY}`])
      expect((await ask(bench.server, { path: place, body: CHAIN_ID })).status).toBe(404)
  })

  test('refuses a request without a key, or with one that is unknown, removed or past its date', async () => {
    const { bench } = await keyed({ ...FILE, anonymous: null })
    await using _ = bench
    for (const [headers, message] of [
      [{}, /^an API key is required: send it as the header x-api-key/],
      [{ 'x-api-key': `${KEY}0` }, /^the API key is unknown here, or was removed/],
      [{ 'x-api-key': 'x'.repeat(300) }, /^the API key is unknown here/],
      [{ 'x-api-key': 'k-past' }, /^the API key "past" ended at 2026-01-01T00:00:00.000Z/],
      [{ 'x-api-key': sha256(READER) }, /^the API key is unknown here/],
    ] as const)
      expect(await post(bench, CHAIN_ID, headers)).toMatchObject({
        status: 401,
        body: { id: 1, error: { code: 4_100, message: expect.stringMatching(message) } },
      })
    expect(await post(bench, CHAIN_ID, {}, '/')).toMatchObject({ status: 200, body: { result: '0x7a69' } })
  })

  test('answers at most a burst, and then says when to repeat', async () => {
    const { bench } = await keyed()
    await using _ = bench
    const headers = { 'x-api-key': KEY }
    for (let i = 0; i < 3; i++) expect((await post(bench, CHAIN_ID, headers)).status).toBe(200)
    const { status, retryAfter, body } = await post(bench, CHAIN_ID, headers)
    expect([status, retryAfter, body.error?.code]).toEqual([429, '1000', -32_005])
    expect(body.error?.message).toMatch(/^the API key "indexer" has more than 0.001 requests per second: repeat it after \d+ ms$/)
    expect(body.error?.data).toEqual({ retryAfterMs: expect.closeTo(990_000, -5) })
    expect((await post(bench, CHAIN_ID, { 'x-api-key': READER })).status).toBe(200)
    expect((await post(bench, CHAIN_ID)).status).toBe(200)
  })

  test('counts each item of a batch, and each message of a WebSocket', async () => {
    const { bench } = await keyed()
    await using _ = bench
    const batch = `[${Array.from({ length: 5 }, (__, i) => call('eth_chainId', [], i)).join(',')}]`
    const { status, body } = await post(bench, batch, { 'x-api-key': KEY })
    expect(status).toBe(200)
    expect((body as unknown as readonly Reply['body'][]).map(({ id, error }) => [id, error?.code ?? 0])).toEqual([
      [0, 0],
      [1, 0],
      [2, 0],
      [3, -32_005],
      [4, -32_005],
    ])
    await using client = await dial(bench.server, `/public/${READER}`)
    client.send(call('eth_subscribe', ['newHeads']))
    expect(await client.next()).toMatchObject({ result: expect.stringMatching(/^0x/) })
    client.send(call('eth_getLogs', [{}]))
    expect(await client.next()).toMatchObject({ error: { code: -32_004 } })
    await using unnamed = await dial(bench.server, '/public')
    for (let i = 0; i < 2; i++) {
      unnamed.send(CHAIN_ID)
      expect(await unnamed.next()).toMatchObject({ result: '0x7a69' })
    }
    unnamed.send(CHAIN_ID)
    expect(await unnamed.next()).toMatchObject({ error: { code: -32_005 } })
  })

  test('counts each body and each item that is no request', async () => {
    const { bench } = await keyed()
    await using _ = bench
    const headers = { 'x-api-key': KEY }
    const tooLong = JSON.stringify(Array.from({ length: BATCH_ITEMS + 1 }, () => 0))
    for (const body of ['{', '[]', tooLong]) expect((await post(bench, body, headers)).status).toBe(200)
    for (const body of ['{', '[]', tooLong, '{"id":7}', `[${CHAIN_ID},1]`])
      expect(await post(bench, body, headers)).toMatchObject({ status: 429, body: { error: { code: -32_005 } } })
    const { body } = await post(bench, '[1,2]')
    expect(body).toMatchObject([{ error: { code: -32_600 } }, { error: { code: -32_600 } }])
    expect((await post(bench, CHAIN_ID)).status).toBe(429)
  })

  test('a transaction beyond the quota is not executed', async () => {
    const { bench } = await keyed()
    await using _ = bench
    const [from] = (await bench.node.request({ method: 'eth_accounts' })) as readonly string[]
    const raw = (await bench.node.request({
      method: 'eth_signTransaction',
      params: [
        {
          from,
          to: RECIPIENT,
          value: '0x1',
          gas: '0x5208',
          nonce: '0x0',
          maxFeePerGas: '0x77359400',
          maxPriorityFeePerGas: '0x0',
          type: '0x2',
        },
      ],
    })) as string
    const reply = await post(bench, call('eth_sendRawTransaction', [raw]), { 'x-api-key': READER })
    expect(reply).toMatchObject({
      status: 403,
      body: {
        error: {
          code: -32_004,
          message: 'the API key "reader" has no methods of class send, such as eth_sendRawTransaction: it has read, subscribe',
        },
      },
    })
    await bench.clock.advance(600)
    expect(await bench.node.request({ method: 'eth_getTransactionCount', params: [from, 'pending'] })).toBe('0x0')
    expect(await bench.node.request({ method: 'txpool_status' })).toEqual({ pending: '0x0', queued: '0x0' })
    expect((await post(bench, call('eth_sendRawTransaction', [raw]), { 'x-api-key': KEY })).status).toBe(200)
    await bench.clock.advance(600)
    expect(await bench.node.request({ method: 'eth_getTransactionCount', params: [from, 'pending'] })).toBe('0x1')
  })

  test('methods that are not public count too, and stay unknown', async () => {
    const { bench } = await keyed()
    await using _ = bench
    const headers = { 'x-api-key': KEY }
    for (let i = 0; i < 3; i++) expect((await post(bench, call('anvil_mine'), headers)).body.error?.code).toBe(-32_601)
    expect((await post(bench, call('anvil_mine'), headers)).status).toBe(429)
  })

  test('follows changes of the file, also on open connections, and keeps the former keys when it is wrong', async () => {
    const { bench, notes } = await keyed()
    await using _ = bench
    await using client = await dial(bench.server, `/public/${READER}`)
    const noted = async (text: string) => {
      while (!notes.some((line) => line.includes(text))) await new Promise((resolve) => setTimeout(resolve, 20))
    }
    write({ keys: [{ name: 'new', key: 'k-new', requestsPerSecond: 10 }] })
    await noted('again: 1 API keys')
    expect((await post(bench, CHAIN_ID, { 'x-api-key': 'k-new' })).status).toBe(200)
    expect((await post(bench, CHAIN_ID, { 'x-api-key': KEY })).status).toBe(401)
    client.send(CHAIN_ID)
    expect(await client.next()).toMatchObject({ error: { code: 4_100 } })
    write(`{ "keys": [ { "key": "${KEY}" `)
    await noted('is not JSON; the API keys from before stay in force')
    expect((await post(bench, CHAIN_ID, { 'x-api-key': 'k-new' })).status).toBe(200)
    rmSync(path)
    await noted('cannot be read')
    expect((await post(bench, CHAIN_ID, { 'x-api-key': 'k-new' })).status).toBe(200)
    symlinkSync(path, path)
    await noted('ELOOP')
    expect((await post(bench, CHAIN_ID, { 'x-api-key': 'k-new' })).status).toBe(200)
    expect(notes.join('\n')).not.toContain(KEY)
  })

  test('the metrics have requests and refusals by the name of the key', async () => {
    const { bench } = await keyed()
    await using _ = bench
    for (let i = 0; i < 4; i++) await post(bench, CHAIN_ID, { 'x-api-key': KEY })
    await post(bench, call('eth_getLogs', [{}]), { 'x-api-key': READER })
    await post(bench, CHAIN_ID, { 'x-api-key': 'wrong' })
    await post(bench, CHAIN_ID)
    const { body } = await ask(bench.server, { method: 'GET', path: '/metrics' })
    for (const line of [
      'pocketchain_api_key_requests_total{key="indexer"} 3',
      'pocketchain_api_key_requests_total{key="anonymous"} 1',
      'pocketchain_api_key_refusals_total{key="indexer",reason="rate"} 1',
      'pocketchain_api_key_refusals_total{key="reader",reason="method"} 1',
      'pocketchain_api_key_refusals_total{key="unknown",reason="key"} 1',
    ])
      expect(body).toContain(`${line}\n`)
    expect(body).not.toContain(KEY)
  })
})

describe('the file of API keys', () => {
  test.each([
    ['empty', '', 'is not JSON'],
    ['a list', '[]', 'is not valid: file: expected an object, got an array'],
    ['no keys', {}, 'is not valid: file.keys: missing value'],
    [
      'a rate of zero',
      { keys: [{ name: 'a', key: 'b', requestsPerSecond: 0 }] },
      'file.keys[0].requestsPerSecond: must be a number above 0, at most 1000000',
    ],
    ['neither key nor digest', { keys: [{ name: 'a', requestsPerSecond: 1 }] }, 'file.keys[0]: must have either key or sha256'],
    ['key and digest', { keys: [{ name: 'a', key: 'b', sha256: sha256('b'), requestsPerSecond: 1 }] }, 'must have either key or sha256'],
    ['a wrong digest', { keys: [{ name: 'a', sha256: 'b', requestsPerSecond: 1 }] }, 'must be the SHA-256 of the key'],
    [
      'an unknown field',
      { keys: [{ name: 'a', key: 'b', requestsPerSecond: 1, method: ['read'] }] },
      'file.keys[0].method: is unknown; there are',
    ],
    [
      'an unknown class',
      { keys: [{ name: 'a', key: 'b', requestsPerSecond: 1, methods: ['write'] }] },
      'expected one of read, logs, call, send, subscribe',
    ],
    ['a reserved name', { keys: [{ name: 'anonymous', key: 'b', requestsPerSecond: 1 }] }, 'file.keys[0].name: "anonymous" is taken'],
    ['a wrong date', { keys: [{ name: 'a', key: 'b', requestsPerSecond: 1, until: 'soon' }] }, 'must be a date in ISO 8601'],
    [
      'a key twice',
      {
        keys: [
          { name: 'a', key: 'b', requestsPerSecond: 1 },
          { name: 'c', sha256: sha256('b'), requestsPerSecond: 1 },
        ],
      },
      'file.keys[1]: has the key of another name',
    ],
    ['too many keys', { keys: Array.from({ length: API_KEYS + 1 }, () => 0) }, `${API_KEYS + 1} items, at most ${API_KEYS} are accepted`],
    ['too large', ' '.repeat(API_KEYS_FILE_BYTES + 1), `has ${API_KEYS_FILE_BYTES + 1} bytes, more than ${API_KEYS_FILE_BYTES}`],
  ])('is refused: %s', async (_, file, message) => {
    write(file)
    const attempt = () => new ApiKeys(path, DEPS)
    expect(attempt).toThrow(ApiKeysError)
    expect(attempt).toThrow(message)
    await expect(setUp({ keys: path })).rejects.toThrow(message)
  })

  test('is refused: cannot be read', () => {
    symlinkSync(path, path)
    expect(() => new ApiKeys(path, DEPS)).toThrow(ApiKeysError)
    expect(() => new ApiKeys(path, DEPS)).toThrow('cannot be read: ELOOP')
  })

  test('the rate of an address is forgotten only after those of many others', () => {
    write(FILE)
    using keys = disposable(new ApiKeys(path, DEPS))
    const from = (address: string) => keys.quotaOf({}, null, address).admit('eth_chainId', 'read')
    from('a')
    from('a')
    expect(() => from('a')).toThrow('a client without an API key has more than 0.001 requests per second')
    for (let i = 0; i < LIMITED_ADDRESSES; i++) from(`address ${i}`)
    expect(() => from('a')).toThrow('repeat it after')
  })
})

const DEPS = { now: () => 0, timeMs: () => 0, onNote: () => undefined }

function disposable(keys: ApiKeys): ApiKeys & Disposable {
  return Object.assign(keys, { [Symbol.dispose]: () => keys.close() })
}
