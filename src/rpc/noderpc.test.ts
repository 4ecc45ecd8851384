import { beforeAll, describe, expect, it } from 'vitest'
import { Address, Hash, Hex } from '../eth/index.ts'
import { RewoundState } from '../chain/index.ts'
import { JsonAnswer, textOf } from './body.ts'
import type { Caller } from './context.ts'
import { BATCH_ITEMS, BATCH_RESPONSE_BYTES, BATCH_SLICE_MS, ERROR_MESSAGE_CHARS } from '../jsonrpc/index.ts'
import { PUBLIC_BATCH_MS, SMALL_RESULT_BYTES, WHOLE_RESULT_BYTES } from './limits.ts'
import { COMPAT } from '../compat.ts'
import { DevAccounts } from './accounts.ts'
import { createRpc } from './noderpc.ts'
import type { NodeRpc } from './noderpc.ts'
import { CODE, RpcError } from '../jsonrpc/index.ts'
import type { RpcRequest } from '../jsonrpc/index.ts'
import { ALICE, DEDICATED, LOGGER, LOGGER_INIT_CODE, PRECONF, PUBLIC, testNode } from './node.fixture.ts'
import type { TestNode } from './node.fixture.ts'
import { method } from './method.ts'
import { routesOf } from '../jsonrpc/index.ts'
import { JsonBytes, JsonStream } from './texts.ts'

/** The result of `test_stream`, a method of another module. */
let streamed: () => unknown = () => null
const STREAM = method({
  name: 'test_stream',
  doc: '',
  params: [],
  result: { type: 'string' },
  example: { params: [], result: 0 },
  handler: () => streamed(),
})

let node: TestNode
beforeAll(async () => {
  node = await testNode({ routes: routesOf([STREAM], null as never) })
})

const CHAIN_ID = '"method":"eth_chainId"'
const OK = { jsonrpc: '2.0', id: 1, result: '0x7a69' }

/** The JSON of the response; undefined if there is none. */
async function answer(body: string | Uint8Array, caller = DEDICATED): Promise<unknown> {
  const { body: text } = await node.rpc.handle(body, caller)
  return text === null ? undefined : (JSON.parse(textOf(text)) as unknown)
}

function signal() {
  let resolve = () => undefined as void
  const promise = new Promise<void>((done) => (resolve = done))
  return { promise, resolve: () => resolve() }
}

function failure(id: unknown, code: number, message: unknown = expect.any(String)) {
  return { jsonrpc: '2.0', id, error: { code, message } }
}

const NOT_JSON = 'parse error: the body is not JSON in UTF-8'
const SHAPE = 'invalid request: expected an object with jsonrpc, id, method and params, or an array of them'
const VERSION = 'invalid request: jsonrpc must be "2.0"'
const METHOD = 'invalid request: method must be a string'
const ID = 'invalid request: id must be a string or a number'

