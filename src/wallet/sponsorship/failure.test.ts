import { describe, expect, it } from 'vitest'
import { RpcError } from '../../jsonrpc/index.ts'
import { sponsorFailed } from '../errors.ts'
import { toPaymasterError, failureText } from './failure.ts'

const PAYMASTER = `0x${'11'.repeat(20)}`

describe('an error of the bundler', () => {
  it.each([
    [-32_501, 'AA33 reverted', {}],
    [-32_508, 'AA31 paymaster deposit too low', {}],
    [-32_507, 'AA34 signature error', {}],
    [-32_503, 'AA32 paymaster expired or not due', {}],
    [-32_500, 'AA36 over paymasterVerificationGasLimit', {}],
    [-32_504, 'paymaster is throttled', { paymaster: PAYMASTER }],
    [-32_505, 'paymaster needs a stake', { paymaster: PAYMASTER }],
    [-32_502, 'paymaster uses TIMESTAMP', { paymaster: PAYMASTER }],
  ])('%i %s is the fault of the paymaster: 4300 with the cause', (code, message, data) => {
    expect(toPaymasterError(new RpcError(code, message, data))).toMatchObject({
      code: 4300,
      message: 'Paymaster service error',
      data: { reason: 'paymaster-refused', cause: { code, message, data } },
    })
  })

  it.each([
    [-32_500, 'AA23 reverted', {}],
    [-32_507, 'AA24 signature error', {}],
    [-32_503, 'AA22 expires too soon', {}],
    [-32_504, 'factory is banned', { factory: PAYMASTER }],
    [-32_602, 'maxFeePerGas is too low', { paymaster: PAYMASTER }],
    [-32_521, 'execution reverted', {}],
    [-32_000, 'the bundler is closed', {}],
  ])('%i %s is not the fault of the paymaster, and stays unchanged', (code, message, data) => {
    const error = new RpcError(code, message, data)
    expect(toPaymasterError(error)).toBe(error)
  })
})

it('the reason of a sponsor is a bounded clause without invisible characters', () => {
  expect(failureText(sponsorFailed('refused', 'pays.example refused it: no money left.  '))).toBe('pays.example refused it: no money left')
  expect(failureText(new RpcError(-32_000, 'the bundler is closed'))).toBe('the bundler is closed')
  expect(failureText(sponsorFailed('refused', 'a\u202eb'))).not.toContain('\u202e')
  expect(failureText(sponsorFailed('refused', 'x'.repeat(10_000))).length).toBeLessThan(400)
})
