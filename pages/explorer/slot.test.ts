import { encodeAbiParameters, keccak256, toHex } from 'viem'
import { describe, expect, test } from 'vitest'
import { SlotError, slotOf } from './slot.ts'

describe('the slot of an input', () => {
  const word = (value: bigint) => toHex(value, { size: 32 })

  test('is a number or a hash', () => {
    expect(slotOf('3')).toBe(word(3n))
    expect(slotOf(' 0x1F ')).toBe(word(31n))
    expect(slotOf(`0x${'f'.repeat(64)}`)).toBe(word(2n ** 256n - 1n))
  })

  test('follows the keys of nested mappings', () => {
    const owner = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
    const first = keccak256(encodeAbiParameters([{ type: 'address' }, { type: 'uint256' }], [owner, 1n]))
    expect(slotOf('1', owner)).toBe(first)
    expect(slotOf('1', `${owner}, 7`)).toBe(keccak256(encodeAbiParameters([{ type: 'uint256' }, { type: 'bytes32' }], [7n, first])))
  })

  test('hashes a string key without padding', () => {
    expect(slotOf('0', '"a, b"')).toBe(keccak256(`0x612c2062${'0'.repeat(64)}`))
  })

  test.each([
    ['', ''],
    ['one', ''],
    ['-1', ''],
    [String(2n ** 256n), ''],
    [`0x${'1'.repeat(65)}`, ''],
    ['1', 'owner'],
    ['1', '1,,2, x'],
    ['1', '1,2,3,4,5,6,7,8,9'],
  ])('refuses %j with the keys %j', (slot, keys) => {
    expect(() => slotOf(slot, keys)).toThrow(SlotError)
  })
})
