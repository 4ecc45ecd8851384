import { encodeAbiParameters, encodeFunctionData, parseAbi } from 'viem'
import { describe, expect, it } from 'vitest'
import { Hash, Hex } from '../../eth/index.ts'
import { messagesOf } from './console.ts'

const ALICE = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const COMBINED = ['uint256', 'string', 'bool', 'address'] as const
const VALUES = { uint256: 7n, string: 'text', bool: true, address: ALICE } as const

describe('every overload of console.log is decoded', () => {
  it('with one to four arguments', () => {
    let lists: readonly (readonly (typeof COMBINED)[number][])[] = [[]]
    for (let count = 1; count <= 4; count++) {
      lists = lists.flatMap((list) => COMBINED.map((type) => [...list, type]))
      for (const list of lists)
        expect(
          printed(
            list,
            list.map((type) => VALUES[type]),
          ),
        ).toEqual([list.map((type) => String(VALUES[type])).join(' ')])
    }
    expect(lists).toHaveLength(256)
  })

  it('with the selectors that Hardhat computed from uint and int', () => {
    expect(printed(['uint256'], [7n], 'log(uint)')).toEqual(['7'])
    expect(printed(['int256'], [-7n], 'log(int)')).toEqual(['-7'])
    expect(printed(['string', 'uint256', 'address'], ['n %d', 7n, ALICE], 'log(string,uint,address)')).toEqual([`n 7 ${ALICE}`])
    expect(printed(['uint256', 'uint256', 'uint256', 'uint256'], [1n, 2n, 3n, 4n], 'log(uint,uint,uint,uint)')).toEqual(['1 2 3 4'])
  })

  it('with bytes of every length, and without arguments', () => {
    for (let size = 1; size <= 32; size++) expect(printed([`bytes${size}`], [`0x${'ab'.repeat(size)}`])).toEqual([`0x${'ab'.repeat(size)}`])
    expect(printed(['bytes'], ['0x'])).toEqual(['0x'])
    expect(printed([], [])).toEqual([''])
  })
})

it('prints nothing for other selectors and for data that ends early', () => {
  const data = Hex.toBytes(encodeFunctionData({ abi: parseAbi(['function log(string)']), args: ['text'] }))
  for (const input of [new Uint8Array(), data.subarray(0, 3), data.subarray(0, 40), Hex.toBytes('0x12345678')]) {
    expect(messagesOf({ inputs: [input], dropped: 0 })).toEqual([])
  }
})

// Expected values: those of Foundry's own tests for integers that its console.sol cannot combine with a format.
it.each([
  ['%x', -100n, '0xffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff9c'],
  ['%e', -1_002_300n, '-1.0023e6'],
  ['%e', 100n, '1e2'],
  ['%2e', -100n, '-1'],
  ['%7e', -123_000n, '-0.0123'],
  ['%0e', 123_000n, '123000'],
  ['%1e', 123_000n, '12300'],
  ['%o', 100n, '100'],
  ['%%s', 100n, '%s 100'],
  ['%', 100n, '% 100'],
])('formats %s of %d as %s', (format, value, text) => {
  expect(printed(['string', 'int256'], [format, value])).toEqual([text])
})

function printed(types: readonly string[], args: readonly unknown[], signature = `log(${types.join(',')})`): readonly string[] {
  const encoded = encodeAbiParameters(
    types.map((type) => ({ type })),
    args,
  )
  return messagesOf({ inputs: [Hex.toBytes(`${Hash.ofText(signature).slice(0, 10)}${encoded.slice(2)}` as Hex)], dropped: 0 }) // hex of both parts
}
