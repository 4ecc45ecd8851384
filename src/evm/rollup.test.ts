import { describe, expect, test } from 'vitest'
import { Hex } from '../eth/index.ts'
import { contextOf, Memory, opConfig } from './evm.fixture.ts'
import { fastLzSize } from './fastlz.ts'
import { daFootprint, L1_BLOCK, l1Cost, operatorFee } from './rollup.ts'

/** A transaction of Base with its fee, from the node's tests. */
const BASE_TRANSACTION = Hex.toBytes(
  '0x02f86c8221058034839a4ae283021528942f16386bb37709016023232523ff6d9daf444be380841249c58bc080a001b927eda2af9b00b52a57be0885e0303c39dd2831732e14051c2336470fd468a0681bf120baf562915841a48601c2b54a6742511e535cf8f71c95115af7ff63bd',
)

function l1Block(baseFee: bigint, blobBaseFee: bigint, baseFeeScalar: bigint, blobBaseFeeScalar: bigint, operator = 0n) {
  const storage = { 1: baseFee, 3: (baseFeeScalar << 96n) | (blobBaseFeeScalar << 64n) | 0xffn, 7: blobBaseFee, 8: operator }
  return new Memory({ [L1_BLOCK]: { storage } })
}

const { rules: fjord } = contextOf(opConfig('fjord'))
const { rules: isthmus } = contextOf(opConfig('isthmus'))
const { rules: jovian } = contextOf(opConfig('jovian'))

describe('the data fee', () => {
  test('equals the fee charged by Base', () => {
    const state = l1Block(14_121_491_676n, 1_324_954_204n, 2_269n, 1_055_762n)
    expect(fastLzSize(BASE_TRANSACTION)).toBe(115)
    expect(l1Cost(BASE_TRANSACTION, fjord, state)).toEqual({
      gasPrice: 14_121_491_676n,
      gasUsed: 1_600n,
      fee: 191_150_293_412n,
      baseFeeScalar: 2_269n,
      blobBaseFee: 1_324_954_204n,
      blobBaseFeeScalar: 1_055_762n,
      operatorFeeScalar: null,
      operatorFeeConstant: null,
      daFootprintGasScalar: null,
    })
  })

  test('follows the regression above the minimum size', () => {
    const raw = Uint8Array.from({ length: 400 }, (_, i) => (Math.imul(i, 2_654_435_761) >>> 13) & 0xff)
    const size = -42_585_600n + 836_500n * BigInt(fastLzSize(raw))
    expect(size).toBeGreaterThan(100_000_000n)
    const { fee, gasUsed } = l1Cost(raw, fjord, l1Block(7n, 0n, 1_000_000n, 0n))
    expect(fee).toBe((size * 16n * 7n) / 1_000_000n)
    expect(gasUsed).toBe((size * 16n) / 1_000_000n)
  })
})

test('no transaction of up to 164 bytes exceeds the minimum size, however little it compresses', () => {
  const random = (length: number) => Uint8Array.from({ length }, (_, i) => (Math.imul(i + length, 2_654_435_761) >>> 13) & 0xff)
  const regression = (raw: Uint8Array) => -42_585_600n + 836_500n * BigInt(fastLzSize(raw))
  const used = (raw: Uint8Array) => l1Cost(raw, fjord, l1Block(0n, 0n, 0n, 0n)).gasUsed
  for (let length = 0; length <= 164; length++)
    expect([regression(random(length)) < 100_000_000n, used(random(length))]).toEqual([true, 1_600n])
  const [longer, longest] = [random(165), random(400)]
  expect([longer, longest, longer].map(used)).toEqual([longer, longest, longer].map((raw) => (regression(raw) * 16n) / 1_000_000n))
})

test('operator parameters are in slot 8: constant in the low 8 bytes, scalar in 4, footprint in 2', () => {
  const word = (0x0190n << 96n) | (5n << 64n) | 9n
  const state = l1Block(0n, 0n, 0n, 0n, word)
  expect(l1Cost(BASE_TRANSACTION, isthmus, state)).toMatchObject({
    operatorFeeScalar: 5n,
    operatorFeeConstant: 9n,
    daFootprintGasScalar: null,
  })
  expect(l1Cost(BASE_TRANSACTION, jovian, state).daFootprintGasScalar).toBe(400n)
  expect(l1Cost(BASE_TRANSACTION, jovian, l1Block(0n, 0n, 0n, 0n)).daFootprintGasScalar).toBe(400n)
})

test('the operator fee: Isthmus divides by a million, Jovian multiplies by a hundred', () => {
  const cost = { operatorFeeScalar: 1_500_000n, operatorFeeConstant: 7n }
  expect(operatorFee(3n, cost, isthmus)).toBe(4n + 7n)
  expect(operatorFee(3n, cost, jovian)).toBe(450_000_000n + 7n)
  expect(operatorFee(3n, { operatorFeeScalar: null, operatorFeeConstant: null }, fjord)).toBe(0n)
})

test('the footprint counts whole bytes of estimated size', () => {
  expect(daFootprint(BASE_TRANSACTION, 400n)).toBe(40_000n)
})

describe('FastLZ size', () => {
  test.each([
    ['nothing', new Uint8Array(), 0],
    ['one byte', Uint8Array.of(1), 2],
    ['32 bytes without a match are one literal run', Uint8Array.from({ length: 32 }, (_, i) => i), 33],
    ['a thousand zeroes', new Uint8Array(1_000), 21],
  ])('%s', (_, data, size) => {
    expect(fastLzSize(data)).toBe(size)
  })

  test('does not depend on earlier calls', () => {
    const sizes = [0, 1].map(() => [new Uint8Array(500), BASE_TRANSACTION].map(fastLzSize))
    expect(sizes[1]).toEqual(sizes[0])
  })
})
