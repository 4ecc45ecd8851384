import * as fc from 'fast-check'
import { hashMessage, hashTypedData, hashDomain as viemHashDomain } from 'viem'
import { describe, expect, it } from 'vitest'
import { DecodeError, Hex } from './hex.ts'
import { PersonalMessage } from './personalmessage.ts'
import { TypedData } from './typeddata.ts'

// The example of EIP-712 itself.
const MAIL = {
  types: {
    EIP712Domain: [
      { name: 'name', type: 'string' },
      { name: 'version', type: 'string' },
      { name: 'chainId', type: 'uint256' },
      { name: 'verifyingContract', type: 'address' },
    ],
    Person: [
      { name: 'name', type: 'string' },
      { name: 'wallet', type: 'address' },
    ],
    Mail: [
      { name: 'from', type: 'Person' },
      { name: 'to', type: 'Person' },
      { name: 'contents', type: 'string' },
    ],
  },
  primaryType: 'Mail',
  domain: { name: 'Ether Mail', version: '1', chainId: 1, verifyingContract: '0xCcCCccccCCCCcCCCCCCcCcCccCcCCCcCcccccccC' },
  message: {
    from: { name: 'Cow', wallet: '0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826' },
    to: { name: 'Bob', wallet: '0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB' },
    contents: 'Hello, Bob!',
  },
} as const

