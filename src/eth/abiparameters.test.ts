import type { Arbitrary } from 'fast-check'
import { array, assert, bigInt, boolean, property, record, string, tuple, uint8Array } from 'fast-check'
import type { AbiParameter } from 'viem'
import { decodeAbiParameters, encodeAbiParameters, parseAbiParameters } from 'viem'
import { describe, expect, it } from 'vitest'
import { AbiParameters } from './abiparameters.ts'
import { DecodeError, Hex } from './hex.ts'

const LISTS = [
  'address to, uint256 amount',
  'bool approved, bytes32 role, bytes4 selector, int24 tick, int256 delta, uint48 nonce, uint56 wide',
  'bytes data, string reason, bytes[] items, string[] texts',
  '(address target, bool allowFailure, bytes callData)[] calls, uint256 deadline',
  '((address token, uint160 amount, uint48 expiration, uint48 nonce) details, address spender, uint256 deadline) single, bytes signature',
  '((address token, uint256 amount)[] details, address spender) batch, uint8[3] triple, bytes[2] pair',
  'uint16[][2] nested, (uint8 a, uint8 b)[2][] pairs, uint256[2][3] grid',
]

/** An arbitrary value of a type, in viem's representation. */
function valueOf(parameter: AbiParameter): Arbitrary<unknown> {
  const { type } = parameter
  const [, item, length] = /^(.*)\[(\d*)\]$/.exec(type) ?? []
  if (item !== undefined && length !== undefined) {
    const size = length === '' ? { maxLength: 4 } : { minLength: Number(length), maxLength: Number(length) }
    return array(valueOf({ ...parameter, type: item }), size)
  }
  if ('components' in parameter && type === 'tuple')
    return record(Object.fromEntries(parameter.components.map((each) => [each.name, valueOf(each)])))
  if (type === 'bool') return boolean()
  if (type === 'string') return string({ unit: 'grapheme', maxLength: 40 })
  if (type === 'address') return hexOf(20, 20)
  const [, kind, digits] = /^(u?int|bytes)(\d*)$/.exec(type) ?? []
  if (kind === 'bytes') return digits === '' ? hexOf(0, 70) : hexOf(Number(digits), Number(digits))
  const bits = BigInt(digits ?? 256)
  const integer = bigInt(
    kind === 'int' ? { min: -(1n << (bits - 1n)), max: (1n << (bits - 1n)) - 1n } : { min: 0n, max: (1n << bits) - 1n },
  )
  return bits > 48n ? integer : integer.map(Number)
}

function hexOf(minLength: number, maxLength: number): Arbitrary<string> {
  return uint8Array({ minLength, maxLength }).map(Hex.fromBytes)
}

describe('ABI parameters', () => {
  it.each(LISTS)('decode as in viem: %s', (list) => {
    const types: readonly AbiParameter[] = parseAbiParameters<string>(list)
    const parameters = AbiParameters.parse(list)
    assert(
      property(tuple(...types.map(valueOf)), (values) => {
        const data = encodeAbiParameters(types, values)
        expect(AbiParameters.decode(parameters, Hex.toBytes(data))).toEqual(decodeAbiParameters(types, data))
      }),
      { numRuns: 60, seed: 7 },
    )
  })

  it('have the names of the list, and types as in a signature', () => {
    const parameters = AbiParameters.parse('address to, (uint256 id, bytes[2] data)[] items')
    expect(parameters.map(({ name, type }) => [name, type.text])).toEqual([
      ['to', 'address'],
      ['items', '(uint256,bytes[2])[]'],
    ])
    expect(AbiParameters.parse('')).toEqual([])
  })

  it.each(['address', 'uint7 a', 'uint264 a', 'bytes33 a', 'tuple a', 'uint256 a,', 'uint256 a b'])('%j is rejected', (list) => {
    expect(() => AbiParameters.parse(list)).toThrow(DecodeError)
  })

  it('ignore bits above the width of a type, and bytes after the last value', () => {
    const parameters = AbiParameters.parse('address to, bool approved, uint8 v')
    const dirty = Hex.toBytes(`0x${'ff'.repeat(32)}${'02'.padStart(64, '0')}${'ff'.repeat(32)}1234`)
    expect(AbiParameters.decode(parameters, dirty)).toEqual(['0xFFfFfFffFFfffFFfFFfFFFFFffFFFffffFfFFFfF', true, 255])
  })

  it('of data that ends early or points outside are rejected before memory is allocated', () => {
    const word = (value: bigint | number) => BigInt(value).toString(16).padStart(64, '0')
    const refused: readonly (readonly [string, string])[] = [
      ['uint256 a', ''],
      ['uint256 a', '00'],
      ['bytes a', word(64)],
      ['bytes a', `${word(32)}${word(1)}`],
      ['bytes a', word(2n ** 255n)],
      ['uint256[] a', `${word(32)}${word(2n ** 40n)}`],
      ['uint256[] a', `${word(32)}${word(60)}`],
      ['uint256[3] a', `${word(1)}${word(2)}`],
    ]
    for (const [list, digits] of refused)
      expect(() => AbiParameters.decode(AbiParameters.parse(list), Hex.toBytes(`0x${digits}`)), list).toThrow(DecodeError)
  })

  it('of data whose offsets repeat a value are rejected before memory is exhausted', () => {
    const word = (value: number) => value.toString(16).padStart(64, '0')
    const heads = 2_000
    const value = `${word(60_000)}${'00'.repeat(60_000)}`
    const repeated = `0x${word(32)}${word(heads)}${word(32 * heads).repeat(heads)}${value}`
    expect(() => AbiParameters.decode(AbiParameters.parse('bytes[] items'), Hex.toBytes(repeated))).toThrow(
      /values of more than 4194304 bytes/,
    )
    const twice = `0x${word(32)}${word(2)}${word(64).repeat(2)}${word(1)}${'ab'.padEnd(64, '0')}`
    expect(AbiParameters.decode(AbiParameters.parse('bytes[] items'), Hex.toBytes(twice))).toEqual([['0xab', '0xab']])
  })
})