// facts of geth's rpc/testdata, row by row
describe('the envelope of a single request', () => {
  it.each<[string, string, unknown]>([
    ['a call', `{"jsonrpc":"2.0","id":1,${CHAIN_ID},"params":[]}`, OK],
    ['params absent', `{"jsonrpc":"2.0","id":1,${CHAIN_ID}}`, OK],
    ['params null', `{"jsonrpc":"2.0","id":1,${CHAIN_ID},"params":null}`, OK],
    ['a string id', `{"jsonrpc":"2.0","id":"a\\"b",${CHAIN_ID}}`, { ...OK, id: 'a"b' }],
    ['id null is a call', `{"jsonrpc":"2.0","id":null,${CHAIN_ID}}`, { ...OK, id: null }],
    ['unknown keys', `{"jsonrpc":"2.0","id":1,${CHAIN_ID},"more":1}`, OK],
    ['no JSON', '{"jsonrpc":', failure(null, -32700, NOT_JSON)],
    ['nothing', '', failure(null, -32700, NOT_JSON)],
    ['a number', '1', failure(null, -32600, SHAPE)],
    ['null', 'null', failure(null, -32600, SHAPE)],
    ['a string', '"eth_chainId"', failure(null, -32600, SHAPE)],
    ['only an id', '{"id":1}', failure(1, -32600, VERSION)],
    ['no method', '{"jsonrpc":"2.0","id":1}', failure(1, -32600, METHOD)],
    ['a method that is no string', '{"jsonrpc":"2.0","id":1,"method":5}', failure(1, -32600, METHOD)],
    ['an array as id', `{"jsonrpc":"2.0","id":[1],${CHAIN_ID}}`, failure(null, -32600, ID)],
    ['an object as id', `{"jsonrpc":"2.0","id":{},${CHAIN_ID}}`, failure(null, -32600, ID)],
    ['no version', `{"id":1,${CHAIN_ID}}`, failure(1, -32600, VERSION)],
    ['another version', `{"jsonrpc":"2.1","id":1,${CHAIN_ID}}`, failure(1, -32600, VERSION)],
    ['the version as a number', `{"jsonrpc":2.0,"id":1,${CHAIN_ID}}`, failure(1, -32600, VERSION)],
    [
      'an unknown method',
      '{"jsonrpc":"2.0","id":1,"method":"eth_nothing"}',
      failure(1, -32601, 'the method eth_nothing does not exist/is not available'),
    ],
    ['a name of Object.prototype', '{"jsonrpc":"2.0","id":1,"method":"toString"}', failure(1, -32601)],
    ['params as object', `{"jsonrpc":"2.0","id":1,${CHAIN_ID},"params":{}}`, failure(1, -32602, 'non-array args')],
    ['params as string', `{"jsonrpc":"2.0","id":1,${CHAIN_ID},"params":"x"}`, failure(1, -32602, 'non-array args')],
    [
      'too few params',
      '{"jsonrpc":"2.0","id":1,"method":"eth_getBalance","params":[]}',
      failure(1, -32602, 'missing value for required argument 0 (address)'),
    ],
    ['too many params', `{"jsonrpc":"2.0","id":1,${CHAIN_ID},"params":[1]}`, failure(1, -32602, 'too many arguments, want at most 0')],
    [
      'a wrong param',
      '{"jsonrpc":"2.0","id":1,"method":"eth_getBalance","params":["0x1"]}',
      failure(1, -32602, expect.stringMatching(/^invalid argument 0 \(address\): /)),
    ],
    [
      'an optional param that is null',
      '{"jsonrpc":"2.0","id":1,"method":"eth_getBalance","params":["0x0000000000000000000000000000000000000001",null]}',
      { ...OK, result: '0x0' },
    ],
    ['a notification', `{"jsonrpc":"2.0",${CHAIN_ID}}`, undefined],
    ['a notification that fails', '{"jsonrpc":"2.0","method":"eth_nothing"}', undefined],
  ])('%s', async (_, body, expected) => {
    expect(await answer(body)).toEqual(expected)
  })

  it('bytes are decoded as UTF-8 only', async () => {
    expect(await answer(new TextEncoder().encode(`{"jsonrpc":"2.0","id":"ü",${CHAIN_ID}}`))).toEqual({ ...OK, id: 'ü' })
    expect(await answer(new Uint8Array([0x22, 0xff, 0x22]))).toEqual(failure(null, -32700, NOT_JSON))
  })

  it('a notification is executed', async () => {
    const mine = await testNode()
    const raw = Hex.fromBytes(mine.sign({ to: Address.zero, gas: 21_000n }).raw)
    const notification = JSON.stringify({ jsonrpc: '2.0', method: 'eth_sendRawTransaction', params: [raw] })
    expect(await mine.rpc.handle(notification, DEDICATED)).toEqual({ body: null })
    expect(mine.chain.pool.size).toBe(1)
  })
})

