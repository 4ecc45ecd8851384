import { describe, expect, it } from 'vitest'
import { RpcError } from './errors.ts'
import * as schema from './schema.ts'
import type { Schema } from './schema.ts'

const ADDRESS = '0xF39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const HASH = `0x${'aB'.repeat(32)}`

describe('a schema parses', () => {
  it.each<[string, Schema<unknown>, unknown, unknown]>([
    ['a quantity', schema.quantity, '0x1f', 31n],
    ['a quantity with leading zeros', schema.quantity, '0x0001', 1n],
    ['more digits than 256 bits need, all zeros in front', schema.quantity, `0x00${'f'.repeat(64)}`, 2n ** 256n - 1n],
    ['a number', schema.quantityNumber, '0x64', 100],
    ['an integer as JSON number', schema.integer, 5, 5],
    ['an integer as quantity', schema.integer, '0x5', 5],
    ['an integer as decimal', schema.integer, '5', 5],
    ['wei beyond 2^53 as decimal', schema.bigInteger, '10000000000000000000000', 10n ** 22n],
    ['an address in any case', schema.address, ADDRESS, ADDRESS.toLowerCase()],
    ['a hash in any case', schema.hash, HASH, HASH.toLowerCase()],
    ['bytes', schema.bytes, '0x00Ff', new Uint8Array([0, 255])],
    ['no bytes', schema.bytes, '0x', new Uint8Array(0)],
    ['a short storage key', schema.storageSlot, '0x1', `0x${'0'.repeat(63)}1`],
    ['a whole storage key', schema.storageSlot, HASH, HASH.toLowerCase()],
    ['a tag', schema.blockRef, 'safe', { kind: 'tag', tag: 'safe' }],
    ['a block number with leading zeros', schema.blockRef, '0x01', { kind: 'number', number: 1 }],
    ['a bare hash', schema.blockRef, HASH, { kind: 'hash', hash: HASH.toLowerCase(), requireCanonical: false }],
    [
      'EIP-1898 with a hash',
      schema.blockRef,
      { blockHash: HASH, requireCanonical: true },
      { kind: 'hash', hash: HASH.toLowerCase(), requireCanonical: true },
    ],
    ['EIP-1898 with a number', schema.blockRef, { blockNumber: '0x2' }, { kind: 'number', number: 2 }],
    ['null', schema.nullable(schema.boolean), null, null],
    ['one of many', schema.oneOrMany(schema.boolean, 2), true, [true]],
    ['many', schema.oneOrMany(schema.boolean, 2), [true, false], [true, false]],
    [
      'an object, unknown keys ignored',
      schema.object({ a: schema.boolean, b: schema.maybe(schema.boolean) }),
      { a: true, c: 1 },
      { a: true, b: undefined },
    ],
    ['a map', schema.mapOf(schema.address, schema.boolean, 1), { [ADDRESS]: true }, new Map([[ADDRESS.toLowerCase(), true]])],
    ['one of some names', schema.oneOf('a', 'b'), 'b', 'b'],
  ])('%s', (_, reader, value, expected) => {
    expect(reader.parse(value, 'argument 0 (it)')).toEqual(expected)
  })
})

it('the cache of addresses returns the right one', () => {
  const texts = [1, 2, 3, 1, 1, 2, 3, 3, 1, 2].map((n) => `0x${'aB'.repeat(19)}0${n}`)
  expect(texts.map((text) => schema.address.parse(text, 'it'))).toEqual(texts.map((text) => text.toLowerCase()))
})

