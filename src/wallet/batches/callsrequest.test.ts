import { describe, expect, it } from 'vitest'
import { RpcError } from '../../jsonrpc/index.ts'
import { assertCapabilities, callsRequest } from './callsrequest.ts'
import { BATCH_ID_CHARS, SPONSOR_CONTEXT_BYTES } from '../limits.ts'

const TO = `0x${'ab'.repeat(20)}`
const CIRCLE: { self?: unknown } = {}
CIRCLE.self = CIRCLE
const GOOD = { version: '2.0.0', chainId: '0x7a69', atomicRequired: true, calls: [{ to: TO }] }

function refusalOf(value: unknown): RpcError {
  try {
    callsRequest.parse(value, 'argument 0 (batch)')
  } catch (error) {
    if (error instanceof RpcError) return error
    throw error
  }
  throw new Error('it was not refused')
}

describe('the request of wallet_sendCalls', () => {
  it.each([
    ['is no object', 'text'],
    ['is a list', [GOOD]],
    ['is null', null],
    ['has no version', { ...GOOD, version: undefined }],
    ['has a version that is a number', { ...GOOD, version: 2 }],
    ['has an empty id', { ...GOOD, id: '' }],
    ['has too long an id', { ...GOOD, id: 'x'.repeat(BATCH_ID_CHARS + 1) }],
    ['has an id that is a number', { ...GOOD, id: 1 }],
    ['has a sender that is too short', { ...GOOD, from: '0xabcd' }],
    ['has a sender that is a name', { ...GOOD, from: 'vitalik.eth' }],
    ['has no chain id', { ...GOOD, chainId: undefined }],
    ['has a chain id with leading zeros', { ...GOOD, chainId: '0x01' }],
    ['has a chain id in capitals', { ...GOOD, chainId: '0x14A34' }],
    ['has a chain id in decimal', { ...GOOD, chainId: '8453' }],
    ['has a chain id that is a number', { ...GOOD, chainId: 31337 }],
    ['has no atomicRequired', { ...GOOD, atomicRequired: undefined }],
    ['has a string as atomicRequired', { ...GOOD, atomicRequired: 'true' }],
    ['has no calls', { ...GOOD, calls: undefined }],
    ['has a list of no calls', { ...GOOD, calls: [] }],
    ['has calls that are an object', { ...GOOD, calls: { 0: { to: TO } } }],
    ['has a call without a target', { ...GOOD, calls: [{ value: '0x1' }] }],
    ['has a call whose target is null', { ...GOOD, calls: [{ to: null }] }],
    ['has a call whose target is no address', { ...GOOD, calls: [{ to: '0x' }] }],
    ['has a call whose value is decimal', { ...GOOD, calls: [{ to: TO, value: '1' }] }],
    ['has a call whose value is a number', { ...GOOD, calls: [{ to: TO, value: 1 }] }],
    ['has a call whose value is more than 256 bits', { ...GOOD, calls: [{ to: TO, value: `0x1${'0'.repeat(64)}` }] }],
    ['has a call with half a byte of data', { ...GOOD, calls: [{ to: TO, data: '0xabc' }] }],
    ['has a call with data that is no hex', { ...GOOD, calls: [{ to: TO, data: 'hello' }] }],
    ['has capabilities that are a list', { ...GOOD, capabilities: [] }],
    ['names a sponsor by its url alone', { ...GOOD, capabilities: { paymasterService: 'https://s.example' } }],
    ['names a sponsor without a url', { ...GOOD, capabilities: { paymasterService: { context: {} } } }],
    ['names a sponsor without a url, optional or not', { ...GOOD, capabilities: { paymasterService: { optional: true } } }],
    ['names a sponsor whose url is null', { ...GOOD, capabilities: { paymasterService: { url: null } } }],
    ['names a sponsor whose url is a number', { ...GOOD, capabilities: { paymasterService: { url: 1 } } }],
    ['names a sponsor whose url is an object', { ...GOOD, capabilities: { paymasterService: { url: new URL('https://s.example') } } }],
    ['names several sponsors', { ...GOOD, capabilities: { paymasterService: [{ url: 'https://s.example' }] } }],
    [
      'has a context above SPONSOR_CONTEXT_BYTES',
      { ...GOOD, capabilities: { paymasterService: { url: '', context: 'é'.repeat(SPONSOR_CONTEXT_BYTES / 2) } } },
    ],
    ['has a context that is no JSON', { ...GOOD, capabilities: { paymasterService: { url: '', context: { wei: 1n } } } }],
    ['has a cyclic context', { ...GOOD, capabilities: { paymasterService: { url: '', context: CIRCLE } } }],
    ['has an empty gasLimitOverride', { ...GOOD, calls: [{ to: TO, capabilities: { gasLimitOverride: {} } }] }],
    ['has a gasLimitOverride of zero', { ...GOOD, calls: [{ to: TO, capabilities: { gasLimitOverride: { value: '0x0' } } }] }],
    [
      'has less gas than the stipend of its value',
      { ...GOOD, calls: [{ to: TO, value: '0x1', capabilities: { gasLimitOverride: { value: '0x8fb' } } }] },
    ],
    ['has a number as gasLimitOverride', { ...GOOD, calls: [{ to: TO, capabilities: { gasLimitOverride: { value: 21000 } } }] }],
    ['has a bare quantity as gasLimitOverride', { ...GOOD, calls: [{ to: TO, capabilities: { gasLimitOverride: '0x5208' } }] }],
  ])('that %s is -32602', (_, request) => {
    expect(refusalOf(request)).toMatchObject({
      code: -32602,
      message: expect.stringMatching(/^The wallet cannot parse the request: /),
      data: { reason: 'invalid-request' },
    })
  })

  it.each(['1.0', '2.0', '', '2.0.1'])('of version %j is -32000, also with other errors', (version) => {
    expect(refusalOf({ version })).toMatchObject({ code: -32000, message: 'Version not supported', data: { supported: ['2.0.0'] } })
  })

  it('may omit what viem omits, also with undefined or null values', () => {
    const bare = callsRequest.parse(GOOD, 'batch')
    expect(bare).toEqual({
      id: null,
      from: null,
      chainId: '0x7a69',
      isAtomic: true,
      calls: [{ to: TO, value: 0n, data: new Uint8Array(), gasLimitOverride: null }],
      requiresLimits: false,
      paymaster: null,
      required: [],
    })
    const calls = [{ to: TO, value: undefined, data: undefined, capabilities: undefined }]
    expect(callsRequest.parse({ ...GOOD, id: undefined, from: undefined, capabilities: undefined, calls }, 'batch')).toEqual(bare)
    expect(
      callsRequest.parse({ ...GOOD, id: null, from: null, capabilities: { paymasterService: null }, somethingElse: 1 }, 'batch'),
    ).toEqual(bare)
  })

  it('names a sponsor at batch level, with its context', () => {
    const paymasterOf = (paymasterService: unknown) => callsRequest.parse({ ...GOOD, capabilities: { paymasterService } }, 'batch')
    expect(paymasterOf({ url: 'https://s.example' })).toMatchObject({
      paymaster: { url: 'https://s.example', context: null, isOptional: false },
      required: [],
    })
    const context = { policy: 'all', deep: [{ n: 1 }] }
    const given = { url: 'no url at all', context, optional: true, somethingElse: 1 }
    expect(paymasterOf(given)).toMatchObject({ paymaster: { url: 'no url at all', context, isOptional: true }, required: [] })
    for (const optional of [undefined, null, false, 'true', 1])
      expect(paymasterOf({ url: '', optional }).paymaster, String(optional)).toMatchObject({ isOptional: false })
  })

  it('copies the context', () => {
    const context = { policy: 'all' }
    const { paymaster } = callsRequest.parse({ ...GOOD, capabilities: { paymasterService: { url: '', context } } }, 'batch')
    context.policy = 'none'
    expect(paymaster?.context).toEqual({ policy: 'all' })
  })

  it('requires an unsupported capability if a call names a sponsor that is not optional', () => {
    const sponsored = (optional: boolean) => ({ paymasterService: { url: 'https://s.example', optional } })
    const calls = [
      { to: TO, capabilities: sponsored(true) },
      { to: TO, capabilities: sponsored(false) },
    ]
    const request = callsRequest.parse({ ...GOOD, calls }, 'batch')
    expect(request).toMatchObject({ paymaster: null, required: ['paymasterService'] })
    expect(() => assertCapabilities(request)).toThrow('Paymaster capability required')
    expect(callsRequest.parse({ ...GOOD, calls: calls.slice(0, 1) }, 'batch')).toMatchObject({ paymaster: null, required: [] })
  })

  it('keeps an id unchanged', () => {
    expect(callsRequest.parse({ ...GOOD, id: 'My-Id ✓' }, 'batch').id).toBe('My-Id ✓')
  })

  it('may have empty data, the zero address and a gas limit', () => {
    const zero = `0x${'0'.repeat(40)}`
    const calls = [{ to: zero, value: '0x00ff', data: '0x', capabilities: { gasLimitOverride: { value: '0xffff' } } }]
    expect(callsRequest.parse({ ...GOOD, calls }, 'batch').calls).toEqual([
      { to: zero, value: 255n, data: new Uint8Array(), gasLimitOverride: 65_535n },
    ])
  })

  it('requires every capability that is not marked `optional: true`', () => {
    const request = {
      ...GOOD,
      capabilities: { a: {}, b: { optional: true }, c: { optional: false }, d: true, e: { optional: 'true' }, gasLimitOverride: {} },
      calls: [{ to: TO, capabilities: { f: {}, g: { optional: true }, gasLimitOverride: { value: '0x1' } } }],
    }
    expect(callsRequest.parse(request, 'batch').required).toEqual(['a', 'c', 'd', 'e', 'gasLimitOverride', 'f'])
  })
})