describe('batches', () => {
  it.each<[string, string, unknown]>([
    ['an empty one is a single error', '[]', failure(null, -32600, 'empty batch')],
    ['junk', '[1,2,3]', [failure(null, -32600), failure(null, -32600), failure(null, -32600)]],
    ['a batch in a batch', '[[]]', [failure(null, -32600)]],
    [
      'calls, junk and notifications, in order',
      `[{"jsonrpc":"2.0","id":1,${CHAIN_ID}},{"foo":"bar"},{"jsonrpc":"2.0",${CHAIN_ID}},{"id":7},{"jsonrpc":"2.0","id":2,"method":"net_version"}]`,
      [OK, failure(null, -32600), failure(7, -32600), { jsonrpc: '2.0', id: 2, result: '31337' }],
    ],
    ['only notifications', `[{"jsonrpc":"2.0",${CHAIN_ID}},{"jsonrpc":"2.0",${CHAIN_ID}}]`, undefined],
  ])('%s', async (_, body, expected) => {
    expect(await answer(body)).toEqual(expected)
  })

  it('over the item limit: one error in an array, with the id of the first call', async () => {
    const call = { jsonrpc: '2.0', id: 'first', method: 'eth_chainId' }
    const batch = [{ jsonrpc: '2.0', method: 'eth_chainId' }, ...new Array<object>(BATCH_ITEMS).fill(call)]
    expect(await answer(JSON.stringify(batch))).toEqual([failure('first', -32600, expect.stringContaining('batch too large'))])
    expect(await answer(JSON.stringify(new Array(BATCH_ITEMS + 1).fill(1)))).toEqual([failure(null, -32600)])
    expect(await answer(JSON.stringify(new Array(BATCH_ITEMS).fill(call)))).toHaveLength(BATCH_ITEMS)
  })

  it('runs items one after the other', async () => {
    const mine = await testNode()
    const ask = (id: number, method: string, ...params: unknown[]) => ({ jsonrpc: '2.0', id, method, params })
    const before = mine.chain.head.view.head.header.number
    const mined = mine.chain.mine(1)
    const { body } = await mine.rpc.handle(JSON.stringify([ask(1, 'eth_blockNumber'), ask(2, 'eth_blockNumber')]), DEDICATED)
    await mined
    expect(JSON.parse(textOf(body ?? ''))).toEqual([1, 2].map((id) => ({ jsonrpc: '2.0', id, result: `0x${before.toString(16)}` })))
  })

  it('yields to other requests between long items', async () => {
    const slow = await slowNode(2 * BATCH_SLICE_MS)
    let others = 0
    setImmediate(() => others++)
    await slow.rpc.handle(JSON.stringify([CALL, CALL]), DEDICATED)
    expect(others).toBe(1)
  })

  it('the rest is rejected after the time limit, on the public tier only', async () => {
    const body = JSON.stringify([CALL, CALL, CALL])
    const codes = async (caller: Caller) => {
      const slow = await slowNode(PUBLIC_BATCH_MS / 2)
      const { body: text } = await slow.rpc.handle(body, caller)
      const answers = JSON.parse(textOf(text ?? '')) as { error?: { code: number } }[] // a batch answers a batch
      return answers.map(({ error }) => error?.code)
    }
    expect(await codes(PUBLIC)).toEqual([undefined, -32002, -32002])
    expect(await codes(DEDICATED)).toEqual([undefined, undefined, undefined])
  })

  it('past the response limit the rest is rejected, not executed', async () => {
    const big = { jsonrpc: '2.0', id: 1, method: 'web3_sha3', params: ['0x'] }
    // An error echoes its id, so long ids make long responses.
    const batch = [0, 1, 2].map((n) => ({ ...big, id: `${n}${'x'.repeat(BATCH_RESPONSE_BYTES / 2)}` }))
    batch.push({ ...big, id: 'late' })
    const answers = (await answer(JSON.stringify(batch))) as { id: string; result?: string; error?: { code: number } }[] // a batch answers a batch
    expect(answers.map(({ id, error }) => [id.slice(0, 4), error?.code])).toEqual([
      ['0xxx', undefined],
      ['1xxx', undefined],
      ['2xxx', -32003],
      ['late', -32003],
    ])
  })
})

const CALL = { jsonrpc: '2.0', id: 1, method: 'eth_chainId' }

