import { encodeErrorResult, parseAbi } from 'viem'
import { expect, it } from 'vitest'
import { Hex, RevertReason } from './index.ts'

const ABI = parseAbi(['error Error(string)', 'error PostOpReverted(bytes)'])

it('the reason of a revert is the text of require, also of one in postOp', () => {
  const data = encodeErrorResult({ abi: ABI, errorName: 'Error', args: ['no tokens'] })
  expect(RevertReason.text(Hex.toBytes(data))).toBe('no tokens')
  const ofPostOp = encodeErrorResult({ abi: ABI, errorName: 'PostOpReverted', args: [data] })
  expect(RevertReason.text(Hex.toBytes(ofPostOp))).toBe('AA50 postOp reverted: no tokens')
  for (const other of ['0x', '0x12345678', data.slice(0, 40), ofPostOp.slice(0, 140)] as const)
    expect(RevertReason.text(Hex.toBytes(other as `0x${string}`))).toBe(null)
})
