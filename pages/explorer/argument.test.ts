import { parseAbiParameter } from 'viem'
import { describe, expect, test } from 'vitest'
import { parseArgument, parseEther } from './argument.ts'

const read = (parameter: string, text: string): unknown => parseArgument(parseAbiParameter(parameter), text)

describe('the value of an input', () => {
  test.each<[string, string, unknown]>([
    ['uint8 a', '255', 255n],
    ['int8 a', '-128', -128n],
    ['uint256 a', `0x${'f'.repeat(64)}`, 2n ** 256n - 1n],
    ['bool a', ' true ', true],
    ['string a', ' as it is ', ' as it is '],
    ['address a', '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'],
    ['bytes2 a', '0xabcd', '0xabcd'],
    ['bytes a', '0x', '0x'],
    ['uint256[] a', '[1, 9007199254740993, "2"]', [1n, 9_007_199_254_740_993n, 2n]],
    ['string[] a', '["room 12, floor 3", "\\"4\\" 5"]', ['room 12, floor 3', '"4" 5']],
    [
      'uint8[2][] a',
      '[[1,2],[3,4]]',
      [
        [1n, 2n],
        [3n, 4n],
      ],
    ],
    [
      '(address to, uint256 amount, bool isPaid) a',
      `{"to":"0x${'1'.repeat(40)}","amount":5,"isPaid":true}`,
      { to: `0x${'1'.repeat(40)}`, amount: 5n, isPaid: true },
    ],
    ['(uint256, string)[] a', '[[1,"x 1"]]', [[1n, 'x 1']]],
  ])('%s is read from %s', (parameter, text, value) => {
    expect(read(parameter, text)).toEqual(value)
  })

  test.each([
    ['uint8 a', '256', 'a: 256 is out of the range of uint8.'],
    ['int8 a', '-129', 'a: -129 is out of the range of int8.'],
    ['uint256 a', '', 'a: expected a whole number.'],
    ['uint256 a', '1.5', 'a: expected a whole number.'],
    ['bool a', 'yes', 'a: expected true or false.'],
    ['address a', '0x12', 'a: expected an address, 0x and 40 hexadecimal digits.'],
    ['bytes2 a', '0xabcdef', 'a: expected 2 bytes, not 3.'],
    ['bytes a', '0xabc', 'a: expected bytes, 0x and an even number of hexadecimal digits.'],
    ['function a', '0xabcd', 'a: expected 24 bytes, not 2.'],
    ['uint256[2] a', '[1]', 'a: expected 2 items, not 1.'],
    ['uint256[] a', '[1.5]', 'a[0]: 1.5 is not a whole number; write all of its digits.'],
    ['uint256[] a', '[1e3]', 'a[0]: 1000 is not a whole number; write all of its digits.'],
    ['uint256[] a', '1', 'a: expected a JSON array for uint256[].'],
    ['uint256[] a', '[1', 'a: expected JSON, such as ["0x…", 1].'],
    ['(uint256 n) a', '{}', 'a.n: expected a value of uint256.'],
    ['(uint256 n) a', '3', 'a: expected a JSON object or array for the tuple.'],
  ])('%s refuses %j', (parameter, text, message) => {
    expect(() => read(parameter, text)).toThrow(message)
  })
})

describe('an amount of ether', () => {
  test('is read to wei', () => {
    expect(['', '0', '0.5', '1.000000000000000001'].map(parseEther)).toEqual([0n, 0n, 5n * 10n ** 17n, 10n ** 18n + 1n])
  })

  test.each(['-1', '1e3', 'one', '0.0000000000000000001', '.5'])('refuses %s', (text) => {
    expect(() => parseEther(text)).toThrow('value: expected an amount of ETH such as 0.5.')
  })
})