/** Its clock advances by `stepMs` at each read. */
function slowNode(stepMs: number): Promise<TestNode> {
  let nowMs = 0
  return testNode({ now: () => (nowMs += stepMs) })
}

describe('an internal error', () => {
  it('of a value nested too deeply for a message is an error response', async () => {
    const nested = `${'['.repeat(50_000)}${']'.repeat(50_000)}`
    const body = `{"jsonrpc":"2.0","id":1,"method":"eth_feeHistory","params":["0x1","latest",[${nested}]]}`
    expect(await answer(body)).toEqual(failure(1, -32602, expect.stringContaining('argument 2 (rewardPercentiles)[0]')))
    expect(node.bugs).toEqual([])
  })

  it('has a message of limited length', async () => {
    const data = { types: { R: [] }, primaryType: 'R'.repeat(100_000), domain: {}, message: {} }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_signTypedData_v4', params: [ALICE, data] })
    const { error } = (await answer(body)) as { error: { code: number; message: string } } // it is refused
    expect(error.code).toBe(-32602)
    expect(error.message).toHaveLength(ERROR_MESSAGE_CHARS + 1)
  })

  it('a bug is reported with its method and kept from the client', async () => {
    const broken = await testNode()
    Object.defineProperty(broken.chain, 'config', {
      get: () => {
        throw new TypeError('secret')
      },
    })
    const { body } = await broken.rpc.handle(`{"jsonrpc":"2.0","id":1,${CHAIN_ID}}`, DEDICATED)
    expect(JSON.parse(textOf(body ?? ''))).toEqual(failure(1, -32603, 'method handler crashed'))
    expect(broken.bugs).toEqual([new TypeError('secret')])
    await expect(broken.ask('eth_chainId')).rejects.toMatchObject({ name: 'RpcError', code: -32603 })
  })

  it('no response of the tests above was a bug', () => {
    expect(node.bugs).toEqual([])
  })
})

describe('the time limit', () => {
  it('ends a long wait with -32002', async () => {
    const slow = await testNode({ methodTimeMs: 20 })
    const raw = Hex.fromBytes(slow.sign({ to: Address.zero, gas: 21_000n }).raw)
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_sendRawTransactionSync', params: [raw] })
    const { body: text } = await slow.rpc.handle(body, DEDICATED)
    expect(JSON.parse(textOf(text ?? ''))).toEqual(failure(1, -32002, 'request timed out after 20 ms'))
    expect(slow.bugs).toEqual([])
  })
})

describe('in process', () => {
  it('returns values and throws RpcError', async () => {
    expect(await node.rpc.request({ method: 'eth_chainId' })).toBe('0x7a69')
    await expect(node.rpc.request({ method: 'eth_nothing' })).rejects.toMatchObject({ name: 'RpcError', code: -32601 })
    await expect(node.ask('eth_getBalance', 'x')).rejects.toMatchObject({ code: -32602 })
  })

  it.each(['eth_chainId', ['eth_chainId'], {}, { method: 5 }, null, undefined])('refuses %o, which is no request', async (request) => {
    const message = "a request is one object: { method: 'eth_chainId', params: [] }"
    await expect(node.rpc.request(request as RpcRequest)).rejects.toMatchObject({ code: -32602, message })
  })

  it('subscribes without a socket', async () => {
    const heads: unknown[] = []
    const two = signal()
    const end = await node.rpc.subscribe(['newHeads'], (head) => {
      if (heads.push(head) === 2) two.resolve()
    })
    await node.chain.mine(2)
    await two.promise
    await end()
    await node.chain.mine(1)
    expect(heads).toMatchObject([{ number: '0x1' }, { number: '0x2' }])
  })
})

/** Changes every string in a value and empties every list, as a caller may do with what it was given. */
function ruin(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  const fields = value as Record<string, unknown> // lists have keys, too
  for (const key of Object.keys(fields)) {
    if (typeof fields[key] === 'object') ruin(fields[key])
    else fields[key] = 'ruined'
  }
  if (Array.isArray(value)) value.length = 0
}

