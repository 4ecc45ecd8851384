import { describe, expect, it } from 'vitest'
import { Endpoint, JSON_WRITER } from './endpoint.ts'
import { RpcError, toRpcErrorBy } from './errors.ts'
import { BATCH_SLICE_MS } from './limits.ts'

/** Returns the params after a turn of the event loop; `fail` is an RPC error, `crash` is a bug. */
function service(maxItems = 3) {
  const calls: unknown[] = []
  const bugs: unknown[] = []
  const call = async (method: string, params: unknown): Promise<unknown> => {
    calls.push([method, params])
    await Promise.resolve()
    if (method === 'fail') throw new RpcError(4001, 'no', { reason: 'rejected' })
    if (method === 'crash') throw new Error('secret')
    return method === 'nothing' ? undefined : params
  }
  const toRpcError = toRpcErrorBy({ onBug: (error, method) => bugs.push([error, method]) })
  const endpoint = new Endpoint<null>({
    call: (method, params) => call(method, params).catch((error: unknown) => Promise.reject(toRpcError(error, method))),
    toRpcError,
    writer: JSON_WRITER,
    maxItems,
  })
  const ask = async (body: unknown): Promise<unknown> => {
    const text = await endpoint.handle(typeof body === 'string' ? body : JSON.stringify(body), null)
    return text === null ? null : JSON.parse(text)
  }
  return { ask, calls, bugs }
}

describe('Endpoint', () => {
  it('returns the id of a call in its response', async () => {
    const { ask } = service()
    expect(await ask({ jsonrpc: '2.0', id: 'a', method: 'echo', params: [1] })).toEqual({ jsonrpc: '2.0', id: 'a', result: [1] })
    expect(await ask({ jsonrpc: '2.0', id: null, method: 'nothing' })).toEqual({ jsonrpc: '2.0', id: null, result: null })
  })

  it('decodes bytes as UTF-8 and rejects other bytes as invalid JSON', async () => {
    const options = {
      call: (_: string, params: unknown) => params,
      toRpcError: toRpcErrorBy({ onBug: () => undefined }),
      writer: JSON_WRITER,
    }
    const endpoint = new Endpoint<null>(options)
    const body = new TextEncoder().encode('{"jsonrpc":"2.0","id":1,"method":"echo","params":["ü"]}')
    expect(await endpoint.handle(body, null)).toBe('{"jsonrpc":"2.0","id":1,"result":["ü"]}')
    const parseError = '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error: the body is not JSON in UTF-8"}}'
    expect(await endpoint.handle(Uint8Array.of(0xff), null)).toBe(parseError)
    expect(await endpoint.handle('{', null)).toBe(parseError)
  })

  it('returns an RPC error with its data, and hides the message of a bug', async () => {
    const { ask, bugs } = service()
    const refusal = { code: 4001, message: 'no', data: { reason: 'rejected' } }
    expect(await ask({ jsonrpc: '2.0', id: 1, method: 'fail' })).toEqual({ jsonrpc: '2.0', id: 1, error: refusal })
    const answer = await ask({ jsonrpc: '2.0', id: 1, method: 'crash' })
    expect(answer).toEqual({ jsonrpc: '2.0', id: 1, error: { code: -32603, message: 'method handler crashed' } })
    expect(bugs).toEqual([[new Error('secret'), 'crash']])
  })

  it('executes notifications and returns no response, also after an error', async () => {
    const { ask, calls } = service()
    expect(await ask({ jsonrpc: '2.0', method: 'echo', params: [] })).toBeNull()
    expect(await ask([{ jsonrpc: '2.0', method: 'fail' }])).toBeNull()
    expect(calls).toEqual([
      ['echo', []],
      ['fail', undefined],
    ])
  })

  it('rejects invalid requests and names what is expected', async () => {
    const { ask, calls } = service()
    const shape = 'expected an object with jsonrpc, id, method and params, or an array of them'
    for (const [body, reason] of [
      [1, shape],
      ['null', shape],
      [{ id: 1, method: 'echo' }, 'jsonrpc must be "2.0"'],
      [{ jsonrpc: '2.0', id: {}, method: 'echo' }, 'id must be a string or a number'],
      [{ jsonrpc: '2.0', id: 1, method: 2 }, 'method must be a string'],
    ] as const) {
      expect(await ask(body)).toMatchObject({ error: { code: -32600, message: `invalid request: ${reason}` } })
    }
    expect(calls).toEqual([])
  })

  it('executes the items of a batch sequentially', async () => {
    const { ask } = service()
    const items = [
      { jsonrpc: '2.0', id: 1, method: 'echo', params: [1] },
      { jsonrpc: '2.0', method: 'echo' },
      { jsonrpc: '2.0', id: 2, method: 'fail' },
    ]
    expect(await ask(items)).toMatchObject([
      { id: 1, result: [1] },
      { id: 2, error: { code: 4001 } },
    ])
  })

  it('rejects an empty batch, and the whole of a batch with too many items', async () => {
    const { ask, calls } = service(2)
    expect(await ask([])).toMatchObject({ id: null, error: { code: -32600, message: 'empty batch' } })
    const call = { jsonrpc: '2.0', id: 7, method: 'echo' }
    expect(await ask([call, call, call])).toMatchObject([{ id: 7, error: { code: -32600 } }])
    expect(calls).toEqual([])
  })
})

