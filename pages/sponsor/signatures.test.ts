import { expect, test } from 'vitest'
import { signatureOfSelector } from './signatures.ts'

test('selectors of common functions have a signature, others have none', () => {
  expect(signatureOfSelector('0xa9059cbb')).toBe('transfer(address,uint256)')
  expect(signatureOfSelector('0xE9AE5C53')).toBe('execute(bytes32,bytes)')
  expect(signatureOfSelector('0x87517c45'), 'one of the wallet').toBe('approve(address,address,uint160,uint48)')
  expect(signatureOfSelector('0xdeadbeef')).toBeNull()
})