describe('a caller in process that edits what it was given changes nothing else', () => {
  const TOPIC = Hash.fromBigint(7n)
  const LISTED = { to: LOGGER, data: Hash.toBytes(TOPIC), accessList: [{ address: LOGGER, storageKeys: [Hash.zero] }] }

  /** A node with one transaction in the pool that will log, after one block with the logger. */
  async function pooled(): Promise<TestNode & { readonly hash: Hash }> {
    const started = await testNode({ cadence: PRECONF })
    await started.send({ data: LOGGER_INIT_CODE })
    await started.clock.advance(2_000)
    return { ...started, hash: await started.send(LISTED) }
  }

  it.each<[string, (hash: Hash) => readonly unknown[]]>([
    ['eth_getTransactionReceipt', (hash) => [hash]],
    ['eth_getTransactionByHash', (hash) => [hash]],
    ['eth_getBlockReceipts', () => ['pending']],
    ['eth_getBlockByNumber', () => ['pending', true]],
    ['eth_getLogs', () => [{ fromBlock: 'pending', toBlock: 'pending' }]],
    ['eth_accounts', () => []],
    ['pocketchain_promises', () => []],
    ['pocketchain_info', () => []],
  ])('the result of %s', async (name, params) => {
    const { ask, clock, hash } = await pooled()
    await clock.advance(200)
    const before = JSON.stringify(await ask(name, ...params(hash)))
    ruin(await ask(name, ...params(hash)))
    expect(JSON.stringify(await ask(name, ...params(hash)))).toBe(before)
  })

  it('results about the pool', async () => {
    const { ask, clock, chain, hash } = await pooled()
    for (const [name, ...params] of [['txpool_content'], ['eth_pendingTransactions'], ['eth_getTransactionByHash', hash]] as const) {
      const before = JSON.stringify(await ask(name, ...params))
      ruin(await ask(name, ...params))
      expect(JSON.stringify(await ask(name, ...params))).toBe(before)
    }
    await clock.advance(2_000)
    expect(chain.head.view.locate(hash)?.block.header.number).toBe(2)
    expect(await ask('eth_getTransactionByHash', hash)).toMatchObject({ accessList: LISTED.accessList })
  })

  it('the changes of a filter', async () => {
    const { ask, clock, hash } = await pooled()
    const filter = await ask('eth_newFilter', { toBlock: 'pending' })
    await clock.advance(200)
    ruin(await ask('eth_getFilterChanges', filter))
    expect(await ask('eth_getTransactionReceipt', hash)).toMatchObject({ logs: [{ topics: [TOPIC] }] })
  })

  it.each([
    ['pendingLogs'],
    ['logs'],
    ['newFlashblocks'],
    ['newFlashblockTransactions', true],
    ['transactionReceipts'],
    ['newPendingTransactions', true],
  ])('a notification of %s', async (...params) => {
    const { rpc, ask, clock, send, hash } = await pooled()
    const others: string[] = []
    const texts: string[] = []
    await rpc.subscribe(params, (result) => texts.push(JSON.stringify(result)))
    await rpc.subscribe(params, ruin)
    await rpc.subscribe(params, (result) => others.push(JSON.stringify(result)))
    await send(LISTED)
    await clock.advance(2_000)
    expect(texts.length).toBeGreaterThan(0)
    expect(others).toEqual(texts)
    expect(await ask('eth_getTransactionReceipt', hash)).toMatchObject({ blockNumber: '0x2', logs: [{ topics: [TOPIC] }] })
    expect(await ask('eth_getTransactionByHash', hash)).toMatchObject({ accessList: LISTED.accessList })
  })
})

