import { describe, expect, it } from 'vitest'
import { Address, Authorization, Secp256k1 } from '../../eth/index.ts'
import { RpcError } from '../../jsonrpc/index.ts'
import { callRequest, messageOf, typeOf } from './request.ts'
import type { CallRequest } from './request.ts'

const KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'
const BOB = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'

function parse(value: object): CallRequest {
  return callRequest.parse(value, 'argument 0 (call)')
}

function refusal(value: object): string {
  try {
    parse(value)
  } catch (error) {
    if (error instanceof RpcError && error.code === -32_602) return error.message
  }
  return 'not refused with -32602'
}

describe('the call object', () => {
  it('accepts call data as input or data', () => {
    expect(parse({ input: '0x01' }).data).toEqual(Uint8Array.of(1))
    expect(parse({ data: '0x01' }).data).toEqual(Uint8Array.of(1))
    expect(parse({ data: '0x01', input: '0x01' }).data).toEqual(Uint8Array.of(1))
  })

  it('accepts a type as a quantity, as a number and without 0x', () => {
    for (const type of ['0x2', '0x02', '02', 2]) expect(parse({ to: BOB, type })).toMatchObject({ type: 2 })
  })

  it('rejects data and input that differ', () => {
    expect(refusal({ data: '0x01', input: '0x02' })).toContain('both "data" and "input" are set and not equal')
  })

  it('rejects a gas price together with EIP-1559 fees', () => {
    const words = 'both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified'
    expect(refusal({ gasPrice: '0x1', maxFeePerGas: '0x1' })).toContain(words)
    expect(refusal({ gasPrice: '0x1', maxPriorityFeePerGas: '0x1' })).toContain(words)
  })

  it('names the field that is wrong', () => {
    expect(refusal({ to: '0x12' })).toContain('argument 0 (call).to')
    expect(refusal({ value: 12 })).toContain('argument 0 (call).value')
    expect(refusal({ accessList: [{ address: BOB }] })).toContain('accessList[0].storageKeys')
  })

  it('rejects gas and a nonce above 64 bits, which no transaction can have', () => {
    const most = `0x${'f'.repeat(16)}`
    expect(parse({ gas: most, nonce: most })).toEqual({ gas: 2n ** 64n - 1n, nonce: 2n ** 64n - 1n })
    expect(refusal({ gas: '0x10000000000000000' })).toContain('argument 0 (call).gas: hex number > 64 bits')
    expect(refusal({ nonce: '0x10000000000000000' })).toContain('argument 0 (call).nonce: hex number > 64 bits')
  })

  it('recovers the authority of an authorization, with yParity or v', () => {
    const signed = Authorization.sign({ chainId: 1n, address: Address.from(BOB), nonce: 0n }, KEY)
    const entry = { chainId: '0x1', address: BOB, nonce: '0x0', r: `0x${signed.r.toString(16)}`, s: `0x${signed.s.toString(16)}` }
    const v = `0x${(27 + signed.yParity).toString(16)}`
    const list = parse({
      authorizationList: [
        { ...entry, yParity: `0x${signed.yParity}` },
        { ...entry, v },
      ],
    }).authorizationList
    expect(list?.map(({ authority }) => authority)).toEqual([Secp256k1.address(KEY), Secp256k1.address(KEY)])
  })

  it('accepts an authorization without a signature, which has no authority', () => {
    const list = parse({ authorizationList: [{ chainId: '0x1', address: BOB, nonce: '0x0' }] }).authorizationList
    expect(list?.[0]?.authority).toBeNull()
  })
})

describe('the type of a request', () => {
  it.each([
    [{}, 2],
    [{ gasPrice: '0x1' }, 0],
    [{ gasPrice: '0x1', accessList: [] }, 1],
    [{ accessList: [] }, 2],
    [{ type: '0x0' }, 0],
    [{ type: '0x1' }, 1],
    [{ type: '0x0', maxFeePerGas: '0x1' }, 2],
    [{ authorizationList: [] }, 4],
    [{ blobVersionedHashes: [] }, 3],
  ])('%o is type %i', (request, type) => {
    expect(typeOf(parse(request))).toBe(type)
  })
})

describe('the message', () => {
  it('is sent by the zero address by default', () => {
    expect(messageOf(parse({}), 1n, 0n, 0n).from).toBe(Address.zero)
  })

  it('is a legacy one before London', () => {
    expect(messageOf(parse({}), 1n, 0n, null).type).toBe(0)
  })

  it('derives the fee cap from the base fee if only a tip is given', () => {
    const message = messageOf(parse({ maxPriorityFeePerGas: '0x2' }), 1n, 0n, 100n)
    expect(message).toMatchObject({ maxFeePerGas: 102n, maxPriorityFeePerGas: 2n })
  })
})