describe('typed data', () => {
  it('hashes as in the example of EIP-712', () => {
    expect(TypedData.hash(MAIL)).toBe('0xbe609aee343fb3c4b28e1df9e632fca64fcfaede20f02e86244efddf30957bd2')
    expect(TypedData.encodeType(MAIL.types, 'Mail')).toBe('Mail(Person from,Person to,string contents)Person(string name,address wallet)')
    expect(TypedData.hashStruct(MAIL)).toBe('0xc52c0ee5d84264471806290a3f2c4cecfc5490626bf912d01f240d7a274b371e')
  })

  it("derives the domain's type if it is missing", () => {
    const { EIP712Domain: _, ...types } = MAIL.types
    expect(TypedData.hash({ ...MAIL, types })).toBe(TypedData.hash(MAIL))
  })

  it('hashes the domain alone as viem does', () => {
    const { types, domain } = MAIL
    const judged = { types, primaryType: 'EIP712Domain', domain: { ...domain, chainId: 1n } } as const
    expect(TypedData.hashDomain(MAIL)).toBe(viemHashDomain(judged))
    expect(TypedData.hash({ ...MAIL, primaryType: 'EIP712Domain' })).toBe(hashTypedData(judged))
  })

  it('agrees with viem on every atom, on arrays, arrays of arrays and nested structs', () => {
    const types = {
      Leaf: [
        { name: 'word', type: 'bytes32' },
        { name: 'four', type: 'bytes4' },
        { name: 'small', type: 'int8' },
        { name: 'flag', type: 'bool' },
      ],
      Root: [
        { name: 'amount', type: 'uint256' },
        { name: 'signed', type: 'int256' },
        { name: 'short', type: 'uint64' },
        { name: 'blob', type: 'bytes' },
        { name: 'text', type: 'string' },
        { name: 'numbers', type: 'uint8[]' },
        { name: 'grid', type: 'int16[2][]' },
        { name: 'leaf', type: 'Leaf' },
        { name: 'leaves', type: 'Leaf[]' },
      ],
    } as const
    const hex = (size: number) => fc.uint8Array({ minLength: size, maxLength: size }).map((value) => Hex.fromBytes(value))
    const leaf = fc.record({ word: hex(32), four: hex(4), small: fc.integer({ min: -128, max: 127 }), flag: fc.boolean() })
    const int16 = fc.integer({ min: -32_768, max: 32_767 })
    const root = fc.record({
      amount: fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
      signed: fc.bigInt({ min: -(2n ** 255n), max: 2n ** 255n - 1n }),
      short: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
      blob: fc.uint8Array({ maxLength: 70 }).map((value) => Hex.fromBytes(value)),
      text: fc.string({ unit: 'grapheme', maxLength: 30 }),
      numbers: fc.array(fc.integer({ min: 0, max: 255 }), { maxLength: 4 }),
      grid: fc.array(fc.tuple(int16, int16), { maxLength: 3 }),
      leaf,
      leaves: fc.array(leaf, { maxLength: 3 }),
    })
    fc.assert(
      fc.property(root, (message) => {
        const data = { types, primaryType: 'Root', domain: { name: 'pocket', chainId: 1337n }, message } as const
        const judged = hashTypedData(data as never) // the arrays of fast-check are wider than the tuples viem infers
        expect(TypedData.hash(data)).toBe(judged)
        const text = JSON.stringify(data, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value))
        expect(TypedData.hash(TypedData.parse(text))).toBe(judged)
      }),
    )
  })

  it.each<[string, string, unknown]>([
    ['address', 'message.value', '0x00'],
    ['address', 'message.value', 5],
    ['uint8', 'message.value', 256],
    ['uint8', 'message.value', -1],
    ['int8', 'message.value', 128],
    ['uint256', 'message.value', 'many'],
    ['uint256', 'message.value', '9'.repeat(100)],
    ['uint256', 'message.value', 1.5],
    ['uint7', 'message.value', 1],
    ['bytes4', 'message.value', '0x00'],
    ['bytes33', 'message.value', `0x${'00'.repeat(33)}`],
    ['bytes', 'message.value', 'zz'],
    ['string', 'message.value', 5],
    ['string', 'message.value', undefined],
    ['bool', 'message.value', 1],
    ['bool', 'message.value', 'false'],
    ['uint8[2]', 'message.value', [1]],
    ['uint8[]', 'message.value', 1],
    ['uint8[]', 'message.value[1]', [1, 300]],
    ['Thing', 'message.value.value', { value: 5 }],
    ['unheard', 'message.value', 1],
    ['constructor', 'message.value', 1],
  ])('rejects a value that is not of type %s', (type, field, value) => {
    const data = { types: { Thing: [{ name: 'value', type }] }, primaryType: 'Thing', domain: {}, message: { value } }
    expect(() => TypedData.hash(data)).toThrow(DecodeError)
    expect(() => TypedData.hash(data)).toThrow(expect.objectContaining({ field }))
  })

  it.each([
    null,
    5,
    '{',
    '[]',
    {},
    { types: {} },
    { types: { A: [{ name: 'x' }] }, primaryType: 'A', message: {} },
    { ...MAIL, domain: 5 },
    { ...MAIL, message: [] },
  ])('rejects %j as a whole', (input) => {
    expect(() => TypedData.parse(input)).toThrow(DecodeError)
  })

  it('reads long chains of types', () => {
    const chain = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`T${i}`, [{ name: 'x', type: `T${i + 1}` }]]))
    const types = { ...chain, T20000: [] }
    expect(() => TypedData.hash({ types, primaryType: 'T0', domain: {}, message: {} })).not.toThrow()
  })

  it('visits the types once, not for each value of a list', () => {
    const wide = Array.from({ length: 300 }, (_, i) => ({ name: `field${i}`, type: 'None' }))
    const types = { Root: [{ name: 'all', type: 'Wide[]' }], Wide: wide, None: [] }
    let looks = 0
    const counted = new Proxy(types, { get: (target, key) => (looks++, Reflect.get(target, key)) })
    TypedData.hash({ types: counted, primaryType: 'Root', domain: {}, message: { all: new Array(100).fill({}) } })
    expect(looks).toBeLessThan(1_000)
  })

  it('limits what it encodes of structs that use one another', () => {
    const ring = (size: number) => {
      const fields = Array.from({ length: size }, (_, i) => ({ name: `f${i}`, type: `T${i}` }))
      const structs = fields.map(({ type }, i) => [type, [{ name: 'next', type: `T${(i + 1) % size}` }]] as const)
      const message = Object.fromEntries(fields.map(({ name }) => [name, {}]))
      return { types: { ...Object.fromEntries(structs), Root: fields }, primaryType: 'Root', domain: {}, message }
    }
    expect(() => TypedData.hash(ring(150))).not.toThrow()
    expect(() => TypedData.hash(ring(1_000))).toThrow(
      new DecodeError('typed data.types', 'take more than 524288 characters to encode; use fewer structs'),
    )
  })

  it('rejects missing types and unbounded nesting', () => {
    expect(() => TypedData.hash({ ...MAIL, primaryType: 'Letter' })).toThrow(/Letter is missing/)
    let message: Record<string, unknown> = {}
    for (let depth = 0; depth < 200; depth++) message = { next: message }
    expect(() => TypedData.hash({ types: { A: [{ name: 'next', type: 'A' }] }, primaryType: 'A', domain: {}, message })).toThrow(
      /nests deeper/,
    )
    expect(() =>
      TypedData.hash({ types: { A: [{ name: 'x', type: `uint8${'[]'.repeat(200)}` }] }, primaryType: 'A', domain: {}, message: { x: [] } }),
    ).not.toThrow()
  })
})

describe('a personal message', () => {
  it('hashes as viem does', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (raw) => {
        expect(PersonalMessage.hash(raw)).toBe(hashMessage({ raw }))
      }),
    )
  })
})