describe('the public tier', () => {
  const receipts = '{"jsonrpc":"2.0","id":"x","method":"eth_getBlockReceipts","params":["latest"]}'
  const refusal = failure('x', -32004, expect.stringContaining('dedicated endpoint'))

  it('rejects eth_getBlockReceipts with status 403 and a body that echoes the id', async () => {
    const { body, status } = await node.rpc.handle(receipts, PUBLIC)
    expect(status).toBe(403)
    expect(JSON.parse(textOf(body ?? ''))).toEqual(refusal)
  })

  it('rejects it inside a batch with an error object alone', async () => {
    const { body, status } = await node.rpc.handle(`[${receipts},{"jsonrpc":"2.0","id":1,${CHAIN_ID}}]`, PUBLIC)
    expect(status).toBeUndefined()
    expect(JSON.parse(textOf(body ?? ''))).toEqual([refusal, OK])
  })

  it('returns it on the dedicated tier', async () => {
    const { body, status } = await node.rpc.handle(receipts, DEDICATED)
    expect(status).toBeUndefined()
    expect(JSON.parse(textOf(body ?? ''))).toMatchObject({ id: 'x', result: expect.any(Array) as unknown })
  })

  it.each([
    'eth_accounts',
    'eth_sendTransaction',
    'personal_sign',
    'eth_signTypedData_v4',
    'debug_getRawBlock',
    'txpool_content',
    'anvil_mine',
    'evm_snapshot',
  ])('does not have %s', async (method) => {
    expect(await answer(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [] }), PUBLIC)).toEqual(failure(1, -32601))
  })

  it('reads', async () => {
    expect(await answer(`{"jsonrpc":"2.0","id":1,${CHAIN_ID}}`, PUBLIC)).toEqual(OK)
    const modules = await node.rpc.request({ method: 'rpc_modules' }, PUBLIC)
    expect(modules).toEqual({ web3: '1.0', net: '1.0', eth: '1.0', base: '1.0', rpc: '1.0' })
  })
})

