import { encodeErrorResult, parseAbi } from 'viem'
import type { Hex } from 'viem'
import { describe, expect, it } from 'vitest'
import { customErrorText, reasonOfData, reasonOfOperation } from './reason.ts'

const TOKEN = '0x00000000000000000000000000000000000000a1'
const ALICE = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'

describe('the reason of a failure', () => {
  it('groups the digits of numbers in a decoded error, and of no address', () => {
    const abi = parseAbi(['error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)'])
    const data = encodeErrorResult({ abi, errorName: 'ERC20InsufficientBalance', args: [ALICE, 999n, 10n ** 18n] })
    expect(reasonOfData(TOKEN, data)).toBe(`ERC20InsufficientBalance(${ALICE}, 999, 1,000,000,000,000,000,000)`)
  })

  it('groups digits within lists, structs and small integers, and not in text', () => {
    const inputs = [[1_000n, -2_000n], { at: 1_700_000, why: '3000' }].map((value) => ({ name: '', type: '', value }))
    expect(customErrorText({ name: 'Bad', signature: 'Bad()', inputs, source: 'known' })).toBe('Bad([1,000, -2,000], (1,700,000, 3000))')
  })

  it('leaves the text of require as it is', () => {
    const abi = parseAbi(['error Error(string)'])
    expect(reasonOfData(TOKEN, encodeErrorResult({ abi, errorName: 'Error', args: ['costs 1000000'] }))).toBe('reverted: costs 1000000')
  })

  it('of an operation may be that of postOp', () => {
    const data = encodeErrorResult({ abi: parseAbi(['error Error(string)']), errorName: 'Error', args: ['no tokens'] })
    const ofPostOp = (inner: Hex) => encodeErrorResult({ abi: parseAbi(['error PostOpReverted(bytes)']), args: [inner] })
    expect(reasonOfOperation(ALICE, data)).toBe('reverted: no tokens')
    expect(reasonOfOperation(ALICE, ofPostOp(data))).toBe('AA50 postOp reverted: reverted: no tokens')
    expect(reasonOfOperation(ALICE, ofPostOp('0x'))).toBe('AA50 postOp reverted: It reverted without data.')
  })
})