describe('a number as id', () => {
  const endpoint = new Endpoint<null>({
    call: (method, params) => {
      if (method === 'fail') throw new RpcError(4001, 'no')
      return params
    },
    toRpcError: toRpcErrorBy({ onBug: () => undefined }),
    writer: JSON_WRITER,
  })
  const idOfAnswer = async (body: string) => /"id":(.*?),"(?:result|error)"/.exec(String(await endpoint.handle(body, null)))?.[1]

  it.each(['12345678901234567890', '1.0', '1e3', '1E3', '-0', '1.5', '-9007199254740993', '0', '-7', '9007199254740991'])(
    '%s is returned as it was sent',
    async (id) => {
      for (const colon of [':', ': ']) {
        expect(await idOfAnswer(`{"jsonrpc":"2.0","method":"echo","params":[{"id":2}],"id"${colon}${id}}`)).toBe(id)
        expect(await idOfAnswer(`{"jsonrpc":"2.0","id"${colon}${id},"method":"fail"}`)).toBe(id)
      }
    },
  )

  it('is the last of repeated ones, and never one of the params', async () => {
    expect(await idOfAnswer('{"jsonrpc":"2.0","id":1.0,"id":2.0,"method":"echo"}')).toBe('2.0')
    expect(await idOfAnswer('{"jsonrpc":"2.0","id":1.0,"id":"a","method":"echo"}')).toBe('"a"')
    const body = '{"jsonrpc":"2.0","id":3,"method":"echo","params":[{"id":1.0},"\\"id\\":2.0,{",{"a":{"id":1e3}}]}'
    expect(await endpoint.handle(body, null)).toBe('{"jsonrpc":"2.0","id":3,"result":[{"id":1},"\\"id\\":2.0,{",{"a":{"id":1000}}]}')
  })

  it('is returned as it was sent in a batch', async () => {
    const item = (id: string) => `{"jsonrpc":"2.0","id":${id},"method":"echo","params":[[1.0,{"id":9.0}]]}`
    const ids = ['1', '12345678901234567890', '"x"', '2.0', 'null', '3']
    const text = String(await endpoint.handle(`[${ids.map(item).join(', ')}, 5, {"jsonrpc":"1.0","id":1e3,"method":"echo"}]`, null))
    expect([...text.matchAll(/"id":([^,]*),"(?:result|error)"/g)].map(([, id]) => id)).toEqual([...ids, 'null', '1e3'])
  })
})

describe('batches at the same time', () => {
  /** Three items take more than a slice. Returns what happened in order: the name of each item's batch, and `-` for a turn of the event loop. */
  async function order(batches: Readonly<Record<string, number>>): Promise<string> {
    let nowMs = 0
    let happened = ''
    const endpoint = new Endpoint<null>({
      call: (method) => {
        nowMs += BATCH_SLICE_MS / 2.5
        happened += method
        return null
      },
      toRpcError: toRpcErrorBy({ onBug: () => undefined }),
      writer: JSON_WRITER,
      now: () => nowMs,
    })
    const turn = setImmediate(function again() {
      happened += '-'
      next = setImmediate(again)
    })
    let next = turn
    const bodies = Object.entries(batches).map(([method, count]) =>
      JSON.stringify(Array.from({ length: count }, (_, id) => ({ jsonrpc: '2.0', id, method }))),
    )
    await Promise.all(bodies.map(async (body) => endpoint.handle(body, null)))
    clearImmediate(next)
    return happened.replaceAll(/-+/g, '-')
  }

  it('take turns, so that timers run between their slices', async () => {
    expect(await order({ a: 10, b: 10, c: 4 })).toBe('aaa-aaa-bbb-ccc-aaa-bbb-c-a-bbb-b')
  })

  it('share one slice if they are short', async () => {
    expect(await order({ a: 1, b: 2, c: 3, d: 1 })).toBe('abb-ccc-d')
  })
})