describe('results that are serialised JSON', () => {
  const CHUNK = Buffer.from(`"${'x'.repeat(99_998)}",`)
  const LOGS = '{"jsonrpc":"2.0","id":1,"method":"test_stream"}'

  function* chunks(count: number, log: string[] = [], error?: Error): Generator<Uint8Array> {
    try {
      yield Buffer.from('[')
      for (let i = 0; i < count; i++) {
        log.push(`chunk ${i}`)
        yield CHUNK
      }
      if (error !== undefined) throw error
      yield Buffer.from('0]')
    } finally {
      log.push('end')
    }
  }

  /** The row represents a method whose result is generated while it is sent. */
  async function withStream(result: () => unknown, work: () => Promise<void>): Promise<void> {
    streamed = result
    node.bugs.length = 0
    await work()
  }

  it('a short stream is one piece', () =>
    withStream(
      () => new JsonStream(chunks(2)),
      async () => {
        const { body } = await node.rpc.handle(LOGS, DEDICATED)
        expect(body).toBeInstanceOf(Array)
        expect(JSON.parse(textOf(body ?? ''))).toMatchObject({ id: 1, result: { length: 3 } })
      },
    ))

  it('a long stream is generated on demand, and ended if the reader stops', async () => {
    const log: string[] = []
    await withStream(
      () => new JsonStream(chunks(10, log)),
      async () => {
        const { body } = await node.rpc.handle(LOGS, DEDICATED)
        if (!(body instanceof JsonStream)) throw new Error('not a stream')
        const ready = Math.ceil(WHOLE_RESULT_BYTES / CHUNK.length)
        expect(log).toHaveLength(ready)
        for (let i = 0; i < 2 + ready; i++) body.next() // the envelope's head, the bracket, the ready parts
        expect(log).toHaveLength(ready)
        body.next()
        expect(log).toHaveLength(ready + 1)
        body.end()
        expect(log.at(-1)).toBe('end')
        expect(body.next()).toBeNull()
        const again = await node.rpc.handle(LOGS, DEDICATED)
        expect(JSON.parse(textOf(again.body ?? ''))).toMatchObject({ jsonrpc: '2.0', id: 1, result: { length: 11 } })
      },
    )
  })

  it('in process it is a value', () =>
    withStream(
      () => new JsonStream(chunks(10)),
      async () => expect(await node.ask('test_stream')).toHaveLength(11),
    ))

  it('a notification ends it', async () => {
    const log: string[] = []
    const stream = new JsonStream(chunks(10, log))
    stream.next()
    await withStream(
      () => stream,
      async () => {
        expect(await node.rpc.handle('{"jsonrpc":"2.0","method":"test_stream"}', DEDICATED)).toEqual({ body: null })
        expect(log).toEqual(['end'])
      },
    )
  })

  it('in a batch it is complete', () =>
    withStream(
      () => new JsonStream(chunks(10)),
      async () => {
        const batch = `[{"jsonrpc":"2.0","id":1,${CHAIN_ID}},${LOGS},{"jsonrpc":"2.0",${CHAIN_ID}},{"jsonrpc":"2.0","id":1,${CHAIN_ID}}]`
        expect(await answer(batch)).toEqual([OK, { jsonrpc: '2.0', id: 1, result: expect.objectContaining({ length: 11 }) as unknown }, OK])
      },
    ))

  it('above the limit of a batch it is replaced by an error, and is generated up to the limit only', async () => {
    const log: string[] = []
    const most = BATCH_RESPONSE_BYTES / CHUNK.length
    await withStream(
      () => new JsonStream(chunks(3 * most, log)),
      async () => {
        expect(await answer(`[${LOGS},{"jsonrpc":"2.0","id":1,${CHAIN_ID}}]`)).toEqual([failure(1, -32003), OK])
        expect(log.length).toBeLessThan(most + 3)
        expect(log.at(-1)).toBe('end')
      },
    )
  })

  it('an early error of it is an error response, in a batch at any time', async () => {
    const bug = new Error('secret')
    const refused = new RewoundState(7)
    for (const [error, code, bugs] of [
      [bug, -32603, [bug]],
      [refused, -32001, []],
    ] as const) {
      for (const body of [LOGS, `[${LOGS}]`]) {
        const count = body === LOGS ? 1 : 50
        await withStream(
          () => new JsonStream(chunks(count, [], error)),
          async () => {
            expect(await answer(body)).toEqual(body === LOGS ? failure(1, code) : [failure(1, code)])
            expect(node.bugs).toEqual(bugs)
          },
        )
      }
    }
  })

  it('a later error of it is thrown to the reader as RpcError, and reported once if it is a bug', async () => {
    const bug = new Error('secret')
    await withStream(
      () => new JsonStream(chunks(50, [], bug)),
      async () => {
        const { body } = await node.rpc.handle(LOGS, DEDICATED)
        expect(() => textOf(body ?? '')).toThrow(new RpcError(-32603, 'method handler crashed'))
        expect(node.bugs).toEqual([bug])
        await expect(node.ask('test_stream')).rejects.toThrow('method handler crashed')
      },
    )
  })

  it('bytes are sent without encoding', async () => {
    const result = new JsonBytes(Buffer.from('{"a":"ü"}'))
    await withStream(
      () => result,
      async () => {
        const { body } = await node.rpc.handle('{"jsonrpc":"2.0","id":"ü","method":"test_stream"}', DEDICATED)
        expect(JSON.parse(textOf(body!))).toEqual({ jsonrpc: '2.0', id: 'ü', result: { a: 'ü' } })
        expect(await node.ask('test_stream')).toEqual({ a: 'ü' })
        expect(await answer(`[{"jsonrpc":"2.0","id":1,${CHAIN_ID}},${LOGS}]`)).toEqual([OK, { ...OK, result: { a: 'ü' } }])
      },
    )
  })

  it('a short one is sent as one text, whatever its chunks', async () => {
    const bytes = Buffer.from('{"a":"ü"}')
    const split = [bytes.subarray(0, 7), bytes.subarray(7)] // within the character
    for (const each of [[bytes], split]) {
      await withStream(
        () => new JsonStream(each),
        async () => {
          const { body } = await node.rpc.handle('{"jsonrpc":"2.0","id":1,"method":"test_stream"}', DEDICATED)
          expect(body).toBe('{"jsonrpc":"2.0","id":1,"result":{"a":"ü"}}')
        },
      )
    }
  })

  it('many bytes are sent without a copy', async () => {
    const result = new JsonBytes(Buffer.from(`"${'x'.repeat(SMALL_RESULT_BYTES)}"`))
    await withStream(
      () => result,
      async () => {
        const { body } = await node.rpc.handle('{"jsonrpc":"2.0","id":1,"method":"test_stream"}', DEDICATED)
        if (!(body instanceof JsonAnswer)) throw new Error('not of bytes')
        expect(body.pieces[1]).toBe(result.bytes)
      },
    )
  })
})