describe('a schema rejects', () => {
  it.each<[string, Schema<unknown>, unknown, RegExp]>([
    ['a decimal quantity', schema.quantity, '10', /hex string without 0x prefix: "10"/],
    ['a number as quantity', schema.quantity, 10, /expected a hex string, got 10/],
    ['an empty quantity', schema.quantity, '0x', /"0x" is not a quantity/],
    ['letters', schema.quantity, '0xzz', /invalid hex string: "0xzz"/],
    ['257 bits', schema.quantity, `0x1${'0'.repeat(64)}`, /hex number > 256 bits/],
    ['a number above 2^53', schema.quantityNumber, '0x20000000000000', /from 0 to 2\^53 - 1/],
    ['a fraction', schema.integer, 1.5, /from 0 to 2\^53 - 1, got 1.5/],
    ['a negative', schema.integer, -1, /got -1/],
    ['decimal beyond 256 bits', schema.bigInteger, '9'.repeat(78), /number > 256 bits/],
    ['a short address', schema.address, '0x1234', /hex string has length 4, want 40 for an address/],
    ['an empty text as an address', schema.address, '', /hex string without 0x prefix: ""/],
    ['no address', schema.address, undefined, /missing value, expected a hex string/],
    ['an address that is null', schema.address, null, /got null/],
    ['a long hash', schema.hash, `${HASH}00`, /hex string has length 66, want 64 for 32 bytes/],
    ['half a byte', schema.bytes, '0x1', /hex string of odd length/],
    ['a storage key that is not hex', schema.storageSlot, '0xasdf', /invalid hex in storage key: "0xasdf"/],
    ['a storage key too long', schema.storageSlot, `0x${'0'.repeat(65)}`, /storage key too long \(want at most 32 bytes\)/],
    ['a decimal block', schema.blockRef, '10', /hex string without 0x prefix/],
    ['a tag in capitals', schema.blockRef, 'LATEST', /hex string without 0x prefix: "LATEST"/],
    ['a hash where only numbers do', schema.blockNumber, HASH, /from 0 to 2\^53 - 1/],
    ['a block as JSON number', schema.blockRef, 10, /expected a block number or tag, got 10/],
    ['EIP-1898 with both', schema.blockRef, { blockHash: HASH, blockNumber: '0x1' }, /both blockHash and blockNumber/],
    ['EIP-1898 with neither', schema.blockRef, {}, /expected blockHash or blockNumber/],
    ['a list too long', schema.arrayOf(schema.boolean, 1), [true, true], /2 items, at most 1 are accepted/],
    ['a list with a hole', schema.arrayOf(schema.boolean, 2), new Array(1), /\[0\]: missing value, expected a boolean/],
    ['no list', schema.arrayOf(schema.boolean, 1), {}, /expected an array, got an object/],
    ['a list as object', schema.object({}), [], /expected an object, got an array/],
    ['an unknown name', schema.oneOf('a', 'b'), 'c', /expected one of a, b, got "c"/],
    ['a boolean as string', schema.boolean, 'true', /expected a boolean, got "true"/],
  ])('%s', (_, reader, value, reason) => {
    const parse = () => reader.parse(value, 'argument 3 (it)')
    expect(parse).toThrow(RpcError)
    expect(parse).toThrow(reason)
    expect(parse).toThrow(/^invalid argument 3 \(it\)/)
  })

  it('names the key and the place inside', () => {
    const nested = schema.object({ calls: schema.arrayOf(schema.object({ to: schema.address }), 9) })
    expect(() => nested.parse({ calls: [{ to: ADDRESS }, { to: 5 }] }, 'argument 0 (batch)')).toThrow(
      'invalid argument 0 (batch).calls[1].to: expected a hex string, got 5',
    )
  })

  it('names the first wrong key of the shape, however they are written', () => {
    const shape = schema.object({ a: schema.boolean, b: schema.maybe(schema.boolean), c: schema.boolean })
    expect(() => shape.parse({ c: 1, b: 2, d: 3, a: true }, 'it')).toThrow('invalid it.b: expected a boolean, got 2')
    expect(() => shape.parse({ c: 1, b: true }, 'it')).toThrow('invalid it.a: missing value, expected a boolean')
    expect(shape.parse({ c: false, a: true, d: 3 }, 'it')).toStrictEqual({ a: true, b: undefined, c: false })
  })

  it('truncates quoted values', () => {
    expect(() => schema.quantity.parse('z'.repeat(10_000), 'it')).toThrow(/^.{1,150}$/)
  })
})
