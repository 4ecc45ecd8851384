import { expect, test } from 'vitest'
import { signatureOf } from './signatures.ts'

test('selectors of common functions have a signature, others have none', () => {
  expect(signatureOf('0xa9059cbb')).toBe('transfer(address,uint256)')
  expect(signatureOf('0xE9AE5C53')).toBe('execute(bytes32,bytes)')
  expect(signatureOf('0xdeadbeef')).toBeNull()
})