it('a call that is rejected or breaks in the middle of a batch is answered in its place', async () => {
  const [{ chain }, bugs, method] = [await testNode(), [] as unknown[], 'eth_call'] // of onBug
  const ways = [null, new RangeError('a bug'), new RpcError(CODE.server, 'no room')]
  const elsewhere = async () => {
    const [way = null] = ways.splice(0, 1)
    ways.push(way)
    if (way !== null) throw way
    return null
  }
  const others = {
    accounts: new DevAccounts([]),
    compat: COMPAT.default,
    clientVersion: '',
    devClientVersion: '',
    onBug: (...bug: unknown[]) => bugs.push(bug),
  }
  const rpc = createRpc({ ...others, chain, workers: { mainThreadMs: 0, compute: elsewhere } })
  const calls = [1, 2, 3, 4].map((id) => ({ jsonrpc: '2.0', id, method, params: [{ to: LOGGER, data: '0x' }, 'latest'] }))
  const { body } = await rpc.handle(Buffer.from(JSON.stringify(calls)), DEDICATED)
  expect(JSON.parse(textOf(body ?? ''))).toEqual([
    { jsonrpc: '2.0', id: 1, result: '0x' },
    { jsonrpc: '2.0', id: 2, error: { code: CODE.internal, message: 'method handler crashed' } },
    { jsonrpc: '2.0', id: 3, error: { code: CODE.server, message: 'no room' } },
    { jsonrpc: '2.0', id: 4, result: '0x' },
  ])
  expect(bugs).toEqual([[new RangeError('a bug'), method]])
})

describe('concurrent batches have the answers of single ones', () => {
  const digits = (id: number) => `0x${String(id).padStart(64, '0')}`
  const idsOf = (batch: number) => Array.from({ length: 40 }, (_, i) => 100 * batch + i)
  const call = (id: number) => {
    return `{"jsonrpc":"2.0","id":${id},"method":"eth_call","params":[{"to":"${LOGGER}","data":"${digits(id)}"},"latest"]}`
  }

  async function expectOwnAnswers({ ask }: TestNode, rpc: NodeRpc): Promise<void> {
    // Returns its data.
    await ask('anvil_setCode', LOGGER, '0x365f5f37365ff3')
    const answers = [1, 2, 3].map(async (batch) => rpc.handle(Buffer.from(`[${idsOf(batch).map(call).join(',')}]`), DEDICATED))
    for (const [i, { body }] of (await Promise.all(answers)).entries()) {
      expect(JSON.parse(textOf(body ?? ''))).toEqual(idsOf(i + 1).map((id) => ({ jsonrpc: '2.0', id, result: digits(id) })))
    }
  }

  it('between their items', async () => {
    let nowMs = 0
    const node = await testNode({ now: () => (nowMs += BATCH_SLICE_MS / 3) })
    await expectOwnAnswers(node, node.rpc)
  })

  it('while an item runs in a thread', async () => {
    let computations = 0
    const compute = async () => {
      computations++
      return null
    }
    const [node, compat] = [await testNode(), COMPAT.default]
    const others = {
      accounts: new DevAccounts([]),
      clientVersion: '',
      devClientVersion: '',
      onBug: (error: unknown) => node.bugs.push(error),
    }
    await expectOwnAnswers(node, createRpc({ ...others, chain: node.chain, compat, workers: { mainThreadMs: 0, compute } }))
    expect([computations, node.bugs]).toEqual([120, []])
  })
})

it('escapes the results of other modules', async () => {
  const text = '0x"},{"a":"'
  streamed = () => text
  expect(await answer('{"jsonrpc":"2.0","id":1,"method":"test_stream","params":[]}')).toEqual({ jsonrpc: '2.0', id: 1, result: text })
})
