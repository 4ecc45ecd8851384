import { describe, expect, it } from 'vitest'
import { COMPAT } from '../../compat.ts'
import { Hex } from '../../eth/index.ts'
import { revertReason } from '../../evm/index.ts'
import type { Executed, Outcome } from '../../evm/index.ts'
import { failure } from './revert.ts'

const USER_ERROR =
  '0x08c379a00000000000000000000000000000000000000000000000000000000000000020000000000000000000000000000000000000000000000000000000000000000a75736572206572726f72'
const CUSTOM_ERROR = '0x8baa579f'

function panic(code: number): string {
  return `0x4e487b71${code.toString(16).padStart(64, '0')}`
}

function ended(outcome: Outcome, output: string): Executed {
  return {
    outcome,
    output: Hex.toBytes(output),
    logs: [],
    gasUsed: 0n,
    gasUsedBeforeRefund: 0n,
    effectiveGasPrice: 0n,
    contractAddress: null,
    l1: null,
    blobGasUsed: null,
    blobGasPrice: null,
    depositNonce: null,
    accessList: null,
    console: null,
  }
}

describe('the reason in revert data', () => {
  it.each([
    ['Error(string), padded or not', USER_ERROR, 'user error'],
    ['Panic(1)', panic(1), 'assert(false)'],
    ['Panic(0x11)', panic(0x11), 'arithmetic underflow or overflow'],
    ['an undefined panic code', panic(0x99), 'unknown panic code: 0x99'],
    ['a custom error', CUSTOM_ERROR, null],
    ['nothing', '0x', null],
    ['Error(string) that is cut off', USER_ERROR.slice(0, -8), null],
    ['Error(string) whose length is absurd', `0x08c379a0${'20'.padStart(64, '0')}${'f'.repeat(64)}`, null],
    ['Panic without its code', '0x4e487b71', null],
  ])('%s', (_, data, reason) => {
    expect(revertReason(Hex.toBytes(data))).toBe(reason)
  })
})

describe('the error of a failed call', () => {
  it('is null for a successful call', () => {
    expect(failure(ended({ kind: 'success' }, '0x1234'), COMPAT.default)).toBeNull()
  })

  it('is -32000, exactly `execution reverted`, with the data by default: viem decodes nothing else', () => {
    const error = failure(ended({ kind: 'revert' }, USER_ERROR), COMPAT.default)
    expect(error).toMatchObject({ code: -32_000, message: 'execution reverted', data: USER_ERROR })
  })

  it('has the data 0x when there is none', () => {
    expect(failure(ended({ kind: 'revert' }, '0x'), COMPAT.default)).toMatchObject({ data: '0x' })
  })

  it('is 3 with the reason under compat geth', () => {
    const error = failure(ended({ kind: 'revert' }, USER_ERROR), COMPAT.geth)
    expect(error).toMatchObject({ code: 3, message: 'execution reverted: user error', data: USER_ERROR })
    expect(failure(ended({ kind: 'revert' }, CUSTOM_ERROR), COMPAT.geth)?.message).toBe('execution reverted')
  })

  it('has no data for a halt, which is not called a revert', () => {
    const error = failure(ended({ kind: 'halt', reason: 'out of gas' }, '0x'), COMPAT.geth)
    expect(error).toMatchObject({ code: -32_000, message: 'out of gas', data: undefined })
  })
})
