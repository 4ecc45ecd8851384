import { encodeErrorResult } from 'viem'
import { entryPoint07Abi } from 'viem/account-abstraction'
import { describe, expect, it } from 'vitest'
import { Address, Hex, UserOperation } from '../eth/index.ts'
import { failureOf, refusalFor, revertDataOf } from './failure.ts'
import { RpcError } from '../jsonrpc/index.ts'

const PAYMASTER = Address.from(`0x${'22'.repeat(20)}`)
const OPERATION = UserOperation.of({ sender: Address.zero, nonce: 0n, paymaster: PAYMASTER })

describe('the revert data of an EntryPoint', () => {
  it('names the operation and the reason', () => {
    const data = encodeErrorResult({ abi: entryPoint07Abi, errorName: 'FailedOp', args: [3n, 'AA25 invalid account nonce'] })
    expect(failureOf(Hex.toBytes(data))).toEqual({ index: 3, reason: 'AA25 invalid account nonce', inner: null })
  })

  it('names no operation for an initialisation of a delegating account, which is always reported as operation 0', () => {
    const args = [0n, 'AA13 EIP7702 sender init failed', '0x12'] as const
    const data = encodeErrorResult({ abi: entryPoint07Abi, errorName: 'FailedOpWithRevert', args })
    expect(failureOf(Hex.toBytes(data))).toEqual({ index: null, reason: args[1], inner: Uint8Array.of(0x12) })
  })

  it('includes the revert reason of the account', () => {
    const inner =
      '0x08c379a0000000000000000000000000000000000000000000000000000000000000002000000000000000000000000000000000000000000000000000000000000000036e6f210000000000000000000000000000000000000000000000000000000000'
    const data = encodeErrorResult({ abi: entryPoint07Abi, errorName: 'FailedOpWithRevert', args: [0n, 'AA33 reverted', inner] })
    const failure = failureOf(Hex.toBytes(data))
    expect(failure && refusalFor(failure, OPERATION)).toMatchObject({
      code: -32501,
      message: 'AA33 reverted: no!',
      data: { paymaster: PAYMASTER, revertData: inner },
    })
  })

  it.each(['0x', '0x12345678', '0x220266b6', '0x220266b6ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff'] as const)(
    '%s is not an EntryPoint error',
    (data) => {
      expect(failureOf(Hex.toBytes(data))).toBe(null)
    },
  )
})

// ERC-7769: -32500 except for errors with a code of their own.
it.each([
  ['AA10 sender already constructed', -32500],
  ['AA13 initCode failed or OOG', -32500],
  ['AA21 didn’t pay prefund', -32500],
  ['AA22 expired or not due', -32503],
  ['AA23 reverted', -32500],
  ['AA24 signature error', -32507],
  ['AA25 invalid account nonce', -32500],
  ['AA26 over verificationGasLimit', -32500],
  ['AA30 paymaster not deployed', -32501],
  ['AA31 paymaster deposit too low', -32508],
  ['AA32 paymaster expired or not due', -32503],
  ['AA33 reverted', -32501],
  ['AA34 signature error', -32507],
  ['AA36 over paymasterVerificationGasLimit', -32501],
  ['AA40 over verificationGasLimit', -32500],
  ['AA41 too little verificationGas', -32500],
  ['AA50 postOp reverted', -32501],
  ['AA94 gas values overflow', -32602],
])('%s has the code %i', (reason, code) => {
  expect(refusalFor({ reason, inner: null }, OPERATION)).toMatchObject({ code, message: reason })
})

it('revert data is found in the error formats of different nodes', () => {
  expect(revertDataOf(new RpcError(3, 'execution reverted', '0x1234'))).toEqual(Uint8Array.of(0x12, 0x34))
  expect(revertDataOf(new RpcError(-32000, 'reverted', { data: '0x12' }))).toEqual(Uint8Array.of(0x12))
  expect(revertDataOf(new RpcError(-32000, 'out of gas'))).toBe(null)
})
